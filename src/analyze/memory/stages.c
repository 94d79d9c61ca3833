/* Memory by stage: which stages made the peaks, where memory rose, and what stayed. */
#include "analyze/memory/collected.h"
#include "base/inorder.h"

#include "base/memory_units.h"
#include "base/role.h"
#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define STAGES_MOST 512
#define KEPT_RATIO 0.05
#define KEPT_BYTES (64 * SB_MB)
#define SPIKE_LEAST (16 * SB_MB) /* less is no spike */

/* ---- peaks -------------------------------------------------------------- */

static void raise(double *peak, double bytes)
{
	if (!isnan(bytes) && !(bytes <= *peak))
		*peak = bytes;
}

struct sb_memory_stage *sb_memory_stage_row(struct sb_model *model, const char *name)
{
	struct sb_memory_panel *panel = &model->memory;
	const struct sb_stage *stage;
	struct sb_memory_stage *row;

	for (size_t i = 0; i < panel->stage_count; i++) {
		if (strcmp(panel->stages[i].stage, name) == 0)
			return &panel->stages[i];
	}
	if (!panel->stages || panel->stage_count == STAGES_MOST)
		return NULL;
	stage = sb_model_stage(model, name);
	row = &panel->stages[panel->stage_count];
	row->stage = sb_model_text(model, name);
	row->peak_bytes = row->before_bytes = row->after_bytes = row->kept_bytes = NAN;
	row->count = stage ? sb_stage_calls(stage) : 1;
	if (!row->stage)
		return NULL;
	panel->stage_count++;
	return row;
}

/* The allocator's own maximum rises between two snapshots: the stage that fills
 * the time between them did it. */
static void peaks_from_snapshots(struct sb_memory_collected *m, struct sb_model *model)
{
	struct sb_memory_panel *panel = &model->memory;
	const struct sb_memory_reading *all = m->snapshots.items;

	for (size_t i = 0; i < m->snapshots.count; i++) {
		const struct sb_memory_reading *s = &all[i], *before = NULL;
		double bytes = sb_known_bytes(s->peak >= 0 ? s->peak : s->allocated);
		const struct sb_open_stage *stage;
		struct sb_memory_stage *row;

		if (s->device < 0 || isnan(bytes))
			continue;
		for (size_t k = i; k-- > 0 && !before;) {
			if (all[k].device == s->device)
				before = &all[k];
		}
		if (before && before->peak >= 0 && s->peak >= 0 && s->peak <= before->peak)
			bytes = sb_known_bytes(s->allocated); /* the maximum is older */
		stage = sb_open_stages_over(&m->stages, before ? before->t_ns : m->run->from_ns, s->t_ns);
		row = stage ? sb_memory_stage_row(model, sb_open_stage_name(m, stage)) : NULL;
		if (row)
			raise(&row->peak_bytes, bytes);
		raise(&panel->reserved_peak_bytes, sb_known_bytes(s->reserved));
		if (!isnan(bytes) && !(bytes <= panel->peak_bytes)) {
			panel->peak_bytes = bytes;
			panel->peak_t_s = (double)s->t_ns / 1e9;
			panel->peak_stage = sb_model_text(model, sb_open_stage_name(m, stage));
			panel->peak_source = "allocated";
			panel->peak_device = s->device;
		}
	}
}

/* A pipeline of which no stage used a GPU, beside other processes on this one. */
static bool is_others(const struct sb_model *model, const struct sb_series *s)
{
	const struct sb_series_column *others = sb_series_column_find(s, "other_process_count");

	for (size_t i = 0; i < model->stages.stage_count; i++)
		if (model->stages.stages[i].gpu_span_count > 0)
			return false;
	return !model->generations.whole_run && !model->gpu.present && others && others->stats.max > 0;
}

static const struct sb_series_column *vram_column(
	const struct sb_model *model, const struct sb_series *s, const char **out_source)
{
	const struct sb_series_column *c = sb_series_column_find(s, "process_memory_mb");

	*out_source = c && c->stats.max > 0 ? "process" : "device";
	if (c && c->stats.max > 0)
		return c;
	return is_others(model, s) ? NULL : sb_series_column_find(s, "memory_used_mb");
}

/* When a column was last known before a moment; the moment itself: it never was. */
static int64_t known_before(const struct sb_series *s, const struct sb_series_column *c, double t_s)
{
	double from_s = t_s;

	for (size_t i = 0; i < s->count && s->t_s[i] < t_s; i++)
		if (!isnan(c->values[i]))
			from_s = s->t_s[i];
	return (int64_t)(from_s * 1e9);
}

/* The generation around a moment, else the whole run. Its number, from 1; 0: there is one, or none around it. */
static int64_t generation_at(const struct sb_model *model, double t_s, double *out_begin_s, double *out_end_s)
{
	const struct sb_generations_panel *g = &model->generations;

	*out_begin_s = -INFINITY;
	*out_end_s = INFINITY;
	for (size_t i = 0; i < g->count && !g->whole_run; i++)
		if (g->all[i].begin_s <= t_s && g->all[i].begin_s + g->all[i].wall_s >= t_s) {
			*out_begin_s = g->all[i].begin_s;
			*out_end_s = g->all[i].begin_s + g->all[i].wall_s;
			return g->count > 1 ? (int64_t)i + 1 : 0;
		}
	return 0;
}

/* Memory that an allocator keeps stays on the device: after the generation with the highest peak, every stage would have it.
 * A stage that is called in that generation has its peak there, another one in any of its calls. */
static void stage_peaks_from_samples(struct sb_memory_collected *m, struct sb_model *model,
	const struct sb_series *s, const struct sb_series_column *c)
{
	const struct sb_open_stage *open = m->stages.all.items;
	struct sb_memory_panel *panel = &model->memory;
	double from_s, to_s, inside[STAGES_MOST], anywhere[STAGES_MOST];
	int64_t generation;

	generation = generation_at(model, c->max_t_s, &from_s, &to_s);
	if (!panel->stage_count || panel->stages_generation == generation)
		panel->stages_generation = generation;
	else /* of another GPU it is another one */
		panel->stages_generation = 0;
	for (size_t i = 0; i < STAGES_MOST; i++)
		inside[i] = anywhere[i] = NAN;
	for (size_t i = 0; i < m->stages.all.count; i++) {
		double begin_s = (double)open[i].begin_ns / 1e9, end_s = (double)open[i].end_ns / 1e9;
		double mb = sb_series_max(s, c, begin_s, end_s);
		struct sb_memory_stage *row =
			isnan(mb) ? NULL : sb_memory_stage_row(model, sb_open_stage_name(m, &open[i]));

		if (!row)
			continue;
		raise(&anywhere[row - model->memory.stages], mb * SB_MB);
		if (begin_s >= from_s && end_s <= to_s)
			raise(&inside[row - model->memory.stages], mb * SB_MB);
	}
	for (size_t i = 0; i < model->memory.stage_count; i++)
		raise(&model->memory.stages[i].peak_bytes, isnan(inside[i]) ? anywhere[i] : inside[i]);
}

/* Of a GPU of which the driver says what the run's processes held, device_peaks.c knows more. */
static void peaks_from_samples(
	struct sb_memory_collected *m, struct sb_model *model, const struct sb_series *s)
{
	struct sb_memory_panel *panel = &model->memory;
	bool by_snapshots = panel->peak_source && strcmp(panel->peak_source, "allocated") == 0;
	const struct sb_series_column *total = sb_series_column_find(s, "memory_total_mb"), *c;
	const char *source;

	c = vram_column(model, s, &source);
	if (!c)
		return;
	if (!by_snapshots)
		stage_peaks_from_samples(m, model, s, c);
	if (total && (!by_snapshots || panel->peak_device == s->device))
		panel->device_total_bytes = total->stats.max * SB_MB;
	if (by_snapshots || c->stats.max * SB_MB <= panel->peak_bytes)
		return;
	panel->peak_bytes = c->stats.max * SB_MB;
	panel->peak_t_s = c->max_t_s;
	panel->peak_source = source;
	panel->peak_device = s->device;
	panel->peak_stage = sb_model_text(
		model, sb_open_stage_name(m, sb_open_stages_rose(&m->stages, known_before(s, c, c->max_t_s),
						     (int64_t)(c->max_t_s * 1e9))));
}

/* ---- spike -------------------------------------------------------------- */

#define OTHERS_MOST_MB 64 /* of the device's memory, the driver's with it */

/* Of a device that the run has to itself; NULL: others hold memory on it, or it is not known. */
static const struct sb_series_column *used_alone(const struct sb_series *s, const struct sb_series_column *c)
{
	const struct sb_series_column *used = sb_series_column_find(s, "memory_used_mb");

	for (size_t i = 0; used && i < s->count; i++)
		if (!isnan(c->values[i]) && used->values[i] - c->values[i] > OTHERS_MOST_MB)
			return NULL;
	return used;
}

/* What the run's processes hold is not known while it changes: the whole device's is. */
static double rise_before(const struct sb_series_column *c, const struct sb_series_column *used, size_t i)
{
	if (used && (isnan(c->values[i]) || isnan(c->values[i - 1])))
		c = used;
	return (c->values[i] - c->values[i - 1]) * SB_MB;
}

static void find_spike(struct sb_memory_collected *m, struct sb_model *model)
{
	struct sb_memory_panel *panel = &model->memory;
	const struct sb_series *s = sb_model_series(model, "gpu", panel->peak_device);
	const char *source;
	const struct sb_series_column *c = s ? vram_column(model, s, &source) : NULL;
	const struct sb_series_column *used = c ? used_alone(s, c) : NULL;
	double from_s = NAN;

	/* one after the other, and over ranks not even that: no rise in time */
	if (c && sb_run_meta_find(m->run, SB_META_RUN, SB_RUN_NO_TIMES)) {
		panel->spike_bytes = panel->spike_t_s = NAN;
		return;
	}

	for (size_t i = 1; c && i < s->count; i++) {
		double rise = rise_before(c, used, i);

		if (isnan(rise) || rise <= 0 || rise <= panel->spike_bytes)
			continue;
		panel->spike_bytes = rise;
		panel->spike_t_s = s->t_s[i];
		from_s = s->t_s[i - 1];
	}
	for (size_t i = 1; !c && i < panel->snapshot_count; i++) {
		double rise = panel->snapshots[i].allocated_bytes - panel->snapshots[i - 1].allocated_bytes;

		if (isnan(rise) || rise <= 0 || rise <= panel->spike_bytes ||
			panel->snapshots[i].device != panel->snapshots[i - 1].device)
			continue;
		panel->spike_bytes = rise;
		panel->spike_t_s = panel->snapshots[i].t_s;
		from_s = panel->snapshots[i - 1].t_s;
	}
	if (!(panel->spike_bytes >= SPIKE_LEAST)) {
		panel->spike_bytes = panel->spike_t_s = NAN;
		return;
	}
	panel->spike_stage = sb_model_text(
		model, sb_open_stage_name(m, sb_open_stages_rose(&m->stages, (int64_t)(from_s * 1e9),
						     (int64_t)(panel->spike_t_s * 1e9))));
}

/* ---- freed after the stage? --------------------------------------------- */

static int by_level(const void *a, const void *b)
{
	const struct sb_open_stage *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* The first reading at or after a time. */
static size_t reading_index(const struct sb_memory_collected *m, int64_t t_ns)
{
	const struct sb_memory_reading *all = m->readings.items;

	return m->readings.count ? sb_first_from(&all->t_ns, sizeof *all, m->readings.count, t_ns) : 0;
}

/* An allocator's first reading in [from, to] in the process of that stage; NULL: none. */
static const struct sb_memory_reading *first_reading(
	const struct sb_memory_collected *m, const struct sb_open_stage *of, int64_t from_ns, int64_t to_ns)
{
	const struct sb_memory_reading *all = m->readings.items;

	for (size_t i = reading_index(m, from_ns); i < m->readings.count && all[i].t_ns <= to_ns; i++)
		if (all[i].process == m->run->tracks[of->track].process)
			return &all[i];
	return NULL;
}

static const struct sb_memory_reading *last_reading(
	const struct sb_memory_collected *m, const struct sb_open_stage *of, int64_t from_ns, int64_t to_ns)
{
	const struct sb_memory_reading *all = m->readings.items;

	for (size_t i = reading_index(m, to_ns + 1); i-- > 0 && all[i].t_ns >= from_ns;)
		if (all[i].process == m->run->tracks[of->track].process)
			return &all[i];
	return NULL;
}

/* What the stages after it need is given back when the generation ends. */
static bool is_let_go(const struct sb_memory_collected *m, const struct sb_model *model,
	const struct sb_open_stage *of, const struct sb_memory_stage *row)
{
	const struct sb_generations_panel *g = &model->generations;
	double begin_s = (double)of->begin_ns / 1e9, end_s = (double)of->end_ns / 1e9;

	for (size_t i = 0; i < g->count && !g->whole_run; i++) {
		double until_s = g->all[i].begin_s + g->all[i].wall_s;
		const struct sb_memory_reading *after;

		if (g->all[i].begin_s > begin_s || until_s < end_s)
			continue;
		after = first_reading(m, of, (int64_t)(until_s * 1e9), m->run->to_ns);
		return after && (double)after->allocated < row->before_bytes + row->kept_bytes / 2;
	}
	return false;
}

static bool side_by_side(const struct sb_open_stage *a, const struct sb_open_stage *b)
{
	return a->track == b->track && a->depth == b->depth;
}

static bool is_freed(const struct sb_memory_stage *row)
{
	return row->kept_bytes <= KEPT_BYTES || row->kept_bytes <= row->peak_bytes * KEPT_RATIO;
}

/* A reading counts only when no neighbouring stage lies between it and the
 * stage: else the neighbour's memory would be put down to it. */
static void check_freed(struct sb_memory_collected *m, struct sb_model *model)
{
	struct sb_open_stage *open = m->stages.all.items;
	size_t count = m->stages.all.count;

	if (!m->readings.count || !count)
		return;
	qsort(open, count, sizeof *open, by_level);
	m->stages.sorted = false;
	for (size_t i = count; i-- > 0;) { /* the last call counts */
		const struct sb_open_stage *left = i && side_by_side(&open[i - 1], &open[i]) ? &open[i - 1]
											     : NULL;
		const struct sb_open_stage *right = i + 1 < count && side_by_side(&open[i + 1], &open[i])
							    ? &open[i + 1]
							    : NULL;
		const struct sb_memory_reading *before = last_reading(
			m, &open[i], left ? left->end_ns : m->run->from_ns, open[i].begin_ns);
		const struct sb_memory_reading *after = first_reading(
			m, &open[i], open[i].end_ns, right ? right->begin_ns : m->run->to_ns);
		struct sb_memory_stage *row;

		if (!before || !after || before->device != after->device)
			continue;
		row = sb_memory_stage_row(model, sb_open_stage_name(m, &open[i]));
		if (!row || row->checked)
			continue;
		row->before_bytes = (double)before->allocated;
		row->after_bytes = (double)after->allocated;
		row->kept_bytes = row->after_bytes - row->before_bytes;
		row->checked = true;
		row->freed = is_freed(row);
		row->holds = sb_role_work(row->stage, open[i].role) == STROBE_ROLE_LOAD;
		row->let_go = !row->freed && is_let_go(m, model, &open[i], row);
	}
}

static int largest_first(const void *a, const void *b)
{
	const struct sb_memory_stage *x = a, *y = b;
	double p = isnan(x->peak_bytes) ? -1 : x->peak_bytes, q = isnan(y->peak_bytes) ? -1 : y->peak_bytes;

	return p > q ? -1 : p < q;
}

void sb_memory_stages_judge(struct sb_memory_panel *panel)
{
	for (size_t i = 0; i < panel->stage_count; i++)
		panel->stages[i].freed = panel->stages[i].checked && is_freed(&panel->stages[i]);
	if (panel->stage_count)
		qsort(panel->stages, panel->stage_count, sizeof *panel->stages, largest_first);
}

void sb_memory_stages_fill(struct sb_memory_collected *m, struct sb_model *model)
{
	struct sb_memory_panel *panel = &model->memory;

	panel->stages = sb_model_alloc(model, STAGES_MOST * sizeof *panel->stages);
	if (!panel->stages)
		return;
	peaks_from_snapshots(m, model);
	for (size_t i = 0; i < model->series_count; i++) {
		if (strcmp(model->series[i].source, "gpu") == 0)
			peaks_from_samples(m, model, &model->series[i]);
	}
	check_freed(m, model);
	find_spike(m, model);
	sb_memory_stages_judge(panel);
}
