/* Remembers of each path whether it was called, and which traces saw it. */
#include "analyze/warm_calls.h"

#include "analyze/model.h"
#include "base/error.h"
#include "run/gpu_traces.h"

#include <stdlib.h>
#include <string.h>

/* Moments of strobe's own: struct sb_gpu_setup has what is needed of them. */
static int add_own(struct sb_vec *own, uint32_t process, int64_t begin_ns, int64_t end_ns)
{
	struct sb_gpu_setup *n = sb_vec_push(own, sizeof *n);

	if (!n)
		return sb_fail(STROBE_ENOMEM, "no memory for the calls of stages");
	*n = (struct sb_gpu_setup){ process, begin_ns, end_ns };
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct sb_gpu_setup *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static void join(struct sb_vec *own)
{
	struct sb_gpu_setup *all = own->items;
	size_t count = 0;

	if (own->count)
		qsort(all, own->count, sizeof *all, by_begin);
	for (size_t i = 0; i < own->count; i++) {
		struct sb_gpu_setup *last = count ? &all[count - 1] : NULL;

		if (!last || last->process != all[i].process || all[i].begin_ns > last->end_ns)
			all[count++] = all[i];
		else if (all[i].end_ns > last->end_ns)
			last->end_ns = all[i].end_ns;
	}
	own->count = count;
}

int sb_warm_calls_init_alone(struct sb_warm_calls *w, const struct sb_run *run)
{
	const struct sb_gpu_trace *all;
	int err;

	memset(w, 0, sizeof *w);
	err = sb_gpu_traces_find(run, &w->traces);
	if (!err)
		err = sb_gpu_setups_find(run, &w->own);
	all = w->traces.items;
	for (size_t i = 0; !err && i < w->traces.count; i++) {
		if (all[i].kept) /* that took no time */
			continue;
		err = add_own(&w->own, all[i].process, all[i].begin_ns, all[i].begin_ns);
		if (!err && all[i].ended)
			err = add_own(&w->own, all[i].process, all[i].end_ns, all[i].end_ns);
	}
	join(&w->own);
	return err;
}

int sb_warm_calls_init(struct sb_warm_calls *w, struct sb_run *run, struct sb_model *model)
{
	int err = sb_warm_calls_init_alone(w, run);

	if (!err)
		err = sb_warm_generations_find(run, model);
	w->generations = &model->warm_generations;
	return err;
}

void sb_warm_calls_done(struct sb_warm_calls *w)
{
	sb_vec_done(&w->traces);
	sb_vec_done(&w->own);
	free(w->seen);
}

static struct sb_path_seen *seen_of(struct sb_warm_calls *w, uint32_t path)
{
	if (path >= w->path_room) {
		uint32_t room = path * 2 + 64;
		struct sb_path_seen *more = realloc(w->seen, room * sizeof *more);

		if (!more)
			return NULL;
		memset(more + w->path_room, 0, (room - w->path_room) * sizeof *more);
		w->seen = more;
		w->path_room = room;
	}
	return &w->seen[path];
}

/* Something of strobe's own lies in it. */
static bool meets_own(const struct sb_warm_calls *w, const struct sb_zone *z)
{
	const struct sb_gpu_setup *all = w->own.items;
	size_t low = 0, high = w->own.count;

	while (low < high) { /* the first that begins after it */
		size_t middle = low + (high - low) / 2;
		const struct sb_gpu_setup *o = &all[middle];

		if (o->process < z->process || (o->process == z->process && o->begin_ns <= z->end_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low && all[low - 1].process == z->process && all[low - 1].end_ns >= z->begin_ns;
}

/* A trace sees the path for the first time. */
static bool begins_to_be_traced(
	const struct sb_warm_calls *w, struct sb_path_seen *seen, const struct sb_zone *z)
{
	const struct sb_gpu_trace *all = w->traces.items;
	bool begins = false;

	for (size_t i = 0; i < w->traces.count; i++) {
		if (all[i].process != z->process || all[i].kept || all[i].begin_ns >= z->end_ns ||
			all[i].end_ns <= z->begin_ns || seen->trace > i)
			continue;
		seen->trace = (uint32_t)i + 1;
		begins = true;
	}
	return begins;
}

bool sb_warm_calls_counts(const struct sb_zone *z)
{
	return !(z->flags & (SB_ZONE_OPEN | SB_ZONE_CLIPPED | SB_ZONE_SPAN | SB_ZONE_RECURSIVE));
}

bool sb_warm_calls_kind(struct sb_warm_calls *w, const struct sb_zone *z, enum sb_call_kind *out_kind)
{
	struct sb_path_seen *seen = seen_of(w, z->path);
	bool first, own;

	if (!seen)
		return false;
	first = seen->process != z->process + 1;
	seen->process = z->process + 1;
	own = begins_to_be_traced(w, seen, z) || meets_own(w, z);
	own = own || z->flags & SB_ZONE_WARMING || sb_zone_failed(z) ||
	      (w->generations && !w->cold_too && sb_warm_generations_cold(w->generations, z)) ||
	      (w->generations && !w->served_too && sb_warm_generations_served(w->generations, z));
	*out_kind = own ? SB_CALL_COLD : first ? SB_CALL_FIRST : SB_CALL_WARM;
	return true;
}

int64_t sb_warm_calls_traced_ns(const struct sb_warm_calls *w, const struct sb_zone *z)
{
	const struct sb_gpu_trace *all = w->traces.items;
	int64_t from_ns = INT64_MAX;

	for (size_t i = 0; i < w->traces.count; i++) {
		if (all[i].process != z->process || all[i].begin_ns >= z->end_ns ||
			all[i].end_ns <= z->begin_ns)
			continue;
		if (all[i].ended && all[i].end_ns < z->end_ns)
			return 0;
		from_ns = all[i].begin_ns < from_ns ? all[i].begin_ns : from_ns;
	}
	if (!w->traces.count) /* an import: all of it is a trace */
		return z->end_ns - z->begin_ns;
	return from_ns == INT64_MAX ? 0 : z->end_ns - (from_ns > z->begin_ns ? from_ns : z->begin_ns);
}
