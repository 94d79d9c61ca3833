/* Finds slow moments: judges steps and generations as they end, keeps the GPU records around slow ones, and records
 * which ones were slow. One thread makes all calls. */
#ifndef SB_GPU_SLOW_H
#define SB_GPU_SLOW_H

#include "record/trace_spec.h"

#include <stdbool.h>
#include <stdint.h>

bool sb_slow_start(const struct sb_trace_spec *spec); /* false: no memory */

/* Judges what has ended since the last look. tracing: GPU records are being held. */
void sb_slow_look(bool tracing);
bool sb_slow_enough(void); /* true: as many as were asked for are kept */

/* Looks a last time and frees its memory. */
void sb_slow_stop(bool tracing);

uint64_t sb_slow_kernels(void); /* kernels that were kept */
uint64_t sb_slow_unwritten(void); /* records that found no room */

#endif
