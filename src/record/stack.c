/* Sampled stacks. They share the sampler thread's part of the budget with its
 * zones: past it the oldest go first. */
#include "strobe.h"

#include "record/clock.h"
#include "record/lane.h"
#include "record/recorder.h"

#include <string.h>

enum { FRAMES_MAX = 256 };

void strobe_stack(uint32_t thread_id, const struct strobe_frame *frames, size_t count)
{
	uint64_t payload[3 + FRAMES_MAX] = { 0, thread_id, 0 };

	if (!STROBE_ON_() || !frames || !count)
		return;
	if (count > FRAMES_MAX)
		count = FRAMES_MAX;
	payload[0] = sb_clock_ticks();
	for (size_t i = 0; i < count; i++)
		payload[3 + i] = (frames[i].function & SB_ID_MAX) | (uint64_t)frames[i].line << 32;
	sb_put(SB_LANE_HOT, SB_STACK, 0, payload, 3 + (uint32_t)count);
}

void strobe_function_file(uint32_t function, const char *file)
{
	if (STROBE_ON_() && file)
		sb_put_text(SB_LANE_KEEP, SB_CODE_FILE, function & SB_ID_MAX, NULL, 0, file, strlen(file));
}
