/* CUPTI's subscription and its buffers. What becomes of a record is activity_records.c's business, when a trace
 * begins and ends trace.c's. */
#include "gpu/activity.h"

#include "base/error.h"
#include "gpu/launch.h"
#include "gpu/ring.h"
#include "gpu/torch_profiler.h"
#include "gpu/waits.h"
#include "record/put.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define BUFFER_BYTES (1u << 20) /* about 4 800 kernels */
#define BUFFERS_MAX 24u /* 24 MiB at most; touched as they are needed */
#define LAST_RECORDS_NS 1000000000ull

struct filled {
	uint8_t *buffer;
	size_t bytes;
	void *context;
	uint32_t stream;
};

static const struct sb_cupti *cupti;
static void *subscriber;
static struct sb_ring empty_ring, filled_ring; /* made once, kept */
static uint8_t *memory;
static _Atomic uint32_t handed_out; /* buffers that CUPTI holds */
static bool taken_over; /* another client has the buffers */

static const int kinds[] = { CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_MEMCPY, CUPTI_KIND_MEMSET,
	CUPTI_KIND_MEMCPY2 };
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- buffers; these run on CUPTI's and the program's threads ----------- */

/* None free: CUPTI drops records and counts them; memory stays bounded. */
static void requested(uint8_t **buffer, size_t *size, size_t *record_count)
{
	*record_count = 0;
	*size = BUFFER_BYTES;
	if (sb_ring_pop(&empty_ring, buffer)) {
		atomic_fetch_add(&handed_out, 1);
		return;
	}
	*buffer = NULL;
	*size = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	struct filled f = { buffer, valid, context, stream };

	(void)size;
	atomic_fetch_sub(&handed_out, 1);
	sb_ring_push(&filled_ring, &f);
}

static bool make_buffers(void)
{
	if (memory)
		return true;
	if (!sb_ring_init(&empty_ring, 32, sizeof(uint8_t *)) ||
		!sb_ring_init(&filled_ring, 32, sizeof(struct filled)))
		return false;
	memory = mmap(NULL, BUFFERS_MAX * (size_t)BUFFER_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		memory = NULL;
		return false;
	}
	for (uint32_t i = 0; i < BUFFERS_MAX; i++) {
		uint8_t *buffer = memory + (size_t)i * BUFFER_BYTES;

		sb_ring_push(&empty_ring, &buffer);
	}
	return true;
}

/* ---- what has been delivered --------------------------------------------- */

static void read_waits(void)
{
	struct sb_wait w;

	while (sb_waits_take(&w))
		sb_activity_records_put_wait(&w);
	sb_activity_records_lost(sb_waits_dropped());
}

/* CUPTI wants its buffers back zeroed: done here, off the program's threads. */
static void read_filled(void)
{
	struct filled f;
	size_t dropped;

	while (sb_ring_pop(&filled_ring, &f)) {
		const struct cupti_record *record = NULL;

		while (cupti->next_record(f.buffer, f.bytes, &record) == CUPTI_OK)
			sb_activity_records_put(record);
		dropped = 0;
		if (!cupti->dropped(f.context, f.stream, &dropped))
			sb_activity_records_lost(dropped);
		memset(f.buffer, 0, f.bytes);
		sb_ring_push(&empty_ring, &f.buffer);
	}
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
	for (size_t i = 0; i < COUNT(calls); i++)
		cupti->enable_callback(enable, subscriber, CUPTI_DOMAIN_DRIVER, calls[i]);
	sb_waits_enable(cupti, subscriber, enable);
}

/* On the program's threads. */
static void called(void *user, uint32_t domain, uint32_t id, const void *data)
{
	enum sb_wait_kind wait = sb_wait_kind(domain, id);

	if (wait)
		sb_wait_called(wait, domain, data);
	else
		sb_launch_callback(user, domain, id, data);
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

int sb_activity_start(const struct sb_cupti *with, bool hold_records, const char **out_unattributed)
{
	int err, result;

	cupti = with;
	if (!make_buffers() || !sb_launches_init() || !sb_waits_init(with)) {
		cupti = NULL;
		return sb_fail(STROBE_ENOMEM, "no memory for GPU records");
	}
	taken_over = false;
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
	if (!*out_unattributed) {
		sb_activity_records_launches();
		enable_callbacks(1);
	}
	return 0;
}

void sb_activity_cut(void)
{
	sb_activity_records_cut();
}

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Looks, never waits for the GPU: until the last launch has been delivered. */
static void collect_last(void)
{
	const struct timespec pause = { 0, 2000000 };
	uint64_t deadline = monotonic_ns() + LAST_RECORDS_NS;
	uint32_t last = sb_launch_last();

	sb_activity_drain();
	while (last && !sb_activity_records_reached(last) && monotonic_ns() < deadline) {
		nanosleep(&pause, NULL);
		sb_activity_drain();
	}
}

void sb_activity_stop(void)
{
	uint32_t held;
	uint64_t lost;

	if (!cupti)
		return;
	sb_activity_cut();
	enable_callbacks(0);
	collect_last();
	held = atomic_load(&handed_out);
	deliver(CUPTI_FLUSH_FORCED);
	/* Launches are known to be missing and none of our buffers came back: another client
	 * has registered its own, and what is enabled now is that client's. (A buffer with
	 * nothing in it may stay with CUPTI; it comes back with a later trace.) */
	taken_over = !sb_activity_records_reached(sb_launch_last()) && held &&
		     atomic_load(&handed_out) == held;
	if (!taken_over)
		disable_kinds(COUNT(kinds));
	set_zeroed(0);
	unsubscribe();
	sb_launches_done();
	if (memory && !atomic_load(&handed_out))
		madvise(memory, BUFFERS_MAX * (size_t)BUFFER_BYTES, MADV_DONTNEED);
	lost = sb_activity_records_counts().dropped;
	if (lost)
		sb_lost(SB_LOST_CUPTI, lost);
	cupti = NULL;
}

struct sb_activity_counts sb_activity_counts(void)
{
	struct sb_activity_counts counts = sb_activity_records_counts();

	counts.taken_over = taken_over;
	return counts;
}

void sb_activity_forget(void)
{
	cupti = NULL;
	subscriber = NULL;
	sb_waits_forget();
	atomic_store(&handed_out, 0);
}
