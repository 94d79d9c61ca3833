/* residency: what memory held at the begin, the peak and the end of each stage of one whole generation, that with the highest
 * peak of tensors on a GPU, else of memory on it, else the last; where there is none, but the program has listed its models or a
 * GPU's allocator was read, of each outermost stage of the run.
 *
 * From what is there anyway: the weights of modules, which the program's process lists after a generation, readings of its
 * allocator, and the monitors' samples. Nothing is traced. */
#include "analyze/memory/residency.h"
#include "analyze/memory/residents.h"

#include "base/error.h"
#include "base/memory_units.h"
#include "base/role.h"
#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define STAGES                                                                                        \
	(SB_STAGE_ROLES | 1u << STROBE_ROLE_STEP | 1u << STROBE_ROLE_BLOCK | 1u << STROBE_ROLE_LOAD | \
		1u << STROBE_ROLE_OFFLOAD)
#define NAMED (1u << STROBE_ROLE_FORWARD | 1u << STROBE_ROLE_COMPILE | 1u << STROBE_ROLE_WARMUP)
#define CACHES_MOST 4096u
#define STAGES_MOST 16u
#define PARTS_MOST 40u
#define DEVICES_MOST 8

struct span { /* what lies in it, at this depth, are the stages */
	int64_t begin_ns, end_ns;
	uint32_t track, depth;
};

struct stage {
	const char *name;
	double begin_s, end_s; /* of its first and last call */
};

/* ---- collecting ---- */

static const struct sb_run_attr *attr(const struct sb_event *e, const char *key, enum strobe_type type)
{
	const struct sb_run_attr *a = sb_attr_find(e->attrs, e->attr_count, key);

	return a && a->type == type ? a : NULL;
}

static void see_cache(struct sb_residency_collected *c, const struct sb_event *e)
{
	const struct sb_run_attr *at = attr(e, "at", STROBE_TYPE_STRING),
				 *component = attr(e, "component", STROBE_TYPE_STRING),
				 *bytes = attr(e, "bytes", STROBE_TYPE_INT),
				 *device = attr(e, "device", STROBE_TYPE_INT);
	struct sb_cache *cache;

	if (!at || strcmp(at->s, "cache") != 0 || !component || c->caches.count == CACHES_MOST)
		return;
	cache = sb_vec_push(&c->caches, sizeof *cache);
	if (cache)
		*cache = (struct sb_cache){ e->t_ns, device ? device->i : -1,
			sb_model_text(c->model, component->s), bytes ? (double)bytes->i : 0, INT64_MAX };
	else
		c->failed = true;
}

static void see_event(void *self, const struct sb_event *e)
{
	struct sb_residency_collected *c = self;

	if (e->kind == SB_EVENT_SNAPSHOT && !strcmp(c->run->names[e->name].text, SB_MEMORY_READING_HOST))
		sb_residency_host_see(c, e);
	else if (e->kind == SB_EVENT_SNAPSHOT)
		sb_residency_device_see(c, e);
	else if (!strcmp(c->run->names[e->name].text, SB_EVENT_RESIDENT)) {
		sb_weights_see(&c->weights, c->model, e);
		see_cache(c, e);
	} else if (!strcmp(c->run->names[e->name].text, SB_EVENT_GIVEN_BACK)) {
		sb_residency_given_back_see(c, e);
	}
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct sb_residency_collected *c = self;
	struct sb_open_stage *g;

	if (z->role != STROBE_ROLE_GENERATION) {
		sb_open_stages_add(&c->named, z);
		if (STAGES >> z->role & 1)
			sb_open_stages_add(&c->stages, z);
		return;
	}
	if (z->flags & (SB_ZONE_OPEN | SB_ZONE_CLIPPED))
		return;
	g = sb_vec_push(&c->generations, sizeof *g);
	if (g)
		*g = (struct sb_open_stage){ z->begin_ns, z->end_ns, z->name, z->depth, z->role, z->track };
	else
		c->failed = true;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct sb_residency_collected *c = calloc(1, sizeof *c);

	if (!c)
		return sb_fail(STROBE_ENOMEM, "no memory for what was resident");
	c->run = run;
	c->model = model;
	v->self = c;
	v->kinds = 1u << SB_EVENT_SNAPSHOT | 1u << SB_EVENT_EVENT;
	v->roles = STAGES | NAMED | 1u << STROBE_ROLE_GENERATION;
	v->only_long = true; /* as open_stages.c keeps them */
	v->zone = see_zone;
	v->event = see_event;
	return 0;
}

/* ---- stages of the generation ---- */

/* The outermost one that contains a time of a track. */
static const struct sb_open_stage *outermost(
	const struct sb_residency_collected *c, uint32_t track, int64_t begin_ns, int64_t end_ns)
{
	const struct sb_open_stage *all = c->generations.items, *found = NULL;

	for (size_t i = 0; i < c->generations.count; i++)
		if (all[i].track == track && all[i].begin_ns <= begin_ns && all[i].end_ns >= end_ns &&
			(!found || all[i].depth < found->depth))
			found = &all[i];
	return found;
}

static const struct sb_open_stage *moment_in(
	const struct sb_residency_collected *c, uint32_t track, double t_s)
{
	return outermost(c, track, (int64_t)(t_s * 1e9), (int64_t)(t_s * 1e9));
}

static const struct sb_open_stage *last_generation(const struct sb_residency_collected *c)
{
	const struct sb_open_stage *all = c->generations.items, *last = NULL;

	for (size_t i = 0; i < c->generations.count; i++)
		if (!last || all[i].begin_ns > last->begin_ns)
			last = &all[i];
	return last ? outermost(c, last->track, last->begin_ns, last->end_ns) : NULL;
}

/* The whole one in which a device's allocator held most: after it, the allocator's own maximum tells nothing of the
 * others. Where that was outside of all, the one in which the device's memory rose to its peak, which the allocator keeps.
 * Else the last one. After the pictures. */
static const struct sb_open_stage *chosen_generation(const struct sb_residency_collected *c)
{
	const struct sb_open_stage *last = last_generation(c), *highest = NULL;
	const struct sb_device_reading *most = sb_residency_most(c, -1);
	const struct sb_memory_picture *p = sb_residency_highest_picture(c->model);

	if (last && most)
		highest = moment_in(c, last->track, sb_residency_most_at(most));
	if (last && p && !highest)
		highest = moment_in(c, last->track, p->t_s[p->peak]);
	return highest ? highest : last;
}

/* In place of a generation, for a program that has none: all of the track with the longest stage. */
static bool whole_run(const struct sb_residency_collected *c, struct span *out_span)
{
	const struct sb_open_stage *all = c->stages.all.items, *longest = NULL;

	for (size_t i = 0; (sb_weights_any(&c->weights) || c->readings.count) && i < c->stages.all.count; i++)
		if (!all[i].depth &&
			(!longest || all[i].end_ns - all[i].begin_ns > longest->end_ns - longest->begin_ns))
			longest = &all[i];
	if (longest)
		*out_span = (struct span){ c->run->from_ns, c->run->to_ns, longest->track, 0 };
	return longest;
}

static int by_begin(const void *a, const void *b)
{
	const struct stage *x = a, *y = b;

	return x->begin_s < y->begin_s ? -1 : x->begin_s > y->begin_s;
}

/* Calls of one name are one stage, from the first one's begin to the last one's end. */
static size_t list_stages(const struct sb_residency_collected *c, const struct span *in, struct stage *out)
{
	const struct sb_open_stage *all = c->stages.all.items;
	size_t count = 0;

	for (size_t i = 0; i < c->stages.all.count; i++) {
		const char *name = c->run->names[all[i].name].text;
		double begin_s = (double)all[i].begin_ns / 1e9, end_s = (double)all[i].end_ns / 1e9;
		size_t at = 0;

		if (all[i].track != in->track || all[i].depth != in->depth ||
			all[i].begin_ns < in->begin_ns || all[i].end_ns > in->end_ns)
			continue;
		while (at < count && strcmp(out[at].name, name))
			at++;
		if (at == STAGES_MOST)
			continue;
		if (at == count)
			out[count++] = (struct stage){ name, begin_s, end_s };
		out[at].begin_s = fmin(out[at].begin_s, begin_s);
		out[at].end_s = fmax(out[at].end_s, end_s);
	}
	if (count)
		qsort(out, count, sizeof *out, by_begin);
	return count;
}

/* ---- values at a moment ---- */

double sb_residency_value_at(const struct sb_series *s, const char *column, double t_s)
{
	const struct sb_series_column *c = s ? sb_series_column_find(s, column) : NULL;
	size_t low = 0, high = c ? s->count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->t_s[middle] <= t_s)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- > 0;)
		if (!isnan(c->values[i]))
			return c->values[i] * SB_MB;
	for (size_t i = low; c && i < s->count; i++)
		if (!isnan(c->values[i]))
			return c->values[i] * SB_MB;
	return NAN;
}

/* When a column was highest in a stage; NAN: no sample is there. */
static double peak_at(const struct stage *stage, const struct sb_stage_calls *calls,
	const struct sb_series *s, const char *column)
{
	const struct sb_series_column *v = s ? sb_series_column_find(s, column) : NULL;
	double most = NAN, at = NAN;

	for (size_t i = 0; v && i < s->count && s->t_s[i] <= stage->end_s; i++)
		if (s->t_s[i] >= stage->begin_s && v->values[i] > (isnan(most) ? -1 : most) &&
			sb_stage_calls_have(calls, s->t_s[i])) {
			most = v->values[i];
			at = s->t_s[i];
		}
	return at;
}

/* ---- parts ---- */

static void add_part(struct sb_residency *r, const char *component, const char *dtype, double bytes)
{
	if (bytes > 0 && r->part_count < PARTS_MOST)
		r->parts[r->part_count++] = (struct sb_resident){ component, dtype, bytes };
}

/* Weights where the moment's device is. Returns their sum. */
static double add_weights(const struct sb_residency_collected *c, double t_s, struct sb_residency *r)
{
	struct sb_weights_held held;

	sb_weights_at(&c->weights, r->device, t_s, true, &held);
	for (size_t i = 0; i < held.count; i++)
		add_part(r, held.parts[i].component, held.parts[i].dtype, held.parts[i].bytes);
	return held.sum;
}

const char *sb_residency_tensors(bool listed)
{
	return listed ? "activations and other tensors" : "weights, activations and other tensors";
}

static double add_caches(const struct sb_residency_collected *c, struct sb_residency *r, double within)
{
	const struct sb_cache *cache;
	double sum = 0;

	for (size_t at = 0; (cache = sb_residency_cache_at(c, r->device, r->t_s, &at));)
		if (sum + cache->bytes <= within) { /* of another moment: the allocator knows better */
			add_part(r, cache->component, NULL, cache->bytes);
			sum += cache->bytes;
		}
	return sum;
}

static void fill_host(const struct sb_residency_collected *c, struct sb_residency *r, double most)
{
	const struct sb_series *s = sb_model_series(c->model, "process", -2);
	struct sb_host_values v = sb_residency_host_at(c, s, r->t_s, most);
	double weights;

	r->total_bytes = v.total;
	weights = add_weights(c, v.t_s, r);
	if (!sb_residency_host_name(&v, weights))
		r->part_count = 0; /* they were listed at another time */
	v.anonymous -= add_caches(c, r, v.anonymous);
	add_part(r, "other anonymous memory", NULL, v.anonymous);
	add_part(r, "mapped files", NULL, v.mapped);
	add_part(r, "shared memory", NULL, v.shared);
	r->pinned_bytes = sb_residency_value_at(s, "pinned_mb", r->t_s);
	r->page_cache_bytes = sb_residency_value_at(
		sb_model_series(c->model, "memory", -2), "page_cache_mb", r->t_s);
}

/* The allocator has what tensors and its slack take; the driver knows the processes' total, and the device's. */
static void fill_device(
	const struct sb_residency_collected *c, const struct sb_series *s, struct sb_residency *r)
{
	struct sb_device_values v = sb_residency_device_at(c, s, r->t_s);
	double weights = v.process > 0 ? add_weights(c, sb_residency_device_time(&v, r->t_s), r) : 0;
	bool listed;

	r->total_bytes = v.used;
	if (v.reading) {
		listed = sb_weights_any(&c->weights) &&
			 weights <= v.allocated; /* else they were listed at another time */
		if (!listed) {
			r->part_count = 0;
			weights = 0;
		}
		weights += add_caches(c, r, v.allocated - weights);
		add_part(r, sb_residency_tensors(listed && !c->weights.unplaced_count), NULL,
			v.allocated - weights);
		add_part(r, "allocator slack", NULL, v.reserved - v.allocated);
		add_part(r, "CUDA context and libraries", NULL, v.context);
	} else {
		add_part(r, "memory of this run", NULL, v.process - weights);
	}
	add_part(r, "other processes and the driver", NULL, v.used - v.process);
}

static bool add_moment(struct sb_residency_collected *c, const struct stage *stage, const char *at,
	double t_s, int64_t device, const struct sb_series *s, double most)
{
	struct sb_residency *r = &c->model->residency.all[c->model->residency.count];

	*r = (struct sb_residency){ .stage = sb_model_text(c->model, stage->name),
		.at = at,
		.device = device,
		.t_s = t_s,
		.parts = sb_model_alloc(c->model, PARTS_MOST * sizeof *r->parts),
		.pinned_bytes = NAN,
		.page_cache_bytes = NAN };
	if (!r->parts)
		return false;
	if (device < 0)
		fill_host(c, r, most);
	else
		fill_device(c, s, r);
	if (isnan(r->total_bytes) || !r->part_count)
		return true;
	r->rest_bytes = r->total_bytes;
	for (size_t i = 0; i < r->part_count; i++)
		r->rest_bytes -= r->parts[i].bytes;
	if (r->part_count)
		qsort(r->parts, r->part_count, sizeof *r->parts, sb_resident_larger);
	c->model->residency.count++;
	return true;
}

static bool add_stage(struct sb_residency_collected *c, const struct stage *stage,
	const struct sb_stage_calls *calls, int64_t device, const struct sb_series *s)
{
	double peak_s = NAN, most = NAN;

	if (device < 0) {
		peak_s = peak_at(stage, calls, s, "rss_mb");
		sb_residency_host_peak(c, s, calls, stage->begin_s, stage->end_s, &peak_s, &most);
	} else {
		sb_residency_device_peak(c, s, calls, stage->begin_s, stage->end_s, &peak_s);
		peak_s = isnan(peak_s) ? sb_residency_device_edge(c, s, stage->begin_s, stage->end_s)
				       : peak_s;
	}
	return add_moment(c, stage, "begin", stage->begin_s, device, s, NAN) &&
	       (isnan(peak_s) || add_moment(c, stage, "peak", peak_s, device, s, most)) &&
	       add_moment(c, stage, "end", stage->end_s, device, s, NAN);
}

static bool fill(struct sb_residency_collected *c, const struct stage *stages, size_t count)
{
	struct sb_model *m = c->model;
	bool filled = true;

	m->residency.all = sb_model_alloc(m, count * 3 * (DEVICES_MOST + 1) * sizeof *m->residency.all);
	for (size_t i = 0; m->residency.all && i < count && filled; i++) {
		struct sb_stage_calls calls;
		size_t devices = 0;

		filled = sb_stage_calls_init(&calls, c, stages[i].name);
		for (size_t k = 0; k < m->series_count && filled; k++)
			if (sb_residency_is_used_gpu(&m->series[k]) && devices++ < DEVICES_MOST)
				filled = add_stage(c, &stages[i], &calls, m->series[k].device, &m->series[k]);
		filled = filled && add_stage(c, &stages[i], &calls, -1, sb_model_series(m, "process", -2));
		sb_stage_calls_done(&calls);
	}
	return m->residency.all && filled;
}

/* Part by part, and the rest of each moment, so that they add up. */
static bool list_residents(struct sb_model *m)
{
	struct sb_memory_panel *to = &m->memory;
	size_t most = 0;

	for (size_t i = 0; i < m->residency.count; i++)
		most += m->residency.all[i].part_count + 1;
	to->residents = sb_model_alloc(m, (most + 1) * sizeof *to->residents);
	for (size_t i = 0; to->residents && i < m->residency.count; i++) {
		const struct sb_residency *r = &m->residency.all[i];
		struct sb_resident_at row = { r->stage, r->at, r->device, NULL, NULL, 0 };

		for (size_t k = 0; k <= r->part_count; k++) {
			const struct sb_resident rest = { "unnamed", NULL, r->rest_bytes };
			const struct sb_resident *part = k < r->part_count ? &r->parts[k] : &rest;

			row.component = part->component;
			row.dtype = part->dtype;
			row.bytes = part->bytes;
			to->residents[to->resident_count++] = row;
		}
	}
	return to->residents;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct sb_residency_collected *c = self;
	struct stage stages[STAGES_MOST];
	const struct sb_open_stage *g;
	struct span in;
	size_t count;

	(void)run;
	sb_weights_prepare(&c->weights, model);
	sb_residency_host_sort(c);
	sb_residency_device_prepare(c);
	sb_residency_caches_prepare(c);
	if (c->failed || c->weights.failed || c->stages.failed || c->named.failed)
		return sb_fail(STROBE_ENOMEM, "no memory for what was resident");
	if (!sb_residency_over_time(c) || !sb_memory_pictures_join_small(model))
		return sb_fail(STROBE_ENOMEM, "no memory for what was resident");
	g = chosen_generation(c);
	if (!sb_residency_device_peaks(
		    c, g ? (double)g->begin_ns / 1e9 : -INFINITY, g ? (double)g->end_ns / 1e9 : INFINITY))
		return sb_fail(STROBE_ENOMEM, "no memory for what was resident");
	if (g)
		in = (struct span){ g->begin_ns, g->end_ns, g->track, g->depth + 1 };
	else if (!whole_run(c, &in))
		return 0;
	count = list_stages(c, &in, stages);
	if (!count)
		return 0;
	for (size_t i = 0; g && i < model->generations.count; i++)
		if (fabs(model->generations.all[i].begin_s - (double)g->begin_ns / 1e9) < 1e-6)
			model->residency.generation = (int64_t)i + 1;
	model->residency.unplaced = c->weights.unplaced;
	model->residency.unplaced_count = c->weights.unplaced_count;
	return fill(c, stages, count) && list_residents(model)
		       ? 0
		       : sb_fail(STROBE_ENOMEM, "no memory for what was resident");
}

static void done(void *self)
{
	struct sb_residency_collected *c = self;

	if (!c)
		return;
	sb_weights_done(&c->weights);
	sb_vec_done(&c->caches);
	sb_vec_done(&c->readings);
	sb_residency_device_done(c);
	sb_vec_done(&c->host_readings);
	sb_vec_done(&c->generations);
	sb_open_stages_done(&c->stages);
	sb_open_stages_done(&c->named);
	free(c);
}

const struct sb_analysis sb_analysis_residency = {
	.name = "residency",
	.begin = begin,
	.finish = finish,
	.done = done,
};
