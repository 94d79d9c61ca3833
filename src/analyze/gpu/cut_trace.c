/* A program killed while its GPU was traced: CUPTI hands kernels over in buffers, and what it
 * still held is lost. How much is not known; the report says from when on. */
#include "analyze/analysis.h"
#include "run/gpu_traces.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>

struct cut_traces {
	struct sb_vec traces; /* struct sb_gpu_trace */
	int64_t *seen_ns; /* of each trace: the end of the last kernel that came */
};

static bool is_cut(const struct sb_run *run, const struct sb_gpu_trace *t)
{
	const struct sb_file_header *head = &run->processes[t->process].reader->head;

	return !t->ended && !head->closed && !sb_run_is_running(head);
}

static void done(void *self)
{
	struct cut_traces *c = self;

	if (!c)
		return;
	free(c->traces.items);
	free(c->seen_ns);
	free(c);
}

static void take_event(void *self, const struct sb_event *e)
{
	struct cut_traces *c = self;
	const struct sb_gpu_trace *all = c->traces.items;
	bool is_work = e->gpu.kind != SB_GPU_ZONE && e->gpu.kind != SB_GPU_SYNC;

	for (size_t i = 0; i < c->traces.count; i++) {
		int64_t end_ns = e->t_ns + e->gpu.duration_ns;

		if (all[i].process == e->process && is_work && end_ns > c->seen_ns[i])
			c->seen_ns[i] = end_ns;
	}
}

static size_t keep_cut(const struct sb_run *run, struct sb_vec *traces)
{
	struct sb_gpu_trace *all = traces->items;
	size_t count = 0;

	for (size_t i = 0; i < traces->count; i++)
		if (is_cut(run, &all[i]))
			all[count++] = all[i];
	return traces->count = count;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct cut_traces *c = calloc(1, sizeof *c);
	int err = c ? sb_gpu_traces_find(run, &c->traces) : STROBE_ENOMEM;

	(void)model;
	if (!err && !keep_cut(run, &c->traces)) {
		done(c);
		return 0;
	}
	if (!err)
		c->seen_ns = calloc(c->traces.count, sizeof *c->seen_ns);
	if (err || !c->seen_ns) {
		done(c);
		return sb_fail(STROBE_ENOMEM, "no memory for the GPU traces of '%s'", run->path);
	}
	for (size_t i = 0; i < c->traces.count; i++)
		c->seen_ns[i] = ((struct sb_gpu_trace *)c->traces.items)[i].begin_ns;
	*v = (struct sb_visitor){ .self = c, .kinds = 1u << SB_EVENT_GPU, .event = take_event };
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct cut_traces *c = self;
	const struct sb_gpu_trace *all = c ? c->traces.items : NULL;

	for (size_t i = 0; c && i < c->traces.count; i++)
		sb_model_missing(model,
			sb_model_printf(model, "the last kernels that process %" PRIu32 " launched",
				run->processes[all[i].process].pid),
			sb_model_printf(model,
				"it was killed during its GPU trace: kernels that CUPTI had not handed over "
				"are "
				"lost, from %.3f s of the run on",
				(double)c->seen_ns[i] / 1e9),
			"end a trace before the program: kill -USR2 PID, or --gpu-trace=steps:3");
	return 0;
}

const struct sb_analysis sb_analysis_cut_trace = {
	.name = "cut_trace", .begin = begin, .finish = finish, .done = done
};
