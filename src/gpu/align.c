/* Base events, and the round trips that place them on the CPU's clock. */
#include "gpu/align.h"

#include "record/clock.h"

#include <math.h>

#define RENEW_S 2
#define TRIES 5
#define GOOD_NS 10000u /* a round trip this short is taken at once */
#define LATE_NS 200000u /* the stream shares a queue with busy ones: try later */

static bool prepare(const struct sb_cuda *cuda, struct sb_gpu_base *b)
{
	if (b->stream && b->events[0] && b->events[1])
		return true;
	/* Of its own, not blocking, with priority: never queued behind other kernels. */
	if (!b->stream && cuda->stream_create(&b->stream, SB_CU_STREAM_NON_BLOCKING, -8))
		b->stream = NULL;
	for (int i = 0; i < 2; i++)
		if (!b->events[i] && cuda->event_create(&b->events[i], 0))
			b->events[i] = NULL;
	return b->stream && b->events[0] && b->events[1];
}

/* One round trip: the event happened between two readings of the CPU's clock. */
static bool round_trip(const struct sb_cuda *cuda, struct sb_gpu_base *b, uint64_t late_ticks,
	uint64_t *out_ticks, uint64_t *out_width)
{
	sb_cu_event event = b->events[1 - b->current];
	uint64_t before = sb_clock_ticks(), after;
	int err;

	if (cuda->event_record(event, b->stream))
		return false;
	do {
		err = cuda->event_query(event);
		after = sb_clock_ticks();
	} while (err == SB_CU_NOT_READY && after - before < late_ticks);
	if (err)
		return false;
	*out_ticks = before + (after - before) / 2;
	*out_width = after - before;
	return true;
}

/* Keeps the last try that finished: the first good one, or what there is. */
static void renew(const struct sb_cuda *cuda, struct sb_gpu_base *b)
{
	uint64_t good = sb_clock_ticks_of_ns(GOOD_NS), late = sb_clock_ticks_of_ns(LATE_NS), ticks, width = 0;
	bool done = false;

	b->renewed_ticks = sb_clock_ticks();
	for (int i = 0; i < TRIES && !(done && width <= good); i++)
		done = round_trip(cuda, b, late, &ticks, &width);
	if (!done)
		return;
	b->current = 1 - b->current;
	b->ticks = ticks;
	b->width_ticks = width;
	b->valid = true;
}

bool sb_gpu_align_place(const struct sb_cuda *cuda, struct sb_gpu_event *event, uint64_t fallback_ticks)
{
	struct sb_gpu_base *b = &event->context->base;
	uint64_t hz = sb_clock_hz();
	float ms;

	if (prepare(cuda, b) && (!b->valid || sb_clock_ticks() - b->renewed_ticks > RENEW_S * hz))
		renew(cuda, b);
	if (!b->valid) {
		event->ticks = (int64_t)fallback_ticks;
		return true;
	}
	if (cuda->event_elapsed_ms(&ms, b->events[b->current], event->handle))
		return false;
	event->ticks = (int64_t)b->ticks + llround((double)ms * 1e-3 * (double)hz);
	return true;
}
