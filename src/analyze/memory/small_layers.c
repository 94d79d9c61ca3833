/* Layers of a picture of memory added up: all of them, and those that are drawn as one (all but the largest). */
#include "analyze/memory/residency.h"

#define LARGE_MOST 6u /* colours that cannot be mistaken */

static double most_of(const struct sb_memory_layer *l)
{
	double most = 0;

	for (size_t i = 0; i < l->count; i++)
		most = fmax(most, l->mb[i]);
	return most;
}

/* How many layers come before this one, by what each held at most. */
static size_t rank_of(const struct sb_memory_picture *p, size_t layer)
{
	size_t rank = 0;

	for (size_t i = 0; i < p->layer_count; i++)
		rank += p->layers[i].most_mb > p->layers[layer].most_mb ||
			(i < layer && p->layers[i].most_mb == p->layers[layer].most_mb);
	return rank;
}

static void add(double *sums_mb, size_t count, const struct sb_memory_layer *l)
{
	for (size_t i = 0; i < count && i < l->count; i++)
		sums_mb[i] += l->mb[i];
}

static bool join(struct sb_model *m, struct sb_memory_picture *p)
{
	p->sum_mb = sb_model_alloc(m, p->count * sizeof *p->sum_mb);
	if (!p->sum_mb)
		return false;
	for (size_t i = 0; i < p->layer_count; i++) {
		p->layers[i].most_mb = most_of(&p->layers[i]);
		add(p->sum_mb, p->count, &p->layers[i]);
	}
	if (p->layer_count <= LARGE_MOST)
		return true;
	p->small_mb = sb_model_alloc(m, p->count * sizeof *p->small_mb);
	if (!p->small_mb)
		return false;
	p->small_moments = p->count;
	for (size_t i = 0; i < p->layer_count; i++) {
		p->layers[i].small = rank_of(p, i) >= LARGE_MOST - 1;
		if (p->layers[i].small)
			add(p->small_mb, p->count, &p->layers[i]);
	}
	return true;
}

bool sb_memory_pictures_join_small(struct sb_model *model)
{
	bool joined = true;

	for (size_t i = 0; joined && i < model->memory_pictures.count; i++)
		joined = join(model, &model->memory_pictures.all[i]);
	return joined;
}
