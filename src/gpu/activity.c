/* CUPTI's subscription and its buffers. What becomes of a record is activity_records.c's business, when a trace
 * begins and ends trace.c's. */
#include "gpu/activity.h"

#include "base/error.h"
#include "gpu/buffers.h"
#include "gpu/launch.h"
#include "gpu/refused.h"
#include "gpu/ring.h"
#include "gpu/torch_profiler.h"
#include "gpu/waits.h"
#include "record/clock.h"
#include "record/put.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FULL_WAITING 4u /* so many full buffers are not left until the next look */
#define LARGEST_RECORD 1024u /* what is left of a full buffer is less */
#define LAST_RECORDS_NS 10000000000ull
#define LAST_AWAITED_NS 1000000000ull

struct filled {
	uint8_t *buffer;
	size_t bytes;
	void *context;
	uint32_t stream;
};

static const struct sb_cupti *cupti;
static void *subscriber;
static struct sb_ring filled_ring; /* made once, kept */
static _Atomic uint32_t handed_out; /* buffers that CUPTI holds */
static _Atomic bool refused; /* none was free, and CUPTI has not yet said what that cost */
static void (*_Atomic wake)(void);
static _Atomic uint32_t cut_launch; /* the last launch before the cut; 0: none, or no cut yet */
static bool taken_over; /* another client has the buffers */
static _Atomic bool is_launch[1024]; /* by the number of a driver's call */

static const int kinds[] = { CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_MEMCPY, CUPTI_KIND_MEMSET,
	CUPTI_KIND_MEMCPY2 };
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- buffers; these run on CUPTI's and the program's threads ----------- */

/* None free: CUPTI drops records and counts them; memory stays bounded. */
static void requested(uint8_t **buffer, size_t *size, size_t *record_count)
{
	*record_count = 0;
	*buffer = sb_gpu_buffer_take();
	*size = *buffer ? SB_GPU_BUFFER_BYTES : 0;
	if (*buffer)
		atomic_fetch_add(&handed_out, 1);
	else
		atomic_store(&refused, true);
}

/* One that came back because it is full: the reader need not be woken for what it has asked for itself. */
static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	struct filled f = { buffer, valid, context, stream };
	void (*tell)(void) = atomic_load(&wake);

	atomic_fetch_sub(&handed_out, 1);
	sb_ring_push(&filled_ring, &f);
	if (tell && valid + LARGEST_RECORD > size && sb_ring_count(&filled_ring) >= FULL_WAITING)
		tell();
}

static bool make_queue(void)
{
	return filled_ring.slots || sb_ring_init(&filled_ring, SB_GPU_BUFFERS, sizeof(struct filled));
}

/* ---- what has been delivered --------------------------------------------- */

static void read_waits(void)
{
	struct sb_wait w;

	while (sb_waits_take(&w))
		sb_activity_records_put_wait(&w);
	sb_activity_records_lost(SB_LOST_GPU_WAIT, sb_waits_dropped());
}

/* CUPTI has one count for what it dropped because no buffer was free and for what it dropped by itself. */
static void read_dropped(void *context, uint32_t stream)
{
	size_t dropped = 0;

	if (cupti->dropped(context, stream, &dropped) || !dropped)
		return;
	sb_activity_records_lost(
		atomic_exchange(&refused, false) ? SB_LOST_GPU_BUFFER : SB_LOST_CUPTI, dropped);
}

/* CUPTI wants its buffers back zeroed: done here, off the program's threads. */
static void read_filled(void)
{
	struct filled f;

	while (sb_ring_pop(&filled_ring, &f)) {
		const struct cupti_record *record = NULL;

		while (cupti->next_record(f.buffer, f.bytes, &record) == CUPTI_OK)
			sb_activity_records_put(record);
		read_dropped(f.context, f.stream);
		memset(f.buffer, 0, f.bytes);
		sb_gpu_buffer_give(f.buffer);
	}
	sb_gpu_buffers_ready();
}

/* Asks CUPTI for what is complete, with CUPTI_FLUSH_FORCED for all, and writes it. */
static void deliver(uint32_t flags)
{
	cupti->flush_all(flags);
	sb_activity_records_stamp(cupti);
	read_filled();
	read_waits();
}

uint64_t sb_activity_drain(void)
{
	if (!cupti)
		return 0;
	deliver(0);
	return sb_activity_records_unwritten();
}

/* ---- start and stop ---------------------------------------------------- */

static int refuse(const char *what, int result)
{
	if (result == CUPTI_NO_PRIVILEGES)
		return sb_fail(STROBE_EPERM, "%s: no permission for GPU profiling", what);
	return sb_fail(STROBE_EIO, "%s: %s (%d)", what, sb_cupti_error(result), result);
}

static void set_zeroed(uint8_t value)
{
	size_t size = sizeof value;

	if (cupti->set_attribute)
		cupti->set_attribute(CUPTI_ATTR_ZEROED_OUT_BUFFER, &size, &value);
}

static void disable_kinds(size_t count)
{
	while (count-- > 0)
		cupti->disable(kinds[count]);
}

static int enable_kinds(void)
{
	for (size_t i = 0; i < COUNT(kinds); i++) {
		int result = cupti->enable(kinds[i]);

		if (result && kinds[i] != CUPTI_KIND_MEMCPY2) {
			disable_kinds(i);
			return refuse("CUPTI refuses to record GPU activity", result);
		}
	}
	return 0;
}

/* The driver's calls see every launch, the runtime's only those of a shared
 * libcudart (measured: 3 267 of 3 267 against 1 791). */
static void enable_callbacks(uint32_t enable)
{
	static const uint32_t calls[] = CUPTI_DRIVER_LAUNCHES;

	if (!subscriber)
		return;
	for (size_t i = 0; i < COUNT(calls); i++) {
		atomic_store(&is_launch[calls[i]], true);
		cupti->enable_callback(enable, subscriber, CUPTI_DOMAIN_DRIVER, calls[i]);
	}
	sb_waits_enable(cupti, subscriber, enable);
}

static void called_otherwise(uint32_t domain, uint32_t id, const void *data)
{
	enum sb_wait_kind wait = sb_wait_kind(domain, id);

	if (wait)
		sb_wait_called(wait, domain, data);
	else if (sb_refused_asks(domain, id))
		sb_refused_called(id, data);
}

/* On the program's threads. Nearly all calls are launches. */
static void called(void *user, uint32_t domain, uint32_t id, const void *data)
{
	bool launch = domain == CUPTI_DOMAIN_DRIVER && id < COUNT(is_launch) &&
		      atomic_load_explicit(&is_launch[id], memory_order_relaxed);

	if (__builtin_expect(launch, 1))
		sb_launch_callback(user, domain, id, data);
	else
		called_otherwise(domain, id, data);
}

/* They cost a few percent where launches are what bounds the program. */
static bool launches_wanted(void)
{
	const char *value = secure_getenv("STROBE_GPU_TRACE_LAUNCHES");

	return !value || strcmp(value, "0");
}

static int subscribe(void)
{
	char other[64] = "";
	struct cupti_subscriber_params params = { sizeof params, "strobe", other, sizeof other };
	int result;

	subscriber = NULL;
	if (cupti->subscribe_v2)
		result = cupti->subscribe_v2(&subscriber, called, NULL, &params);
	else
		result = cupti->subscribe(&subscriber, called, NULL);
	if (!result)
		return 0;
	subscriber = NULL;
	if (result == CUPTI_MULTIPLE_SUBSCRIBERS && sb_torch_profiler_idle())
		return 0; /* it keeps its subscription for good, but collects nothing now */
	if (result == CUPTI_MULTIPLE_SUBSCRIBERS)
		return sb_fail(STROBE_EBUSY, "CUPTI is in use by %s",
			strstr(other, " for ") && !strstr(other, "<not provided>")
				? strstr(other, " for ") + 5
				: "another profiler of this process");
	return refuse("CUPTI refuses a subscriber", result);
}

static void unsubscribe(void)
{
	if (subscriber)
		cupti->unsubscribe(subscriber);
	subscriber = NULL;
}

int sb_activity_start(
	const struct sb_cupti *with, bool hold_records, void (*full)(void), const char **out_unattributed)
{
	int err, result;

	cupti = with;
	if (!sb_gpu_buffers_init() || !make_queue() || !sb_launches_init() || !sb_waits_init(with)) {
		cupti = NULL;
		return sb_fail(STROBE_ENOMEM, "no memory for GPU records");
	}
	taken_over = false;
	atomic_store(&cut_launch, 0);
	atomic_store(&refused, false);
	sb_gpu_buffers_count_anew();
	sb_gpu_buffers_ready();
	atomic_store(&wake, full);
	sb_activity_records_begin(hold_records);
	err = subscribe();
	if (!err) {
		sb_activity_records_stamp(cupti);
		set_zeroed(1);
		result = cupti->register_callbacks(requested, completed);
		err = result ? refuse("CUPTI refuses buffers", result) : enable_kinds();
		if (err) {
			set_zeroed(0);
			unsubscribe();
		}
	}
	if (err) {
		cupti = NULL;
		return err;
	}
	*out_unattributed = !subscriber ? "CUPTI's callbacks belong to torch.profiler, which was used before"
			    : !launches_wanted() ? "switched off by STROBE_GPU_TRACE_LAUNCHES=0"
						 : NULL;
	if (subscriber)
		sb_refused_enable(cupti, subscriber, 1);
	if (!*out_unattributed) {
		sb_activity_records_launches();
		sb_launches_ready();
		enable_callbacks(1);
	}
	return 0;
}

void sb_activity_cut(void)
{
	uint32_t none = 0, last = sb_launch_last();

	sb_activity_records_cut();
	atomic_compare_exchange_strong(&cut_launch, &none, last);
}

/* Looks, never waits for the GPU: until the last launch has been delivered. A buffer comes when all in it is complete,
 * and the program may go on filling it. */
static void collect_last(bool (*awaited)(void))
{
	const uint64_t most = sb_clock_ticks_of_ns(LAST_RECORDS_NS),
		       least = sb_clock_ticks_of_ns(LAST_AWAITED_NS);
	uint64_t begin = sb_clock_ticks(), waited = 0;
	uint32_t last = atomic_load(&cut_launch);
	struct timespec pause = { 0, 2000000 };

	sb_activity_drain();
	while (last && !sb_activity_records_reached(last) && waited < most &&
		(waited < least || (awaited && !awaited()))) {
		nanosleep(&pause, NULL);
		sb_activity_drain();
		waited = sb_clock_ticks() - begin;
		pause.tv_nsec = waited < least / 10 ? 2000000 : 20000000;
	}
}

static void tell_losses(const struct sb_activity_counts *counts)
{
	for (uint32_t i = 0; i < SB_LOST_REASONS; i++)
		if (counts->lost[i])
			sb_lost((enum sb_lost_reason)i, counts->lost[i]);
}

/* What began between the last look and the end of recording has a buffer of its own. Left with CUPTI it would take the
 * records of the next client, who knows nothing of it (seen: torch.profiler had no kernel). */
static void get_buffers_back(void)
{
	if (!atomic_load(&handed_out))
		return;
	cupti->flush_all(CUPTI_FLUSH_FORCED);
	read_filled();
}

void sb_activity_stop(bool (*awaited)(void))
{
	struct sb_activity_counts counts;
	uint32_t held;

	if (!cupti)
		return;
	sb_activity_cut();
	if (subscriber)
		sb_refused_enable(cupti, subscriber, 0);
	enable_callbacks(0);
	collect_last(awaited);
	held = atomic_load(&handed_out);
	sb_activity_records_last();
	deliver(CUPTI_FLUSH_FORCED);
	read_dropped(NULL, 0); /* also where no buffer was left to come back */
	/* Launches are known to be missing and none of our buffers came back: another client
	 * has registered its own, and what is enabled now is that client's. (A buffer with
	 * nothing in it may stay with CUPTI; it comes back with a later trace.) */
	taken_over = !sb_activity_records_reached(atomic_load(&cut_launch)) && held &&
		     atomic_load(&handed_out) == held;
	if (!taken_over) {
		disable_kinds(COUNT(kinds));
		get_buffers_back();
	}
	set_zeroed(0);
	unsubscribe();
	sb_launches_done();
	atomic_store(&wake, NULL);
	if (!atomic_load(&handed_out))
		sb_gpu_buffers_clear();
	counts = sb_activity_counts();
	tell_losses(&counts);
	cupti = NULL;
}

struct sb_activity_counts sb_activity_counts(void)
{
	struct sb_activity_counts counts = sb_activity_records_counts();

	counts.taken_over = taken_over;
	counts.buffers_most = sb_gpu_buffers_most();
	return counts;
}

void sb_activity_forget(void)
{
	cupti = NULL;
	subscriber = NULL;
	sb_waits_forget();
	atomic_store(&handed_out, 0);
	sb_ring_done(&filled_ring);
	sb_gpu_buffers_forget();
	atomic_store(&wake, NULL);
}
