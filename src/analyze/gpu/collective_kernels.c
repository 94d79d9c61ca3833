/* Collectives on the GPU: a call that only enqueues one says nothing about the exchange. Its kernel
 * does: it starts when this rank comes, spins until the last one has come, and ends with the
 * exchange. Other kernels beside it hide it. */
#include "analyze/analysis.h"
#include "analyze/gpu/kernel_names.h"
#include "base/error.h"
#include "run/events.h"
#include "stats/coverage.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 16 };
#define KERNELS_MAX (1u << 18) /* of communication; a collective past them counts as one without a kernel */

struct exchange {
	int64_t launch_ns, begin_ns, end_ns;
	uint32_t track, device;
};

struct kernels {
	const struct sb_run *run;
	bool any; /* a name communicates */
	bool *communicates; /* by name; names are looked at with the first kernel: most runs have none */
	uint32_t name_count;
	struct exchange *all;
	size_t count, room;
	struct sb_union computing[DEVICES_MAX];
	bool no_memory;
};

static void done(void *self)
{
	struct kernels *k = self;

	if (!k)
		return;
	for (size_t i = 0; i < DEVICES_MAX; i++)
		sb_union_done(&k->computing[i]);
	free(k->communicates);
	free(k->all);
	free(k);
}

static void keep(struct kernels *k, const struct sb_event *e)
{
	if (e->gpu.launch_track == UINT32_MAX || k->count == KERNELS_MAX)
		return;
	if (k->count == k->room) {
		size_t room = k->room ? 2 * k->room : 256;
		struct exchange *more = realloc(k->all, room * sizeof *more);

		if (!more) {
			k->no_memory = true;
			return;
		}
		k->all = more;
		k->room = room;
	}
	k->all[k->count++] = (struct exchange){ e->gpu.launch_ns, e->t_ns, e->t_ns + e->gpu.duration_ns,
		e->gpu.launch_track, e->gpu.device };
}

/* More names may come while a damaged recording is read. */
static bool communicates(struct kernels *k, uint32_t name)
{
	uint32_t count = k->run->name_count;
	bool *more;

	if (name < k->name_count || name >= count)
		return name < k->name_count && k->communicates[name];
	more = realloc(k->communicates, count * sizeof *more);
	if (!more) {
		k->no_memory = true;
		return false;
	}
	for (uint32_t i = k->name_count; i < count; i++)
		k->any |= more[i] = sb_gpu_collective(k->run->names[i].text) != NULL;
	k->communicates = more;
	k->name_count = count;
	return more[name];
}

static void take_event(void *self, const struct sb_event *e)
{
	struct kernels *k = self;

	if (e->gpu.kind != SB_GPU_KERNEL)
		return;
	if (communicates(k, e->name))
		keep(k, e);
	else if (k->any && e->gpu.device < DEVICES_MAX)
		k->no_memory |= !sb_union_add(
			&k->computing[e->gpu.device], e->t_ns, e->t_ns + e->gpu.duration_ns);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct kernels *k = calloc(1, sizeof *k);

	(void)model;
	if (!k)
		return sb_fail(STROBE_ENOMEM, "no memory for the collectives of '%s'", run->path);
	k->run = run;
	*v = (struct sb_visitor){ .self = k, .kinds = 1u << SB_EVENT_GPU, .event = take_event };
	return 0;
}

/* ---- which kernels a call started ---- */

static int by_launch(const void *a, const void *b)
{
	const struct exchange *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return x->launch_ns < y->launch_ns ? -1 : x->launch_ns > y->launch_ns;
}

static size_t first_launch(const struct kernels *k, uint32_t track, int64_t from_ns)
{
	size_t low = 0, high = k->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct exchange *x = &k->all[mid];

		if (x->track < track || (x->track == track && x->launch_ns < from_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* How much of begin..end other kernels of the device ran in; the union is in order. */
static int64_t hidden_ns(const struct sb_union *u, int64_t begin_ns, int64_t end_ns)
{
	size_t low = 0, high = u->count;
	int64_t sum_ns = 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (u->parts[mid].end_ns <= begin_ns)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < u->count && u->parts[low].begin_ns < end_ns; low++) {
		int64_t from_ns = u->parts[low].begin_ns > begin_ns ? u->parts[low].begin_ns : begin_ns;
		int64_t to_ns = u->parts[low].end_ns < end_ns ? u->parts[low].end_ns : end_ns;

		sum_ns += to_ns - from_ns;
	}
	return sum_ns;
}

static void give_times(const struct kernels *k, struct sb_collective *c)
{
	size_t i = first_launch(k, c->track, c->call_begin_ns);
	int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
	uint32_t device = 0;

	for (; i < k->count && k->all[i].track == c->track && k->all[i].launch_ns <= c->call_end_ns; i++) {
		begin_ns = k->all[i].begin_ns < begin_ns ? k->all[i].begin_ns : begin_ns;
		end_ns = k->all[i].end_ns > end_ns ? k->all[i].end_ns : end_ns;
		device = k->all[i].device;
	}
	if (begin_ns > end_ns)
		return;
	c->begin_s = (double)begin_ns * 1e-9;
	c->end_s = (double)end_ns * 1e-9;
	c->hidden_s = device < DEVICES_MAX ? (double)hidden_ns(&k->computing[device], begin_ns, end_ns) * 1e-9
					   : 0;
	c->enqueued = false;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct kernels *k = self;

	if (!k)
		return 0;
	if (k->no_memory)
		return sb_fail(STROBE_ENOMEM, "no memory for the collectives of '%s'", run->path);
	if (k->count)
		qsort(k->all, k->count, sizeof *k->all, by_launch);
	for (size_t i = 0; i < DEVICES_MAX; i++)
		sb_union_ns(&k->computing[i]); /* puts it in order */
	for (size_t i = 0; i < model->collectives.count; i++)
		give_times(k, &model->collectives.all[i]);
	return 0;
}

const struct sb_analysis sb_analysis_collective_kernels = {
	.name = "collective_kernels",
	.begin = begin,
	.finish = finish,
	.done = done,
};
