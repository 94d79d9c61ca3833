/*
 * Which of CUPTI's records belong to the present trace, what each becomes in the recording, and how many there were.
 * Used by the thread that drains CUPTI's buffers (activity.c).
 */
#ifndef SB_GPU_ACTIVITY_RECORDS_H
#define SB_GPU_ACTIVITY_RECORDS_H

#include "format/wire.h"
#include "gpu/cupti_library.h"
#include "gpu/waits.h"

#include <stdbool.h>
#include <stdint.h>

/* Begins a new trace: sets its counts to 0. hold_records: records go into gpu/held.h, not into the recording. */
void sb_activity_records_begin(bool hold_records);

/* Says that the time and thread of each launch are known from now on. */
void sb_activity_records_launches(void);

/* Leaves out what is launched from now on. Any thread may call it; the first call counts. */
void sb_activity_records_cut(void);

/* Reads both clocks. Call it before the records whose times need this reading. */
void sb_activity_records_stamp(const struct sb_cupti *cupti);

void sb_activity_records_put(
	const struct cupti_record *record); /* writes it; kinds that are not used are skipped */
void sb_activity_records_put_wait(const struct sb_wait *wait); /* writes a wait for the GPU */
void sb_activity_records_lost(enum sb_lost_reason reason,
	uint64_t records); /* counts records that were lost before they came here */
void sb_activity_records_last(void); /* says that what comes from now on is all that CUPTI still has */

/* True if a record of this launch or of a later one has come. */
bool sb_activity_records_reached(uint32_t correlation);
uint64_t sb_activity_records_unwritten(void); /* records for which the recording had no room */

struct sb_activity_counts {
	uint64_t kernels, copies, memsets;
	uint64_t unwritten; /* the recording had no room */
	uint64_t unattributed; /* records whose launch is not known */
	uint64_t lost[SB_LOST_REASONS];
	uint64_t
		unfinished; /* of those without times: work that had not ended when CUPTI gave back all it had */
	uint32_t buffers_most; /* that were not free at one time */
	bool taken_over; /* another client took the buffers while we collected */
};
/* taken_over and buffers_most are activity.c's: left 0. */
struct sb_activity_counts sb_activity_records_counts(void);

#endif
