/* A wait that has ended goes into a bounded queue. */
#include "gpu/waits.h"

#include "gpu/ring.h"
#include "record/clock.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENDED_MAX 16384u /* between two looks; 1 MiB */

static struct sb_ring ended; /* made once, kept */
static _Atomic uint64_t dropped;
static _Atomic uint64_t
	since_ticks; /* a wait that began earlier is of another trace, or its begin was not seen */
static _Atomic uint32_t trace_number; /* from 1 */
static const struct sb_cupti *_Atomic library;
static __thread uint32_t
	in_runtime; /* the trace in which the thread's call of the runtime waits; 0: none does */

bool sb_waits_init(const struct sb_cupti *cupti)
{
	struct sb_wait old;

	if (!ended.slots && !sb_ring_init(&ended, ENDED_MAX, sizeof(struct sb_wait)))
		return false;
	while (sb_ring_pop(&ended, &old))
		;
	atomic_store(&dropped, 0);
	atomic_store(&library, cupti);
	atomic_store(&since_ticks, sb_clock_ticks());
	atomic_fetch_add(&trace_number, 1);
	return true;
}

void sb_waits_forget(void)
{
	sb_ring_done(&ended);
	in_runtime = 0;
}

void sb_waits_enable(const struct sb_cupti *cupti, void *subscriber, uint32_t enable)
{
	static const uint32_t runtime[] = CUPTI_RUNTIME_WAITS, driver[] = CUPTI_DRIVER_WAITS;

	for (size_t i = 0; i < sizeof runtime / sizeof *runtime; i++)
		cupti->enable_callback(enable, subscriber, CUPTI_DOMAIN_RUNTIME, runtime[i]);
	for (size_t i = 0; i < sizeof driver / sizeof *driver; i++)
		cupti->enable_callback(enable, subscriber, CUPTI_DOMAIN_DRIVER, driver[i]);
}

enum sb_wait_kind sb_wait_kind(uint32_t domain, uint32_t id)
{
	bool runtime = domain == CUPTI_DOMAIN_RUNTIME;

	if (!runtime && domain != CUPTI_DOMAIN_DRIVER)
		return SB_WAIT_NONE;
	switch (id) {
	case 131:
	case 239: return runtime ? SB_WAIT_STREAM : SB_WAIT_NONE;
	case 137: return runtime ? SB_WAIT_EVENT : SB_WAIT_NONE;
	case 165: return runtime ? SB_WAIT_DEVICE : SB_WAIT_NONE;
	case 126: return runtime ? SB_WAIT_DEVICE : SB_WAIT_STREAM; /* cudaThreadSynchronize */
	case 440: return runtime ? SB_WAIT_NONE : SB_WAIT_STREAM;
	case 121: return runtime ? SB_WAIT_NONE : SB_WAIT_EVENT;
	case 17:
	case 800: return runtime ? SB_WAIT_NONE : SB_WAIT_DEVICE;
	default: return SB_WAIT_NONE;
	}
}

/* Where the work is that is waited for, as far as CUPTI can say. */
static void find_place(struct sb_wait *w, const struct cupti_callback_data *d)
{
	const struct sb_cupti *cupti = atomic_load_explicit(&library, memory_order_relaxed);

	if (cupti->device_of)
		cupti->device_of(d->context, &w->device);
	if (w->kind == SB_WAIT_STREAM && cupti->stream_number && d->params)
		cupti->stream_number(d->context, *(void *const *)d->params, 0, &w->stream);
}

static void end(enum sb_wait_kind kind, const struct cupti_callback_data *d)
{
	struct sb_wait w = {
		.begin_ticks = *d->correlation_data, .end_ticks = sb_clock_ticks(), .kind = kind
	};

	if (w.begin_ticks < atomic_load(&since_ticks) || w.begin_ticks > w.end_ticks)
		return;
	w.tid = (uint32_t)syscall(SYS_gettid);
	find_place(&w, d);
	if (!sb_ring_push(&ended, &w))
		atomic_fetch_add(&dropped, 1);
}

/* CUPTI keeps a word for each call from its begin to its end. */
void sb_wait_called(enum sb_wait_kind kind, uint32_t domain, const struct cupti_callback_data *d)
{
	uint32_t trace = atomic_load_explicit(&trace_number, memory_order_relaxed);
	bool runtime = domain == CUPTI_DOMAIN_RUNTIME, begins = d->site == CUPTI_API_ENTER;

	if (!d->correlation_data || (!runtime && in_runtime == trace))
		return;
	if (runtime)
		in_runtime = begins ? trace : 0;
	if (begins)
		*d->correlation_data = sb_clock_ticks();
	else
		end(kind, d);
}

bool sb_waits_take(struct sb_wait *out_wait)
{
	return sb_ring_pop(&ended, out_wait);
}

uint64_t sb_waits_dropped(void)
{
	return atomic_exchange(&dropped, 0);
}
