/* The phases of the sampling and its thread. Which devices are sampled, and what becomes of samples, is counted.c's business. */
#include "gpu/counters.h"

#include "base/error.h"
#include "format/run_keys.h"
#include "gpu/collector.h"
#include "gpu/counted.h"
#include "gpu/counter_rows.h"
#include "gpu/driver.h"
#include "gpu/setup.h"
#include "gpu/trace.h"
#include "gpu/trace_asked.h"
#include "gpu/trace_signal.h"
#include "record/clock.h"
#include "record/put.h"
#include "record/step.h"
#include "record/trace_spec.h"
#include "strobe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define SIGNAL_SPEC "seconds:10"
#define HOW "see docs/gpu.md, 'Sampled counters'"

enum phase {
	OFF,
	ARMED, /* waits for CUDA, or for the steps */
	READY, /* the devices are held, the first step that counts comes next */
	ON
};

static void collect_until_quit(void);

static struct sb_collector collector = SB_COLLECTOR("strobe-counters", collect_until_quit);
static _Atomic enum phase phase;
static struct sb_trace_spec spec;
static char setting[64]; /* of this session */
static _Atomic uint32_t steps_seen;
static _Atomic bool stop_wanted;
static uint64_t deadline_ticks;
static _Atomic uint64_t cut_ticks; /* 0: none yet */
static bool first_drain; /* none since the sampling began */

/* Samples are held, and written around slow moments alone. */
static bool for_slow(void)
{
	return spec.bound == SB_TRACE_SLOW;
}

static void drain(void)
{
	sb_counted_drain(atomic_load(&cut_ticks));
}

/* CUPTI prepares its decoding with the first samples: the driver makes the program wait as long. */
static void drain_first(void)
{
	struct sb_setup setup = sb_setup_begin("strobe: setting up the GPU counters");

	drain();
	first_drain = false;
	sb_setup_end(setup, false);
}

/* ---- beginning --------------------------------------------------------- */

static void give_up(void)
{
	sb_step_counting_hook_set(NULL);
	atomic_store(&phase, OFF);
}

/* Call with the lock held, in phase ARMED. False: not now (no CUDA yet), or not at all. */
static bool open_devices(void)
{
	if (!sb_counted_in_use())
		return false;
	if (!sb_counted_open()) {
		give_up();
		return false;
	}
	atomic_store(&phase, READY);
	return true;
}

static bool start(void)
{
	if (!sb_counter_rows_start(for_slow())) {
		sb_keep_missing("sampled counters", "no memory to hold them for slow moments", HOW);
		sb_counted_close();
		return false;
	}
	if (sb_counted_start())
		return true;
	sb_counter_rows_stop();
	return false;
}

/* Call with the lock held, in phase READY. */
static void begin(void)
{
	uint64_t begin_ticks;

	first_drain = true;
	if (!start()) {
		give_up();
		return;
	}
	begin_ticks = sb_counted_begin_ticks();
	sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_COUNTERS_BEGIN, (int64_t)begin_ticks);
	if (for_slow())
		sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_COUNTERS_OF_SLOW, 1);
	deadline_ticks = spec.bound == SB_TRACE_SECONDS
				 ? begin_ticks + (uint64_t)(spec.seconds * (double)sb_clock_hz())
				 : UINT64_MAX;
	atomic_store(&cut_ticks, 0);
	atomic_store(&stop_wanted, false);
	atomic_store(&phase, ON);
	sb_collector_ring(&collector);
}

static void cut(void)
{
	uint64_t none = 0;

	atomic_compare_exchange_strong(&cut_ticks, &none, sb_clock_ticks());
	atomic_store(&stop_wanted, true);
	sb_collector_ring(&collector);
}

/* Every step of the program, at its beginning, on its thread. The hardware is got in the step before
 * the first that counts, so that this takes none of its time. */
static void step_begun(void)
{
	uint32_t seen = atomic_fetch_add(&steps_seen, 1);
	enum phase now = atomic_load(&phase);
	int cancel;

	if (now == ON) {
		if (seen >= spec.steps)
			cut();
		return;
	}
	if (now == OFF || seen + 1 < spec.skip)
		return;
	cancel = sb_collector_hold(&collector);
	if (atomic_load(&phase) == ARMED && !sb_collector_is_over(&collector))
		open_devices();
	if (atomic_load(&phase) == READY && seen >= spec.skip && !sb_collector_is_over(&collector)) {
		begin();
		atomic_store(&steps_seen, 1);
	}
	sb_collector_release(&collector, cancel);
}

/* Call with the lock held. */
static void begin_if_there(void)
{
	if (atomic_load(&phase) == ARMED && spec.bound != SB_TRACE_STEPS && open_devices())
		begin();
}

static void arm(const struct sb_trace_spec *wanted)
{
	sb_step_counting_hook_set(NULL); /* it is of other counters: the next step must not count for these */
	spec = *wanted;
	atomic_store(&steps_seen, 0);
	atomic_store(&phase, ARMED);
	if (spec.bound == SB_TRACE_STEPS)
		sb_step_counting_hook_set(step_begun);
	begin_if_there();
	sb_collector_ring(&collector);
}

/* ---- the thread -------------------------------------------------------- */

static void say_lost(const struct sb_counter_counts *c)
{
	uint64_t overflows = sb_counted_overflows();
	char text[160], full[64] = "";

	if (!c->lost && !overflows)
		return;
	if (overflows)
		snprintf(full, sizeof full, ", the buffer was full %llu time%s",
			(unsigned long long)overflows, overflows == 1 ? "" : "s");
	snprintf(text, sizeof text, "%llu of about %llu samples were lost%s", (unsigned long long)c->lost,
		(unsigned long long)(c->lost + c->taken), full);
	sb_keep_missing("some sampled counters", text, HOW);
}

static void say_none(void)
{
	bool asked = spec.bound == SB_TRACE_STEPS || spec.bound == SB_TRACE_SECONDS;

	sb_keep_missing("sampled counters",
		asked ? "no sample was complete in the time asked for"
		      : "no sample was complete before the sampling ended",
		asked ? "sample for longer: --gpu-counters=seconds:5" : HOW);
}

static void say_counts(void)
{
	struct sb_counter_counts c = sb_counter_rows_counts();

	say_lost(&c);
	if (c.unwritten)
		sb_keep_missing("sampled counters after the recording was full",
			"GPU records reached their share of max_trace_bytes",
			"raise max_trace_bytes or sample fewer steps");
	if (!c.taken)
		say_none();
	sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_COUNTERS_SAMPLES, (int64_t)c.written);
	sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_COUNTERS_LOST, (int64_t)(c.lost + c.unwritten));
}

static void finish(void)
{
	int cancel = sb_collector_hold(&collector);

	cut();
	sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_COUNTERS_END, (int64_t)atomic_load(&cut_ticks));
	sb_counted_end(atomic_load(&cut_ticks));
	sb_counter_rows_stop();
	say_counts();
	sb_step_counting_hook_set(NULL);
	atomic_store(&phase, OFF);
	pthread_cond_broadcast(&collector.changed);
	sb_collector_release(&collector, cancel);
}

/* No room is left, or no device that could be sampled. */
static bool useless(void)
{
	return sb_counter_rows_counts().unwritten > 0 || !sb_counted_any();
}

/* Nothing comes by itself: no sampling, or one that begins with a step. */
static bool is_idle(void)
{
	enum phase now = atomic_load(&phase);

	return now == OFF || (now != ON && spec.bound == SB_TRACE_STEPS);
}

/* Else what CUPTI does on this thread would break a capture on another. */
static void collect_until_quit(void)
{
	bool relaxed = false;
	int cancel;

	while (!atomic_load(&collector.quit)) {
		sb_collector_sleep(&collector, is_idle());
		cancel = sb_collector_hold(&collector);
		begin_if_there();
		sb_collector_release(&collector, cancel);
		if (atomic_load(&phase) != ON)
			continue;
		sb_cuda_capture_relax_thread(&relaxed);
		if (!atomic_load(&stop_wanted) && sb_counted_look())
			first_drain = true;
		if (first_drain)
			drain_first();
		else
			drain();
		if (useless() || atomic_load(&stop_wanted) || sb_clock_ticks() > deadline_ticks)
			finish();
	}
	sb_cuda_capture_relax_thread(&relaxed);
	if (atomic_load(&phase) == ON)
		finish();
}

/* ---- from outside ------------------------------------------------------ */

static int read_spec(const char *text, struct sb_trace_spec *out)
{
	if (text && !strcmp(text, SB_COUNTERS_OF_SLOW)) {
		if (!sb_gpu_trace_watches())
			return sb_fail(STROBE_EINVAL,
				"gpu counters 'slow' need a GPU trace of slow:1.5 (--gpu-trace=slow:1.5), "
				"which finds the slow moments");
		*out = (struct sb_trace_spec){ .bound = SB_TRACE_SLOW };
		return 0;
	}
	return sb_counters_spec_parse(text, out);
}

int strobe_gpu_counters_start(const char *text)
{
	struct sb_trace_spec wanted;
	int err = read_spec(text, &wanted), cancel;

	if (err)
		return err;
	if (!sb_session_active())
		return sb_fail(STROBE_EINVAL, "no session is open: call strobe_start() first");
	cancel = sb_collector_hold(&collector);
	while (atomic_load(&phase) == ON && atomic_load(&stop_wanted))
		pthread_cond_wait(
			&collector.changed, &collector.lock); /* the last samples are being put away */
	if (atomic_load(&phase) == ON)
		err = sb_fail(STROBE_EBUSY, "GPU counters are being sampled already");
	else if (sb_collector_is_over(&collector))
		err = sb_fail(STROBE_EINVAL, "the session ends: no GPU counters are sampled in it");
	else if (!sb_collector_start(&collector))
		err = sb_fail(STROBE_ENOMEM, "cannot start a thread for the GPU counters");
	else {
		sb_counted_close(); /* those that were held for other steps */
		arm(&wanted);
	}
	sb_collector_release(&collector, cancel);
	if (!err)
		sb_gpu_trace_listen();
	return err;
}

/* Sampling that ends before it began. */
static void say_unsampled(void)
{
	enum phase now = atomic_load(&phase);

	if ((now == ARMED || now == READY) && !sb_counted_in_use())
		sb_keep_missing("sampled counters", SB_NEVER_GPU, HOW);
	else if (now == ARMED || now == READY)
		sb_keep_missing("sampled counters", SB_FEW_SAMPLED, "--gpu-counters=seconds:5");
}

void strobe_gpu_counters_stop(void)
{
	int cancel = sb_collector_hold(&collector);

	say_unsampled();
	if (atomic_load(&phase) == ON) {
		cut();
	} else if (atomic_load(&phase) != OFF) {
		sb_step_counting_hook_set(NULL);
		sb_counted_close();
		atomic_store(&phase, OFF);
	}
	sb_collector_release(&collector, cancel);
}

/* Says which steps are not sampled for it. */
static void start_instead(const char *text)
{
	enum phase before = atomic_load(&phase);
	struct sb_trace_spec displaced = spec;
	bool displaces = (before == ARMED || before == READY) && displaced.bound == SB_TRACE_STEPS;

	if (!strobe_gpu_counters_start(text) && displaces)
		sb_gpu_trace_say_displaced("sampled counters", &displaced, HOW);
}

void sb_gpu_counters_signalled(void)
{
	if (!setting[0] || !strcmp(setting, SB_COUNTERS_OF_SLOW))
		return;
	if (atomic_load(&phase) == ON)
		strobe_gpu_counters_stop();
	else
		start_instead(SIGNAL_SPEC);
}

void sb_gpu_counters_session_started(const char *text)
{
	snprintf(setting, sizeof setting, "%s", text ? text : "");
	if (!setting[0] || !strcmp(setting, SB_TRACE_BY_SIGNAL))
		return;
	if (strobe_gpu_counters_start(setting))
		sb_keep_missing("sampled counters", strobe_error(), HOW);
}

void sb_gpu_counters_keep(uint64_t from_ticks, uint64_t to_ticks)
{
	sb_counter_rows_keep(from_ticks, to_ticks);
}

void sb_gpu_counters_watch_over(void)
{
	if (for_slow())
		strobe_gpu_counters_stop();
}

static void say_cut_short(void)
{
	enum phase now = atomic_load(&phase);
	uint32_t seen = atomic_load(&steps_seen);
	char why[80];

	if (now == ON && spec.bound == SB_TRACE_STEPS && !atomic_load(&stop_wanted) && seen < spec.steps) {
		snprintf(why, sizeof why, "the run ended after %u of the %u steps asked for", seen,
			spec.steps);
		sb_keep_missing("sampled counters of all steps", why, "--gpu-counters=seconds:5");
	}
}

/* The trace has put away its thread, which answers the signal. */
static void say_unsignalled(void)
{
	const char *why_none = sb_trace_signal_why_none();

	if (strcmp(setting, SB_TRACE_BY_SIGNAL))
		return;
	if (why_none)
		sb_keep_missing("sampled counters", why_none,
			"kill -USR2 PID while it runs, or --gpu-counters=seconds:5");
	else if (sb_trace_signal_waits() && !sb_counted_in_use())
		sb_keep_missing("sampled counters", SB_NEVER_GPU, HOW);
}

void sb_gpu_counters_session_stops(void)
{
	int cancel;

	say_cut_short();
	say_unsampled();
	say_unsignalled();
	sb_collector_stop(&collector);
	cancel = sb_collector_hold(&collector);
	sb_step_counting_hook_set(NULL);
	sb_counted_close(); /* in phase READY */
	atomic_store(&phase, OFF);
	sb_collector_release(&collector, cancel);
	setting[0] = 0;
}

void sb_gpu_counters_forget(void)
{
	sb_collector_forget(&collector);
	sb_counted_forget();
	sb_counter_rows_stop();
	atomic_store(&phase, OFF);
	sb_step_counting_hook_set(NULL);
}

void sb_gpu_counters_cuda_started(void)
{
	if (atomic_load(&phase) == ARMED)
		sb_collector_ring(&collector); /* contexts come after this call: the thread looks for them */
}
