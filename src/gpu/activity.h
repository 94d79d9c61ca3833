/*
 * One collection of GPU activity through CUPTI: kernels, copies and memsets, with
 * the call that launched each, and the calls that waited for the GPU. Buffers are few and reused. One thread makes all
 * calls, except those that start and cut.
 */
#ifndef SB_GPU_ACTIVITY_H
#define SB_GPU_ACTIVITY_H

#include "gpu/activity_records.h"
#include "gpu/cupti_library.h"

#include <stdbool.h>
#include <stdint.h>

/* Begins to collect. hold_records: records go into gpu/held.h, not into the recording. full: called on any thread
 * when several full buffers wait to be read, and must only wake their reader; NULL: none. On failure nothing is left
 * enabled and the message says why. *out_unattributed: why launches will not be known; NULL: they will. */
int sb_activity_start(
	const struct sb_cupti *cupti, bool hold_records, void (*full)(void), const char **out_unattributed);

/* Leaves out what is launched from now on. Any thread may call it. */
void sb_activity_cut(void);

/* Writes what CUPTI has delivered; asks it to deliver what is complete. Returns
 * how many records could not be written since the start. */
uint64_t sb_activity_drain(void);

/* Looks for a while until what was launched before the cut has come, then releases CUPTI. The GPU may have as much
 * as a thousand launches still to do: it has ten seconds, but one where `awaited` says that a thread waits for the end.
 * NULL: one does. */
void sb_activity_stop(bool (*awaited)(void));

void sb_activity_forget(void); /* in a forked child */

struct sb_activity_counts sb_activity_counts(void); /* since the start; valid after the stop too */

#endif
