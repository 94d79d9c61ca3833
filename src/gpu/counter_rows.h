/* Writes samples of the GPU's counters into the recording: at once, or only those that a watch for slow moments keeps,
 * with the rest held in memory. One thread makes all calls except sb_counter_rows_keep. */
#ifndef SB_GPU_COUNTER_ROWS_H
#define SB_GPU_COUNTER_ROWS_H

#include "gpu/pm_metrics.h"

#include <stdbool.h>
#include <stdint.h>

#define SB_COUNTER_ROWS_HELD (1u << 15) /* 16 s of one GPU; 5 MiB, touched as they are needed */

struct sb_counter_rows { /* of one device */
	uint32_t schema;
	uint64_t seen_ticks, written_ticks; /* the end of the sample before; 0: none */
	uint64_t width_ticks; /* of the sample before */
};

struct sb_counter_counts {
	uint64_t taken, written; /* samples */
	uint64_t lost; /* by the gaps between them, and what sb_counter_rows_lose added */
	uint64_t unwritten; /* the recording had no room */
};

/* Sets the counts to 0. held: only rows of the time that sb_counter_rows_keep names are written. False: no memory. */
bool sb_counter_rows_start(bool held);
/* Takes one sample of a device. */
void sb_counter_rows_take(
	struct sb_counter_rows *rows, uint64_t from_ticks, uint64_t to_ticks, const double *row);

/* Counts samples as lost that no later one makes a gap for. */
void sb_counter_rows_lose(uint64_t samples);

/* Marks the rows of this time to be written, also those that come in the next seconds. From any thread of strobe; never waits. */
void sb_counter_rows_keep(uint64_t begin_ticks, uint64_t end_ticks);
void sb_counter_rows_look(void); /* writes the marked rows */
void sb_counter_rows_stop(void); /* gives the memory back */

struct sb_counter_counts sb_counter_rows_counts(void); /* since the start */

#endif
