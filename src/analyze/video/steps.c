/* Scheduler steps: which there were, and in which chains. */
#include "base/inorder.h"
#include "analyze/sampled.h"
#include "analyze/video/video.h"

#include <stdlib.h>
#include <string.h>

static int by_track(const void *a, const void *b)
{
	const struct sb_video_step *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static int by_generation(const void *a, const void *b)
{
	const struct sb_video_step *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* A step inside a step is a model call of it, not another step. */
static void keep_outermost(struct sb_video *v)
{
	struct sb_video_step *all = v->steps.items;
	const struct sb_video_step *outer = NULL;
	size_t kept = 0;

	if (!v->steps.count)
		return;
	sb_sort_unless_in_order(all, v->steps.count, sizeof *all, by_track);
	for (size_t i = 0; i < v->steps.count; i++) {
		if (outer && !all[i].measured && !outer->measured && outer->track == all[i].track &&
			all[i].end_ns <= outer->end_ns) {
			v->nested_steps++;
			continue;
		}
		all[kept] = all[i];
		outer = &all[kept++];
	}
	v->steps.count = kept;
}

static void assign_generations(struct sb_video *v)
{
	struct sb_video_step *all = v->steps.items;
	size_t kept = 0;

	for (size_t i = 0; i < v->steps.count; i++) {
		all[i].generation = sb_generation_of(
			v, all[i].track, all[i].begin_ns, all[i].end_ns, all[i].measured);
		if (all[i].generation != SB_NO_GENERATION || v->outside)
			all[kept++] = all[i];
	}
	v->steps.count = kept;
	if (kept)
		sb_sort_unless_in_order(all, kept, sizeof *all, by_generation);
	for (size_t i = 0; i < kept; i++)
		all[i].first = i == 0 || all[i].generation != all[i - 1].generation;
}

/* The block zone around a step; -1: none. Blocks are few beside steps; they
 * come ordered by track and begin. */
static int64_t block_around(const struct sb_video *v, const struct sb_video_step *n)
{
	const struct sb_video_block *all = v->blocks.items;
	size_t low = 0, high = v->blocks.count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		bool before = all[mid].track < n->track ||
			      (all[mid].track == n->track && all[mid].begin_ns <= n->begin_ns);

		if (before)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || all[low - 1].track != n->track || n->end_ns > all[low - 1].end_ns ||
		all[low - 1].measured)
		return -1;
	return (int64_t)low - 1;
}

/* A chain of steps makes one block, or one video: it ends where the block does,
 * the generation does, or the step number starts again. */
static bool chain_ends(const struct sb_video_step *before, const struct sb_video_step *n,
	int64_t block_before, int64_t block)
{
	if (before->generation != n->generation || before->track != n->track || block_before != block)
		return true;
	return block < 0 && n->step >= 0 && before->step >= 0 && n->step <= before->step;
}

/* The shortest is of videos that came to their end. */
static void end_chain(struct sb_video *v, const struct sb_video_step *last, int64_t length)
{
	const struct sb_video_generation *all = v->generations.items;
	const struct sb_video_generation *of = last->generation < v->generations.count
						       ? &all[last->generation]
						       : NULL;

	if (length > v->longest_chain)
		v->longest_chain = length;
	if (of && (of->open || of->cut || of->no_video))
		return;
	if (!v->shortest_chain || length < v->shortest_chain)
		v->shortest_chain = length;
}

static void find_chains(struct sb_video *v)
{
	struct sb_video_step *all = v->steps.items;
	struct sb_video_block *blocks = v->blocks.items;
	int64_t length = 0, block_before = -1;

	for (size_t i = 0; i < v->steps.count; i++) {
		int64_t block = block_around(v, &all[i]);

		if (i == 0 || chain_ends(&all[i - 1], &all[i], block_before, block)) {
			if (i)
				end_chain(v, &all[i - 1], length);
			v->chain_count++;
			length = 0;
		}
		if (block >= 0)
			blocks[block].steps++;
		all[i].block = v->chain_count - 1;
		block_before = block;
		length++;
	}
	if (v->steps.count)
		end_chain(v, &all[v->steps.count - 1], length);
}

/* ---- statistics --------------------------------------------------------- */

enum which { ALL, COMPUTED, WARM, CACHED, FIRST };

static bool belongs(const struct sb_video_step *n, enum which which)
{
	switch (which) {
	case ALL: return true;
	case COMPUTED: return !n->cached;
	case WARM: return !n->cached && (n->measured ? !n->first : n->warm);
	case CACHED: return n->cached;
	case FIRST: return n->first;
	}
	return false;
}

static void stats_of(struct sb_video *v, enum which which, double *scratch_s, struct sb_stats *out)
{
	const struct sb_video_step *all = v->steps.items;
	size_t count = 0;

	for (size_t i = 0; i < v->steps.count; i++) {
		if (belongs(&all[i], which))
			scratch_s[count++] = sb_video_step_s(&all[i]);
	}
	if (sb_stats_of(scratch_s, count, out) != 0)
		v->failed = true;
}

static void add_rest(const struct sb_video_rest *rest, struct sb_stats *s)
{
	if (!rest->count)
		return;
	if (!s->count) {
		s->min = rest->min_s;
		s->max = rest->max_s;
		s->total = 0;
	}
	s->percentile_error_ratio = (double)rest->count / (double)(rest->count + s->count);
	s->count += rest->count;
	s->total += rest->total_s;
	s->mean = s->total / (double)s->count;
	s->min = fmin(s->min, rest->min_s);
	s->max = fmax(s->max, rest->max_s);
}

static int by_key(const void *a, const void *b)
{
	const struct sb_step_group *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static int64_t key_of(const struct sb_video_step *n, bool by_step)
{
	return by_step ? n->step : n->block_size;
}

#define GROUPS_MOST 256

static void group(struct sb_video *v, struct sb_model *model, bool by_step, double *scratch_s,
	struct sb_step_group **out_groups, size_t *out_count)
{
	const struct sb_video_step *all = v->steps.items;
	struct sb_step_group *groups = sb_model_alloc(model, GROUPS_MOST * sizeof *groups);
	size_t count = 0;

	if (!groups)
		return;
	for (size_t i = 0; i < v->steps.count; i++) {
		int64_t key = key_of(&all[i], by_step);
		size_t g = 0;

		if (key < (by_step ? 0 : 1))
			continue;
		while (g < count && groups[g].key != key)
			g++;
		if (g == count && count < GROUPS_MOST)
			groups[count++].key = key;
	}
	for (size_t g = 0; g < count; g++) {
		size_t n = 0;

		for (size_t i = 0; i < v->steps.count; i++) {
			if (key_of(&all[i], by_step) == groups[g].key)
				scratch_s[n++] = sb_video_step_s(&all[i]);
		}
		if (sb_stats_of(scratch_s, n, &groups[g].time) != 0)
			v->failed = true;
	}
	qsort(groups, count, sizeof *groups, by_key);
	*out_groups = groups;
	*out_count = count;
}

static void store_series(struct sb_video *v, struct sb_model *model)
{
	static const char *const columns[] = { "duration_s", "step_index", "block_index", "cached_count" };
	const struct sb_video_step *all = v->steps.items;
	struct sb_sampled s;

	if (sb_sampled_init(&s, columns, 4, sb_model_points(model, v->run)) != 0) {
		v->failed = true;
		return;
	}
	for (size_t i = 0; i < v->steps.count; i++) {
		double row[4] = { sb_video_step_s(&all[i]), all[i].step >= 0 ? (double)all[i].step : NAN,
			(double)all[i].block, all[i].cached };

		if (sb_sampled_add(&s, (double)all[i].end_ns / 1e9, row) != 0)
			v->failed = true;
	}
	if (sb_sampled_store(&s, model, &model->diffusion.series) != 0)
		v->failed = true;
	sb_sampled_done(&s);
}

struct own_step {
	uint32_t generation;
	double duration_s;
};

static int by_generation_and_time(const void *a, const void *b)
{
	const struct own_step *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	return x->duration_s < y->duration_s ? -1 : x->duration_s > y->duration_s;
}

/* Its steps from the shortest to the longest. */
static void fill_generation(struct sb_generation *g, const struct own_step *steps, size_t count)
{
	g->steps = (int64_t)count;
	g->step_median_s = (steps[(count - 1) / 2].duration_s + steps[count / 2].duration_s) / 2;
	g->step_max_s = steps[count - 1].duration_s;
}

static void fill_generations(struct sb_video *v, struct sb_model *model)
{
	const struct sb_video_step *all = v->steps.items;
	struct own_step *own = malloc((v->steps.count + 1) * sizeof *own);
	size_t count = 0, end;

	if (!own) {
		v->failed = true;
		return;
	}
	for (size_t i = 0; i < v->steps.count; i++)
		if (all[i].generation < model->generations.count)
			own[count++] = (struct own_step){ all[i].generation, sb_video_step_s(&all[i]) };
	sb_sort_unless_in_order(own, count, sizeof *own, by_generation_and_time);
	for (size_t i = 0; i < count; i = end) {
		for (end = i; end < count && own[end].generation == own[i].generation;)
			end++;
		fill_generation(&model->generations.all[own[i].generation], own + i, end - i);
	}
	free(own);
}

static int blocks_by_track(const void *a, const void *b)
{
	const struct sb_video_block *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

void sb_steps_fill(struct sb_video *v, struct sb_model *model)
{
	struct sb_diffusion_panel *d = &model->diffusion;
	struct sb_stats first;
	double *scratch_s;

	d->frames = d->latent_frames = d->blocks = d->steps = d->tiles = -1;
	d->fps = d->bps = d->steps_per_video = d->steps_per_block = d->forwards_per_step = NAN;
	d->cached_ratio = d->first_step_s = NAN;
	d->steps_per_chain = d->steps_per_chain_min = -1;
	if (v->blocks.count)
		qsort(v->blocks.items, v->blocks.count, sizeof(struct sb_video_block), blocks_by_track);
	keep_outermost(v);
	sb_served_mark(v);
	sb_generations_look_for_steps(v);
	assign_generations(v);
	find_chains(v);
	scratch_s = malloc((v->steps.count + 1) * sizeof *scratch_s);
	if (!scratch_s) {
		v->failed = true;
		return;
	}
	stats_of(v, ALL, scratch_s, &d->step);
	sb_model_distribution(model, scratch_s, v->steps.count, &d->distribution);
	stats_of(v, COMPUTED, scratch_s, &d->computed_step);
	stats_of(v, WARM, scratch_s, &d->warm_step);
	stats_of(v, CACHED, scratch_s, &d->cached_step);
	stats_of(v, FIRST, scratch_s, &first);
	if (v->steps.count) {
		d->first_step_s = first.median;
		d->cached_steps = d->cached_step.count;
		d->cached_ratio = (double)d->cached_steps / (double)v->steps.count;
		group(v, model, false, scratch_s, &d->by_block_size, &d->by_block_size_count);
		group(v, model, true, scratch_s, &d->by_step, &d->by_step_count);
		sb_slow_steps_fill(v, model, scratch_s);
		store_series(v, model);
		fill_generations(v, model);
	}
	add_rest(&v->rest_steps, &d->step);
	add_rest(&v->rest_steps, &d->computed_step);
	free(scratch_s);
	if (!d->step.count)
		return;
	d->present = true;
	d->steps = d->step.count;
	d->steps_per_chain = v->longest_chain ? v->longest_chain : -1;
	if (v->shortest_chain && v->shortest_chain < v->longest_chain && !v->rest_steps.count)
		d->steps_per_chain_min = v->shortest_chain;
	if (v->forward_count + v->nested_steps)
		d->forwards_per_step = (double)(v->forward_count + v->nested_steps) / (double)d->steps;
	if (v->steps.count && !v->outside)
		d->steps_per_video = (double)v->steps.count / (double)v->generations.count;
}
