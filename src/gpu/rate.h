/* Which stages are worth an event by default: those entered at most a thousand
 * times a second. */
#ifndef SB_GPU_RATE_H
#define SB_GPU_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* Counts an entry. Once a name was too frequent it stays untimed for the rest
 * of the session (half of a stage's GPU time would mislead), and the report says so. */
bool sb_gpu_rate_allows(uint32_t name, uint64_t now_ticks);

void sb_gpu_rate_reset(uint32_t entries_per_second); /* a new session; 0: no limit */

#endif
