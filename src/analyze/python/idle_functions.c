/* idle_functions: which Python functions ran while the traced GPU had nothing to do. */
#include "analyze/analysis.h"
#include "analyze/python/place_samples.h"
#include "base/error.h"

#include <stdlib.h>

enum { BUSY, UNTRACED }; /* what covers a sample */
enum { SAMPLES_LEAST = 3 }; /* fewer may be chance */

struct idle {
	struct sb_run *run;
	struct sb_place_samples places; /* by process and time, once there are all */
};

static void see_event(void *self, const struct sb_event *e)
{
	struct idle *i = self;

	sb_places_see(&i->places, e);
}

static void see_generation(void *self, const struct sb_zone *z)
{
	struct idle *i = self;

	i->places.no_memory |= !sb_map_put(&i->places.generation_tracks, z->track, 1);
}

/* ---- which of them no work of the GPU covers: a second pass, only when there are stacks and a trace --- */

static int compare(uint32_t p, int64_t t_ns, const struct sb_place_sample *s)
{
	if (p != s->process)
		return p < s->process ? -1 : 1;
	return t_ns < s->t_ns ? -1 : t_ns > s->t_ns;
}

static int by_process_and_time(const void *a, const void *b)
{
	const struct sb_place_sample *x = a;

	return compare(x->process, x->t_ns, b);
}

static uint32_t first_from(const struct sb_place_samples *p, uint32_t process, int64_t t_ns)
{
	uint32_t low = 0, high = p->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (compare(process, t_ns, &p->all[middle]) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_in_work(const struct sb_place_sample *s, const void *event)
{
	const struct sb_event *e = event;

	return s->process == e->process && s->t_ns - e->t_ns <= e->gpu.duration_ns;
}

static void see_work(void *self, const struct sb_event *e)
{
	struct idle *i = self;
	bool is_work = e->gpu.kind == SB_GPU_KERNEL || e->gpu.kind == SB_GPU_MEMSET ||
		       (e->gpu.kind >= SB_GPU_COPY_H2D && e->gpu.kind <= SB_GPU_COPY_OTHER);

	if (is_work && e->gpu.duration_ns >= 0)
		sb_places_cover(&i->places, first_from(&i->places, e->process, e->t_ns), BUSY, is_in_work, e);
}

/* ---- and that a trace saw ---------------------------------------------------- */

/* Between the first and the last work of a GPU, and where several parts were traced, in one of them. */
static bool was_traced(const struct sb_model *model, uint32_t pid, double t_s)
{
	const struct sb_gpu_panel *g = &model->gpu;
	bool used = false, traced = !g->trace_count;

	for (size_t i = 0; i < g->device_count && !used; i++)
		used = g->devices[i].pid == pid && t_s >= g->devices[i].t_s &&
		       t_s <= g->devices[i].t_s + g->devices[i].window_s;
	for (size_t i = 0; i < g->trace_count && !traced; i++)
		traced = g->traces[i].pid == pid && t_s >= g->traces[i].t_s &&
			 t_s <= g->traces[i].t_s + g->traces[i].duration_s;
	return used && traced;
}

static void leave_out_untraced(struct idle *i, const struct sb_model *model)
{
	for (uint32_t k = 0; k < i->places.count; k++) {
		struct sb_place_sample *s = &i->places.all[k];

		s->covered[UNTRACED] = !was_traced(
			model, i->run->processes[s->process].pid, (double)s->t_ns / 1e9);
	}
}

static bool is_wanted(const struct sb_place_samples *p, const struct sb_place_sample *s, int which)
{
	(void)p;
	return !s->covered[which] && !s->covered[UNTRACED];
}

/* ---- the analysis -------------------------------------------------------------- */

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct idle *i = calloc(1, sizeof *i);

	if (!i)
		return sb_fail(STROBE_ENOMEM, "no memory for the sampled stacks of '%s'", run->path);
	i->run = run;
	v->self = i;
	v->event = see_event;
	v->zone = see_generation;
	sb_places_begin(&i->places, run, model, v);
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct idle *i = self;
	struct sb_visitor v = { .self = i, .kinds = 1u << SB_EVENT_GPU, .event = see_work };
	struct sb_place_list list = { 0 };
	int err;

	if (!i->places.count || !model->gpu.present || !(model->gpu.idle_s > 0))
		return 0;
	sb_places_sort(&i->places, by_process_and_time);
	err = sb_run_visit(run, &v, 1);
	if (err)
		return err;
	leave_out_untraced(i, model);
	sb_places_list(&i->places, is_wanted, BUSY, model->gpu.idle_s, &list);
	if (list.sample_count >= SAMPLES_LEAST) {
		model->gpu.idle_sample_count = list.sample_count;
		model->gpu.idle_functions = list.all;
		model->gpu.idle_function_count = list.count;
	}
	return i->places.no_memory
		       ? sb_fail(STROBE_ENOMEM, "no memory for the sampled stacks of '%s'", run->path)
		       : 0;
}

static void done(void *self)
{
	struct idle *i = self;

	if (!i)
		return;
	sb_places_done(&i->places);
	free(i);
}

const struct sb_analysis sb_analysis_idle_functions = {
	.name = "idle_functions",
	.begin = begin,
	.finish = finish,
	.done = done,
};
