/* Sampled stacks. They share the sampler thread's part of the budget with its
 * zones: past it the oldest go first. */
#include "strobe.h"

#include "record/clock.h"
#include "record/put.h"
#include "record/recorder.h"

#include <string.h>

enum { FRAMES_MAX = 256 };

/* Microseconds in 32 bits: more than an hour, and a sample of more says nothing anyway. */
static uint64_t weight_us(uint64_t weight_ns)
{
	uint64_t us = (weight_ns + 500) / 1000;

	return us < UINT32_MAX ? us : UINT32_MAX;
}

/* 0 is "not known". */
static uint64_t cpu_us_and_one(uint64_t cpu_ns)
{
	uint64_t us = weight_us(cpu_ns);

	return us < UINT32_MAX ? us + 1 : us;
}

static uint64_t flags_of(const struct strobe_sample *sample)
{
	return (sample->native ? SB_STACK_NATIVE : 0) | (sample->beside_gil & 1 ? SB_STACK_STOOD : 0) |
	       (sample->beside_gil & 2 ? SB_STACK_RAN : 0);
}

void strobe_stack_sample(const struct strobe_sample *sample, const struct strobe_frame *frames, size_t count)
{
	uint64_t payload[3 + FRAMES_MAX];

	if (!STROBE_ON_() || !sample || !frames || !count)
		return;
	if (count > FRAMES_MAX)
		count = FRAMES_MAX;
	payload[0] = sb_clock_ticks() - sb_clock_ticks_of_ns(sample->age_ns);
	payload[1] = sample->thread_id | weight_us(sample->weight_ns) << 32;
	payload[2] = sample->cpu_known ? cpu_us_and_one(sample->cpu_ns) << 32 : 0;
	for (size_t i = 0; i < count; i++)
		payload[3 + i] = (frames[i].function & SB_ID_MAX) | (uint64_t)frames[i].line << 32;
	sb_put(SB_STREAM_HOT, SB_STACK, flags_of(sample), payload, 3 + (uint32_t)count);
}

void strobe_stack(uint32_t thread_id, const struct strobe_frame *frames, size_t count)
{
	strobe_stack_sample(&(struct strobe_sample){ .thread_id = thread_id }, frames, count);
}

double strobe_sample_hz(void)
{
	return strobe_recording() && REC->settings.sample_hz > 0 ? REC->settings.sample_hz : 0;
}

void strobe_function_file(uint32_t function, const char *file)
{
	if (STROBE_ON_() && file)
		sb_put_text(SB_STREAM_KEEP, SB_CODE_FILE, function & SB_ID_MAX, NULL, 0, file, strlen(file));
}
