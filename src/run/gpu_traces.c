/* The traces of a run, from its META. */
#include "run/gpu_traces.h"

#include "base/error.h"
#include "format/run_keys.h"

#include <string.h>

static bool is_mark(const struct sb_run_meta *meta, const char *key)
{
	return meta->scope == SB_META_RUN && meta->attr.type == STROBE_TYPE_INT &&
	       !strcmp(meta->attr.key, key);
}

/* The process's last trace, while it has no end. */
static struct sb_gpu_trace *open_trace(struct sb_vec *traces, uint32_t process)
{
	struct sb_gpu_trace *all = traces->items;

	for (size_t i = traces->count; i-- > 0;)
		if (all[i].process == process)
			return all[i].end_ns == INT64_MAX ? &all[i] : NULL;
	return NULL;
}

int sb_gpu_traces_find(const struct sb_run *run, struct sb_vec *out)
{
	struct sb_gpu_trace *trace;

	for (uint32_t i = 0; i < run->meta_count; i++) {
		const struct sb_run_meta *meta = &run->metas[i];
		int64_t at_ns;

		if (!is_mark(meta, SB_RUN_GPU_TRACE_BEGIN) && !is_mark(meta, SB_RUN_GPU_TRACE_END))
			continue;
		at_ns = sb_run_time_ns(run, meta->process, (uint64_t)meta->attr.i);
		trace = open_trace(out, meta->process);
		if (trace) {
			trace->end_ns = at_ns;
			trace->ended = true;
		}
		if (is_mark(meta, SB_RUN_GPU_TRACE_END))
			continue;
		trace = sb_vec_push(out, sizeof *trace);
		if (!trace)
			return sb_fail(STROBE_ENOMEM, "no memory for the GPU traces of '%s'", run->path);
		*trace = (struct sb_gpu_trace){ meta->process, at_ns, INT64_MAX, false };
	}
	for (size_t i = 0; i < out->count; i++) {
		trace = (struct sb_gpu_trace *)out->items + i;
		if (trace->end_ns == INT64_MAX)
			trace->end_ns = run->processes[trace->process].end_ns;
	}
	return 0;
}

bool sb_gpu_traces_edge(const struct sb_vec *traces, uint32_t process, int64_t begin_ns, int64_t end_ns)
{
	const struct sb_gpu_trace *all = traces->items;

	for (size_t i = 0; i < traces->count; i++) {
		const struct sb_gpu_trace *t = &all[i];

		if ((process == UINT32_MAX || t->process == process) &&
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
