/* Which stage allocated what was the most so far, where two readings of an allocator have several calls between them. Memory is
 * allocated when the CPU launches: calls lie where the CPU was in them, however far behind the GPU is. */
#include "analyze/memory/residency.h"

#include "base/role.h"

#include <math.h>

#define CANDIDATES_MOST 64
#define UNLIKELY 0.1

struct candidate { /* a stage with calls in the time */
	const struct sb_open_stage *last;
	int64_t filled_ns; /* by the longest of them: each needs as much as the others */
	int64_t shortest_ns; /* of all calls: the first one also loads and tunes */
	bool again; /* it was called before, too */
};

static int64_t overlap_ns(const struct sb_open_stage *z, int64_t from_ns, int64_t to_ns)
{
	int64_t a = z->begin_ns > from_ns ? z->begin_ns : from_ns;
	int64_t b = z->end_ns < to_ns ? z->end_ns : to_ns;

	return b - a;
}

static struct candidate *candidate_of(struct candidate *all, size_t count, uint32_t name)
{
	for (size_t i = 0; i < count; i++)
		if (all[i].last->name == name)
			return &all[i];
	return NULL;
}

static size_t list_candidates(
	const struct sb_open_stages *s, int64_t from_ns, int64_t to_ns, struct candidate *out)
{
	const struct sb_open_stage *all = s->all.items;
	size_t count = 0;

	for (size_t i = 0; i < s->all.count; i++) {
		int64_t filled_ns = overlap_ns(&all[i], from_ns, to_ns);
		struct candidate *c = filled_ns > 0 ? candidate_of(out, count, all[i].name) : NULL;

		if (filled_ns <= 0 || (!c && count == CANDIDATES_MOST))
			continue;
		if (!c) {
			c = &out[count++];
			*c = (struct candidate){ .last = &all[i], .shortest_ns = INT64_MAX };
		}
		if (all[i].begin_ns > c->last->begin_ns)
			c->last = &all[i];
		if (filled_ns > c->filled_ns)
			c->filled_ns = filled_ns;
	}
	return count;
}

static void see_other_calls(const struct sb_open_stages *s, int64_t since_ns, int64_t from_ns,
	struct candidate *candidates, size_t count)
{
	const struct sb_open_stage *all = s->all.items;

	for (size_t i = 0; i < s->all.count; i++) {
		struct candidate *c = candidate_of(candidates, count, all[i].name);
		int64_t took_ns = all[i].end_ns - all[i].begin_ns;

		if (!c)
			continue;
		c->again |= all[i].begin_ns >= since_ns && all[i].end_ns <= from_ns;
		if (took_ns < c->shortest_ns)
			c->shortest_ns = took_ns;
	}
}

/* What the GPU works on for long is large. NAN: not measured. */
static double gpu_ns(const struct sb_model *model, const char *name)
{
	const struct sb_stage *row = sb_model_stage(model, name);

	return row && row->gpu_span_count ? row->gpu_span_s / (double)row->gpu_span_count * 1e9 : NAN;
}

/* What is done again needs no more than it did; a pause launches little. */
static double weight_of(
	const struct sb_residency_collected *c, const struct candidate *one, bool gpu_is_measured)
{
	const char *name = c->run->names[one->last->name].text;
	double most = (double)one->shortest_ns, share = fmin(1, (double)one->filled_ns / fmax(1, most));
	double gpu = gpu_ns(c->model, name);
	bool idle = gpu_is_measured && isnan(gpu);

	return share * (gpu > 0 ? gpu : most) *
	       (one->again || idle || sb_role_phase(name) >= 0 ? UNLIKELY : 1);
}

/* A stage inside another that weighs nearly as much says more. */
static bool is_likelier(const struct candidate *c, double weight, const struct candidate *best, double most)
{
	return !best || weight > (c->last->depth > best->last->depth ? most * 0.8 : most);
}

int64_t sb_residency_since(const struct sb_residency_collected *c, int64_t t_ns)
{
	const struct sb_open_stage *all = c->generations.items;
	int64_t since_ns = c->run->from_ns;

	for (size_t i = 0; i < c->generations.count; i++)
		if (all[i].begin_ns <= t_ns && all[i].end_ns >= t_ns && all[i].begin_ns > since_ns)
			since_ns = all[i].begin_ns;
	return since_ns;
}

const struct sb_open_stage *sb_residency_raised(const struct sb_residency_collected *c, int64_t since_ns,
	int64_t from_ns, int64_t to_ns, int64_t *out_ns)
{
	struct candidate all[CANDIDATES_MOST];
	const struct candidate *best = NULL;
	size_t count = list_candidates(&c->named, from_ns, to_ns, all);
	bool measured = false;
	double most = 0;

	see_other_calls(&c->named, since_ns, from_ns, all, count);
	for (size_t i = 0; i < count; i++)
		measured |= gpu_ns(c->model, c->run->names[all[i].last->name].text) > 0;
	for (size_t i = 0; i < count; i++) {
		double weight = weight_of(c, &all[i], measured);

		if (is_likelier(&all[i], weight, best, most)) {
			best = &all[i];
			most = weight;
		}
	}
	if (!best)
		return NULL;
	*out_ns = best->last->end_ns < to_ns ? best->last->end_ns : to_ns;
	return best->last;
}
