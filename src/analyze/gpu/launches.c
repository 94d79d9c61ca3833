/* Launch attribution: as a thread's zones come by, its queue is read up to their time. */
#include "analyze/gpu/launches.h"

#include "analyze/gpu/kernel_names.h"
#include "analyze/gpu/launch_queues.h"
#include "base/error.h"
#include "run/gpu_spans.h"

#include <stdlib.h>
#include <string.h>

struct path_state { /* of one track */
	uint32_t path; /* innermost open zone */
	int64_t since_ns;
};

struct sb_gpu_launches {
	struct sb_run *run;
	struct sb_launch_queues queues; /* of the process at hand */
	struct path_state *tracks;
	uint32_t track_room;
	struct sb_gpu_path *paths;
	uint32_t path_room;
	uint8_t *name_class; /* by run name: 0 unknown, then enum name_class */
	uint32_t name_room;
	uint32_t task_track; /* the task that was active last; UINT32_MAX: none */
	/* gaps of the process at hand, and the thread that explains them */
	struct sb_gpu_timeline *timeline;
	size_t gap_at[SB_GPU_DEVICES_MAX], gap_end[SB_GPU_DEVICES_MAX];
	uint32_t watched; /* track; UINT32_MAX: none */
	struct sb_gpu_families *families; /* the caller's */
	struct sb_warm_calls warm;
	int64_t waited_ns;
	bool any_wait;
	int err;
};

enum name_class { CLASS_PLAIN = 1, CLASS_RUNTIME = 2, CLASS_WAIT = 3 };

int sb_gpu_launches_new(struct sb_run *run, struct sb_model *model, struct sb_gpu_families *families,
	struct sb_gpu_launches **out_launches)
{
	struct sb_gpu_launches *l = calloc(1, sizeof *l);
	int err = l ? sb_warm_calls_init(&l->warm, run, model)
		    : sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");

	if (err) {
		sb_gpu_launches_free(l);
		return err;
	}
	l->warm.cold_too = true; /* a trace sees the first generation, mostly */
	l->run = run;
	l->families = families;
	l->watched = l->task_track = UINT32_MAX;
	*out_launches = l;
	return 0;
}

static void drop_process(struct sb_gpu_launches *l)
{
	sb_launch_queues_clear(&l->queues);
	l->timeline = NULL;
	l->watched = l->task_track = UINT32_MAX;
}

void sb_gpu_launches_free(struct sb_gpu_launches *l)
{
	if (!l)
		return;
	drop_process(l);
	sb_launch_queues_done(&l->queues);
	sb_warm_calls_done(&l->warm);
	free(l->tracks);
	free(l->paths);
	free(l->name_class);
	free(l);
}

/* ---- paths ---- */

static struct sb_gpu_path *path_at(struct sb_gpu_launches *l, uint32_t path)
{
	if (path >= l->path_room) {
		uint32_t room = l->path_room ? l->path_room : 256;
		struct sb_gpu_path *more;

		while (room <= path)
			room *= 2;
		more = realloc(l->paths, room * sizeof *more);
		if (!more) {
			l->err = sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");
			return NULL;
		}
		memset(more + l->path_room, 0, (room - l->path_room) * sizeof *more);
		l->paths = more;
		l->path_room = room;
	}
	return &l->paths[path];
}

static enum name_class class_of(struct sb_gpu_launches *l, uint32_t name)
{
	const char *text = l->run->names[name].text;

	if (name >= l->name_room) {
		uint32_t room = name * 2 + 64;
		uint8_t *more = realloc(l->name_class, room);

		if (!more)
			return CLASS_PLAIN;
		memset(more + l->name_room, 0, room - l->name_room);
		l->name_class = more;
		l->name_room = room;
	}
	if (!l->name_class[name])
		l->name_class[name] = sb_gpu_is_wait(text)           ? CLASS_WAIT
				      : sb_gpu_is_runtime_call(text) ? CLASS_RUNTIME
								     : CLASS_PLAIN;
	return (enum name_class)l->name_class[name];
}

/* The zone a launch is counted for: calls of the runtime are see-through. */
static uint32_t owner_of(struct sb_gpu_launches *l, uint32_t path)
{
	while (path && class_of(l, sb_run_path(l->run, path)->name) != CLASS_PLAIN)
		path = sb_run_path(l->run, path)->parent;
	return path;
}

static bool is_host_copy(uint32_t kind)
{
	return kind == SB_GPU_COPY_H2D || kind == SB_GPU_COPY_D2H;
}

/* Counts the calls that a launch is the first of. A call that has been counted lies in calls that have been. */
static void count_calls(struct sb_gpu_launches *l, uint32_t path)
{
	while (path && path < l->path_room && l->paths[path].is_new) {
		l->paths[path].is_new = false;
		l->paths[path].call_count++;
		path = sb_run_path(l->run, path)->parent;
	}
}

static void add_to_open(
	const struct sb_gpu_launches *l, struct sb_gpu_calls *open, const struct sb_launch *launch)
{
	open->launch_count++;
	open->busy_ns += launch->busy_ns;
	if (launch->kind != SB_GPU_KERNEL)
		return;
	open->kernel_count++;
	open->kernel_ns += launch->busy_ns;
	if (l->timeline && launch->name < l->timeline->name_count &&
		l->timeline->is_communication[launch->name])
		open->communication_ns += launch->busy_ns;
}

static void give(struct sb_gpu_launches *l, uint32_t path, const struct sb_launch *launch)
{
	uint32_t owner = owner_of(l, path);
	struct sb_gpu_path *p = path_at(l, owner);

	if (!p)
		return;
	count_calls(l, path);
	if (launch->kind == SB_GPU_KERNEL && !l->err)
		l->err = sb_gpu_families_add(
			l->families, owner, launch->name, launch->flags, launch->duration_ns);
	add_to_open(l, &p->open, launch);
	p->busy_ns += launch->busy_ns;
	p->total_ns += launch->duration_ns;
	p->count++;
	if (is_host_copy(launch->kind)) {
		p->copy_ns += launch->duration_ns;
		p->copy_bytes += launch->bytes > 0 ? launch->bytes : 0;
		p->copy_count++;
	}
	if (launch->read_ns >= 0) {
		p->read_ns += launch->read_ns;
		p->read_count++;
	}
}

/* ---- one process's work ---- */

int sb_gpu_launches_add(struct sb_gpu_launches *l, const struct sb_gpu_work *w)
{
	struct sb_launch launch = { .busy_ns = w->alone_ns,
		.duration_ns = w->duration_ns,
		.bytes = w->bytes,
		.read_ns = -1,
		.name = w->name,
		.kind = (uint16_t)w->kind,
		.flags = (uint16_t)w->flags };

	if (w->launch_track == UINT32_MAX) {
		give(l, 0, &launch);
		return l->err;
	}
	launch.key[0] = w->launch_track;
	launch.key[1] = (uint64_t)w->launch_ns ^ 1ull << 63;
	launch.key[2] = w->key[1];
	return sb_launch_queues_add(&l->queues, &launch);
}

static void find_device_gaps(struct sb_gpu_launches *l)
{
	size_t at = 0;

	for (uint32_t device = 0; device < SB_GPU_DEVICES_MAX; device++) {
		while (at < l->timeline->gap_count && l->timeline->gaps[at].device < device)
			at++;
		l->gap_at[device] = at;
		while (at < l->timeline->gap_count && l->timeline->gaps[at].device == device)
			at++;
		l->gap_end[device] = at;
	}
}

int sb_gpu_launches_settle(struct sb_gpu_launches *l, struct sb_gpu_timeline *timeline)
{
	uint64_t most = 0;
	int err = sb_launch_queues_settle(&l->queues);

	if (err)
		return err;
	l->timeline = timeline;
	find_device_gaps(l);
	/* The thread that launches most explains why the GPU waits. */
	for (size_t i = 0; i < l->queues.count; i++) {
		if (l->queues.all[i].total > most) {
			most = l->queues.all[i].total;
			l->watched = l->queues.all[i].track;
		}
	}
	return 0;
}

/* ---- while zones stream past ---- */

static struct path_state *state_of(struct sb_gpu_launches *l, uint32_t track)
{
	if (track >= l->track_room) {
		uint32_t room = track * 2 + 16;
		struct path_state *more = realloc(l->tracks, room * sizeof *more);

		if (!more) {
			l->err = sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");
			return NULL;
		}
		for (uint32_t i = l->track_room; i < room; i++)
			more[i] = (struct path_state){ 0, INT64_MIN };
		l->tracks = more;
		l->track_room = room;
	}
	return &l->tracks[track];
}

static void give_until(struct sb_gpu_launches *l, struct sb_launch_queue *q, uint32_t path, int64_t until_ns)
{
	const struct sb_launch *launch;

	while ((launch = sb_launch_queue_first(&l->queues, q)) && sb_launch_ns(launch) < until_ns) {
		give(l, path, launch);
		q->used++;
	}
}

/* The part of [from, to) in which a device idles goes to the path the CPU is in. */
static int64_t pass_gaps(
	struct sb_gpu_launches *l, uint32_t device, uint32_t path, int64_t from_ns, int64_t to_ns)
{
	struct sb_gpu_path *p = path_at(l, path);
	int64_t idle_ns = 0;

	for (size_t i = l->gap_at[device]; i < l->gap_end[device]; i++) {
		struct sb_gpu_idle *gap = &l->timeline->gaps[i];
		int64_t begin_ns = gap->begin_ns > from_ns ? gap->begin_ns : from_ns;
		int64_t end_ns = gap->end_ns < to_ns ? gap->end_ns : to_ns;

		if (gap->begin_ns >= to_ns)
			break;
		if (end_ns > begin_ns) {
			idle_ns += end_ns - begin_ns;
			if (end_ns - begin_ns > gap->path_ns) {
				gap->path_ns = end_ns - begin_ns;
				gap->path = path;
			}
		}
		if (gap->end_ns <= to_ns)
			l->gap_at[device] = i + 1;
	}
	if (p) {
		p->idle_ns += idle_ns;
		p->open.idle_ns += idle_ns;
	}
	return idle_ns;
}

static void watch(struct sb_gpu_launches *l, uint32_t path, int64_t from_ns, int64_t to_ns)
{
	bool waits = path && class_of(l, sb_run_path(l->run, path)->name) == CLASS_WAIT;

	l->any_wait |= waits;
	for (size_t i = 0; i < l->timeline->device_count; i++) {
		const struct sb_gpu_device_times *d = &l->timeline->devices[i];
		bool gaps_left = d->device < SB_GPU_DEVICES_MAX &&
				 l->gap_at[d->device] < l->gap_end[d->device];
		int64_t idle_ns = gaps_left ? pass_gaps(l, d->device, path, from_ns, to_ns) : 0;
		int64_t begin_ns = from_ns > d->first_ns ? from_ns : d->first_ns;
		int64_t end_ns = to_ns < d->last_ns ? to_ns : d->last_ns;

		if (waits && end_ns - begin_ns > idle_ns)
			l->waited_ns += end_ns - begin_ns - idle_ns;
	}
}

/* Something happens on a track at t: until then it was where it was. */
static void advance(struct sb_gpu_launches *l, uint32_t track, int64_t t_ns, uint32_t path_after)
{
	struct path_state *s = state_of(l, track);
	bool task = l->run->tracks[track].track != 0;
	uint32_t number;

	if (!s)
		return;
	if (sb_map_get(&l->queues.of_track, track, &number))
		give_until(l, &l->queues.all[number], s->path, t_ns);
	/* A thread that runs tasks: what it launches belongs to the task active last. */
	if (task || l->task_track != UINT32_MAX) {
		uint32_t path = l->task_track == UINT32_MAX ? 0 : l->tracks[l->task_track].path;

		for (size_t i = 0; task && i < l->queues.count; i++)
			if (!state_of(l, l->queues.all[i].track)->path)
				give_until(l, &l->queues.all[i], path, t_ns);
		if (task)
			l->task_track = track;
		s = state_of(l, track);
	}
	if (track == l->watched && l->timeline && t_ns > s->since_ns)
		watch(l, s->path, s->since_ns == INT64_MIN ? l->timeline->times.first_ns : s->since_ns, t_ns);
	s->path = path_after;
	s->since_ns = t_ns;
}

void sb_gpu_launches_begin(struct sb_gpu_launches *l, const struct sb_zone *z)
{
	struct sb_gpu_path *p;

	advance(l, z->track, z->begin_ns, z->path);
	p = path_at(l, z->path);
	if (p)
		p->is_new = true;
}

static void add_calls(struct sb_gpu_calls *to, const struct sb_gpu_calls *more)
{
	to->call_count += more->call_count;
	to->launch_count += more->launch_count;
	to->kernel_count += more->kernel_count;
	to->time_ns += more->time_ns;
	to->busy_ns += more->busy_ns;
	to->kernel_ns += more->kernel_ns;
	to->communication_ns += more->communication_ns;
	to->idle_ns += more->idle_ns;
	to->moves_idle_ns += more->moves_idle_ns;
}

#define TRACED_LEAST 0.5 /* of a call: less does not speak for it */

/* A call inside another one of its path is part of that one. */
static void end_call(struct sb_gpu_launches *l, const struct sb_zone *z, uint32_t parent)
{
	struct sb_gpu_path *p = path_at(l, z->path);
	enum sb_call_kind kind = SB_CALL_COLD;
	bool counts = sb_warm_calls_counts(z);
	int64_t traced_ns, ns = z->end_ns - z->begin_ns;

	if (!p || z->flags & SB_ZONE_RECURSIVE)
		return;
	if (z->role == STROBE_ROLE_OFFLOAD)
		p->open.moves_idle_ns = p->open.idle_ns;
	add_calls(&l->paths[parent].open, &p->open);
	traced_ns = counts ? sb_warm_calls_traced_ns(&l->warm, z) : 0;
	if (counts && !sb_warm_calls_kind(&l->warm, z, &kind)) {
		l->err = sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");
	} else if (p->open.launch_count && (double)traced_ns >= TRACED_LEAST * (double)ns) {
		p->open.call_count = 1;
		p->open.time_ns = z->gpu ? (int64_t)z->gpu->duration_ns - (ns - traced_ns) : traced_ns;
		add_calls(&p->of[kind], &p->open);
	}
	p->open = (struct sb_gpu_calls){ 0 };
}

void sb_gpu_launches_end(struct sb_gpu_launches *l, const struct sb_zone *z)
{
	uint32_t parent = sb_run_path(l->run, z->path)->parent;

	if (z->flags & SB_ZONE_SPAN)
		return;
	advance(l, z->track, z->end_ns, z->flags & SB_ZONE_RECURSIVE ? z->path : parent);
	end_call(l, z, parent);
}

static void count_gaps(struct sb_gpu_launches *l)
{
	for (size_t i = 0; l->timeline && i < l->timeline->gap_count; i++) {
		struct sb_gpu_path *p = path_at(l, l->timeline->gaps[i].path);

		if (p)
			p->gap_count++;
	}
}

int sb_gpu_launches_rest(struct sb_gpu_launches *l)
{
	struct path_state *s = l->watched == UINT32_MAX ? NULL : state_of(l, l->watched);
	int err = sb_launch_queues_settle(&l->queues); /* no zone ever came */

	l->err = err ? err : l->err;
	for (size_t i = 0; i < l->queues.count; i++)
		give_until(l, &l->queues.all[i], 0, INT64_MAX);
	if (s && l->timeline && l->timeline->times.last_ns > s->since_ns)
		watch(l, 0, s->since_ns == INT64_MIN ? l->timeline->times.first_ns : s->since_ns,
			l->timeline->times.last_ns);
	count_gaps(l);
	l->err = l->queues.err && !l->err ? l->queues.err : l->err;
	drop_process(l);
	return l->err;
}

const struct sb_gpu_path *sb_gpu_launches_paths(const struct sb_gpu_launches *l, uint32_t *out_count)
{
	*out_count = l->path_room;
	return l->paths;
}

int64_t sb_gpu_launches_waited_ns(const struct sb_gpu_launches *l)
{
	return l->any_wait ? l->waited_ns : -1;
}

double sb_gpu_launches_interval_s(const struct sb_gpu_launches *l)
{
	return sb_histogram_quantile(&l->queues.intervals, 0.5) / 1e9;
}
