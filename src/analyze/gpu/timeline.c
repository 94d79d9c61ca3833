/* One sweep along each device: what is covered, what is not. */
#include "analyze/gpu/timeline.h"

#include "analyze/gpu/kernel_names.h"
#include "analyze/model_machine.h"
#include "run/gpu_traces.h"
#include "base/error.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

#define SORT_BYTES (16u << 20)
#define GAPS_MAX 262144u
#define GAP_LEAST_NS 1000

int sb_gpu_timeline_init(struct sb_gpu_timeline *t, const struct sb_vec *traces, uint32_t process)
{
	memset(t, 0, sizeof *t);
	t->traces = traces;
	t->process = process;
	t->gap_least_ns = GAP_LEAST_NS;
	t->times.first_ns = INT64_MAX;
	t->times.last_ns = INT64_MIN;
	return sb_extsort_new(sizeof(struct sb_gpu_work), SORT_BYTES, NULL, &t->works);
}

void sb_gpu_timeline_done(struct sb_gpu_timeline *t)
{
	sb_extsort_free(t->works);
	free(t->gaps);
	free(t->devices);
	free(t->is_communication);
	memset(t, 0, sizeof *t);
}

int sb_gpu_timeline_add(struct sb_gpu_timeline *t, const struct sb_event *e)
{
	struct sb_gpu_work w = { .duration_ns = e->gpu.duration_ns,
		.launch_ns = e->gpu.launch_ns,
		.bytes = e->gpu.bytes,
		.name = e->name,
		.launch_track = e->gpu.launch_ns == INT64_MIN ? UINT32_MAX : e->gpu.launch_track,
		.kind = e->gpu.kind,
		.device = e->gpu.device,
		.flags = e->gpu.flags };

	w.key[0] = e->gpu.device;
	w.key[1] = (uint64_t)e->t_ns ^ 1ull << 63;
	w.key[2] = e->gpu.stream;
	return sb_extsort_add(t->works, &w);
}

/* ---- gaps ---- */

/* Too many: only the longer half stays, and shorter ones are not listed again. */
static void thin_gaps(struct sb_gpu_timeline *t)
{
	while (t->gap_count == GAPS_MAX) {
		size_t kept = 0;

		t->gap_least_ns *= 2;
		for (size_t i = 0; i < t->gap_count; i++)
			if (t->gaps[i].end_ns - t->gaps[i].begin_ns >= t->gap_least_ns)
				t->gaps[kept++] = t->gaps[i];
		t->gap_count = kept;
	}
}

static int add_gap(struct sb_gpu_timeline *t, uint32_t device, int64_t begin_ns, int64_t end_ns)
{
	t->times.gap_count++;
	t->times.long_gaps_ns += end_ns - begin_ns > SB_GPU_LONG_GAP_NS ? end_ns - begin_ns : 0;
	if (end_ns - begin_ns < t->gap_least_ns)
		return 0;
	if (!SB_MAKE_ROOM(t->gaps, t->gap_count, t->gap_room))
		return sb_fail(STROBE_ENOMEM, "no memory for the GPU timeline");
	t->gaps[t->gap_count++] = (struct sb_gpu_idle){ begin_ns, end_ns, device, 0, 0 };
	thin_gaps(t);
	return 0;
}

/* ---- the sweep ---- */

struct sweep {
	uint32_t device;
	bool begun;
	int64_t first_ns, busy_ns, unseen_ns;
	int64_t all_ns, kernels_ns, compute_ns, communication_ns; /* covered up to here */
};

/* How much of [begin, end) lies past what was covered; moves the cover. */
static int64_t uncovered(int64_t *covered_ns, int64_t begin_ns, int64_t end_ns)
{
	int64_t from = begin_ns > *covered_ns ? begin_ns : *covered_ns;

	if (end_ns > *covered_ns)
		*covered_ns = end_ns;
	return end_ns > from ? end_ns - from : 0;
}

static int end_device(struct sb_gpu_timeline *t, const struct sweep *s)
{
	if (!s->begun)
		return 0;
	if (!SB_MAKE_ROOM(t->devices, t->device_count, t->device_room))
		return sb_fail(STROBE_ENOMEM, "no memory for the GPU timeline");
	t->devices[t->device_count++] = (struct sb_gpu_device_times){ s->device, s->first_ns, s->all_ns,
		s->busy_ns, s->all_ns - s->first_ns - s->unseen_ns };
	t->times.busy_ns += s->busy_ns;
	t->times.window_ns += s->all_ns - s->first_ns - s->unseen_ns;
	if (s->first_ns < t->times.first_ns)
		t->times.first_ns = s->first_ns;
	if (s->all_ns > t->times.last_ns)
		t->times.last_ns = s->all_ns;
	return 0;
}

static void begin_device(struct sweep *s, uint32_t device, int64_t at_ns)
{
	*s = (struct sweep){ device, true, at_ns, 0, 0, at_ns, at_ns, at_ns, at_ns };
}

static bool is_communication(struct sb_gpu_timeline *t, struct sb_run *run, uint32_t name)
{
	if (!t->is_communication || name >= t->name_count) {
		uint32_t count = run->name_count > name ? run->name_count : name + 1;
		bool *more = realloc(t->is_communication, count);

		if (!more)
			return false;
		for (uint32_t i = t->name_count; i < count; i++)
			more[i] = i < run->name_count && sb_gpu_collective(run->names[i].text);
		t->is_communication = more;
		t->name_count = count;
	}
	return t->is_communication[name];
}

static int pass_over(struct sb_gpu_timeline *t, struct sb_run *run, struct sweep *s, struct sb_gpu_work *w)
{
	int64_t begin_ns = (int64_t)(w->key[1] ^ 1ull << 63), end_ns = begin_ns + w->duration_ns;
	int err = 0;

	if (!s->begun || s->device != w->device) {
		err = end_device(t, s);
		begin_device(s, w->device, begin_ns);
	}
	if (begin_ns > s->all_ns && sb_gpu_traces_apart(t->traces, t->process, s->all_ns, begin_ns))
		s->unseen_ns += begin_ns - s->all_ns;
	else if (!err && begin_ns > s->all_ns)
		err = add_gap(t, w->device, s->all_ns, begin_ns);
	w->alone_ns = uncovered(&s->all_ns, begin_ns, end_ns);
	s->busy_ns += w->alone_ns;
	if (w->kind != SB_GPU_KERNEL)
		return err;
	t->times.kernel_busy_ns += uncovered(&s->kernels_ns, begin_ns, end_ns);
	if (is_communication(t, run, w->name))
		t->times.communication_ns += uncovered(&s->communication_ns, begin_ns, end_ns);
	else
		t->times.compute_busy_ns += uncovered(&s->compute_ns, begin_ns, end_ns);
	return err;
}

int sb_gpu_timeline_sweep(struct sb_gpu_timeline *t, struct sb_run *run,
	int (*take)(void *self, const struct sb_gpu_work *work), void *self)
{
	const struct sb_gpu_work *next;
	struct sweep s = { 0 };
	int err = sb_extsort_finish(t->works);

	while (!err && (next = sb_extsort_next(t->works))) {
		struct sb_gpu_work w = *next;

		err = pass_over(t, run, &s, &w);
		if (!err)
			err = take(self, &w);
	}
	if (!err)
		err = end_device(t, &s);
	if (!err)
		err = sb_extsort_error(t->works);
	sb_extsort_free(t->works);
	t->works = NULL;
	return err;
}
