/* NVML's clock event reasons, except idle and clocks that the user set. */
#include "base/throttle.h"

const struct sb_throttle_reason sb_throttle_reasons[SB_THROTTLE_REASONS] = {
	{ 0x04, "software power cap", false },
	{ 0x08, "hardware slowdown", true },
	{ 0x10, "sync boost", false },
	{ 0x20, "software thermal slowdown", true },
	{ 0x40, "hardware thermal slowdown", true },
	{ 0x80, "hardware power brake", true },
};
