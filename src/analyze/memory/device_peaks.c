/* The peaks of the memory panel, of GPUs of which the driver says what the run's processes held: as the pictures and the stages'
 * residency have them. Where the program takes snapshots itself, the allocator's word in them stands. */
#include "analyze/memory/memory.h"
#include "analyze/memory/residency.h"

#include "base/memory_units.h"

#include <stdlib.h>
#include <string.h>

#define AFTER_S 0.3 /* a reading after a sample may be the first to say what rose before it */

const struct sb_memory_picture *sb_residency_picture(const struct sb_model *m, int64_t device)
{
	for (size_t i = 0; i < m->memory_pictures.count; i++) {
		const struct sb_memory_picture *p = &m->memory_pictures.all[i];

		if (p->device == device && !p->by_line && !p->by_stage)
			return p;
	}
	return NULL;
}

const struct sb_memory_picture *sb_residency_highest_picture(const struct sb_model *m)
{
	const struct sb_memory_picture *found = NULL;

	for (size_t i = 0; i < m->series_count; i++) {
		const struct sb_series *s = &m->series[i];
		const struct sb_memory_picture *p = sb_residency_is_used_gpu(s)
							    ? sb_residency_picture(m, s->device)
							    : NULL;

		if (p && p->sum_mb && (!found || p->sum_mb[p->peak] > found->sum_mb[found->peak]))
			found = p;
	}
	return found;
}

static void peak_of_run(struct sb_residency_collected *c, const struct sb_series *s)
{
	const struct sb_memory_picture *p = sb_residency_picture(c->model, s->device);
	const struct sb_series_column *total = sb_series_column_find(s, "memory_total_mb");
	struct sb_memory_panel *panel = &c->model->memory;
	const struct sb_device_reading *most;
	struct sb_device_values v;

	if (!p)
		return;
	v = sb_residency_device_at(c, s, p->t_s[p->peak]);
	if (isnan(v.process) || v.process <= panel->peak_bytes)
		return;
	panel->peak_bytes = v.process;
	panel->peak_used_bytes = v.used;
	panel->peak_t_s = p->t_s[p->peak];
	panel->peak_stage = *p->stages[p->peak] ? p->stages[p->peak] : NULL;
	panel->peak_source = "process";
	panel->peak_device = s->device;
	panel->device_total_bytes = total ? total->stats.max * SB_MB : NAN;
	most = sb_residency_most(c, (int)s->device);
	if (!most)
		return;
	panel->tensors_peak_bytes = most->most;
	panel->tensors_peak_t_s = sb_residency_most_at(most);
	panel->tensors_peak_stage = most->raised_in == SB_NO_STAGE
					    ? NULL
					    : sb_model_text(c->model, c->run->names[most->raised_in].text);
}

double sb_residency_device_edge(
	const struct sb_residency_collected *c, const struct sb_series *s, double begin_s, double end_s)
{
	double begin = sb_residency_device_at(c, s, begin_s).used,
	       end = sb_residency_device_at(c, s, end_s).used;

	if (isnan(begin) || isnan(end))
		return isnan(begin) ? (isnan(end) ? NAN : end_s) : begin_s;
	return begin > end ? begin_s : end_s;
}

/* Of the calls in a time; NAN: nothing is known of it. */
static double peak_within(const struct sb_residency_collected *c, const struct sb_series *s,
	const struct sb_stage_calls *calls, double from_s, double to_s)
{
	double begin_s, end_s, at_s;

	if (!sb_stage_calls_within(calls, from_s, to_s, &begin_s, &end_s))
		return NAN;
	if (!sb_residency_device_peak(c, s, calls, begin_s, end_s, &at_s))
		at_s = sb_residency_device_edge(c, s, begin_s, end_s);
	return isnan(at_s) ? NAN : sb_residency_device_at(c, s, at_s).process;
}

/* After the generation with the highest peak an allocator may keep what it has taken: calls before its end tell more of a stage,
 * later ones only of a stage that has no others. False: no memory. */
static bool peak_of_stage(const struct sb_residency_collected *c, const struct sb_series *s,
	struct sb_memory_stage *row, double from_s, double to_s)
{
	struct sb_stage_calls calls;
	double begin_s, end_s, bytes = NAN;
	bool known = sb_stage_calls_init(&calls, c, row->stage);

	if (known) {
		bytes = peak_within(c, s, &calls, from_s, to_s);
		bytes = isnan(bytes) ? peak_within(c, s, &calls, -INFINITY, to_s) : bytes;
		if (!sb_stage_calls_within(&calls, -INFINITY, to_s, &begin_s, &end_s))
			bytes = peak_within(c, s, &calls, to_s, INFINITY);
	}
	if (!isnan(bytes) && !(bytes <= row->peak_bytes))
		row->peak_bytes = bytes;
	sb_stage_calls_done(&calls);
	return known;
}

static bool any_used(const struct sb_model *m)
{
	for (size_t i = 0; i < m->series_count; i++)
		if (sb_residency_is_used_gpu(&m->series[i]))
			return true;
	return false;
}

/* A stage too short for the driver's samples has the allocator's readings. */
static void add_short_stages(struct sb_residency_collected *c)
{
	const struct sb_device_reading *all = c->readings.items;

	for (size_t i = 0; i < c->readings.count; i++)
		if (all[i].raised_in != SB_NO_STAGE)
			sb_memory_stage_row(c->model, c->run->names[all[i].raised_in].text);
}

/* The steepest rise lies between two samples. Of the readings of that time, and shortly after it, the one that grew most says
 * which stage it was. */
static void find_spike_stage(struct sb_residency_collected *c, const struct sb_series *s)
{
	struct sb_memory_panel *panel = &c->model->memory;
	const struct sb_device_reading *all = c->readings.items, *most = NULL;
	double from_s = -INFINITY, grown, least = panel->spike_bytes / 2;

	for (size_t i = 0; i < s->count && s->t_s[i] < panel->spike_t_s; i++)
		from_s = s->t_s[i];
	for (size_t i = 0; i < c->readings.count; i++) { /* by device, then by time */
		double t_s = (double)all[i].t_ns / 1e9;

		if (all[i].device != s->device || t_s < from_s || t_s > panel->spike_t_s + AFTER_S)
			continue;
		grown = all[i].reserved - (all[i].before < 0 ? 0 : all[all[i].before].reserved);
		if (grown > least) {
			least = grown;
			most = &all[i];
		}
	}
	if (most)
		panel->spike_stage = most->raised_in == SB_NO_STAGE
					     ? NULL
					     : sb_model_text(c->model, c->run->names[most->raised_in].text);
	/* the peak lies between the two samples: memory rose to it */
	if (panel->peak_device == s->device && panel->peak_t_s > from_s && panel->peak_t_s < panel->spike_t_s)
		panel->spike_t_s = panel->peak_t_s;
}

static struct sb_memory_stage *row_of(struct sb_memory_panel *panel, const char *stage)
{
	for (size_t i = 0; i < panel->stage_count; i++)
		if (!strcmp(panel->stages[i].stage, stage))
			return &panel->stages[i];
	return NULL;
}

/* NULL: the name has several places. */
static const struct sb_stage *only_stage(const struct sb_model *m, const char *name)
{
	const struct sb_stage *found = NULL;

	for (size_t i = 0; i < m->stages.stage_count; i++) {
		if (strcmp(m->stages.stages[i].name, name) != 0)
			continue;
		if (found)
			return NULL;
		found = &m->stages.stages[i];
	}
	return found;
}

/* What was held in a stage was held in those around it, of which it was another reading that counted. */
static void raise_parents(struct sb_model *m)
{
	for (size_t i = 0; i < m->memory.stage_count; i++) {
		const struct sb_stage *stage = only_stage(m, m->memory.stages[i].stage);
		double peak = m->memory.stages[i].peak_bytes;

		while (stage && stage->parent >= 0) {
			struct sb_memory_stage *row;

			stage = &m->stages.stages[stage->parent];
			row = row_of(&m->memory, stage->name);
			if (row && row->peak_bytes < peak)
				row->peak_bytes = peak;
		}
	}
}

/* Of stages with the same peak, the one that made it comes first: after it the allocator kept the memory. */
static void put_peak_first(struct sb_memory_panel *panel)
{
	size_t at = 0;

	while (at < panel->stage_count && panel->peak_stage &&
		strcmp(panel->stages[at].stage, panel->peak_stage) != 0)
		at++;
	if (panel->peak_stage && at < panel->stage_count &&
		panel->stages[at].peak_bytes >= panel->stages[0].peak_bytes) {
		struct sb_memory_stage row = panel->stages[at];

		memmove(panel->stages + 1, panel->stages, at * sizeof row);
		panel->stages[0] = row;
	}
}

/* The number, from 1, of the one that begins at a time; 0: none does. */
static int64_t generation_from(const struct sb_model *m, double from_s)
{
	for (size_t i = 0; i < m->generations.count; i++)
		if (fabs(m->generations.all[i].begin_s - from_s) < 1e-6)
			return (int64_t)i + 1;
	return 0;
}

bool sb_residency_device_peaks(struct sb_residency_collected *c, double from_s, double to_s)
{
	struct sb_memory_panel *panel = &c->model->memory, sampled = *panel;
	double *of_samples = NULL;
	bool known = true;

	if (!panel->peak_source || !strcmp(panel->peak_source, "allocated") || !any_used(c->model))
		return true;
	panel->peak_bytes = NAN;
	panel->stages_generation = c->model->generations.count > 1 ? generation_from(c->model, from_s) : 0;
	add_short_stages(c);
	of_samples = malloc((panel->stage_count + 1) * sizeof *of_samples);
	if (!of_samples)
		return false;
	for (size_t i = 0; i < panel->stage_count; i++) {
		of_samples[i] = panel->stages[i].peak_bytes;
		panel->stages[i].peak_bytes = NAN;
	}
	for (size_t i = 0; i < c->model->series_count && known; i++) {
		const struct sb_series *s = &c->model->series[i];

		if (!sb_residency_is_used_gpu(s))
			continue;
		peak_of_run(c, s);
		if (s->device == sampled.peak_device && !isnan(panel->spike_bytes))
			find_spike_stage(c, s);
		for (size_t k = 0; k < panel->stage_count && known; k++)
			known = peak_of_stage(c, s, &panel->stages[k], from_s, to_s);
	}
	/* too few moments for a picture, or none at the highest sample */
	if (isnan(panel->peak_bytes) ||
		(!strcmp(sampled.peak_source, "process") && sampled.peak_bytes > panel->peak_bytes))
		panel->peak_bytes = sampled.peak_bytes;
	for (size_t i = 0; i < panel->stage_count; i++)
		if (isnan(panel->stages[i].peak_bytes)) /* around the generations, or on another GPU */
			panel->stages[i].peak_bytes = of_samples[i];
	free(of_samples);
	raise_parents(c->model);
	sb_memory_stages_judge(panel);
	put_peak_first(panel);
	return known;
}
