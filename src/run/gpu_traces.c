/* The traces of a run, from its META. */
#include "run/gpu_traces.h"

#include "base/error.h"
#include "format/run_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETUPS_MOST 1024u /* each step is held against each of them */

static bool is_mark(const struct sb_run_meta *meta, const char *key)
{
	return meta->scope == SB_META_RUN && meta->attr.type == STROBE_TYPE_INT &&
	       !strcmp(meta->attr.key, key);
}

struct mark { /* the begin or the end of a trace */
	uint32_t process;
	int64_t at_ns;
	bool is_end;
};

/* The process's last begin and end are those of a trace that was kept: out of the marks, into the traces. */
static int take_kept(struct sb_vec *marks, uint32_t process, struct sb_vec *out)
{
	struct mark *pair = (struct mark *)marks->items + (marks->count >= 2 ? marks->count - 2 : 0);
	struct sb_gpu_trace *trace;

	if (marks->count < 2 || pair[0].process != process || pair[1].process != process || pair[0].is_end ||
		!pair[1].is_end)
		return 0;
	trace = sb_vec_push(out, sizeof *trace);
	if (!trace)
		return STROBE_ENOMEM;
	*trace = (struct sb_gpu_trace){ process, pair[0].at_ns, pair[1].at_ns, true, true };
	marks->count -= 2;
	return 0;
}

static int add_mark(struct sb_vec *marks, const struct sb_run *run, const struct sb_run_meta *meta)
{
	struct mark *mark = sb_vec_push(marks, sizeof *mark);

	if (!mark)
		return STROBE_ENOMEM;
	*mark = (struct mark){ meta->process, sb_run_time_ns(run, meta->process, (uint64_t)meta->attr.i),
		is_mark(meta, SB_RUN_GPU_TRACE_END) };
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->is_end - y->is_end;
}

/* The program's thread says when a trace begins, the thread that collects it when it ended: each has its place among what
 * is said, whenever it was. An end is that of the first trace that has none. */
static int pair_marks(struct sb_vec *marks, const struct sb_run *run, struct sb_vec *out)
{
	struct mark *all = marks->items;
	size_t open = out->count;

	if (marks->count)
		qsort(all, marks->count, sizeof *all, by_time);
	for (size_t i = 0; i < marks->count; i++) {
		struct sb_gpu_trace *trace;

		if (i && all[i].process != all[i - 1].process)
			open = out->count;
		if (all[i].is_end && open == out->count)
			continue;
		trace = all[i].is_end ? (struct sb_gpu_trace *)out->items + open++
				      : sb_vec_push(out, sizeof *trace);
		if (!trace)
			return STROBE_ENOMEM;
		if (all[i].is_end) {
			trace->end_ns = all[i].at_ns;
			trace->ended = true;
		} else
			*trace = (struct sb_gpu_trace){ all[i].process, all[i].at_ns,
				run->processes[all[i].process].end_ns, false, false };
	}
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct sb_gpu_trace *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* What was kept is said when it is known to be slow: not in order, and neighbours share a step. */
static void join_kept(struct sb_vec *traces)
{
	struct sb_gpu_trace *all = traces->items;
	size_t count = 0;
	bool any = false;

	for (size_t i = 0; i < traces->count; i++)
		any = any || all[i].kept;
	if (!any)
		return;
	qsort(all, traces->count, sizeof *all, by_begin);
	for (size_t i = 0; i < traces->count; i++) {
		struct sb_gpu_trace *last = count ? &all[count - 1] : NULL;

		if (last && last->kept && all[i].kept && last->process == all[i].process &&
			all[i].begin_ns <= last->end_ns) {
			if (all[i].end_ns > last->end_ns)
				last->end_ns = all[i].end_ns;
			continue;
		}
		all[count++] = all[i];
	}
	traces->count = count;
}

int sb_gpu_traces_find(const struct sb_run *run, struct sb_vec *out)
{
	struct sb_vec marks = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < run->meta_count && !err; i++) {
		const struct sb_run_meta *meta = &run->metas[i];

		if (is_mark(meta, SB_RUN_GPU_TRACE_KEPT))
			err = take_kept(&marks, meta->process, out);
		else if (is_mark(meta, SB_RUN_GPU_TRACE_BEGIN) || is_mark(meta, SB_RUN_GPU_TRACE_END))
			err = add_mark(&marks, run, meta);
	}
	if (!err)
		err = pair_marks(&marks, run, out);
	free(marks.items);
	if (err)
		return sb_fail(err, "no memory for the GPU traces of '%s'", run->path);
	join_kept(out);
	return 0;
}

bool sb_gpu_traces_edge(const struct sb_vec *traces, uint32_t process, int64_t begin_ns, int64_t end_ns)
{
	const struct sb_gpu_trace *all = traces->items;

	for (size_t i = 0; i < traces->count; i++) {
		const struct sb_gpu_trace *t = &all[i];

		if ((process == UINT32_MAX || t->process == process) && !t->kept &&
			((t->begin_ns >= begin_ns && t->begin_ns <= end_ns) ||
				(t->end_ns >= begin_ns && t->end_ns <= end_ns)))
			return true;
	}
	return false;
}

bool sb_gpu_traces_apart(const struct sb_vec *traces, uint32_t process, int64_t begin_ns, int64_t end_ns)
{
	const struct sb_gpu_trace *all = traces->items;
	bool first = true;

	for (size_t i = 0; i < traces->count; i++) {
		if (all[i].process != process)
			continue;
		if (!first && all[i].begin_ns > begin_ns && all[i].begin_ns <= end_ns)
			return true;
		first = false;
	}
	return false;
}

void sb_gpu_traces_number(const struct sb_run *run, const char *key, int64_t *out_most, int64_t *out_sum)
{
	int64_t most = -1, sum = 0;

	for (uint32_t i = 0; i < run->meta_count; i++) {
		const struct sb_run_meta *meta = &run->metas[i];

		if (!is_mark(meta, key) || meta->attr.i < 0 || meta->attr.i > UINT32_MAX)
			continue; /* a damaged file may claim anything */
		most = meta->attr.i > most ? meta->attr.i : most;
		sum += meta->attr.i;
	}
	*out_most = most;
	*out_sum = sum;
}

int sb_gpu_setups_find(const struct sb_run *run, struct sb_vec *out)
{
	for (uint32_t i = 0; i < run->meta_count && out->count < SETUPS_MOST; i++) {
		const struct sb_run_meta *meta = &run->metas[i];
		uint64_t begin_ticks, end_ticks;
		struct sb_gpu_setup *setup;

		if (meta->scope != SB_META_RUN || meta->attr.type != STROBE_TYPE_STRING || !meta->attr.s ||
			strcmp(meta->attr.key, SB_RUN_GPU_SETUP) != 0 ||
			sscanf(meta->attr.s, "%" SCNu64 " %" SCNu64, &begin_ticks, &end_ticks) != 2)
			continue;
		setup = sb_vec_push(out, sizeof *setup);
		if (!setup)
			return sb_fail(STROBE_ENOMEM, "no memory for the GPU traces of '%s'", run->path);
		*setup = (struct sb_gpu_setup){ meta->process,
			sb_run_time_ns(run, meta->process, begin_ticks),
			sb_run_time_ns(run, meta->process, end_ticks) };
	}
	return 0;
}

bool sb_gpu_setups_meet(const struct sb_vec *setups, uint32_t process, int64_t begin_ns, int64_t end_ns)
{
	const struct sb_gpu_setup *all = setups->items;

	for (size_t i = 0; i < setups->count; i++)
		if ((process == UINT32_MAX || all[i].process == process) && all[i].begin_ns <= end_ns &&
			all[i].end_ns >= begin_ns)
			return true;
	return false;
}
