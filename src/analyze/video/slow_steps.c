/* Which steps were slower than their peers: steps of the same block size, in generations of the same size, that a cache
 * served alike. */
#include "analyze/slow.h"
#include "analyze/video/video.h"
#include "base/inorder.h"
#include "base/map.h"
#include "run/gpu_traces.h"
#include "stats/longest.h"

#include <stdlib.h>
#include <string.h>

#define SLOW_LISTED 20

/* ---- steps that strobe slows ------------------------------------------------ */

/* What was kept of a trace that ran all the time cost its steps no more than the others. */
static bool is_traced(const struct sb_vec *traces, uint32_t process, const struct sb_video_step *n)
{
	const struct sb_gpu_trace *all = traces->items;

	for (size_t i = 0; i < traces->count; i++)
		if (all[i].process == process && !all[i].kept && all[i].begin_ns <= n->end_ns &&
			all[i].end_ns >= n->begin_ns)
			return true;
	return false;
}

/* A few traced steps among others: tracing takes its time too. */
static bool traced_are_few(const struct sb_video *v, const struct sb_vec *traces)
{
	const struct sb_video_step *all = v->steps.items;
	size_t others = 0;

	for (size_t i = 0; i < v->steps.count && others < SB_SLOW_PEERS_LEAST; i++)
		others += !all[i].first && !is_traced(traces, v->run->tracks[all[i].track].process, &all[i]);
	return others >= SB_SLOW_PEERS_LEAST;
}

/* Counts the steps that end in the first trace, which is theirs; those after it are of other stages. The first of them began
 * before it, while it was set up. What was traced of a loop with a cache may be more hits or more misses. */
static void note_traced(const struct sb_vec *traces, uint32_t process, const struct sb_video_step *n,
	struct sb_diffusion_panel *d)
{
	const struct sb_gpu_trace *all = traces->items;

	for (size_t i = 0; i < traces->count; i++) {
		if (all[i].process != process)
			continue;
		if (all[i].begin_ns <= n->end_ns && all[i].end_ns >= n->end_ns) {
			d->traced_steps++;
			d->traced_cached_steps += n->cached;
		}
		return;
	}
}

/* To begin and end a trace takes the program's time, and so does setting one up: such a step is slow by strobe. */
static void find_trace_edges(struct sb_video *v, struct sb_model *model)
{
	struct sb_video_step *all = v->steps.items;
	struct sb_vec traces = { 0 }, setups = { 0 };
	bool few;

	if (sb_gpu_traces_find(v->run, &traces) != 0 || sb_gpu_setups_find(v->run, &setups) != 0)
		v->failed = true;
	few = traced_are_few(v, &traces);
	for (size_t i = 0; (traces.count || setups.count) && i < v->steps.count; i++) {
		uint32_t process = v->run->tracks[all[i].track].process;

		all[i].trace_edge = few ? is_traced(&traces, process, &all[i])
					: sb_gpu_traces_edge(
						  &traces, process, all[i].begin_ns, all[i].end_ns);
		note_traced(&traces, process, &all[i], &model->diffusion);
		all[i].trace_edge |= sb_gpu_setups_meet(&setups, process, all[i].begin_ns, all[i].end_ns);
		model->diffusion.trace_edge_steps += all[i].trace_edge;
	}
	sb_vec_done(&traces);
	sb_vec_done(&setups);
}

/* ---- peers -------------------------------------------------------------------- */

struct candidate {
	uint64_t kind; /* peers have the same */
	const struct sb_video_step *step;
};

static uint64_t kind_of(const struct sb_video *v, const struct sb_video_step *n)
{
	const struct sb_video_generation *all = v->generations.items;
	uint64_t kind = sb_hash64((uint64_t)n->block_size * 2 + n->cached);

	if (n->generation >= v->generations.count)
		return kind;
	kind = sb_hash64(kind + (uint64_t)all[n->generation].width);
	kind = sb_hash64(kind + (uint64_t)all[n->generation].height);
	return sb_hash64(kind + (uint64_t)all[n->generation].asked_frames);
}

static int by_kind(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->step < y->step ? -1 : x->step > y->step;
}

/* Those that are judged, peers side by side. NULL: no memory. */
static struct candidate *find_candidates(const struct sb_video *v, size_t *out_count)
{
	const struct sb_video_step *all = v->steps.items;
	struct candidate *found = malloc((v->steps.count + 1) * sizeof *found);
	size_t count = 0;

	for (size_t i = 0; found && i < v->steps.count; i++)
		if (!all[i].first && !all[i].trace_edge)
			found[count++] = (struct candidate){ kind_of(v, &all[i]), &all[i] };
	if (found)
		sb_sort_unless_in_order(found, count, sizeof *found, by_kind);
	*out_count = count;
	return found;
}

static double peer_median_s(const struct candidate *peers, size_t count, double *scratch_s)
{
	struct sb_stats stats;

	for (size_t i = 0; i < count; i++)
		scratch_s[i] = sb_video_step_s(peers[i].step);
	if (count < SB_SLOW_PEERS_LEAST || sb_stats_of(scratch_s, count, &stats) != 0)
		return NAN;
	return stats.median;
}

/* ---- the slow ones ---------------------------------------------------------------- */

static void list_slow(struct sb_diffusion_panel *d, const struct sb_video_step *n, double median_s)
{
	struct sb_slow_step slow = { .step = n->step,
		.block = n->block,
		.ordinal = n->ordinal,
		.t_s = (double)n->begin_ns / 1e9,
		.duration_s = sb_video_step_s(n),
		.peer_s = median_s };
	const struct sb_longest list = { d->slow_steps, sizeof slow,
		offsetof(struct sb_slow_step, duration_s), SLOW_LISTED };
	struct sb_slow_step *place = sb_longest_place(&list, &d->slow_step_count, slow.duration_s);

	d->slow_step_total++;
	d->slow_step_excess_s += slow.duration_s - median_s;
	if (place)
		*place = slow;
}

/* The loop of that name lists the same steps: a slow step is the same step in both lists. */
static void tell_loop(
	struct sb_video *v, struct sb_model *model, const struct sb_video_step *n, double median_s)
{
	const char *name = v->run->names[n->name].text;

	for (size_t i = 0; i < model->iterations.count; i++) {
		struct sb_iterations *it = &model->iterations.all[i];

		if (it->role == STROBE_ROLE_STEP && !strcmp(it->name, name))
			sb_iterations_add_slow(
				it, (struct sb_outlier){ n->ordinal, (double)n->begin_ns / 1e9,
					    sb_video_step_s(n), median_s, n->warm || !it->steps_warm });
	}
}

/* Of the loop's warm-up, which has its own line: slow for another reason than a step among warm ones. */
static bool is_warmup(const struct sb_video *v, const struct sb_model *model, const struct sb_video_step *n)
{
	const char *name = v->run->names[n->name].text;

	for (size_t i = 0; i < model->iterations.count; i++) {
		const struct sb_iterations *it = &model->iterations.all[i];

		if (it->role == STROBE_ROLE_STEP && !strcmp(it->name, name))
			return n->ordinal < it->warmup_count;
	}
	return false;
}

static void judge(struct sb_video *v, struct sb_model *model, const struct candidate *peers, size_t count,
	double *scratch_s)
{
	double ratio = sb_slow_ratio(v->run), peer_s = peer_median_s(peers, count, scratch_s);

	for (size_t i = 0; !isnan(peer_s) && i < count; i++) {
		if (!sb_is_slow(sb_video_step_s(peers[i].step), peer_s, ratio) ||
			is_warmup(v, model, peers[i].step))
			continue;
		list_slow(&model->diffusion, peers[i].step, peer_s);
		tell_loop(v, model, peers[i].step, peer_s);
	}
}

void sb_slow_steps_fill(struct sb_video *v, struct sb_model *model, double *scratch_s)
{
	struct candidate *all;
	size_t count, end;

	find_trace_edges(v, model);
	model->diffusion.slow_steps = sb_model_alloc(model, SLOW_LISTED * sizeof(struct sb_slow_step));
	all = find_candidates(v, &count);
	v->failed |= !all;
	for (size_t i = 0; all && model->diffusion.slow_steps && i < count; i = end) {
		for (end = i; end < count && all[end].kind == all[i].kind;)
			end++;
		judge(v, model, all + i, end - i, scratch_s);
	}
	free(all);
}
