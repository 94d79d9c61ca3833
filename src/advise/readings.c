/* What people read out of a memory table, a timing table, a comparison of precisions, a GPU's load. One
 * function for each; it says nothing without its data. */
#include "advise/readings.h"

#include "base/memory_units.h"
#include "base/role.h"
#include "stats/seconds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define READINGS_MAX 16
#define GB (1024.0 * SB_MB)

static void add_text(struct sb_model *m, const char *panel, const char *id, bool good, const char *text)
{
	struct sb_readings_panel *r = &m->readings;

	if (r->count < READINGS_MAX && text)
		r->all[r->count++] = (struct sb_reading){ id, panel, text, good };
}
#define add(m, panel, id, good, ...) add_text(m, panel, id, good, sb_model_printf(m, __VA_ARGS__))

/* ---- memory ---------------------------------------------------------------- */

/* The snapshot that first saw the run's highest peak. */
static const struct sb_memory_snapshot *peak_snapshot(const struct sb_memory_panel *m)
{
	const struct sb_memory_snapshot *best = NULL;

	for (size_t i = 0; i < m->snapshot_count; i++)
		if (m->snapshots[i].peak_bytes > (best ? best->peak_bytes : 0))
			best = &m->snapshots[i];
	return best;
}

static void read_peak(struct sb_model *m)
{
	const struct sb_memory_snapshot *peak = peak_snapshot(&m->memory);

	if (peak && m->memory.snapshot_count > 1 && peak->peak_bytes >= GB)
		add(m, "memory", "memory_peak", false, "The memory peak is %.1f GB, reached at '%s'",
			peak->peak_bytes / GB, peak->label);
}

#define OFFLOADED 0.25 /* or less of the peak is left */
#define KEPT 0.8

static void read_offloading(struct sb_model *m)
{
	const struct sb_memory_snapshot *peak = peak_snapshot(&m->memory), *last;
	double left;

	if (!peak || peak->device < 0 || m->memory.snapshot_count < 3 || peak->peak_bytes < GB)
		return;
	last = &m->memory.snapshots[m->memory.snapshot_count - 1];
	left = last->allocated_bytes / peak->peak_bytes;
	if (last <= peak || isnan(left))
		return;
	if (left <= OFFLOADED)
		add(m, "memory", "offloading_works", true,
			"Memory falls from %.1f GB to %.1f GB at '%s': offloading works",
			peak->peak_bytes / GB, last->allocated_bytes / GB, last->label);
	else if (left >= KEPT)
		add(m, "memory", "nothing_offloaded", false,
			"%.1f GB of the peak of %.1f GB are still there at '%s': nothing is offloaded",
			last->allocated_bytes / GB, peak->peak_bytes / GB, last->label);
}

/* The allocator reserves much more than before, and uses less of it than it took. */
static void read_reserved(struct sb_model *m)
{
	const struct sb_memory_panel *p = &m->memory;
	const struct sb_memory_snapshot *low = NULL, *high = NULL;

	for (size_t i = 1; i < p->snapshot_count; i++) {
		const struct sb_memory_snapshot *from = &p->snapshots[i - 1], *to = &p->snapshots[i];

		if (from->device == to->device && to->device >= 0 &&
			to->reserved_bytes - from->reserved_bytes >
				(high ? high->reserved_bytes - low->reserved_bytes : 0)) {
			low = from;
			high = to;
		}
	}
	if (high && high->reserved_bytes - low->reserved_bytes >= 4 * GB &&
		high->reserved_bytes >= high->allocated_bytes + GB)
		add(m, "memory", "reserved_jump", false,
			"Reserved memory jumps from %.1f to %.1f GB at '%s', %.1f GB of it unused: "
			"fragmentation",
			low->reserved_bytes / GB, high->reserved_bytes / GB, high->label,
			(high->reserved_bytes - high->allocated_bytes) / GB);
}

/* ---- stages ---------------------------------------------------------------- */

static const struct sb_stage *largest(const struct sb_model *m)
{
	return m->stages.stage_count ? &m->stages.stages[m->stages.by_total[0]] : NULL;
}

static bool is_plain(const struct sb_stage *s)
{
	return s->state == SB_STAGE_NORMAL && !s->setup && s->count > 0 && s->role != STROBE_ROLE_GENERATION;
}

#define RARE_CALLS 3
#define OFTEN 50
#define SHORT_S 0.1
#define ALIKE 2 /* times the median: a larger mean comes from some slow calls, of which this is no praise */

/* Slow, but called so rarely that keeping its result helps enough. */
static void read_seldom(struct sb_model *m, const struct sb_stage *s, const struct sb_stage *most)
{
	if (s != most && s->count > 1 && s->count <= RARE_CALLS && s->time.mean > 1 && s->wall_ratio > 0.05 &&
		sb_role_work(s->name, s->role) == STROBE_ROLE_TEXT_ENCODE)
		add(m, "stages", "slow_but_seldom", false,
			"'%s' is slow (%.2f s a call) but runs only %lld times: keep its results", s->name,
			s->time.mean, (long long)s->count);
}

/* It or a stage inside it is what most time goes to. */
static bool has_bottleneck(const struct sb_model *m, const struct sb_stage *s)
{
	const struct sb_stage *end = m->stages.stages + m->stages.stage_count, *part = s;

	do {
		if (part->bottleneck_level != SB_BOTTLENECK_NONE)
			return true;
	} while (++part < end && part->depth > s->depth);
	return false;
}

/* Many short calls: together they are worth the work, or do not add up to much beside the largest stage. */
static void read_often(struct sb_model *m, const struct sb_stage *s, const struct sb_stage *most)
{
	char each[32], all[32];

	sb_text_seconds(each, sizeof each, s->time.mean);
	sb_text_seconds(all, sizeof all, s->total_s);
	if (s->count >= 10 * OFTEN && s->time.mean < 0.01 && s->wall_ratio >= 0.1 && !s->child_count)
		add(m, "stages", "small_calls_add_up", false,
			"'%s' takes only %s a call, but %lld calls are %s: worth optimising", s->name, each,
			(long long)s->count, all);
	else if (s != most && s->count >= OFTEN && s->time.mean < SHORT_S && s->wall_ratio > 0.02 &&
		 s->wall_ratio < most->wall_ratio / 3 && !has_bottleneck(m, s) &&
		 !(s->time.mean > ALIKE * s->time.median))
		add(m, "stages", "fast_enough", true,
			"'%s' takes %s a call, %.1f %% of the time in %lld calls: fast enough for now",
			s->name, each, s->wall_ratio * 100, (long long)s->count);
}

static void read_stages(struct sb_model *m)
{
	const struct sb_stage *most = largest(m);

	for (size_t i = 0; most && i < m->stages.stage_count; i++)
		if (is_plain(&m->stages.stages[i])) {
			read_seldom(m, &m->stages.stages[i], most);
			read_often(m, &m->stages.stages[i], most);
		}
}

/* ---- models, GPU ----------------------------------------------------------- */

static void read_precision(struct sb_model *m)
{
	for (size_t i = 1; i < m->models.variant_count; i++) {
		const struct sb_variant *v = &m->models.variants[i];

		if (v->reading && v->speedup > 0)
			add(m, "layers", "precision", v->speedup >= 1.5, "%s is %.2f times as fast as %s: %s",
				v->name, v->speedup, m->models.variants[0].name, v->reading);
	}
}

/* "sdpa_overhead   +380s total": what a text itself names as the difference. */
static void read_differences(struct sb_model *m)
{
	for (size_t i = 0; i < m->events.count; i++) {
		const struct sb_event_row *e = &m->events.rows[i];

		for (size_t k = 0; k < e->attr_count; k++)
			if (!strcmp(e->attrs[k].key, "more_s") && e->attrs[k].type == STROBE_TYPE_FLOAT &&
				m->session.host && !strcmp(m->session.host, "imported"))
				add(m, "stages", "named_difference", false,
					"'%s' takes %.0f s more than before, as the text says", e->name,
					e->attrs[k].f);
	}
}

static double attr_of(const struct sb_event_row *e, const char *key)
{
	for (size_t k = 0; k < e->attr_count; k++)
		if (!strcmp(e->attrs[k].key, key) && e->attrs[k].type == STROBE_TYPE_FLOAT)
			return e->attrs[k].f;
	return NAN;
}

/* The last "Speed:" of a live display: "12.0 frames/s (36 so far), 4.0 blocks/s (12 so far)". */
static void read_speed(struct sb_model *m)
{
	static const struct {
		const char *rate, *count, *unit;
	} parts[] = { { "fps", "frames", "frames/s" }, { "bps", "blocks", "blocks/s" },
		{ "steps_per_s", "steps", "steps/s" } };
	const struct sb_event_row *last = NULL;
	char text[160] = "";
	int used = 0;

	for (size_t i = 0; m->session.host && !strcmp(m->session.host, "imported") && i < m->events.count;
		i++)
		if (!strcmp(m->events.rows[i].name, "speed"))
			last = &m->events.rows[i];
	for (size_t k = 0; last && k < sizeof parts / sizeof parts[0]; k++) {
		double rate = attr_of(last, parts[k].rate), count = attr_of(last, parts[k].count);

		if (!isnan(rate) && !isnan(count))
			used += snprintf(text + used, sizeof text - (size_t)used, "%s%.1f %s (%.0f so far)",
				used ? ", " : "", rate, parts[k].unit, count);
		if (used >= (int)sizeof text)
			return;
	}
	if (used)
		add(m, "video", "speed", false, "When it was displayed last: %s", text);
}

#define WELL_USED 80 /* percent */

/* Of its SMs those that worked, on average; NAN: not counted. */
static double sms_of(const struct sb_device *d)
{
	const struct sb_series_column *c = d->counters
						   ? sb_series_column_find(d->counters, "sm_active_percent")
						   : NULL;

	return c && c->stats.count ? c->stats.mean : NAN;
}

/* Utilisation counts the time in which any kernel ran: where it is known what limits, that speaks. */
static void read_gpus(struct sb_model *m)
{
	const char *bound = m->summary.bound;

	if (m->roofline.on_cpu || (bound && strcmp(bound, "GPU") != 0))
		return;
	for (size_t i = 0; i < m->devices.count; i++) {
		const struct sb_device *d = &m->devices.all[i];

		if (!d->used || !d->utilization_percent.count || d->utilization_percent.mean < WELL_USED)
			continue;
		if (sms_of(d) < SB_SMS_WORK)
			add(m, "metrics", "gpu_partly_used", false,
				"GPU %d runs kernels %.1f %% of the time, on %.1f %% of its SMs: they are "
				"too small "
				"to fill it (a larger batch, more frames at once or a compiler does)",
				d->index, d->utilization_percent.mean, sms_of(d));
		else
			add(m, "metrics", "gpu_well_used", true,
				"GPU %d is used %.1f %% of the time: it is the GPU that limits", d->index,
				d->utilization_percent.mean);
	}
}

void sb_readings_find(struct sb_model *m)
{
	m->readings.all = sb_model_alloc(m, READINGS_MAX * sizeof *m->readings.all);
	if (!m->readings.all)
		return;
	read_peak(m);
	read_offloading(m);
	read_reserved(m);
	read_stages(m);
	read_precision(m);
	read_differences(m);
	read_speed(m);
	read_gpus(m);
}
