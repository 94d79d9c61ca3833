/* The phases of a trace and its thread. What is collected is activity.c's business. */
#include "gpu/trace.h"

#include "base/error.h"
#include "format/run_keys.h"
#include "gpu/activity.h"
#include "gpu/collector.h"
#include "gpu/counters.h"
#include "gpu/driver.h"
#include "gpu/pool.h"
#include "gpu/setup.h"
#include "gpu/slow.h"
#include "gpu/slow_record.h"
#include "gpu/trace_asked.h"
#include "gpu/trace_counts.h"
#include "gpu/trace_signal.h"
#include "gpu/watch.h"
#include "record/clock.h"
#include "record/put.h"
#include "record/step.h"
#include "strobe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define HOW "see docs/gpu.md, 'The kernel trace'"
#define HOW_PERMITTED "modprobe option NVreg_RestrictProfilingToAdminUsers=0, or root; see 'strobe doctor'"

enum phase {
	OFF,
	ARMED, /* waits for CUDA, or for the first step that counts */
	ON
};

static void collect_until_quit(void);

struct sb_collector sb_gpu_trace_collector = SB_COLLECTOR("strobe-trace", collect_until_quit);
static _Atomic enum phase phase;
static struct sb_trace_spec spec;
static uint64_t deadline_ticks;
static _Atomic uint32_t steps_seen;
static _Atomic bool stop_wanted;
static _Atomic bool end_awaited; /* a thread of the program waits until the trace is put away */
static bool asked; /* for a trace, in this session */
static _Atomic bool steps_asked; /* for one of steps */
static bool attributed; /* launches were asked for */
static bool untraceable; /* CUPTI refused; slow moments are watched for all the same */
static bool lent; /* another profiler has it, and slow moments are watched for by the clock meanwhile */
static _Atomic bool lend_wanted;
static bool said_lent, said_unattributed;

/* ---- beginning --------------------------------------------------------- */

/* A step is rare and must not be missed: CUDA may have come since the last look. Without a driver CUPTI's
 * own calls crash (seen: cuptiGetVersion of CUDA 13.2), so a program on the CPU never gets there. */
static bool cuda_came(void)
{
	if (sb_cuda_initialised())
		return true;
	sb_cuda_look_now();
	return sb_cuda_initialised();
}

/* Slow moments are watched for, with CUPTI or without. */
static bool for_slow(void)
{
	return spec.bound == SB_TRACE_SLOW;
}

static void ring(void)
{
	sb_collector_ring(&sb_gpu_trace_collector);
}

/* What is launched from now on is none of the trace's; its thread puts it away. */
static void cut_for(_Atomic bool *reason)
{
	sb_activity_cut();
	atomic_store(reason, true);
	ring();
}

static void cut(void)
{
	cut_for(&stop_wanted);
}

/* Call with the lock held, in phase ARMED. */
static int begin(void)
{
	const struct sb_cupti *cupti;
	const char *unattributed;
	struct sb_setup setup;
	int err = sb_cupti_load(&cupti);

	if (!err) {
		setup = sb_setup_begin("strobe: setting up the GPU trace");
		err = sb_activity_start(cupti, for_slow(), ring, &unattributed);
		sb_setup_end(setup, err != 0);
	}
	if (err) {
		if (!said_lent)
			sb_keep_missing("kernels", strobe_error(), err == STROBE_EPERM ? HOW_PERMITTED : HOW);
		untraceable = true;
		if (for_slow())
			return err;
		atomic_store(&phase, OFF);
		sb_step_hook_set(NULL);
		return err;
	}
	if (!for_slow())
		sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_TRACE_BEGIN, (int64_t)sb_clock_ticks());
	sb_keep_meta_int(SB_META_SYSTEM, "cupti_version", cupti->version);
	sb_keep_meta_string(SB_META_SYSTEM, "cupti_path", cupti->path);
	attributed = !unattributed;
	if (!attributed && !said_unattributed)
		sb_keep_missing("launches", unattributed, HOW);
	said_unattributed |= !attributed;
	deadline_ticks = spec.bound == SB_TRACE_SECONDS
				 ? sb_clock_ticks() + (uint64_t)(spec.seconds * (double)sb_clock_hz())
				 : UINT64_MAX;
	atomic_store(&stop_wanted, false);
	atomic_store(&phase, ON);
	sb_collector_ring(&sb_gpu_trace_collector);
	return 0;
}

/* Every step of the program, at its beginning, on its thread. */
static void step_begun(void)
{
	uint32_t seen = atomic_fetch_add(&steps_seen, 1);
	int cancel, mode;

	if (atomic_load(&phase) == ARMED && seen >= spec.skip) {
		if (!cuda_came())
			return;
		cancel = sb_collector_hold(&sb_gpu_trace_collector);
		mode = sb_cuda_capture_relax();
		if (atomic_load(&phase) == ARMED && !sb_collector_is_over(&sb_gpu_trace_collector))
			begin();
		sb_cuda_capture_restore(mode);
		atomic_store(&steps_seen, 1);
		sb_collector_release(&sb_gpu_trace_collector, cancel);
	} else if (atomic_load(&phase) == ON && seen >= spec.steps) {
		cut();
	}
}

static bool waits_for_steps(void)
{
	return atomic_load(&phase) == ARMED && spec.bound == SB_TRACE_STEPS;
}

static int arm(const struct sb_trace_spec *wanted)
{
	if (waits_for_steps())
		atomic_store(&steps_asked, false); /* this one takes its place */
	sb_step_hook_set(NULL); /* it is of another trace: the next step must not count for this one */
	spec = *wanted;
	untraceable = lent = said_lent = said_unattributed = false;
	atomic_store(&lend_wanted, false);
	atomic_store(&stop_wanted, false);
	atomic_store(&end_awaited, false);
	if (for_slow() && !sb_slow_start(&spec))
		return sb_fail(STROBE_ENOMEM, "no memory to watch for slow moments");
	atomic_store(&steps_seen, 0);
	atomic_store(&phase, ARMED);
	if (spec.bound == SB_TRACE_STEPS) {
		atomic_store(&steps_asked, true);
		sb_step_hook_set(step_begun);
	} else if (sb_cuda_initialised()) {
		int err = begin();

		return for_slow() ? 0 : err;
	}
	sb_collector_ring(&sb_gpu_trace_collector);
	return 0;
}

/* ---- the thread -------------------------------------------------------- */

static bool is_awaited(void)
{
	return atomic_load(&end_awaited) || atomic_load(&sb_gpu_trace_collector.quit) ||
	       sb_trace_signal_waits();
}

static void put_away(enum phase next)
{
	int cancel = sb_collector_hold(&sb_gpu_trace_collector);
	sb_step_hook_set(NULL);
	atomic_store(&phase, next);
	pthread_cond_broadcast(&sb_gpu_trace_collector.changed);
	sb_collector_release(&sb_gpu_trace_collector, cancel);
}

static void say_counts(void)
{
	struct sb_activity_counts c = sb_activity_counts();

	if (for_slow())
		c.unwritten = sb_slow_record_unwritten();
	sb_trace_counts_say(&c, attributed, for_slow() ? sb_slow_record_kernels() : c.kernels);
}

static void finish(void)
{
	if (!for_slow())
		sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_TRACE_END, (int64_t)sb_clock_ticks());
	sb_activity_stop(is_awaited);
	if (for_slow()) {
		sb_slow_stop(true);
		sb_gpu_counters_watch_over();
	}
	say_counts();
	put_away(OFF);
}

/* To another profiler: the watch goes on without kernels. */
static void lend(void)
{
	sb_activity_stop(is_awaited);
	sb_slow_untrace();
	say_counts();
	lent = untraceable = true;
	atomic_store(&end_awaited, false);
	put_away(ARMED);
}

/* No CUPTI yet, or none at all: steps and generations are judged, their zones are in the recording. */
static void watch_untraced(void)
{
	if (!atomic_load(&stop_wanted) && !atomic_load(&sb_gpu_trace_collector.quit) && sb_slow_look(false))
		return;
	sb_slow_stop(false);
	sb_gpu_counters_watch_over();
	put_away(OFF);
}

static uint64_t collect(void)
{
	uint64_t unwritten = sb_activity_drain();

	if (!for_slow())
		return unwritten;
	if (!sb_slow_look(true)) {
		sb_activity_cut();
		atomic_store(&stop_wanted, true);
	}
	return sb_slow_record_unwritten();
}

static void drain(void)
{
	if (collect() > SB_TRACE_FULL_COUNT)
		atomic_store(&stop_wanted, true);
	if (atomic_load(&stop_wanted) || atomic_load(&sb_gpu_trace_collector.quit) ||
		sb_clock_ticks() > deadline_ticks)
		finish();
	else if (atomic_exchange(&lend_wanted, false))
		lend();
}

/* Nothing comes by itself: no trace, or one that begins with a step. */
static bool is_idle(void)
{
	return atomic_load(&phase) == OFF || waits_for_steps();
}

/* Else what CUPTI does on this thread would break a capture on another. */
static void collect_until_quit(void)
{
	bool relaxed = false;
	int cancel;

	while (!atomic_load(&sb_gpu_trace_collector.quit)) {
		sb_collector_sleep(&sb_gpu_trace_collector, is_idle());
		sb_cuda_capture_relax_thread(&relaxed);
		sb_gpu_trace_answer();
		cancel = sb_collector_hold(&sb_gpu_trace_collector);
		if (atomic_load(&phase) == ARMED && spec.bound != SB_TRACE_STEPS && !untraceable &&
			sb_cuda_initialised())
			begin();
		sb_collector_release(&sb_gpu_trace_collector, cancel);
		if (atomic_load(&phase) == ARMED && for_slow())
			watch_untraced();
		if (atomic_load(&phase) == ON) {
			sb_cuda_capture_relax_thread(&relaxed);
			drain();
		}
	}
	sb_cuda_capture_relax_thread(&relaxed);
	if (for_slow())
		sb_gpu_trace_answer(); /* it came with the end */
	if (atomic_load(&phase) == ON)
		finish();
	if (atomic_load(&phase) == ARMED && for_slow())
		watch_untraced();
}

/* ---- from outside ------------------------------------------------------ */

int strobe_gpu_trace_start(const char *text)
{
	struct sb_trace_spec wanted;
	int err = sb_trace_spec_parse(text, &wanted), cancel;

	if (err)
		return err;
	if (!sb_session_active())
		return sb_fail(STROBE_EINVAL, "no session is open: call strobe_start() first");
	cancel = sb_collector_hold(&sb_gpu_trace_collector);
	asked = true;
	while (atomic_load(&phase) != OFF && atomic_load(&stop_wanted) &&
		!sb_collector_is_self(&sb_gpu_trace_collector)) {
		atomic_store(&end_awaited, true);
		pthread_cond_wait(&sb_gpu_trace_collector.changed,
			&sb_gpu_trace_collector.lock); /* the last one is being put away */
	}
	if (atomic_load(&phase) == ON || (atomic_load(&phase) == ARMED && for_slow()))
		err = sb_fail(STROBE_EBUSY, "a GPU trace is running already");
	else if (sb_collector_is_over(&sb_gpu_trace_collector))
		err = sb_fail(STROBE_EINVAL, "the session ends: no GPU trace begins in it");
	else if (!sb_collector_start(&sb_gpu_trace_collector))
		err = sb_fail(STROBE_ENOMEM, "cannot start a thread for the GPU trace");
	else
		err = arm(&wanted);
	sb_collector_release(&sb_gpu_trace_collector, cancel);
	if (!err)
		sb_gpu_trace_listen();
	return err;
}

void sb_gpu_trace_start_instead(const char *text)
{
	bool displaces = waits_for_steps();
	struct sb_trace_spec displaced = spec;

	if (!strobe_gpu_trace_start(text) && displaces)
		sb_gpu_trace_say_displaced("kernels", &displaced, HOW);
}

void strobe_gpu_trace_keep(const char *why)
{
	if (atomic_load(&phase) == OFF || !for_slow())
		return;
	sb_watch_ask(why);
	sb_collector_ring(&sb_gpu_trace_collector);
}

static void say_untraced(void)
{
	if (atomic_load(&phase) == ARMED && !sb_cuda_initialised())
		sb_keep_missing("kernels", SB_NEVER_CUDA, HOW);
	else if (atomic_load(&phase) == ARMED && !for_slow())
		sb_keep_missing("kernels", SB_FEW_TRACED, "--gpu-trace=seconds:5");
}

void strobe_gpu_trace_stop(void)
{
	int cancel = sb_collector_hold(&sb_gpu_trace_collector);

	say_untraced();
	if (atomic_load(&phase) == ARMED && for_slow()) {
		atomic_store(&stop_wanted, true);
		sb_collector_ring(&sb_gpu_trace_collector);
	} else if (atomic_load(&phase) == ARMED) {
		sb_step_hook_set(NULL);
		atomic_store(&phase, OFF);
	} else if (atomic_load(&phase) == ON) {
		cut();
	}
	sb_collector_release(&sb_gpu_trace_collector, cancel);
}

int strobe_gpu_trace_steps_state(void)
{
	enum phase now = atomic_load(&phase);
	bool running = now == ON &&
		       !atomic_load(&stop_wanted); /* or being put away: a start waits for that */

	return !atomic_load(&steps_asked) || now == ARMED ? 0 : running ? 1 : 2;
}

static void say_lent(const char *to)
{
	const char *what = for_slow() ? "kernels of slow moments while it ran" : "kernels from then on";
	char why[128];

	snprintf(why, sizeof why, "%s started and got CUPTI", to && *to ? to : "another profiler");
	if (!said_lent)
		sb_keep_missing(what, why, "run the two one after the other");
	said_lent = true;
}

void strobe_gpu_trace_yield(const char *to)
{
	int cancel = sb_collector_hold(&sb_gpu_trace_collector);
	bool early = atomic_load(&phase) == ARMED && for_slow() && !untraceable;
	bool on = atomic_load(&phase) == ON && !sb_collector_is_self(&sb_gpu_trace_collector);
	struct timespec until;

	if (early)
		lent = untraceable = true; /* it has not come to CUPTI yet */
	if (early || on)
		say_lent(to);
	if (on) {
		atomic_store(&end_awaited, true);
		cut_for(for_slow() ? &lend_wanted : &stop_wanted);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += 2;
	}
	while (on && atomic_load(&phase) == ON &&
		!pthread_cond_clockwait(&sb_gpu_trace_collector.changed, &sb_gpu_trace_collector.lock,
			CLOCK_MONOTONIC, &until))
		;
	sb_collector_release(&sb_gpu_trace_collector, cancel);
}

void strobe_gpu_trace_resume(void)
{
	int cancel = sb_collector_hold(&sb_gpu_trace_collector);

	if (atomic_load(&phase) == ARMED && for_slow() && lent) {
		lent = untraceable = false;
		sb_collector_ring(&sb_gpu_trace_collector);
	}
	sb_collector_release(&sb_gpu_trace_collector, cancel);
}

void sb_gpu_trace_session_started(const char *text)
{
	struct sb_trace_spec wanted;

	asked = false;
	atomic_store(&steps_asked, false);
	sb_trace_signal_begin();
	if (!text || !*text)
		return;
	if (sb_trace_spec_parse(text, &wanted))
		sb_keep_missing("kernels", strobe_error(), HOW);
	else
		strobe_gpu_trace_start(text);
	asked = true;
}

bool sb_gpu_trace_watches(void)
{
	return atomic_load(&phase) != OFF && for_slow();
}

bool sb_gpu_trace_runs(void)
{
	return atomic_load(&phase) == ON;
}

void sb_gpu_trace_session_stops(void)
{
	bool armed;

	sb_gpu_trace_listen_no_more();
	armed = atomic_load(&phase) == ARMED;
	say_untraced();
	if (!asked && sb_gpu_context_at(0))
		sb_keep_missing("kernels, attention kind", SB_NOT_ASKED_TRACE, "--gpu-trace=steps:3");
	sb_collector_stop(&sb_gpu_trace_collector);
	if (!armed && !sb_trace_signal_why_none() && !sb_cuda_initialised())
		sb_keep_missing("kernels", SB_NEVER_CUDA, HOW); /* a signal that came with the end, too */
	sb_step_hook_set(NULL);
	atomic_store(&phase, OFF);
}

void sb_gpu_trace_forget(void)
{
	sb_collector_forget(&sb_gpu_trace_collector);
	sb_trace_signal_forget();
	atomic_store(&phase, OFF);
	sb_step_hook_set(NULL);
	sb_watch_stop();
	sb_activity_forget();
}

/* Inside cuInit: nothing has been launched yet, so nothing is missed. */
void sb_gpu_trace_cuda_started(void)
{
	int cancel;

	strobe_mark("cuInit"); /* opens an armed session */
	if (sb_session_active())
		sb_gpu_trace_listen();
	cancel = sb_collector_hold(&sb_gpu_trace_collector);
	if (atomic_load(&phase) == ARMED && spec.bound != SB_TRACE_STEPS && !untraceable &&
		!sb_collector_is_over(&sb_gpu_trace_collector))
		begin();
	sb_collector_release(&sb_gpu_trace_collector, cancel);
}
