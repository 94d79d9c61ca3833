/* Launch attribution. Work is sorted by thread and launch time into a file; each
 * thread reads its own part as its zones come by. */
#include "analyze/gpu/launches.h"

#include "analyze/gpu/kernel_names.h"
#include "base/error.h"
#include "base/histogram.h"
#include "base/map.h"
#include "base/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SORT_BYTES (16u << 20)
#define BUFFERED 128u
#define VALUE_BYTES 16 /* a copy of no more than this is a single value */
#define WAIT_MOST_NS 60000000000u /* no wait for one is longer */

struct launch { /* key: track, launch time, device time */
	uint64_t key[SB_EXTSORT_KEY_WORDS];
	int64_t busy_ns, duration_ns, bytes;
	int64_t read_ns; /* its thread waited this long for the value; -1: no such copy, or it went on */
	uint32_t name;
	uint16_t kind, flags;
};

/* The launches of one thread that are not given to a zone yet. */
struct queue {
	uint32_t track;
	uint64_t offset, left; /* in the file */
	struct launch *buffer;
	size_t buffered, used;
	uint64_t total;
};

struct path_state { /* of one track */
	uint32_t path; /* innermost open zone */
	int64_t since_ns;
};

struct sb_gpu_launches {
	struct sb_run *run;
	struct sb_extsort *sort;
	FILE *file;
	struct queue *queues;
	size_t queue_count, queue_room;
	struct sb_map queue_of; /* track -> queue */
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
	struct sb_histogram intervals; /* from one launch of a thread to its next, ns; of all processes */
	int64_t waited_ns;
	bool any_wait;
	int err;
};

enum name_class { CLASS_PLAIN = 1, CLASS_RUNTIME = 2, CLASS_WAIT = 3 };

int sb_gpu_launches_new(
	struct sb_run *run, struct sb_gpu_families *families, struct sb_gpu_launches **out_launches)
{
	struct sb_gpu_launches *l = calloc(1, sizeof *l);

	if (!l)
		return sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");
	l->run = run;
	l->families = families;
	l->watched = l->task_track = UINT32_MAX;
	*out_launches = l;
	return 0;
}

static void drop_process(struct sb_gpu_launches *l)
{
	for (size_t i = 0; i < l->queue_count; i++)
		free(l->queues[i].buffer);
	l->queue_count = 0;
	sb_map_clear(&l->queue_of);
	sb_extsort_free(l->sort);
	l->sort = NULL;
	if (l->file)
		fclose(l->file);
	l->file = NULL;
	l->timeline = NULL;
	l->watched = l->task_track = UINT32_MAX;
}

void sb_gpu_launches_free(struct sb_gpu_launches *l)
{
	if (!l)
		return;
	drop_process(l);
	free(l->queues);
	sb_map_done(&l->queue_of);
	free(l->tracks);
	free(l->paths);
	free(l->name_class);
	sb_histogram_done(&l->intervals);
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

static void give(struct sb_gpu_launches *l, uint32_t path, const struct launch *launch)
{
	uint32_t owner = owner_of(l, path);
	struct sb_gpu_path *p = path_at(l, owner);

	if (!p)
		return;
	if (launch->kind == SB_GPU_KERNEL && !l->err)
		l->err = sb_gpu_families_add(
			l->families, owner, launch->name, launch->flags, launch->duration_ns);
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
	struct launch launch = { .busy_ns = w->alone_ns,
		.duration_ns = w->duration_ns,
		.bytes = w->bytes,
		.read_ns = -1,
		.name = w->name,
		.kind = (uint16_t)w->kind,
		.flags = (uint16_t)w->flags };
	int err;

	if (w->launch_track == UINT32_MAX) {
		give(l, 0, &launch);
		return l->err;
	}
	if (!l->sort) {
		err = sb_extsort_new(sizeof launch, SORT_BYTES, NULL, &l->sort);
		if (err)
			return err;
	}
	launch.key[0] = w->launch_track;
	launch.key[1] = (uint64_t)w->launch_ns ^ 1ull << 63;
	launch.key[2] = w->key[1];
	return sb_extsort_add(l->sort, &launch);
}

static struct queue *new_queue(struct sb_gpu_launches *l, uint32_t track)
{
	struct queue *q;

	if (!SB_MAKE_ROOM(l->queues, l->queue_count, l->queue_room))
		return NULL;
	q = &l->queues[l->queue_count];
	*q = (struct queue){ .track = track };
	if (!sb_map_put(&l->queue_of, track, (uint32_t)l->queue_count))
		return NULL;
	l->queue_count++;
	return q;
}

static FILE *temporary_file(void)
{
	char path[600];
	FILE *file;
	int fd;

	snprintf(path, sizeof path, "%s/strobe-gpu-XXXXXX", sb_extsort_folder());
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	unlink(path);
	file = fdopen(fd, "w+");
	if (!file)
		close(fd);
	return file;
}

static int64_t launched_ns(const struct launch *launch)
{
	return (int64_t)(launch->key[1] ^ 1ull << 63);
}

/* A single value that goes to the host is waited for, unless its thread launches something else meanwhile.
 * next NULL: it launched nothing more. Times of a damaged file may be anything: unsigned, as the keys are. */
static void see_wait(struct launch *launch, const struct launch *next)
{
	uint64_t end = launch->key[2] + (uint64_t)launch->duration_ns;
	bool value = launch->kind == SB_GPU_COPY_D2H && launch->bytes > 0 && launch->bytes <= VALUE_BYTES;

	if (!value || end < launch->key[2] || (next && next->key[0] == launch->key[0] && next->key[1] < end))
		return;
	if (end <= launch->key[1])
		launch->read_ns = 0;
	else if (end - launch->key[1] <= WAIT_MOST_NS)
		launch->read_ns = (int64_t)(end - launch->key[1]);
}

static void see_interval(struct sb_gpu_launches *l, const struct launch *last, const struct launch *next)
{
	if (last->key[0] == next->key[0] && next->key[1] >= last->key[1] &&
		!sb_histogram_add(&l->intervals, next->key[1] - last->key[1], 1))
		l->err = sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");
}

static int write_launch(struct sb_gpu_launches *l, const struct launch *launch, uint64_t *written)
{
	size_t at = l->queue_count;
	struct queue *q = at ? &l->queues[at - 1] : NULL;

	if (!q || q->track != launch->key[0]) {
		q = new_queue(l, (uint32_t)launch->key[0]);
		if (!q)
			return sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");
		q->offset = *written;
	}
	q->left++;
	q->total++;
	*written += sizeof *launch;
	if (fwrite(launch, sizeof *launch, 1, l->file) != 1)
		return sb_fail_errno("cannot write a temporary file in '%s'", sb_extsort_folder());
	return 0;
}

static int spill_queues(struct sb_gpu_launches *l)
{
	const struct launch *next;
	struct launch last;
	bool any = false;
	uint64_t written = 0;
	int err = sb_extsort_finish(l->sort);

	l->file = err ? NULL : temporary_file();
	if (!err && !l->file)
		err = sb_fail_errno("cannot make a temporary file in '%s'", sb_extsort_folder());
	while (!err && (next = sb_extsort_next(l->sort))) {
		struct launch seen = *next;

		if (any) {
			see_wait(&last, &seen);
			see_interval(l, &last, &seen);
			err = write_launch(l, &last, &written);
		}
		last = seen;
		any = true;
	}
	if (!err && any) {
		see_wait(&last, NULL);
		err = write_launch(l, &last, &written);
	}
	if (!err && fflush(l->file))
		err = sb_fail_errno("cannot write a temporary file in '%s'", sb_extsort_folder());
	if (!err)
		err = sb_extsort_error(l->sort);
	sb_extsort_free(l->sort);
	l->sort = NULL;
	return err;
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
	int err = l->sort ? spill_queues(l) : 0;

	if (err)
		return err;
	l->timeline = timeline;
	find_device_gaps(l);
	/* The thread that launches most explains why the GPU waits. */
	for (size_t i = 0; i < l->queue_count; i++) {
		if (l->queues[i].total > most) {
			most = l->queues[i].total;
			l->watched = l->queues[i].track;
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

/* The buffer is as long as what the thread launched, up to BUFFERED: there may be a thread
 * for every launch. */
static bool fill_queue(struct sb_gpu_launches *l, struct queue *q)
{
	size_t want = q->left < BUFFERED ? (size_t)q->left : BUFFERED;
	ssize_t n;

	if (want && !q->buffer && !(q->buffer = malloc(want * sizeof *q->buffer)))
		l->err = sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");
	n = want && q->buffer ? pread(fileno(l->file), q->buffer, want * sizeof *q->buffer, (off_t)q->offset)
			      : 0;

	q->used = 0;
	q->buffered = n > 0 ? (size_t)n / sizeof *q->buffer : 0;
	q->left = q->buffered ? q->left - q->buffered : 0;
	q->offset += q->buffered * sizeof *q->buffer;
	return q->buffered > 0;
}

static void give_until(struct sb_gpu_launches *l, struct queue *q, uint32_t path, int64_t until_ns)
{
	while (q->used < q->buffered || fill_queue(l, q)) {
		const struct launch *launch = &q->buffer[q->used];

		if (launched_ns(launch) >= until_ns)
			return;
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
	if (p)
		p->idle_ns += idle_ns;
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
	if (sb_map_get(&l->queue_of, track, &number))
		give_until(l, &l->queues[number], s->path, t_ns);
	/* A thread that runs tasks: what it launches belongs to the task active last. */
	if (task || l->task_track != UINT32_MAX) {
		uint32_t path = l->task_track == UINT32_MAX ? 0 : l->tracks[l->task_track].path;

		for (size_t i = 0; task && i < l->queue_count; i++)
			if (!state_of(l, l->queues[i].track)->path)
				give_until(l, &l->queues[i], path, t_ns);
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
	advance(l, z->track, z->begin_ns, z->path);
}

void sb_gpu_launches_end(struct sb_gpu_launches *l, const struct sb_zone *z)
{
	if (z->flags & SB_ZONE_SPAN)
		return;
	advance(l, z->track, z->end_ns,
		z->flags & SB_ZONE_RECURSIVE ? z->path : sb_run_path(l->run, z->path)->parent);
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

	if (l->sort) /* no zone ever came */
		l->err = spill_queues(l);
	for (size_t i = 0; i < l->queue_count; i++)
		give_until(l, &l->queues[i], 0, INT64_MAX);
	if (s && l->timeline && l->timeline->times.last_ns > s->since_ns)
		watch(l, 0, s->since_ns == INT64_MIN ? l->timeline->times.first_ns : s->since_ns,
			l->timeline->times.last_ns);
	count_gaps(l);
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
	return sb_histogram_quantile(&l->intervals, 0.5) / 1e9;
}
