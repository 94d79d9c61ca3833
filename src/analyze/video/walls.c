/* The time denoising and decoding took, as a clock on the wall saw it: every moment once,
 * however many generations, steps or blocks were at it. */
#include "analyze/video/walls.h"

#include <stdlib.h>
#include <string.h>

struct spans {
	struct span {
		int64_t begin_ns, end_ns;
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

static void add(struct spans *s, int64_t begin_ns, int64_t end_ns)
{
	s->all[s->count++] = (struct span){ begin_ns, end_ns };
}

static int by_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Their union; frees them. */
static double spans_done(struct spans *s)
{
	int64_t sum_ns = 0, until_ns = INT64_MIN;

	qsort(s->all, s->count, sizeof *s->all, by_begin);
	for (size_t i = 0; i < s->count; i++) {
		int64_t from_ns = s->all[i].begin_ns > until_ns ? s->all[i].begin_ns : until_ns;

		if (s->all[i].end_ns <= from_ns)
			continue;
		sum_ns += s->all[i].end_ns - from_ns;
		until_ns = s->all[i].end_ns;
	}
	free(s->all);
	return (double)sum_ns / 1e9;
}

static void add_s(double *sum_s, double s)
{
	*sum_s = (isnan(*sum_s) ? 0 : *sum_s) + s;
}

/* The stages of one kind inside generations; NaN: none. Each generation gets its own. */
static double parts_wall_s(
	struct sb_video *v, struct sb_model *model, enum sb_part part, size_t generation_member)
{
	const struct sb_part_note *parts = v->parts.items;
	struct spans spans;

	if (!spans_init(&spans, v, v->parts.count))
		return NAN;
	for (size_t i = 0; i < v->parts.count; i++) {
		const struct sb_part_note *p = &parts[i];

		if (p->part != part || p->generation == SB_NO_GENERATION)
			continue;
		add(&spans, p->begin_ns, p->end_ns);
		if (p->generation < model->generations.count)
			add_s((double *)((char *)&model->generations.all[p->generation] + generation_member),
				(double)(p->end_ns - p->begin_ns) / 1e9);
	}
	if (!spans.count) {
		free(spans.all);
		return NAN;
	}
	return spans_done(&spans);
}

/* A pause longer than the step before it is something else's time, not denoising. */
static bool goes_on(const struct sb_step_note *before, const struct sb_step_note *n)
{
	return before->generation == n->generation && before->track == n->track &&
	       before->block == n->block && n->begin_ns >= before->begin_ns &&
	       n->begin_ns - before->end_ns <= before->end_ns - before->begin_ns;
}

/* Steps and the short pauses between those of one chain. NaN where only stopwatch times are
 * known and they do not fit (several at once, or recorded afterwards). */
static double steps_wall_s(struct sb_video *v, struct sb_model *model)
{
	const struct sb_step_note *steps = v->steps.items;
	struct spans spans;
	double wall_s;

	if (!v->steps.count || !spans_init(&spans, v, v->steps.count))
		return NAN;
	for (size_t i = 0; i < v->steps.count;) {
		int64_t end_ns = steps[i].end_ns;
		size_t k = i + 1;

		for (; k < v->steps.count && goes_on(&steps[k - 1], &steps[k]); k++)
			end_ns = steps[k].end_ns > end_ns ? steps[k].end_ns : end_ns;
		add(&spans, steps[i].begin_ns, end_ns);
		if (steps[i].generation < model->generations.count)
			add_s(&model->generations.all[steps[i].generation].denoise_s,
				(double)(end_ns - steps[i].begin_ns) / 1e9);
		i = k;
	}
	wall_s = spans_done(&spans);
	return steps[0].measured && wall_s < model->diffusion.step.total * 0.999 ? NAN : wall_s;
}

double sb_denoise_wall_s(struct sb_video *v, struct sb_model *model)
{
	double staged_s;

	for (size_t g = 0; g < model->generations.count; g++)
		model->generations.all[g].denoise_s = NAN;
	staged_s = parts_wall_s(v, model, SB_PART_DENOISE, offsetof(struct sb_generation, denoise_s));
	return isnan(staged_s) ? steps_wall_s(v, model) : staged_s;
}

double sb_vae_wall_s(struct sb_video *v, struct sb_model *model)
{
	return parts_wall_s(v, model, SB_PART_VAE_DECODE, offsetof(struct sb_generation, vae_s));
}

double sb_steps_covered_s(struct sb_video *v)
{
	const struct sb_step_note *steps = v->steps.items;
	struct spans spans;

	if (!spans_init(&spans, v, v->steps.count))
		return NAN;
	for (size_t i = 0; i < v->steps.count; i++)
		add(&spans, steps[i].begin_ns, steps[i].end_ns);
	return spans_done(&spans);
}

double sb_measured_s(struct sb_video *v)
{
	const struct sb_step_note *steps = v->steps.items;
	const struct sb_block_note *blocks = v->blocks.items;
	struct spans spans;

	if (!spans_init(&spans, v, v->steps.count + v->blocks.count))
		return 0;
	for (size_t i = 0; i < v->steps.count; i++)
		if (steps[i].measured)
			add(&spans, steps[i].begin_ns, steps[i].end_ns);
	for (size_t i = 0; i < v->blocks.count && !v->blocks_from_steps; i++)
		if (blocks[i].measured)
			add(&spans, blocks[i].begin_ns, blocks[i].end_ns);
	return spans_done(&spans);
}
