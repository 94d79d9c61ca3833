/* Keeps the latest GPU records in bounded memory until strobe knows which of them to write. For one thread. */
#ifndef SB_GPU_HELD_H
#define SB_GPU_HELD_H

#include <stdbool.h>
#include <stdint.h>

#define SB_HELD_RECORDS (1u << 17) /* 9 MiB, touched as they are needed */

struct sb_held {
	uint64_t when; /* ticks of the launch; of the begin where that is not known (unattributed) */
	uint64_t aux, payload[6]; /* an SB_GPU record */
	uint32_t words;
	bool written, unattributed;
};

bool sb_held_init(void); /* empties it; false: no memory */
void sb_held_done(void); /* gives the memory back */

void sb_held_put(const struct sb_held *record); /* overwrites the oldest when it is full */
uint64_t sb_held_newest(void); /* the latest launch that has come, 0: none */
uint64_t sb_held_total(void); /* how many were put so far */

/* How long the GPU worked on what was launched from begin to end; 0 where launches are not known. */
uint64_t sb_held_work_ticks(uint64_t begin_ticks, uint64_t end_ticks);

/* How the GPU spent the time from begin to end. */
struct sb_held_use {
	uint64_t backlog_ticks; /* on what was launched before */
	uint64_t starved_ticks; /* on nothing, after that */
};
struct sb_held_use sb_held_use(uint64_t begin_ticks, uint64_t end_ticks);

/* Writes what was launched from begin to end and is not written yet, of those that were put after the first `before`. Returns
 * how many found no room; *out_kernels grows by the kernels among those that did. */
uint64_t sb_held_write(uint64_t begin_ticks, uint64_t end_ticks, uint64_t before, uint64_t *out_kernels);

/* A step begins: from now on records launched after it that are overwritten are counted as its own. */
void sb_held_mark(uint64_t ticks);
/* How many there are of the steps that began at `ticks` or later. */
uint64_t sb_held_overwritten(uint64_t ticks);
/* How many records came since the last mark that is not after `ticks`; UINT64_MAX: it is too old. */
uint64_t sb_held_since(uint64_t ticks);

#endif
