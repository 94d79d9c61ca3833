/* Samples of the GPU's counters on their way into the recording: at once, or held in memory while a watch for slow
 * moments decides. One thread's, except for what sb_counter_rows_keep takes. */
#ifndef SB_GPU_COUNTER_ROWS_H
#define SB_GPU_COUNTER_ROWS_H

#include "gpu/pm_metrics.h"

#include <stdbool.h>
#include <stdint.h>

#define SB_COUNTER_ROWS_HELD (1u << 15) /* 16 s of one GPU; 5 MiB, touched as they are needed */

struct sb_counter_rows { /* of one device */
	uint32_t schema;
	uint64_t seen_ticks, written_ticks; /* the end of the sample before; 0: none */
};

struct sb_counter_counts {
	uint64_t taken, written, lost,
		unwritten; /* samples; lost: by the gaps between them; unwritten: no room */
};

/* Begins to count anew. held: rows are written only where they are kept. False: no memory. */
bool sb_counter_rows_start(bool held);
void sb_counter_rows_take(
	struct sb_counter_rows *rows, uint64_t from_ticks, uint64_t to_ticks, const double *row);

/* Rows of this time are written, also those that come in the next seconds. From any thread of ours; never waits. */
void sb_counter_rows_keep(uint64_t begin_ticks, uint64_t end_ticks);
void sb_counter_rows_look(void); /* writes what is to be kept */
void sb_counter_rows_stop(void); /* gives the memory back */

struct sb_counter_counts sb_counter_rows_counts(void);

#endif
