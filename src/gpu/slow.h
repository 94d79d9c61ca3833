/* Finds slow moments: judges steps and generations as they end, and has those that are slow recorded. One thread makes all
 * calls. */
#ifndef SB_GPU_SLOW_H
#define SB_GPU_SLOW_H

#include "record/trace_spec.h"

#include <stdbool.h>
#include <stdint.h>

bool sb_slow_start(const struct sb_trace_spec *spec); /* false: no memory */

/* Judges what has ended since the last look. tracing: GPU records are being held. False, once it has said so: nothing more
 * can be kept. */
bool sb_slow_look(bool tracing);

/* Judges what is left: GPU records are held no more for now. */
void sb_slow_untrace(void);

/* Looks a last time and frees its memory. */
void sb_slow_stop(bool tracing);

#endif
