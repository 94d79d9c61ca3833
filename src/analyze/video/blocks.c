/* Blocks of an autoregressive pipeline: their times, sizes and the first one's
 * latency. Without block records they are the chains of steps with a size. */
#include "analyze/video/video.h"

#include <stdlib.h>
#include <string.h>

#define SIZES_MOST 64

static double seconds(const struct sb_video_block *n)
{
	return (double)(n->end_ns - n->begin_ns) / 1e9;
}

/* One block per chain, from its first step's begin to its last step's end. Only
 * where steps say how many frames they work on: else a chain is a video. */
static void make_from_chains(struct sb_video *v)
{
	const struct sb_video_step *steps = v->steps.items;

	v->blocks_from_steps = true;
	for (size_t i = 0; i < v->steps.count; i++) {
		struct sb_video_block *n;
		int64_t spent_ns = 0;
		size_t last = i;

		while (last + 1 < v->steps.count && steps[last + 1].block == steps[i].block)
			last++;
		if (steps[i].block_size > 0) {
			n = sb_vec_push(&v->blocks, sizeof *n);
			if (!n) {
				v->failed = true;
				return;
			}
			for (size_t k = i; k <= last; k++)
				spent_ns += steps[k].end_ns - steps[k].begin_ns;
			n->measured = steps[i].measured;
			n->begin_ns = steps[i].begin_ns;
			n->end_ns = n->measured ? n->begin_ns + spent_ns : steps[last].end_ns;
			n->index = steps[i].block;
			n->frames = steps[i].block_size;
			n->memory_bytes = -1;
			n->steps = (int64_t)(last - i + 1);
			n->track = steps[i].track;
			n->generation = steps[i].generation;
		}
		i = last;
	}
}

static int by_generation(const void *a, const void *b)
{
	const struct sb_video_block *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static void assign_generations(struct sb_video *v)
{
	struct sb_video_block *all = v->blocks.items;
	size_t kept = 0;

	for (size_t i = 0; i < v->blocks.count; i++) {
		all[i].generation = sb_generation_of(
			v, all[i].track, all[i].begin_ns, all[i].end_ns, all[i].measured);
		if (all[i].generation != SB_NO_GENERATION || v->outside)
			all[kept++] = all[i];
	}
	v->blocks.count = kept;
}

static void list(struct sb_video *v, struct sb_model *model)
{
	struct sb_block_panel *b = &model->blocks;
	const struct sb_video_block *all = v->blocks.items;
	size_t points = sb_model_points(model, v->run);

	b->total = v->blocks.count;
	b->listed = b->total < points ? b->total : points;
	b->all = sb_model_alloc(model, b->listed * sizeof *b->all);
	for (size_t i = 0; b->all && i < b->listed; i++) {
		b->all[i].index = all[i].index;
		b->all[i].frames = all[i].frames > 0 ? all[i].frames : -1;
		b->all[i].t_s = (double)all[i].begin_ns / 1e9;
		b->all[i].duration_s = seconds(&all[i]);
		b->all[i].memory_bytes = all[i].memory_bytes >= 0 ? (double)all[i].memory_bytes : NAN;
	}
}

static int by_key(const void *a, const void *b)
{
	const struct sb_step_group *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static void group_by_size(struct sb_video *v, struct sb_model *model, double *scratch_s)
{
	struct sb_block_panel *b = &model->blocks;
	const struct sb_video_block *all = v->blocks.items;

	b->by_size = sb_model_alloc(model, SIZES_MOST * sizeof *b->by_size);
	for (size_t i = 0; b->by_size && i < v->blocks.count; i++) {
		size_t g = 0, n = 0;

		while (g < b->by_size_count && b->by_size[g].key != all[i].frames)
			g++;
		if (all[i].frames <= 0 || g < b->by_size_count || g == SIZES_MOST)
			continue;
		b->by_size[b->by_size_count++].key = all[i].frames;
		for (size_t k = i; k < v->blocks.count; k++) {
			if (all[k].frames == all[i].frames)
				scratch_s[n++] = seconds(&all[k]);
		}
		if (sb_stats_of(scratch_s, n, &b->by_size[g].time) != 0)
			v->failed = true;
	}
	if (b->by_size_count)
		qsort(b->by_size, b->by_size_count, sizeof *b->by_size, by_key);
}

static double median_of(struct sb_video *v, double *values, size_t count)
{
	struct sb_stats stats;

	if (sb_stats_of(values, count, &stats) != 0)
		v->failed = true;
	return count ? stats.median : NAN;
}

/* scratch_s: room for every block. */
static void first_and_later(struct sb_video *v, struct sb_model *model, double *scratch_s)
{
	struct sb_block_panel *b = &model->blocks;
	const struct sb_video_block *all = v->blocks.items;
	const struct sb_video_generation *generations = v->generations.items;
	size_t firsts = 0, later = 0;

	for (size_t i = 0; i < v->blocks.count; i++) {
		if (i && all[i].generation == all[i - 1].generation)
			continue;
		if (!all[i].measured && all[i].generation != SB_NO_GENERATION)
			scratch_s[firsts++] =
				(double)(all[i].end_ns - generations[all[i].generation].begin_ns) / 1e9;
	}
	b->first_block_s = median_of(v, scratch_s, firsts);
	firsts = 0;
	for (size_t i = 0; i < v->blocks.count; i++) {
		if (i == 0 || all[i].generation != all[i - 1].generation)
			scratch_s[firsts++] = seconds(&all[i]);
	}
	b->first_block_time_s = median_of(v, scratch_s, firsts);
	for (size_t i = 1; i < v->blocks.count; i++) {
		if (all[i].generation == all[i - 1].generation)
			scratch_s[later++] = seconds(&all[i]);
	}
	b->later_block_time_s = median_of(v, scratch_s, later);
}

static void count_frames(struct sb_video *v, struct sb_block_panel *b)
{
	const struct sb_video_block *all = v->blocks.items;
	int64_t sized = 0;

	b->frames = v->rest_blocks.frames;
	for (size_t i = 0; i < v->blocks.count; i++) {
		b->frames += all[i].frames;
		b->steps += all[i].steps;
		sized += all[i].frames > 0;
	}
	b->mean_frames = sized ? (double)b->frames / (double)sized : NAN;
	if (!b->frames)
		b->frames = -1;
	if (!b->steps)
		b->steps = -1;
}

void sb_blocks_fill(struct sb_video *v, struct sb_model *model)
{
	struct sb_block_panel *b = &model->blocks;
	struct sb_video_block *all;
	double *scratch_s;

	b->frames = b->blocks = b->steps = -1;
	b->fps = b->bps = b->mean_frames = NAN;
	b->first_block_s = b->first_block_time_s = b->later_block_time_s = NAN;
	if (!v->blocks.count && !v->rest_blocks.count)
		make_from_chains(v);
	else
		assign_generations(v);
	if (!v->blocks.count && !v->rest_blocks.count)
		return;
	all = v->blocks.items;
	if (v->blocks.count)
		qsort(all, v->blocks.count, sizeof *all, by_generation);
	scratch_s = malloc((v->blocks.count + 1) * sizeof *scratch_s);
	if (!scratch_s) {
		v->failed = true;
		return;
	}
	b->present = true;
	b->steps = 0;
	count_frames(v, b);
	list(v, model);
	group_by_size(v, model, scratch_s);
	first_and_later(v, model, scratch_s);
	for (size_t i = 0; i < v->blocks.count; i++) {
		scratch_s[i] = seconds(&all[i]);
		if (all[i].generation < model->generations.count) {
			struct sb_generation *g = &model->generations.all[all[i].generation];

			g->blocks = (g->blocks < 0 ? 0 : g->blocks) + 1;
		}
	}
	if (sb_stats_of(scratch_s, v->blocks.count, &b->time) != 0)
		v->failed = true;
	sb_model_distribution(model, scratch_s, v->blocks.count, &b->distribution);
	free(scratch_s);
	b->blocks = (int64_t)v->blocks.count + v->rest_blocks.count;
	if (v->rest_blocks.count) {
		b->time.total = (v->blocks.count ? b->time.total : 0) + v->rest_blocks.total_s;
		b->time.count = b->blocks;
		b->time.mean = b->time.total / (double)b->blocks;
	}
	if (b->time.total > 0) {
		b->bps = (double)b->blocks / b->time.total;
		b->fps = b->frames >= 0 ? (double)b->frames / b->time.total : NAN;
	}
}
