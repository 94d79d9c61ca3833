/* The wall time of denoising and decoding: every moment counts once, however many generations, steps or
 * blocks ran in it. */
#include "analyze/video/walls.h"

#include <stdlib.h>
#include <string.h>

struct spans {
	struct span {
		int64_t begin_ns, end_ns;
		uint32_t generation;
	} * all;
	size_t count;
};

static bool spans_init(struct spans *s, struct sb_video *v, size_t room)
{
	s->count = 0;
	s->all = malloc((room + 1) * sizeof *s->all);
	v->failed |= !s->all;
	return s->all != NULL;
}

static void add(struct spans *s, int64_t begin_ns, int64_t end_ns, uint32_t generation)
{
	s->all[s->count++] = (struct span){ begin_ns, end_ns, generation };
}

#define LAUNCHING 0.05 /* of its time: the GPU has not begun, and nothing before it holds it up */

/* On the CPU it is over when all is launched, and it begins before the GPU has done with what came before it. */
static void add_real(struct spans *s, int64_t begin_ns, int64_t end_ns, int64_t gpu_begin_ns,
	int64_t gpu_end_ns, uint32_t generation)
{
	if (gpu_end_ns > gpu_begin_ns) {
		end_ns = gpu_end_ns > end_ns ? gpu_end_ns : end_ns;
		if ((double)(gpu_begin_ns - begin_ns) > LAUNCHING * (double)(end_ns - begin_ns))
			begin_ns = gpu_begin_ns;
	}
	add(s, begin_ns, end_ns, generation);
}

static void add_step(struct spans *s, const struct sb_video_step *n)
{
	add_real(s, n->begin_ns, n->end_ns, n->gpu_begin_ns, n->gpu_end_ns, n->generation);
}

static void add_stage(struct spans *s, const struct sb_video_stage *n)
{
	add_real(s, n->begin_ns, n->end_ns, n->gpu_begin_ns, n->gpu_end_ns, n->generation);
}

static int by_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static int by_generation(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->generation != y->generation ? x->generation < y->generation ? -1 : 1 : by_begin(a, b);
}

/* What a span, later than those before it, adds to their union. */
static int64_t claim(int64_t *until_ns, int64_t begin_ns, int64_t end_ns)
{
	int64_t from_ns = begin_ns > *until_ns ? begin_ns : *until_ns;

	if (end_ns <= from_ns)
		return 0;
	*until_ns = end_ns;
	return end_ns - from_ns;
}

/* Each generation's own union, inside it, into a member of its row. */
static void tell_generations(
	struct spans *s, const struct sb_video *v, struct sb_model *model, size_t generation_member)
{
	const struct sb_video_generation *generations = v->generations.items;
	int64_t until_ns = INT64_MIN;

	qsort(s->all, s->count, sizeof *s->all, by_generation);
	for (size_t i = 0; i < s->count; i++) {
		uint32_t g = s->all[i].generation;
		double *sum_s;
		int64_t end_ns;

		if (g >= model->generations.count)
			break;
		sum_s = (double *)((char *)&model->generations.all[g] + generation_member);
		if (!i || s->all[i - 1].generation != g)
			until_ns = generations[g].begin_ns;
		end_ns = s->all[i].end_ns < generations[g].end_ns ? s->all[i].end_ns : generations[g].end_ns;
		*sum_s = (isnan(*sum_s) ? 0 : *sum_s) +
			 (double)claim(&until_ns, s->all[i].begin_ns, end_ns) / 1e9;
	}
}

static bool came_to_its_end(const struct sb_video_generation *g)
{
	return !g->open && !g->cut && !(g->no_video && !strcmp(g->no_video, "failed"));
}

/* As the run's frames are counted. */
static bool has_frames(const struct sb_video *v, const struct sb_video_generation *g)
{
	switch (v->model->diffusion.frames_source) {
	case SB_FRAMES_COUNTED: return g->counted > 0;
	case SB_FRAMES_DECODED: return g->decoded >= 0;
	default: return g->frames >= 0;
	}
}

bool sb_generation_is_rated(const struct sb_video *v, uint32_t generation)
{
	const struct sb_video_generation *all = v->generations.items;

	return !v->frames_of_ended || generation >= v->generations.count ||
	       came_to_its_end(&all[generation]) || has_frames(v, &all[generation]);
}

/* The union of those that count in a rate, or of those that do not; they come ordered by begin. */
static double covered_s(const struct spans *s, const struct sb_video *v, bool rated)
{
	int64_t sum_ns = 0, until_ns = INT64_MIN;

	for (size_t i = 0; i < s->count; i++)
		if (sb_generation_is_rated(v, s->all[i].generation) == rated)
			sum_ns += claim(&until_ns, s->all[i].begin_ns, s->all[i].end_ns);
	return (double)sum_ns / 1e9;
}

/* The union of those that count in a rate; frees them. */
static double spans_done(struct spans *s, const struct sb_video *v)
{
	double sum_s;

	qsort(s->all, s->count, sizeof *s->all, by_begin);
	sum_s = covered_s(s, v, true);
	free(s->all);
	return sum_s;
}

/* The stages of one kind inside generations. */
static void add_stages(struct spans *s, const struct sb_video *v, enum strobe_role work)
{
	const struct sb_video_stage *stages = v->stages.items;

	for (size_t i = 0; i < v->stages.count; i++)
		if (stages[i].work == work && stages[i].generation != SB_NO_GENERATION)
			add_stage(s, &stages[i]);
}

/* A pause longer than the step before it is something else's time, not denoising. */
static bool goes_on(const struct sb_video_step *before, const struct sb_video_step *n)
{
	return before->generation == n->generation && before->track == n->track &&
	       before->block == n->block && n->begin_ns >= before->begin_ns &&
	       n->begin_ns - before->end_ns <= before->end_ns - before->begin_ns;
}

/* Steps and the short pauses between those of one chain. */
static void add_chains(struct spans *s, const struct sb_video *v)
{
	const struct sb_video_step *steps = v->steps.items;

	for (size_t i = 0; i < v->steps.count;) {
		struct sb_video_step chain = steps[i];
		size_t k = i + 1;

		for (; k < v->steps.count && goes_on(&steps[k - 1], &steps[k]); k++) {
			chain.end_ns = steps[k].end_ns > chain.end_ns ? steps[k].end_ns : chain.end_ns;
			chain.gpu_end_ns = steps[k].gpu_end_ns > chain.gpu_end_ns ? steps[k].gpu_end_ns
										  : chain.gpu_end_ns;
		}
		add_step(s, &chain);
		i = k;
	}
}

/* Stages that denoise, and steps in them or elsewhere. NaN where only stopwatch times are known
 * and they do not fit (several at once, or recorded afterwards). */
double sb_denoise_wall_s(struct sb_video *v, struct sb_model *model)
{
	const struct sb_video_step *steps = v->steps.items;
	bool measured = v->steps.count && steps[0].measured, staged;
	struct spans spans;
	double wall_s;

	for (size_t g = 0; g < model->generations.count; g++)
		model->generations.all[g].denoise_s = NAN;
	if (!spans_init(&spans, v, v->stages.count + v->steps.count))
		return NAN;
	add_stages(&spans, v, STROBE_ROLE_DENOISE);
	staged = spans.count > 0;
	if (!staged || !measured)
		add_chains(&spans, v);
	if (!spans.count) {
		free(spans.all);
		return NAN;
	}
	tell_generations(&spans, v, model, offsetof(struct sb_generation, denoise_s));
	wall_s = spans_done(&spans, v);
	return !staged && measured && wall_s < model->diffusion.step.total * 0.999 ? NAN : wall_s;
}

double sb_vae_wall_s(struct sb_video *v, struct sb_model *model)
{
	struct spans spans;
	bool any;
	double wall_s;

	if (!spans_init(&spans, v, v->stages.count))
		return NAN;
	add_stages(&spans, v, STROBE_ROLE_VAE_DECODE);
	any = spans.count > 0;
	tell_generations(&spans, v, model, offsetof(struct sb_generation, vae_s));
	wall_s = spans_done(&spans, v);
	return any ? wall_s : NAN;
}

double sb_steps_covered_s(struct sb_video *v)
{
	const struct sb_video_step *steps = v->steps.items;
	struct spans spans;

	if (!spans_init(&spans, v, v->steps.count))
		return NAN;
	for (size_t i = 0; i < v->steps.count; i++)
		add_step(&spans, &steps[i]);
	return spans_done(&spans, v);
}

double sb_generations_covered_s(struct sb_video *v)
{
	const struct sb_video_generation *all = v->generations.items;
	struct spans spans;

	if (!spans_init(&spans, v, v->generations.count))
		return NAN;
	for (size_t i = 0; i < v->generations.count; i++)
		add(&spans, all[i].begin_ns, all[i].end_ns, (uint32_t)i);
	return spans_done(&spans, v);
}

double sb_rated_compute_ratio(struct sb_video *v)
{
	const struct sb_video_stage *encodes = v->encodes.items;
	const struct sb_video_step *steps = v->steps.items;
	const struct sb_video_block *blocks = v->blocks.items;
	double rated_s, others_s;
	struct spans spans;

	if (!spans_init(&spans, v, v->stages.count + v->encodes.count + v->steps.count + v->blocks.count))
		return NAN;
	add_stages(&spans, v, STROBE_ROLE_DENOISE);
	add_stages(&spans, v, STROBE_ROLE_VAE_DECODE);
	for (size_t i = 0; i < v->encodes.count; i++)
		if (encodes[i].generation != SB_NO_GENERATION)
			add_stage(&spans, &encodes[i]);
	for (size_t i = 0; i < v->steps.count; i++)
		if (steps[i].generation != SB_NO_GENERATION)
			add_step(&spans, &steps[i]);
	for (size_t i = 0; i < v->blocks.count; i++)
		if (blocks[i].generation != SB_NO_GENERATION)
			add(&spans, blocks[i].begin_ns, blocks[i].end_ns, blocks[i].generation);
	qsort(spans.all, spans.count, sizeof *spans.all, by_begin);
	rated_s = covered_s(&spans, v, true);
	others_s = covered_s(&spans, v, false);
	free(spans.all);
	return others_s > 0 ? rated_s / (rated_s + others_s) : 1;
}

double sb_denoise_vae_wall_s(struct sb_video *v)
{
	const struct sb_video_step *steps = v->steps.items;
	struct spans spans;

	if (!spans_init(&spans, v, v->stages.count + v->steps.count))
		return NAN;
	add_stages(&spans, v, STROBE_ROLE_DENOISE);
	if (!spans.count || !v->steps.count || !steps[0].measured)
		add_chains(&spans, v);
	add_stages(&spans, v, STROBE_ROLE_VAE_DECODE);
	return spans_done(&spans, v);
}

double sb_measured_s(struct sb_video *v)
{
	const struct sb_video_step *steps = v->steps.items;
	const struct sb_video_block *blocks = v->blocks.items;
	struct spans spans;

	if (!spans_init(&spans, v, v->steps.count + v->blocks.count))
		return 0;
	for (size_t i = 0; i < v->steps.count; i++)
		if (steps[i].measured)
			add(&spans, steps[i].begin_ns, steps[i].end_ns, UINT32_MAX);
	for (size_t i = 0; i < v->blocks.count && !v->blocks_from_steps; i++)
		if (blocks[i].measured)
			add(&spans, blocks[i].begin_ns, blocks[i].end_ns, UINT32_MAX);
	return spans_done(&spans, v);
}

/* The largest sum on one track, which stands in place of the generation; frees them. */
static double largest_track_s(struct spans *s)
{
	int64_t sum_ns = 0, most_ns = 0;

	qsort(s->all, s->count, sizeof *s->all, by_generation);
	for (size_t i = 0; i < s->count; i++) {
		if (i && s->all[i].generation != s->all[i - 1].generation)
			sum_ns = 0;
		sum_ns += s->all[i].end_ns - s->all[i].begin_ns;
		most_ns = sum_ns > most_ns ? sum_ns : most_ns;
	}
	free(s->all);
	return (double)most_ns / 1e9;
}

double sb_measured_track_s(struct sb_video *v)
{
	const struct sb_video_step *steps = v->steps.items;
	const struct sb_video_block *blocks = v->blocks.items;
	struct spans of_steps, of_blocks;
	double steps_s;

	if (!spans_init(&of_steps, v, v->steps.count))
		return 0;
	for (size_t i = 0; i < v->steps.count; i++)
		if (steps[i].measured && steps[i].generation != SB_NO_GENERATION)
			add(&of_steps, steps[i].begin_ns, steps[i].end_ns, steps[i].track);
	steps_s = largest_track_s(&of_steps);
	if (!spans_init(&of_blocks, v, v->blocks.count))
		return steps_s;
	for (size_t i = 0; i < v->blocks.count && !v->blocks_from_steps; i++)
		if (blocks[i].measured && blocks[i].generation != SB_NO_GENERATION)
			add(&of_blocks, blocks[i].begin_ns, blocks[i].end_ns, blocks[i].track);
	return fmax(steps_s, largest_track_s(&of_blocks));
}
