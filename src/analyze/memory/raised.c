/* Which stage allocated what was the most so far, if one did, where two readings of an allocator have several calls, or none,
 * between them. Memory is allocated when the CPU launches: calls lie where the CPU was in them, however far behind the GPU is. */
#include "analyze/memory/residency.h"

#include "base/role.h"

#include <math.h>

#define CANDIDATES_MOST 64
#define UNLIKELY 0.1
#define TOGETHER_NS 20000000 /* readings of one moment */
#define LEAD_RATIO 0.1 /* of the time between two readings: less is the call itself */
#define FILLED_RATIO 0.33 /* of it: strobe itself may take as much between two calls */
#define HELD_RATIO 0.98 /* of the most: it had been reached */
#define RISE_RATIO 0.0002 /* of the most: less is no rise of its own */

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

/* The beginning of the generation around a moment, else of the run. */
static int64_t since(const struct sb_residency_collected *c, int64_t t_ns)
{
	const struct sb_open_stage *all = c->generations.items;
	int64_t since_ns = c->run->from_ns;

	for (size_t i = 0; i < c->generations.count; i++)
		if (all[i].begin_ns <= t_ns && all[i].end_ns >= t_ns && all[i].begin_ns > since_ns)
			since_ns = all[i].begin_ns;
	return since_ns;
}

/* The stage that allocated what was the most so far, somewhere in [from, to]: of those called in it the one with the largest call,
 * and rather one that was not called between since and from as well. *out_ns: a moment in its last call there. NULL: none is
 * called. */
static const struct sb_open_stage *raising_stage(const struct sb_residency_collected *c, int64_t since_ns,
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

static const struct sb_device_reading *reading_before(
	const struct sb_residency_collected *c, const struct sb_device_reading *r)
{
	const struct sb_device_reading *all = c->readings.items;

	return r->before < 0 ? NULL : &all[r->before];
}

/* ---- readings ---- */

/* From when on what a reading says may have come. Before a process's first one its allocator had nothing yet when the host's
 * memory was read: both are read at a time. */
static int64_t risen_since(const struct sb_residency_collected *c, const struct sb_device_reading *r,
	const struct sb_device_reading *before, int64_t since_ns)
{
	const struct sb_host_reading *host = c->host_readings.items;
	int64_t from_ns = before ? before->t_ns : since_ns;

	for (size_t i = 0; !before && c->host_process == r->process && i < c->host_readings.count; i++)
		if (host[i].t_ns < r->t_ns - TOGETHER_NS)
			from_ns = host[i].t_ns;
	return from_ns;
}

/* The end of a time, or the begin of the first generation in it. */
static int64_t before_generation(const struct sb_residency_collected *c, int64_t from_ns, int64_t to_ns)
{
	const struct sb_open_stage *all = c->generations.items;

	for (size_t i = 0; i < c->generations.count; i++)
		if (all[i].begin_ns > from_ns && all[i].begin_ns < to_ns)
			to_ns = all[i].begin_ns;
	return to_ns;
}

/* True if it is no stage's, or may be none's: stages fill little of the time, or it begins outside of them, and nearly as much was
 * held then, or it is a process's first reading, before which models are made. *out_ns: the last moment outside. */
static bool rose_outside(struct sb_residency_collected *c, const struct sb_device_reading *r,
	const struct sb_device_reading *before, int64_t from_ns, int64_t *out_ns)
{
	struct sb_open_stages_gaps gaps = sb_open_stages_gaps(&c->named, from_ns, r->t_ns);
	double took_ns = (double)(r->t_ns - from_ns);

	if ((double)gaps.lead_ns > LEAD_RATIO * took_ns &&
		(!before || before->allocated >= HELD_RATIO * fmax(r->most, r->allocated))) {
		*out_ns = before_generation(c, from_ns, from_ns + gaps.lead_ns) - 1;
		return true;
	}
	*out_ns = gaps.last_ns;
	return took_ns - (double)gaps.all_ns < FILLED_RATIO * took_ns;
}

/* A reading says that it rose since the one before, or that more was reserved. The stage that did it is looked for here, and
 * nowhere else. */
static void find_rise(struct sb_residency_collected *c, struct sb_device_reading *r, double top)
{
	const struct sb_device_reading *before = reading_before(c, r);
	double rise = r->most - (before ? before->most : 0), least = top * RISE_RATIO;
	bool before_all = !before && r->most > r->reserved; /* and given back: when is not known */
	bool raised = rise > 0 && (rise >= least || r->most >= top) && !before_all;
	bool grew = r->reserved - (before ? before->reserved : 0) >= fmax(least, 1);
	int64_t since_ns, from_ns, rose_ns = r->t_ns;
	const struct sb_open_stage *stage;

	if (!raised && !grew)
		return;
	since_ns = since(c, r->t_ns);
	if (before && since_ns <= c->run->from_ns)
		since_ns = since(c, before->t_ns); /* it was read after the generation */
	from_ns = risen_since(c, r, before, since_ns);
	stage = rose_outside(c, r, before, from_ns, &rose_ns)
			? NULL
			: raising_stage(c, since_ns, from_ns, r->t_ns, &rose_ns);
	if (stage)
		r->raised_in = stage->name;
	if (raised)
		r->raised_ns = rose_ns < r->t_ns ? rose_ns : r->t_ns - 1; /* a moment of its own */
	if (grew)
		r->grew_ns = raised ? r->raised_ns : rose_ns;
}

void sb_residency_find_rises(struct sb_residency_collected *c)
{
	struct sb_device_reading *all = c->readings.items;
	double top = 0;

	for (size_t i = 0; i < c->readings.count; i++)
		top = fmax(top, all[i].most);
	for (size_t i = 0; i < c->readings.count; i++)
		find_rise(c, &all[i], top);
}
