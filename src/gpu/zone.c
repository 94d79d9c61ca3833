/* GPU zones, the recording side: which are open, and an event on the program's
 * stream at each end. What they measured comes later, from resolve.c. */
#include "strobe.h"

#include "base/hot.h"
#include "gpu/resolve.h"
#include "gpu/trace_asked.h"
#include "gpu/zone.h"
#include "record/cancel.h"
#include "record/clock.h"
#include "record/put.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH_MAX 64u
#define LINE_BYTES 64u /* of a cache */

struct open_zone {
	_Alignas(LINE_BYTES) struct sb_gpu_event *begin; /* NULL: this zone is not timed */
	sb_cu_stream handle;
	uint64_t launch_ticks;
	uint32_t name;
	uint32_t stream;
	uint32_t epoch; /* of the session */
	uint32_t track;
	bool cut; /* its ordinary zone ended with one around it */
	bool undecided; /* not timed, since another thread was looking for the driver as it began */
};

struct local {
	uint32_t fork_count;
	uint32_t tid;
	uint32_t depth;
	uint32_t epoch; /* the session it has seen to */
	sb_cu_stream stream; /* last seen, and its number */
	struct sb_gpu_context *stream_context; /* NULL: none seen */
	uint32_t stream_id;
	struct sb_gpu_marker marker;
	struct open_zone zones[DEPTH_MAX];
};

/* A pointer: the library's static thread storage is small when it is loaded late. */
static __thread struct local *local __attribute__((tls_model("initial-exec")));
static pthread_key_t local_key;
static pthread_once_t local_once = PTHREAD_ONCE_INIT;
static SB_HOT_DATA _Atomic uint32_t fork_count = 1; /* what a thread made before a fork is gone */
static _Atomic bool threadless;
static SB_HOT_DATA _Atomic uint64_t
	undecided_count; /* zones that ended while another thread looked for the driver */

/* The thread ends. After a fork its events are gone already. */
static void local_free(void *thread_local)
{
	struct local *l = thread_local;

	if (l->fork_count == atomic_load(&fork_count)) {
		while (l->depth)
			if (l->zones[--l->depth].begin)
				sb_gpu_event_release(l->zones[l->depth].begin);
		sb_gpu_marker_done(&l->marker);
	}
	local = NULL;
	free(l);
}

static void local_key_make(void)
{
	pthread_key_create(&local_key, local_free);
}

/* Once per thread, and again after a fork. NULL: no memory. */
static __attribute__((noinline, cold)) struct local *local_make(uint32_t now)
{
	pthread_once(&local_once, local_key_make);
	if (!local)
		local = aligned_alloc(LINE_BYTES, (sizeof *local + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES);
	if (!local)
		return NULL;
	pthread_setspecific(local_key, local);
	memset(local, 0, sizeof *local);
	local->fork_count = now;
	local->epoch = sb_session_epoch() - 1; /* not this one */
	local->tid = (uint32_t)syscall(SYS_gettid);
	sb_gpu_marker_init(&local->marker);
	return local;
}

static struct local *local_get(void)
{
	uint32_t now = atomic_load_explicit(&fork_count, memory_order_relaxed);

	return __builtin_expect(local && local->fork_count == now, 1) ? local : local_make(now);
}

void sb_gpu_zones_forget(void)
{
	atomic_fetch_add(&fork_count, 1);
	atomic_store(&undecided_count, 0);
}

void sb_gpu_zones_threadless(bool yes)
{
	atomic_store(&threadless, yes);
}

/* Each thread sees to it once a session: the last one's end ended the threads. */
static __attribute__((noinline, cold)) void start(struct local *l, uint32_t epoch)
{
	bool with_thread = !atomic_load(&threadless);

	l->epoch = epoch;
	sb_gpu_resolve_start(with_thread);
	if (with_thread)
		sb_gpu_trace_listen();
}

static __attribute__((noinline, cold)) void learn_stream(
	const struct sb_cuda *cuda, struct local *l, struct sb_gpu_context *c, sb_cu_stream stream)
{
	unsigned long long id;

	if (!cuda->stream_id || cuda->stream_id(stream, &id))
		id = (uintptr_t)stream >> 4;
	l->stream = stream;
	l->stream_context = c;
	l->stream_id = (uint32_t)id;
}

static inline uint32_t stream_number(
	const struct sb_cuda *cuda, struct local *l, struct sb_gpu_context *c, sb_cu_stream stream)
{
	if (__builtin_expect(stream != l->stream || c != l->stream_context, 0))
		learn_stream(cuda, l, c, stream);
	return l->stream_id;
}

/* The oldest gives way: its end will not be timed. */
static __attribute__((noinline, cold)) void give_way(struct local *l)
{
	if (l->zones[0].begin)
		sb_gpu_event_release(l->zones[0].begin);
	memmove(&l->zones[0], &l->zones[1], (DEPTH_MAX - 1) * sizeof l->zones[0]);
	l->depth--;
	sb_lost(SB_LOST_DEPTH, 1);
}

static inline struct open_zone *push(struct local *l)
{
	if (__builtin_expect(l->depth == DEPTH_MAX, 0))
		give_way(l);
	return &l->zones[l->depth++];
}

/* An end without a name is for the innermost zone of its stream: work on several streams
 * ends in any order. The stream may also be one that none began on. UINT32_MAX: none is open. */
static uint32_t find(const struct local *l, uint32_t name, sb_cu_stream stream)
{
	uint32_t i = l->depth;

	while (i && (name ? l->zones[i - 1].name != name : l->zones[i - 1].handle != stream))
		i--;
	return i || name ? i - 1 : l->depth - 1;
}

/* The end of an ordinary zone ends those inside it on its track. */
static void cut(const struct open_zone *around, struct open_zone *inside, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		inside[i].cut |= inside[i].track == around->track;
}

/* Tasks and streams may end in another order than they began: take the zone out from
 * wherever it is. */
static __attribute__((noinline, cold)) bool pop_any(
	struct local *l, uint32_t name, sb_cu_stream stream, struct open_zone *out_zone)
{
	uint32_t i = find(l, name, stream);

	if (i == UINT32_MAX)
		return false;
	*out_zone = l->zones[i];
	l->depth--;
	if (i < l->depth) {
		memmove(&l->zones[i], &l->zones[i + 1], (l->depth - i) * sizeof l->zones[0]);
		if (!name)
			cut(out_zone, &l->zones[i], l->depth - i);
	}
	return true;
}

static inline bool pop(struct local *l, uint32_t name, sb_cu_stream stream, struct open_zone *out_zone)
{
	if (__builtin_expect(!name || !l->depth || l->zones[l->depth - 1].name != name, 0))
		return pop_any(l, name, stream, out_zone);
	*out_zone = l->zones[--l->depth];
	return true;
}

/* The driver is there, or is not: zones that ended before it was known are lost, or had nothing to time. */
static void settle_undecided(bool driver)
{
	uint64_t count = atomic_exchange(&undecided_count, 0);

	if (driver && count)
		sb_lost(SB_LOST_UNRESOLVED, count);
}

static __attribute__((noinline, cold)) void end_undecided(void)
{
	bool decided;

	if (sb_cuda_get_if_decided(&decided)) {
		sb_lost(SB_LOST_UNRESOLVED, 1);
		return;
	}
	if (decided)
		return;
	atomic_fetch_add(&undecided_count, 1);
	if (sb_cuda_get()) /* it was found meanwhile: no later zone may come to settle it */
		settle_undecided(true);
}

/* No driver was known so far, or zones wait for whether there is one. */
static __attribute__((noinline, cold)) const struct sb_cuda *decide(struct open_zone *z)
{
	bool decided;
	const struct sb_cuda *cuda = sb_cuda_get_if_decided(&decided);

	z->undecided = !cuda && !decided;
	if (decided)
		settle_undecided(cuda != NULL);
	return cuda;
}

SB_HOT_CODE void sb_gpu_zone_begin(
	uint32_t name, sb_cu_stream stream, struct sb_gpu_arrival arrival, uint64_t begin_ticks)
{
	uint32_t epoch = sb_session_epoch();
	struct local *l = local_get();
	const struct sb_cuda *cuda = sb_cuda_known();
	struct sb_gpu_context *c;
	struct open_zone *z;

	if (!l)
		return;
	sb_gpu_marker_prefetch(&l->marker);
	z = push(l);
	*z = (struct open_zone){ .name = name,
		.handle = stream,
		.epoch = epoch,
		.track = sb_track_current(),
		.launch_ticks = begin_ticks };
	if (__builtin_expect(!cuda || atomic_load_explicit(&undecided_count, memory_order_relaxed), 0))
		cuda = decide(z);
	if (!cuda)
		return;
	c = sb_gpu_marker_context(&l->marker, cuda, begin_ticks);
	if (!c)
		return;
	if (__builtin_expect(l->epoch != epoch, 0))
		start(l, epoch);
	z->begin = sb_gpu_marker_put(&l->marker, cuda, stream, arrival);
	if (z->begin) /* not before: a stream under capture is only asked whether it is */
		z->stream = stream_number(cuda, l, z->begin->context, stream);
}

static __attribute__((noinline, cold)) void not_timed(
	const struct local *l, const struct open_zone *z, struct sb_gpu_event *end)
{
	if (end && end->context == z->begin->context)
		sb_lost(SB_LOST_GPU_POOL, 1);
	else if (l->marker.context != z->begin->context)
		sb_lost(SB_LOST_UNRESOLVED, 1); /* another device is current now */
	if (end)
		sb_gpu_event_release(end);
	sb_gpu_event_release(z->begin);
}

static inline void time_end(
	struct local *l, const struct open_zone *z, sb_cu_stream stream, struct sb_gpu_arrival arrival)
{
	const struct sb_cuda *cuda = sb_cuda_known();
	struct sb_gpu_context *c = z->begin->context;
	struct sb_gpu_event *end = NULL;

	sb_gpu_resolve_prefetch();
	if (sb_gpu_marker_context(&l->marker, cuda, arrival.ticks) == c)
		end = sb_gpu_marker_put(
			&l->marker, cuda, stream == STROBE_GPU_SAME_STREAM ? z->handle : stream, arrival);
	if (__builtin_expect(!end || end->context != c ||
				     !sb_gpu_resolve_submit(&(struct sb_gpu_pending){ z->begin, end,
					     z->launch_ticks, z->name, z->stream, l->tid, z->epoch }),
		    0))
		not_timed(l, z, end);
}

SB_HOT_CODE uint32_t sb_gpu_zone_end(uint32_t name, sb_cu_stream stream, struct sb_gpu_arrival arrival)
{
	struct local *l = local_get();
	struct open_zone z;

	if (!l || !pop(l, name, stream, &z))
		return name;
	sb_gpu_marker_prefetch(&l->marker);
	if (z.begin && z.epoch == sb_session_epoch())
		time_end(l, &z, stream, arrival);
	else if (z.begin) /* it began in a session that is closed */
		sb_gpu_event_release(z.begin);
	else if (__builtin_expect(z.undecided, 0) && z.epoch == sb_session_epoch())
		end_undecided();
	return z.cut ? SB_GPU_ZONE_CUT : z.name;
}

SB_HOT_CODE void sb_gpu_zone_leave(uint64_t now_ticks)
{
	struct local *l = local_get();

	if (l)
		sb_gpu_marker_leave(&l->marker, now_ticks);
}

/* The driver has cancellation points: a thread that ended there would keep events, and
 * locks of the driver and ours. */
static void begin(uint32_t name, void *stream, uint64_t arrived_ticks)
{
	int cancel = sb_cancel_off();
	uint64_t begin_ticks = sb_zone_begin(name);

	sb_gpu_zone_begin(
		name, stream, (struct sb_gpu_arrival){ arrived_ticks, SB_GPU_PUTS_FROM_C }, begin_ticks);
	sb_cancel_restore(cancel);
}

static inline void end_zone(uint32_t name, void *stream, uint32_t launch_puts)
{
	name = sb_gpu_zone_end(name, stream, (struct sb_gpu_arrival){ sb_clock_ticks(), launch_puts });
	sb_gpu_zone_leave(name != SB_GPU_ZONE_CUT ? sb_zone_end(name) : sb_clock_ticks());
}

static void end(uint32_t name, void *stream)
{
	int cancel = sb_cancel_off();

	end_zone(name, stream, SB_GPU_PUTS_FROM_C);
	sb_cancel_restore(cancel);
}

SB_HOT_CODE uint64_t strobe_gpu_zone_arrive(void)
{
	return sb_clock_ticks();
}

/* A thread that runs an interpreter is not cancelled: it would keep the interpreter's lock. */
SB_HOT_CODE void strobe_gpu_zone_begin_arrived(uint32_t name, void *stream, uint64_t arrived_ticks)
{
	if (!STROBE_ON_())
		return;
	sb_gpu_zone_begin(name, stream,
		(struct sb_gpu_arrival){ arrived_ticks, SB_GPU_PUTS_FROM_INTERPRETER }, sb_zone_begin(name));
}

SB_HOT_CODE void strobe_gpu_zone_end_arrived(uint32_t name, void *stream)
{
	if (STROBE_ON_())
		end_zone(name, stream, SB_GPU_PUTS_FROM_INTERPRETER);
}

void strobe_gpu_zone_begin_id(uint32_t name, void *stream)
{
	if (STROBE_ON_())
		begin(name, stream, sb_clock_ticks());
}

void strobe_gpu_zone_begin(const char *name, void *stream)
{
	uint64_t arrived_ticks;

	if (!STROBE_ON_())
		return;
	arrived_ticks = sb_clock_ticks();
	begin(strobe_name(name, NULL), stream, arrived_ticks);
}

void strobe_gpu_zone_end_id(uint32_t name, void *stream)
{
	if (STROBE_ON_())
		end(name, stream);
}

void strobe_gpu_zone_end(void *stream)
{
	strobe_gpu_zone_end_id(0, stream);
}
