/* What a trace counted, in the recording: kernels, and what tells why some are missing. */
#ifndef SB_GPU_TRACE_COUNTS_H
#define SB_GPU_TRACE_COUNTS_H

#include "gpu/activity_records.h"

#include <stdbool.h>
#include <stdint.h>

#define SB_TRACE_FULL_COUNT 1000u /* records that found no room: a trace that goes on is no use */

/* attributed: launches were asked for; kernels: those in the recording. */
void sb_trace_counts_say(const struct sb_activity_counts *counts, bool attributed, uint64_t kernels);

#endif
