/* The signal itself is trace_signal.c's business, the trace trace.c's. */
#include "gpu/trace_asked.h"

#include "gpu/collector.h"
#include "gpu/counters.h"
#include "gpu/trace.h"
#include "gpu/trace_signal.h"
#include "gpu/watch.h"
#include "record/put.h"
#include "strobe.h"

#include <stdint.h>
#include <stdio.h>

#define SPEC "seconds:10"

static uint32_t
	stopped_epoch; /* the last session that stops or has stopped; guarded by the collector's lock */

static void ring(void)
{
	sb_collector_ring(&sb_gpu_trace_collector);
}

/* Whatever is in the way of a signal is looked at with the lock held: a session stops while others record. */
static bool may_listen(void)
{
	return sb_session_active() && sb_session_epoch() != stopped_epoch && sb_trace_signal_free();
}

void sb_gpu_trace_listen(void)
{
	int cancel;

	if (!sb_trace_signal_free())
		return;
	cancel = sb_collector_hold(&sb_gpu_trace_collector);
	if (may_listen() && sb_collector_start(&sb_gpu_trace_collector))
		sb_trace_signal_take(ring);
	sb_collector_release(&sb_gpu_trace_collector, cancel);
}

void sb_gpu_trace_listen_no_more(void)
{
	int cancel = sb_collector_hold(&sb_gpu_trace_collector);

	stopped_epoch = sb_session_epoch();
	sb_trace_signal_leave();
	sb_collector_release(&sb_gpu_trace_collector, cancel);
}

void sb_gpu_trace_say_displaced(const char *what, const struct sb_trace_spec *steps, const char *how)
{
	char text[64];

	snprintf(text, sizeof text, "%s of steps:%u@%u", what, steps->steps, steps->skip);
	sb_keep_missing(text, "SIGUSR2 came before these steps", how);
}

void sb_gpu_trace_answer(void)
{
	if (!sb_trace_signal_came())
		return;
	sb_gpu_counters_signalled();
	if (sb_gpu_trace_watches())
		sb_watch_ask("SIGUSR2");
	else if (sb_gpu_trace_runs())
		strobe_gpu_trace_stop();
	else
		sb_gpu_trace_start_instead(SPEC);
}
