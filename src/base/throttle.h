/* NVML's clock event reasons: one table for the recorder and the report. */
#ifndef SB_BASE_THROTTLE_H
#define SB_BASE_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

struct sb_throttle_reason {
	uint64_t bit;
	const char *words;
	bool fault; /* true: the GPU runs slower than it should; false: normal under load */
};

#define SB_THROTTLE_REASONS 6u
extern const struct sb_throttle_reason sb_throttle_reasons[SB_THROTTLE_REASONS];

#endif
