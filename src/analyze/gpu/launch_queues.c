/* Launches are sorted by thread and time into a temporary file; each queue is a part of it. */
#include "analyze/gpu/launch_queues.h"

#include "base/error.h"
#include "base/room.h"
#include "base/tempfile.h"
#include "format/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define SORT_BYTES (16u << 20)
#define BUFFERED 128u
#define VALUE_BYTES 16 /* a copy of no more than this is a single value */
#define WAIT_MOST_NS 60000000000u /* no wait for one is longer */

int sb_launch_queues_add(struct sb_launch_queues *l, const struct sb_launch *launch)
{
	int err = l->sort ? 0 : sb_extsort_new(sizeof *launch, SORT_BYTES, NULL, &l->sort);

	return err ? err : sb_extsort_add(l->sort, launch);
}

static struct sb_launch_queue *new_queue(struct sb_launch_queues *l, uint32_t track)
{
	struct sb_launch_queue *q;

	if (!SB_MAKE_ROOM(l->all, l->count, l->room))
		return NULL;
	q = &l->all[l->count];
	*q = (struct sb_launch_queue){ .track = track };
	if (!sb_map_put(&l->of_track, track, (uint32_t)l->count))
		return NULL;
	l->count++;
	return q;
}

static int open_file(struct sb_launch_queues *l)
{
	int fd, err = sb_tempfile_open(sb_extsort_folder(), &fd);

	if (err)
		return err;
	l->file = fdopen(fd, "w+");
	if (l->file)
		return 0;
	close(fd);
	return sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");
}

/* A single value that goes to the host is waited for, unless its thread launches something else meanwhile.
 * next NULL: it launched nothing more. Times of a damaged file may be anything: unsigned, as the keys are. */
static void see_wait(struct sb_launch *launch, const struct sb_launch *next)
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

static void see_interval(
	struct sb_launch_queues *l, const struct sb_launch *last, const struct sb_launch *next)
{
	if (last->key[0] == next->key[0] && next->key[1] >= last->key[1] &&
		!sb_histogram_add(&l->intervals, next->key[1] - last->key[1], 1))
		l->err = sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");
}

static int write_launch(struct sb_launch_queues *l, const struct sb_launch *launch, uint64_t *written)
{
	size_t at = l->count;
	struct sb_launch_queue *q = at ? &l->all[at - 1] : NULL;

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

static int spill(struct sb_launch_queues *l)
{
	const struct sb_launch *next;
	struct sb_launch last;
	bool any = false;
	uint64_t written = 0;
	int err = sb_extsort_finish(l->sort);

	if (!err)
		err = open_file(l);
	while (!err && (next = sb_extsort_next(l->sort))) {
		struct sb_launch seen = *next;

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

/* The buffer is as long as what the thread launched, up to BUFFERED: there may be a thread
 * for every launch. */
static bool fill_queue(struct sb_launch_queues *l, struct sb_launch_queue *q)
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

int sb_launch_queues_settle(struct sb_launch_queues *l)
{
	return l->sort ? spill(l) : 0;
}

const struct sb_launch *sb_launch_queue_first(struct sb_launch_queues *l, struct sb_launch_queue *q)
{
	return q->used < q->buffered || fill_queue(l, q) ? &q->buffer[q->used] : NULL;
}

void sb_launch_queues_clear(struct sb_launch_queues *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->all[i].buffer);
	l->count = 0;
	sb_map_clear(&l->of_track);
	sb_extsort_free(l->sort);
	l->sort = NULL;
	if (l->file)
		fclose(l->file);
	l->file = NULL;
}

void sb_launch_queues_done(struct sb_launch_queues *l)
{
	sb_launch_queues_clear(l);
	free(l->all);
	sb_map_done(&l->of_track);
	sb_histogram_done(&l->intervals);
}
