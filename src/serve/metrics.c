/* Names and units as Prometheus wants them: base units, no percent; what only
 * grows is a counter and ends in _total; cores and devices are labels. */
#include "serve/metrics_parts.h"

#include "format/column_name.h"
#include "format/reader.h"
#include "strobe.h"

#include "base/role.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0

const struct sb_exposed_metric *sb_metrics_named(const char *name)
{
	size_t count;
	const struct sb_exposed_metric *table = sb_metrics_table(&count);

	for (size_t i = 0; i < count; i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

void sb_metrics_put(
	struct sb_exposition *e, const char *name, const char *suffix, const char *labels, double value)
{
	const struct sb_exposed_metric *m = sb_metrics_named(name);

	if (m)
		sb_exposition_add(e, name, m->type, m->help, suffix, labels, value);
}

void sb_metrics_add_own(struct sb_exposition *e, const char *name, double value)
{
	sb_metrics_put(e, name, "", "", value);
}

/* ---- samples ---- */

/* A column that the table does not know yet, by its unit. */
static const struct {
	const char *ending, *unit;
	double factor;
} units[] = {
	{ "_gb_per_s", "_bytes_per_second", 1e9 },
	{ "_percent", "_ratio", 0.01 },
	{ "_bytes", "_bytes", 1 },
	{ "_mhz", "_hertz", 1e6 },
	{ "_mb", "_bytes", MIB },
	{ "_count", "", 1 },
	{ "_w", "_watts", 1 },
	{ "_c", "_celsius", 1 },
	{ "_j", "_joules", 1 },
	{ "_s", "_seconds", 1 },
};

static void put_unknown(
	struct sb_exposition *e, const char *source, const char *column, const char *labels, double value)
{
	size_t size = strlen(column);
	char name[128], help[160];

	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		size_t end = strlen(units[i].ending);

		if (size <= end || strcmp(column + size - end, units[i].ending))
			continue;
		snprintf(name, sizeof name, "strobe_%s_%.*s%s", source, (int)(size - end), column,
			units[i].unit);
		snprintf(help, sizeof help, "Last sample of %s %s.", source, column);
		sb_exposition_add(e, name, "gauge", help, "", labels, value * units[i].factor);
		return;
	}
}

/* "core12_percent" -> 12; -1: none. */
static int core_of(const char *source, const char *column)
{
	int core = -1;

	if (strcmp(source, "cpu_core") || sscanf(column, "core%d_percent", &core) != 1)
		return -1;
	return core;
}

static void add_core(struct sb_exposition *e, const char *labels, int core, double value)
{
	struct sb_buf with = { 0 };
	char number[16];

	snprintf(number, sizeof number, "%d", core);
	sb_buf_puts(&with, labels);
	sb_exposition_label(&with, "core", number);
	sb_metrics_put(e, "strobe_cpu_core_usage_ratio", "", sb_buf_text(&with), value * 0.01);
	sb_buf_done(&with);
}

static void add_column(struct sb_exposition *e, const char *source, const char *column, const char *labels,
	double last, double max)
{
	int core = core_of(source, column);
	bool known = false;
	size_t count;
	const struct sb_exposed_metric *m = sb_metrics_table(&count);

	if (core >= 0) {
		add_core(e, labels, core, last);
		return;
	}
	if (!strcmp(source,
		    "gpu_pm")) /* half a millisecond each: the last one says nothing of the time since the last scrape */
		return;
	for (; count--; m++) {
		if (!m->source || !m->column || strcmp(m->source, source) || strcmp(m->column, column))
			continue;
		known = true;
		sb_exposition_add(
			e, m->name, m->type, m->help, "", labels, (m->highest ? max : last) * m->factor);
	}
	if (!known)
		put_unknown(e, source, column, labels, last);
}

/* Two processes may sample the same thing: the first one's word counts. */
static bool is_taken(
	const struct sb_metrics_run *run, size_t tally, size_t series, const char *source, int device)
{
	for (size_t t = 0; t <= tally; t++) {
		const struct sb_tally *other = run->tallies[t];

		for (size_t i = 0; i < (t < tally ? other->series.count : series); i++) {
			const struct sb_tally_series *s = (struct sb_tally_series *)other->series.items + i;

			if (s->device == device && !strcmp(sb_tally_name(other, s->source), source))
				return true;
		}
	}
	return false;
}

static void add_series(
	struct sb_exposition *e, const struct sb_metrics_run *run, size_t tally, const char *base)
{
	const struct sb_tally *t = run->tallies[tally];

	for (size_t i = 0; i < t->series.count; i++) {
		const struct sb_tally_series *s = (struct sb_tally_series *)t->series.items + i;
		const char *source = sb_tally_name(t, s->source);
		struct sb_buf labels = { 0 };
		char device[16];

		if (is_taken(run, tally, i, source, s->device))
			continue;
		sb_buf_puts(&labels, base);
		snprintf(device, sizeof device, "%d", s->device);
		if (s->device >= 0)
			sb_exposition_label(&labels, "device", device);
		for (uint32_t c = 0; c < s->column_count; c++)
			add_column(e, source, sb_column_name(sb_tally_name(t, s->columns[c])),
				sb_buf_text(&labels), s->last[c], s->max[c]);
		sb_buf_done(&labels);
	}
}

/* ---- by name: caches, GPU spans ---- */

struct by_name {
	struct sb_strings names;
	double (*sums)[3];
	size_t room;
};

static double *sums_of(struct by_name *b, const char *name)
{
	uint32_t number = sb_strings_add(&b->names, *name ? name : "(unnamed)", *name ? strlen(name) : 9);

	if (number >= b->room) {
		size_t room = 2 * ((size_t)number + 8);
		double(*more)[3] = realloc(b->sums, room * sizeof *more);

		if (!more)
			return NULL;
		memset(more + b->room, 0, (room - b->room) * sizeof *more);
		b->sums = more;
		b->room = room;
	}
	return b->sums[number];
}

static void put_by_name(struct sb_exposition *e, struct by_name *b, const char *base, const char *label,
	const char *const *metrics, size_t metric_count)
{
	for (uint32_t i = 1; i < b->names.count; i++) {
		struct sb_buf labels = { 0 };

		sb_buf_puts(&labels, base);
		sb_exposition_label(&labels, label, sb_strings_text(&b->names, i));
		for (size_t m = 0; m < metric_count; m++)
			sb_metrics_put(e, metrics[m], "", sb_buf_text(&labels), b->sums[i][m]);
		sb_buf_done(&labels);
	}
	sb_strings_done(&b->names);
	free(b->sums);
}

static void add_caches(struct sb_exposition *e, const struct sb_metrics_run *run, const char *base)
{
	static const char *const metrics[] = { "strobe_cache_hits_total", "strobe_cache_misses_total",
		"strobe_cache_evictions_total" };
	struct by_name b = { 0 };

	for (size_t i = 0; i < run->tally_count; i++)
		for (size_t k = 0; k < run->tallies[i]->caches.count; k++) {
			const struct sb_tally_cache *c =
				(struct sb_tally_cache *)run->tallies[i]->caches.items + k;
			double *sums = sums_of(&b, sb_tally_name(run->tallies[i], c->name));

			if (!sums)
				continue;
			sums[0] += (double)c->hits;
			sums[1] += (double)c->misses;
			sums[2] += (double)c->evictions;
		}
	put_by_name(e, &b, base, "cache", metrics, 3);
}

static void add_gpu_spans(struct sb_exposition *e, const struct sb_metrics_run *run, const char *base)
{
	static const char *const metrics[] = { "strobe_stage_gpu_span_seconds_total" };
	struct by_name b = { 0 };

	for (size_t i = 0; i < run->tally_count; i++)
		for (size_t k = 0; k < run->tallies[i]->gpus.count && b.names.count <= run->stages_max; k++) {
			const struct sb_tally_gpu *g = (struct sb_tally_gpu *)run->tallies[i]->gpus.items + k;
			double *sums = sums_of(&b, sb_tally_name(run->tallies[i], g->name));

			if (sums)
				sums[0] += (double)g->span_ns / 1e9;
		}
	put_by_name(e, &b, base, "stage", metrics, 1);
}

/* ---- the run itself ---- */

static void add_known(double *sum, double value)
{
	if (value >= 0)
		*sum = (isnan(*sum) ? 0 : *sum) + value;
}

static void add_numbers(struct sb_exposition *e, const struct sb_metrics_run *run, const char *base)
{
	double zones = 0, generations = 0, iterations = 0, steps = 0, blocks = 0, attributed_s = 0;
	double frames = NAN, dropped = NAN, streamed = NAN;

	for (size_t i = 0; i < run->tally_count; i++) {
		const struct sb_tally *t = run->tallies[i];

		zones += (double)t->zones;
		generations += (double)t->generations;
		iterations += (double)t->iterations;
		steps += (double)t->steps;
		blocks += (double)t->blocks;
		attributed_s += (double)t->attributed_ns / 1e9;
		add_known(&frames, (double)sb_tally_frames(t));
		add_known(&dropped, (double)t->frames_dropped);
		add_known(&streamed, (double)t->frames_streamed);
	}
	sb_metrics_put(e, "strobe_recording_zones_total", "", base, zones);
	sb_metrics_put(e, "strobe_generations_total", "", base, generations);
	sb_metrics_put(e, "strobe_iterations_total", "", base, iterations);
	sb_metrics_put(e, "strobe_steps_total", "", base, steps);
	sb_metrics_put(e, "strobe_blocks_total", "", base, blocks);
	sb_metrics_put(e, "strobe_run_attributed_seconds_total", "", base, attributed_s);
	sb_metrics_put(e, "strobe_frames_total", "", base, frames);
	sb_metrics_put(e, "strobe_frames_dropped_total", "", base, dropped);
	sb_metrics_put(e, "strobe_frames_streamed_total", "", base, streamed);
}

static void add_drops(struct sb_exposition *e, const struct sb_metrics_run *run, const char *base)
{
	uint64_t lost[SB_LOST_REASONS] = { 0 };
	bool any = false;

	for (size_t i = 0; i < run->tally_count; i++)
		for (uint32_t k = 0; k < SB_LOST_REASONS; k++)
			lost[k] += run->tallies[i]->lost[k] + sb_lost_count(&run->tallies[i]->head, k);
	for (uint32_t k = 0; k <= SB_LOST_REASONS; k++) {
		struct sb_buf labels = { 0 };

		if (k < SB_LOST_REASONS ? !lost[k] : any)
			continue;
		any = true;
		sb_buf_puts(&labels, base);
		sb_exposition_label(&labels, "reason",
			k < SB_LOST_REASONS ? sb_lost_key((enum sb_lost_reason)k) : "none");
		sb_metrics_put(e, "strobe_recording_dropped_total", "", sb_buf_text(&labels),
			k < SB_LOST_REASONS ? (double)lost[k] : 0);
		sb_buf_done(&labels);
	}
}

static void put_base(const struct sb_metrics_run *run, struct sb_buf *out)
{
	char number[16];

	sb_exposition_label(out, "run", run->id);
	if (*run->job)
		sb_exposition_label(out, "job", run->job);
	if (run->rank >= 0) {
		snprintf(number, sizeof number, "%d", run->rank);
		sb_exposition_label(out, "rank", number);
	}
	if (run->world_size > 0) {
		snprintf(number, sizeof number, "%d", run->world_size);
		sb_exposition_label(out, "world_size", number);
	}
}

static void add_run(struct sb_exposition *e, const struct sb_metrics_run *run, const char *base)
{
	struct sb_buf info = { 0 };

	sb_metrics_put(e, "strobe_run_live", "", base, 1);
	sb_metrics_put(e, "strobe_run_readable", "", base, run->readable);
	sb_metrics_put(e, "strobe_run_processes", "", base, (double)run->tally_count);
	sb_metrics_put(e, "strobe_run_start_time_seconds", "", base, (double)run->start_real_ns / 1e9);
	sb_metrics_put(e, "strobe_run_seen_time_seconds", "", base,
		run->seen_real_ns ? (double)run->seen_real_ns / 1e9 : NAN);
	sb_metrics_put(e, "strobe_recording_bytes", "", base, (double)run->bytes);
	sb_metrics_put(e, "strobe_recording_cpu_seconds_total", "", base, (double)run->own_cpu_ns / 1e9);
	sb_buf_puts(&info, base);
	sb_exposition_label(&info, "name", run->name);
	sb_exposition_label(&info, "host", run->host);
	sb_metrics_put(e, "strobe_run_info", "", sb_buf_text(&info), 1);
	sb_buf_done(&info);
}

void sb_metrics_add(struct sb_exposition *e, const struct sb_metrics_run *run)
{
	struct sb_buf base = { 0 };

	put_base(run, &base);
	add_run(e, run, sb_buf_text(&base));
	if (run->tally_count) {
		add_numbers(e, run, sb_buf_text(&base));
		add_drops(e, run, sb_buf_text(&base));
		sb_metrics_add_stages(e, run, sb_buf_text(&base));
		add_gpu_spans(e, run, sb_buf_text(&base));
		add_caches(e, run, sb_buf_text(&base));
	}
	for (size_t i = 0; i < run->tally_count; i++)
		add_series(e, run, i, sb_buf_text(&base));
	e->failed |= sb_buf_failed(&base);
	sb_buf_done(&base);
}
