/* CUPTI's subscription and buffers, and its records into the recording. When a trace
 * begins and ends is trace.c's business. */
#include "gpu/activity.h"

#include "base/error.h"
#include "format/gpu_shape.h"
#include "gpu/copy_name.h"
#include "gpu/held.h"
#include "gpu/kernel_name.h"
#include "gpu/kernel_shape.h"
#include "gpu/launch.h"
#include "gpu/ring.h"
#include "gpu/stamps.h"
#include "gpu/torch_profiler.h"
#include "gpu/waits.h"
#include "record/clock.h"
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
static _Atomic uint64_t cut_ticks; /* 0: none yet */
static struct sb_stamps stamps;
static struct sb_activity_counts counts;
static uint64_t unwritten;
static bool launches_seen; /* the callbacks tell when each was made */
static uint32_t newest; /* correlation number among the records */
static bool holding; /* records are held, not written */
static uint64_t begin_ticks; /* what began earlier is a leftover of the trace before */

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

/* ---- records ----------------------------------------------------------- */

struct activity {
	enum sb_gpu_kind kind;
	uint32_t name, flags, device, stream, correlation;
	uint64_t start, end, bytes;
	const struct sb_gpu_shape *shape; /* of a kernel; else NULL */
};

static bool after_cut(const struct sb_launch *launch, uint64_t start)
{
	uint64_t cut = atomic_load(&cut_ticks);

	return cut && (launch->ticks ? launch->ticks : start) > cut;
}

/* Of work that had not begun when the trace ended: launched after the cut, or after the callbacks that see launches
 * were switched off for it. It is none of the trace's, and none of its losses. */
static bool follows_cut(const struct sb_launch *launch)
{
	uint64_t cut = atomic_load(&cut_ticks);

	return cut && (launch->ticks ? launch->ticks > cut : launches_seen);
}

static void hold(const struct sb_launch *launch, uint64_t aux, const uint64_t *payload, uint32_t words)
{
	struct sb_held record = { launch->ticks ? launch->ticks : payload[0], aux, { 0 }, words, false };

	memcpy(record.payload, payload, sizeof record.payload);
	sb_held_put(&record);
}

/* A name where there is one, else both words. Returns the payload's words. */
static uint32_t put_shape(const struct sb_gpu_shape *shape, uint64_t payload[2])
{
	uint32_t name;

	if (!shape->grid[0])
		return 4;
	sb_gpu_shape_pack(shape, payload);
	name = sb_kernel_shape(payload);
	if (!name)
		return 6;
	payload[0] = name;
	payload[1] = 0;
	return 5;
}

static void write_or_hold(
	const struct sb_launch *launch, uint64_t aux, const uint64_t payload[6], uint32_t words)
{
	if (holding)
		hold(launch, aux, payload, words);
	else if (!sb_put(SB_STREAM_DEVICE, SB_GPU, aux, payload, words))
		unwritten++;
}

static void put(const struct activity *a)
{
	struct sb_launch launch = sb_launch_of(a->correlation);
	uint64_t payload[6] = { 0 }, aux;
	uint32_t words = 5;

	if (a->correlation > newest)
		newest = a->correlation;
	if (!a->start || a->end < a->start) {
		counts.dropped += !follows_cut(&launch);
		return;
	}
	payload[0] = sb_stamps_ticks(&stamps, a->start);
	payload[1] = sb_stamps_ticks(&stamps, a->end) - payload[0];
	if (payload[0] < begin_ticks || after_cut(&launch, payload[0]))
		return;
	payload[2] = launch.ticks;
	payload[3] = (uint64_t)a->stream << 32 | launch.tid;
	if (a->shape)
		words = put_shape(a->shape, payload + 4);
	else
		payload[4] = a->bytes;
	counts.unattributed += !launch.ticks;
	counts.kernels += a->kind == SB_GPU_KERNEL;
	counts.memsets += a->kind == SB_GPU_MEMSET;
	counts.copies += a->kind != SB_GPU_KERNEL && a->kind != SB_GPU_MEMSET;
	aux = (uint64_t)a->name | (uint64_t)a->kind << 20 | (uint64_t)(a->device & 255) << 24 |
	      (uint64_t)a->flags << 32;
	write_or_hold(&launch, aux, payload, words);
}

/* For kernels whose names say nothing. */
static uint32_t shape_flags(const struct cupti_kernel *k)
{
	int32_t shared = k->static_shared_bytes + k->dynamic_shared_bytes;

	if (shared >= SB_GPU_TILED_BYTES)
		return SB_GPU_TILED;
	return !shared && k->grid[1] == 1 && k->grid[2] == 1 ? SB_GPU_FLAT : 0;
}

static uint32_t positive(int32_t value)
{
	return value > 0 ? (uint32_t)value : 0;
}

static struct sb_gpu_shape shape_of(const struct cupti_kernel *k)
{
	return (struct sb_gpu_shape){ .grid = { positive(k->grid[0]), positive(k->grid[1]),
					      positive(k->grid[2]) },
		.block = { positive(k->block[0]), positive(k->block[1]), positive(k->block[2]) },
		.registers = k->registers_per_thread,
		.shared_bytes = positive(k->static_shared_bytes) + positive(k->dynamic_shared_bytes) };
}

static void put_kernel(const struct cupti_kernel *k)
{
	struct sb_gpu_shape shape = shape_of(k);

	put(&(struct activity){ SB_GPU_KERNEL, sb_kernel_name(k->name),
		(k->graph_node ? SB_GPU_GRAPH : 0) | shape_flags(k), k->device, k->stream, k->correlation,
		k->start, k->end, 0, &shape });
}

static void put_copy(const struct cupti_memcpy *c)
{
	enum sb_gpu_kind kind = sb_copy_kind(c->copy_kind);
	uint32_t flags = sb_copy_flags(c->source_kind, c->target_kind);

	put(&(struct activity){ kind, sb_copy_name(kind, flags), flags | (c->graph_node ? SB_GPU_GRAPH : 0),
		c->device, c->stream, c->correlation, c->start, c->end, c->bytes, NULL });
}

static void put_peer_copy(const struct cupti_memcpy2 *c)
{
	put(&(struct activity){ SB_GPU_COPY_OTHER, sb_name_intern("Memcpy PtoP (Device -> Device)", NULL), 0,
		c->device, c->stream, c->correlation, c->start, c->end, c->bytes, NULL });
}

static void put_memset(const struct cupti_memset *m)
{
	put(&(struct activity){ SB_GPU_MEMSET, sb_name_intern("Memset (Device)", NULL),
		m->graph_node ? SB_GPU_GRAPH : 0, m->device, m->stream, m->correlation, m->start, m->end,
		m->bytes, NULL });
}

static void put_record(const struct cupti_record *r)
{
	switch (r->kind) {
	case CUPTI_KIND_CONCURRENT_KERNEL: put_kernel((const void *)r); break;
	case CUPTI_KIND_MEMCPY: put_copy((const void *)r); break;
	case CUPTI_KIND_MEMCPY2: put_peer_copy((const void *)r); break;
	case CUPTI_KIND_MEMSET: put_memset((const void *)r); break;
	default: break;
	}
}

/* Named as torch.profiler names it. */
static void put_wait(const struct sb_wait *w)
{
	static const char *const names[] = { [SB_WAIT_STREAM] = "Stream Sync",
		[SB_WAIT_EVENT] = "Event Sync",
		[SB_WAIT_DEVICE] = "Context Sync" };
	struct sb_launch call = { w->begin_ticks, w->tid };
	uint64_t payload[6] = { w->begin_ticks, w->end_ticks - w->begin_ticks, w->begin_ticks,
		(uint64_t)w->stream << 32 | w->tid };
	uint64_t aux = (uint64_t)sb_name_intern(names[w->kind], NULL) | (uint64_t)SB_GPU_SYNC << 20 |
		       (uint64_t)(w->device & 255) << 24;

	if (!after_cut(&call, w->begin_ticks))
		write_or_hold(&call, aux, payload, 4);
}

static void read_waits(void)
{
	struct sb_wait w;

	while (sb_waits_take(&w))
		put_wait(&w);
	counts.dropped += sb_waits_dropped();
}

/* CUPTI wants its buffers back zeroed: done here, off the program's threads. */
static void read_filled(void)
{
	struct filled f;
	size_t dropped;

	while (sb_ring_pop(&filled_ring, &f)) {
		const struct cupti_record *record = NULL;

		while (cupti->next_record(f.buffer, f.bytes, &record) == CUPTI_OK)
			put_record(record);
		dropped = 0;
		if (!cupti->dropped(f.context, f.stream, &dropped))
			counts.dropped += dropped;
		memset(f.buffer, 0, f.bytes);
		sb_ring_push(&empty_ring, &f.buffer);
	}
}

uint64_t sb_activity_drain(void)
{
	if (!cupti)
		return 0;
	cupti->flush_all(0);
	sb_stamps_take(&stamps, cupti);
	read_filled();
	read_waits();
	return unwritten;
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
	holding = hold_records;
	if (!make_buffers() || !sb_launches_init() || !sb_waits_init(with)) {
		cupti = NULL;
		return sb_fail(STROBE_ENOMEM, "no memory for GPU records");
	}
	stamps.count = 0;
	memset(&counts, 0, sizeof counts);
	unwritten = newest = 0;
	atomic_store(&cut_ticks, 0);
	begin_ticks = sb_clock_ticks();
	err = subscribe();
	if (!err) {
		sb_stamps_take(&stamps, cupti);
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
	launches_seen = !*out_unattributed;
	if (launches_seen)
		enable_callbacks(1);
	return 0;
}

void sb_activity_cut(void)
{
	uint64_t none = 0;

	atomic_compare_exchange_strong(&cut_ticks, &none, sb_clock_ticks());
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
	while (last && newest < last && monotonic_ns() < deadline) {
		nanosleep(&pause, NULL);
		sb_activity_drain();
	}
}

void sb_activity_stop(void)
{
	uint32_t held;

	if (!cupti)
		return;
	sb_activity_cut();
	enable_callbacks(0);
	collect_last();
	held = atomic_load(&handed_out);
	cupti->flush_all(CUPTI_FLUSH_FORCED);
	sb_stamps_take(&stamps, cupti);
	read_filled();
	read_waits();
	/* Launches are known to be missing and none of our buffers came back: another client
	 * has registered its own, and what is enabled now is that client's. (A buffer with
	 * nothing in it may stay with CUPTI; it comes back with a later trace.) */
	counts.taken_over = newest < sb_launch_last() && held && atomic_load(&handed_out) == held;
	if (!counts.taken_over)
		disable_kinds(COUNT(kinds));
	set_zeroed(0);
	unsubscribe();
	sb_launches_done();
	if (memory && !atomic_load(&handed_out))
		madvise(memory, BUFFERS_MAX * (size_t)BUFFER_BYTES, MADV_DONTNEED);
	if (counts.dropped)
		sb_lost(SB_LOST_CUPTI, counts.dropped);
	cupti = NULL;
}

struct sb_activity_counts sb_activity_counts(void)
{
	return counts;
}

void sb_activity_forget(void)
{
	cupti = NULL;
	subscriber = NULL;
	sb_waits_forget();
	atomic_store(&handed_out, 0);
}
