/* Kernels, copies, memsets and waits as records of the recording. The buffers that CUPTI delivers are activity.c's business. */
#include "gpu/activity_records.h"

#include "format/gpu_shape.h"
#include "gpu/copy_name.h"
#include "gpu/held.h"
#include "gpu/kernel_name.h"
#include "gpu/kernel_shape.h"
#include "gpu/launch.h"
#include "gpu/stamps.h"
#include "record/clock.h"
#include "record/put.h"

#include <stdatomic.h>
#include <string.h>

static _Atomic uint64_t cut_ticks; /* 0: none yet */
static struct sb_stamps stamps;
static struct sb_activity_counts counts;
static uint64_t unwritten;
static bool launches_seen; /* the callbacks tell when each was made */
static uint32_t newest; /* correlation number among the records */
static bool last_come; /* what comes now need not be complete */
static bool holding; /* records are held, not written */
static uint64_t begin_ticks; /* what began earlier is a leftover of the trace before */

void sb_activity_records_begin(bool hold_records)
{
	holding = hold_records;
	stamps.count = 0;
	memset(&counts, 0, sizeof counts);
	unwritten = newest = 0;
	launches_seen = last_come = false;
	atomic_store(&cut_ticks, 0);
	begin_ticks = sb_clock_ticks();
}

void sb_activity_records_launches(void)
{
	launches_seen = true;
}

void sb_activity_records_stamp(const struct sb_cupti *cupti)
{
	sb_stamps_take(&stamps, cupti);
}

void sb_activity_records_cut(void)
{
	uint64_t none = 0;

	atomic_compare_exchange_strong(&cut_ticks, &none, sb_clock_ticks());
}

struct activity {
	enum sb_gpu_kind kind;
	uint32_t name, flags, device, stream, correlation;
	uint64_t start, end, bytes;
	const struct sb_gpu_shape *shape; /* of a kernel; else NULL */
};

static bool after_cut(const struct sb_launch_call *launch, uint64_t start)
{
	uint64_t cut = atomic_load(&cut_ticks);

	return cut && (launch->ticks ? launch->ticks : start) > cut;
}

/* Of work that had not begun when the trace ended: launched after the cut, or after the callbacks that see launches
 * were switched off for it. It is none of the trace's, and none of its losses. */
static bool follows_cut(const struct sb_launch_call *launch)
{
	uint64_t cut = atomic_load(&cut_ticks);

	return cut && (launch->ticks ? launch->ticks > cut : launches_seen);
}

static void hold(const struct sb_launch_call *launch, uint64_t aux, const uint64_t *payload, uint32_t words)
{
	struct sb_held record = { .when = launch->ticks ? launch->ticks : payload[0],
		.aux = aux,
		.words = words,
		.unattributed = !launch->ticks };

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
	const struct sb_launch_call *launch, uint64_t aux, const uint64_t payload[6], uint32_t words)
{
	if (holding)
		hold(launch, aux, payload, words);
	else if (!sb_put(SB_STREAM_DEVICE, SB_GPU, aux, payload, words))
		unwritten++;
}

static void put(const struct activity *a)
{
	struct sb_launch_call launch = sb_launch_of(a->correlation);
	uint64_t payload[6] = { 0 }, aux;
	uint32_t words = 5;

	if (a->correlation > newest)
		newest = a->correlation;
	if (!a->start || a->end < a->start) {
		if (!follows_cut(&launch)) {
			counts.lost[SB_LOST_GPU_TIME]++;
			counts.unfinished += last_come;
		}
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
		(k->graph_node ? SB_GPU_GRAPH : 0) | sb_gpu_shape_flags(&shape), k->device, k->stream,
		k->correlation, k->start, k->end, 0, &shape });
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

void sb_activity_records_put(const struct cupti_record *r)
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
void sb_activity_records_put_wait(const struct sb_wait *w)
{
	static const char *const names[] = { [SB_WAIT_STREAM] = "Stream Sync",
		[SB_WAIT_EVENT] = "Event Sync",
		[SB_WAIT_DEVICE] = "Context Sync" };
	struct sb_launch_call call = { w->begin_ticks, w->tid };
	uint64_t payload[6] = { w->begin_ticks, w->end_ticks - w->begin_ticks, w->begin_ticks,
		(uint64_t)w->stream << 32 | w->tid };
	uint64_t aux = (uint64_t)sb_name_intern(names[w->kind], NULL) | (uint64_t)SB_GPU_SYNC << 20 |
		       (uint64_t)(w->device & 255) << 24;

	if (!after_cut(&call, w->begin_ticks))
		write_or_hold(&call, aux, payload, 4);
}

void sb_activity_records_lost(enum sb_lost_reason reason, uint64_t records)
{
	counts.lost[reason] += records;
}

void sb_activity_records_last(void)
{
	last_come = true;
}

bool sb_activity_records_reached(uint32_t correlation)
{
	return newest >= correlation;
}

uint64_t sb_activity_records_unwritten(void)
{
	return unwritten;
}

struct sb_activity_counts sb_activity_records_counts(void)
{
	struct sb_activity_counts now = counts;

	now.unwritten = unwritten;
	return now;
}
