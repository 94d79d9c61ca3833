/* What each thread of a process launched on the GPU, in the order of the launches. Memory does not depend on
 * how many there are. For launches.c. */
#ifndef SB_ANALYZE_GPU_LAUNCH_QUEUES_H
#define SB_ANALYZE_GPU_LAUNCH_QUEUES_H

#include "base/extsort.h"
#include "base/histogram.h"
#include "base/map.h"

#include <stdio.h>

struct sb_launch { /* key: track, launch time, device time */
	uint64_t key[SB_EXTSORT_KEY_WORDS];
	int64_t busy_ns, duration_ns, bytes;
	int64_t read_ns; /* its thread waited this long for the value; -1: no such copy, or it went on */
	uint32_t name;
	uint16_t kind, flags;
};

/* The launches of one thread that are not taken yet. */
struct sb_launch_queue {
	uint32_t track;
	uint64_t offset, left; /* in the file */
	struct sb_launch *buffer;
	size_t buffered, used;
	uint64_t total;
};

struct sb_launch_queues { /* zeroed: empty */
	struct sb_extsort *sort;
	FILE *file;
	struct sb_launch_queue *all;
	size_t count, room;
	struct sb_map of_track; /* track -> queue */
	struct sb_histogram intervals; /* from one launch of a thread to its next, ns; of all processes */
	int err; /* of reading; 0: none */
};

static inline int64_t sb_launch_ns(const struct sb_launch *launch)
{
	return (int64_t)(launch->key[1] ^ 1ull << 63);
}

/* All launches are added, then the queues are there. Nothing happens where none was added. */
int sb_launch_queues_add(struct sb_launch_queues *l, const struct sb_launch *launch);
int sb_launch_queues_settle(struct sb_launch_queues *l);

/* The first launch that is not taken, NULL: none is left. `q->used++` takes it. */
const struct sb_launch *sb_launch_queue_first(struct sb_launch_queues *l, struct sb_launch_queue *q);

void sb_launch_queues_clear(struct sb_launch_queues *l); /* for the next process; the intervals stay */
void sb_launch_queues_done(struct sb_launch_queues *l);

#endif
