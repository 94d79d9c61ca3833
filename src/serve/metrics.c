/* Names and units as Prometheus wants them: base units, no percent. */
#include "serve/metrics.h"

#include "base/histogram.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STAGES_MAX 500u

struct unit {
	const char *ending; /* of the report's columns */
	const char *name; /* of the metric */
	double factor;
};

/* Longer endings first. */
static const struct unit units[] = {
	{ "_gb_per_s", "_bytes_per_second", 1e9 },
	{ "_mb_per_s", "_bytes_per_second", 1e6 },
	{ "_bytes_per_s", "_bytes_per_second", 1 },
	{ "_per_s", "_per_second", 1 },
	{ "_percent", "_ratio", 0.01 },
	{ "_ratio", "_ratio", 1 },
	{ "_bytes", "_bytes", 1 },
	{ "_mhz", "_hertz", 1e6 },
	{ "_hz", "_hertz", 1 },
	{ "_mb", "_bytes", 1e6 },
	{ "_gb", "_bytes", 1e9 },
	{ "_wh", "_joules", 3600 },
	{ "_ms", "_seconds", 1e-3 },
	{ "_us", "_seconds", 1e-6 },
	{ "_count", "_number", 1 },
	{ "_total", "", 1 },
	{ "_w", "_watts", 1 },
	{ "_c", "_celsius", 1 },
	{ "_j", "_joules", 1 },
	{ "_s", "_seconds", 1 },
};

static bool ends_with(const char *text, size_t size, const char *end)
{
	size_t end_size = strlen(end);

	return size > end_size && !memcmp(text + size - end_size, end, end_size);
}

/* "gpu", "utilization_percent" -> "strobe_gpu_utilization_ratio", 0.01 */
static double metric_name(const char *source, const char *column, char *out, size_t size)
{
	size_t length = strlen(column), source_length = strlen(source);
	bool repeats = !strncmp(column, source, source_length) && column[source_length] == '_' &&
		       strchr(column + source_length + 1, '_');

	if (repeats) {
		column += source_length + 1;
		length -= source_length + 1;
	}
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (!ends_with(column, length, units[i].ending))
			continue;
		snprintf(out, size, "strobe_%s_%.*s%s", source, (int)(length - strlen(units[i].ending)),
			column, units[i].name);
		return units[i].factor;
	}
	snprintf(out, size, "strobe_%s_%s", source, column);
	return 1;
}

static void add_series(struct sb_exposition *e, const char *run, const struct sb_series *s)
{
	struct sb_buf labels = { 0 };
	char device[16];

	sb_exposition_label(&labels, "run", run);
	if (s->device >= 0) {
		snprintf(device, sizeof device, "%d", s->device);
		sb_exposition_label(&labels, "device", device);
	}
	for (size_t i = 0; i < s->column_count; i++) {
		const struct sb_series_column *c = &s->columns[i];
		char name[128], help[160];
		double factor = metric_name(s->source, c->name, name, sizeof name);

		/* the disk's columns count bytes since the start */
		bool counts = !strcmp(s->source, "disk") && ends_with(name, strlen(name), "_bytes");

		snprintf(help, sizeof help, "Last sample of %s %s.", s->source, c->name);
		snprintf(name + strlen(name), sizeof name - strlen(name), "%s", counts ? "_total" : "");
		sb_exposition_add(e, name, counts ? "counter" : "gauge", help, "", sb_buf_text(&labels),
			c->stats.last * factor);
	}
	sb_buf_done(&labels);
}

/* Two stages of one name under different parents differ in the label "parent". */
static void stage_labels(
	const char *run, const struct sb_model *m, const struct sb_stage *s, struct sb_buf *labels)
{
	sb_exposition_label(labels, "run", run);
	sb_exposition_label(labels, "stage", s->name);
	sb_exposition_label(labels, "parent", s->parent >= 0 ? m->stages.stages[s->parent].name : "");
	if (s->code)
		sb_exposition_label(labels, "code", s->code);
}

/* Bounds of one call's time. A bucket of the model's histogram counts below a
 * bound when its middle does: exact but for calls within 1/64 of the bound. */
static const double bounds_s[] = { 0.0001, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
	10, 25, 50, 100 };

static double calls_below(const struct sb_histogram *h, double bound_s)
{
	double count = 0;

	for (uint32_t i = 0; i < h->size; i++)
		if (sb_histogram_middle(h->first + i) * 1e-9 <= bound_s)
			count += (double)h->counts[i];
	return count;
}

static void add_stage_buckets(struct sb_exposition *e, const struct sb_buf *labels, const struct sb_stage *s)
{
	static const char name[] = "strobe_stage_duration_seconds";
	static const char help[] = "Time of one call of a stage, its children included.";
	const size_t count = sizeof bounds_s / sizeof *bounds_s;

	for (size_t i = 0; i <= count; i++) {
		struct sb_buf with = { 0 };
		char le[32] = "+Inf";

		if (i < count)
			snprintf(le, sizeof le, "%g", bounds_s[i]);
		sb_buf_add(&with, labels->data, labels->size);
		sb_exposition_label(&with, "le", le);
		sb_exposition_add(e, name, "histogram", help, "_bucket", sb_buf_text(&with),
			i < count ? calls_below(s->calls, bounds_s[i]) : (double)s->time.count);
		sb_buf_done(&with);
	}
	sb_exposition_add(e, name, "histogram", help, "_sum", labels->data, s->time.total);
	sb_exposition_add(e, name, "histogram", help, "_count", labels->data, (double)s->time.count);
}

static void add_stages(struct sb_exposition *e, const char *run, const struct sb_model *m)
{
	size_t shown = m->stages.stage_count < STAGES_MAX ? m->stages.stage_count : STAGES_MAX;

	for (size_t i = 0; i < shown; i++) {
		const struct sb_stage *s = &m->stages.stages[m->stages.by_total ? m->stages.by_total[i] : i];
		struct sb_buf labels = { 0 };

		if (s->state == SB_STAGE_SKIPPED)
			continue;
		stage_labels(run, m, s, &labels);
		if (s->calls)
			add_stage_buckets(e, &labels, s);
		sb_exposition_add(e, "strobe_stage_self_seconds", "gauge",
			"Time in a stage so far, its children left out.", "", labels.data, s->self_s);
		sb_exposition_add(e, "strobe_stage_wall_ratio", "gauge", "Share of the wall time.", "",
			labels.data, s->wall_ratio);
		sb_exposition_add(e, "strobe_stage_gpu_span_seconds", "gauge",
			"GPU time from event to event; may hold idle time.", "", labels.data, s->gpu_span_s);
		sb_buf_done(&labels);
	}
}

struct number {
	const char *name, *type, *help;
	double value;
};

static double counted(int64_t count)
{
	return count < 0 ? NAN : (double)count;
}

static void add_numbers(struct sb_exposition *e, const char *labels, const struct sb_model *m)
{
	const struct sb_recording_section *r = &m->recording;
	const struct sb_summary_section *s = &m->summary;
	const struct number numbers[] = {
		{ "strobe_run_wall_seconds", "gauge", "Time since the run began.", m->stages.wall_s },
		{ "strobe_run_unattributed_seconds", "gauge", "Wall time that no stage covers.",
			m->stages.unattributed_s },
		{ "strobe_run_live", "gauge", "1 while the run records.", r->live },
		{ "strobe_generations_total", "counter", "Videos, prompts or requests so far.",
			counted(s->generation_count) },
		{ "strobe_frames_total", "counter", "Output frames, each counted once.", counted(s->frames) },
		{ "strobe_frames_dropped_total", "counter", "Output frames dropped.",
			counted(s->dropped_frames) },
		{ "strobe_steps_total", "counter", "Scheduler steps so far.", counted(s->steps) },
		{ "strobe_blocks_total", "counter", "Blocks so far.", counted(s->blocks) },
		{ "strobe_frames_per_second", "gauge", "Frames per second over wall time, end to end.",
			s->fps_wall },
		{ "strobe_frames_per_compute_second", "gauge", "Frames per second over compute time.",
			s->fps_compute },
		{ "strobe_blocks_per_second", "gauge", "Blocks per second over wall time.", s->bps_wall },
		{ "strobe_first_block_seconds", "gauge", "Latency of the first block.", s->first_block_s },
		{ "strobe_gpu_energy_joules_total", "counter", "GPU energy so far, integrated from power.",
			s->run_energy_wh * 3600 },
		{ "strobe_gpu_memory_peak_bytes", "gauge", "Highest GPU memory so far.", s->gpu_peak_bytes },
		{ "strobe_ram_peak_bytes", "gauge", "Highest RAM so far.", s->ram_peak_bytes },
		{ "strobe_streaming_frames_per_second", "gauge", "Frames per second of the stream.",
			m->streaming.present ? m->streaming.fps : NAN },
		{ "strobe_streaming_dropped_ratio", "gauge", "Share of frames dropped.",
			m->streaming.present ? m->streaming.dropped_ratio : NAN },
		{ "strobe_recording_events_total", "counter", "Events recorded.", counted(r->events) },
		{ "strobe_recording_zones_total", "counter", "Zones recorded.", counted(r->zones) },
		{ "strobe_recording_bytes", "gauge", "Size of the recording.", r->bytes },
		{ "strobe_recording_overhead_ratio", "gauge",
			"Recording's share of the time of the threads that record.", r->overhead_ratio },
	};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		sb_exposition_add(
			e, numbers[i].name, numbers[i].type, numbers[i].help, "", labels, numbers[i].value);
}

static void add_drops(struct sb_exposition *e, const char *run, const struct sb_recording_section *r)
{
	static const char name[] = "strobe_recording_dropped_total", help[] = "Events lost, by reason.";
	struct sb_buf labels = { 0 };

	for (size_t i = 0; i < r->drop_count; i++) {
		sb_buf_clear(&labels);
		sb_exposition_label(&labels, "run", run);
		sb_exposition_label(&labels, "reason", r->drops[i].reason);
		sb_exposition_add(
			e, name, "counter", help, "", sb_buf_text(&labels), (double)r->drops[i].count);
	}
	if (!r->drop_count) {
		sb_exposition_label(&labels, "run", run);
		sb_exposition_label(&labels, "reason", "none");
		sb_exposition_add(e, name, "counter", help, "", sb_buf_text(&labels), 0);
	}
	sb_buf_done(&labels);
}

static void add_caches(struct sb_exposition *e, const char *run, const struct sb_model *m)
{
	for (size_t i = 0; m->caches.present && i < m->caches.cache_count; i++) {
		const struct sb_cache_entry *c = &m->caches.caches[i];
		struct sb_buf labels = { 0 };

		sb_exposition_label(&labels, "run", run);
		sb_exposition_label(&labels, "cache", c->cache);
		sb_exposition_add(e, "strobe_cache_hits_total", "counter", "Cache hits.", "", labels.data,
			counted(c->hits));
		sb_exposition_add(e, "strobe_cache_misses_total", "counter", "Cache misses.", "", labels.data,
			counted(c->misses));
		sb_exposition_add(e, "strobe_cache_evictions_total", "counter", "Cache evictions.", "",
			labels.data, counted(c->evictions));
		sb_buf_done(&labels);
	}
}

void sb_metrics_add(struct sb_exposition *e, const char *run, const struct sb_model *m)
{
	struct sb_buf labels = { 0 };

	sb_exposition_label(&labels, "run", run);
	add_numbers(e, sb_buf_text(&labels), m);
	sb_exposition_label(&labels, "name", m->session.name ? m->session.name : "");
	sb_exposition_label(&labels, "host", m->session.host ? m->session.host : "");
	sb_exposition_add(e, "strobe_run_info", "gauge", "Which run this is.", "", sb_buf_text(&labels), 1);
	sb_buf_done(&labels);
	add_stages(e, run, m);
	for (size_t i = 0; i < m->series_count; i++)
		add_series(e, run, &m->series[i]);
	add_caches(e, run, m);
	add_drops(e, run, &m->recording);
}
