/* GPU zones, the recording side: an event on the program's stream at each end.
 * What they measured comes later, from resolve.c. */
#include "strobe.h"

#include "gpu/resolve.h"
#include "gpu/trace.h"
#include "gpu/zone.h"
#include "record/clock.h"
#include "record/lane.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH_MAX 64u
/* What is launched between an end and the next begin in less than this belongs to
 * the next zone: nothing much from C; from an interpreter, which needs most of
 * this time to get from one section to the next, at most one small kernel. */
#define SHARE_NS 3000u
#define SHARE_BOUND_NS 8000u

struct open_zone {
	struct sb_gpu_event *begin; /* NULL: this zone is not timed */
	sb_cu_stream handle;
	uint64_t launch_ticks;
	uint32_t name;
	uint32_t stream;
};

/* What the thread recorded last, and on what: a begin right after it needs no
 * event of its own. */
struct last_event {
	struct sb_gpu_event *event;
	uint64_t use;
	uint64_t ticks;
	sb_cu_stream stream;
};

struct local {
	uint32_t epoch;
	uint32_t tid;
	uint32_t depth;
	struct sb_gpu_context *context; /* last seen, and its handle */
	sb_cu_context context_handle;
	sb_cu_stream stream; /* last seen, and its number */
	sb_cu_context stream_context;
	uint32_t stream_id;
	struct last_event last;
	struct open_zone zones[DEPTH_MAX];
};

/* A pointer: the library's static thread storage is small when it is loaded late. */
static __thread struct local *local;
static pthread_key_t local_key;
static pthread_once_t local_once = PTHREAD_ONCE_INIT;
static _Atomic uint32_t epoch = 1;
static _Atomic bool threadless;

static void local_key_make(void)
{
	pthread_key_create(&local_key, free);
}

/* Once per thread, and again after a fork. NULL: no memory. */
static __attribute__((noinline, cold)) struct local *local_make(uint32_t now)
{
	pthread_once(&local_once, local_key_make);
	if (!local)
		local = malloc(sizeof *local);
	if (!local)
		return NULL;
	pthread_setspecific(local_key, local);
	memset(local, 0, sizeof *local);
	local->epoch = now;
	local->tid = (uint32_t)syscall(SYS_gettid);
	return local;
}

static struct local *local_get(void)
{
	uint32_t now = atomic_load_explicit(&epoch, memory_order_relaxed);

	return __builtin_expect(local && local->epoch == now, 1) ? local : local_make(now);
}

void sb_gpu_zones_forget(void)
{
	atomic_fetch_add(&epoch, 1);
}

void sb_gpu_zones_threadless(bool yes)
{
	atomic_store(&threadless, yes);
}

static struct sb_gpu_context *context_now(const struct sb_cuda *cuda, struct local *l)
{
	sb_cu_context handle;

	if (cuda->context_current(&handle) || !handle)
		return NULL;
	if (handle == l->context_handle && !atomic_load_explicit(&l->context->dead, memory_order_relaxed))
		return l->context;
	l->context = sb_gpu_context_of(cuda, handle);
	l->context_handle = l->context ? handle : NULL;
	l->last.event = NULL;
	if (l->context)
		sb_gpu_resolve_start(!atomic_load(&threadless));
	if (l->context && !atomic_load(&threadless))
		sb_gpu_trace_listen();
	return l->context;
}

static uint32_t stream_number(const struct sb_cuda *cuda, struct local *l, sb_cu_stream stream)
{
	unsigned long long id;

	if (stream == l->stream && l->context_handle == l->stream_context)
		return l->stream_id;
	if (!cuda->stream_id || cuda->stream_id(stream, &id))
		id = (uintptr_t)stream >> 4;
	l->stream = stream;
	l->stream_context = l->context_handle;
	l->stream_id = (uint32_t)id;
	return l->stream_id;
}

/* An event on the stream, now; NULL, having counted why, when it cannot be. */
static struct sb_gpu_event *record(
	const struct sb_cuda *cuda, struct local *l, struct sb_gpu_context *c, sb_cu_stream stream)
{
	struct sb_gpu_event *event;
	int capturing = 0, err;

	/* An error says that another stream is being captured in a way that
	 * forbids touching this one. */
	if (cuda->stream_capturing(stream, &capturing) || capturing) {
		sb_lost(SB_LOST_GPU_CAPTURE, 1);
		return NULL;
	}
	event = sb_gpu_event_take(cuda, c);
	if (!event) {
		sb_lost(SB_LOST_GPU_POOL, 1);
		return NULL;
	}
	err = cuda->event_record(event->handle, stream);
	if (err) {
		sb_gpu_event_release(event);
		if (sb_cuda_context_gone(err))
			sb_gpu_context_lost(c);
		sb_lost(SB_LOST_UNRESOLVED, 1);
		return NULL;
	}
	l->last = (struct last_event){ event, sb_gpu_event_use(event), sb_clock_ticks(), stream };
	return event;
}

static struct sb_gpu_event *share_last(
	struct local *l, struct sb_gpu_context *c, sb_cu_stream stream, uint64_t since_ticks)
{
	struct last_event *last = &l->last;

	if (!last->event || last->stream != stream || last->event->context != c || last->ticks < since_ticks)
		return NULL;
	return sb_gpu_event_share(last->event, last->use) ? last->event : NULL;
}

/* The oldest gives way: its end will not be timed. */
static struct open_zone *push(struct local *l)
{
	if (l->depth == DEPTH_MAX) {
		if (l->zones[0].begin)
			sb_gpu_event_release(l->zones[0].begin);
		memmove(&l->zones[0], &l->zones[1], (DEPTH_MAX - 1) * sizeof l->zones[0]);
		l->depth--;
		sb_lost(SB_LOST_DEPTH, 1);
	}
	return &l->zones[l->depth++];
}

/* Tasks may end in another order than they began: take the zone out from
 * wherever it is. Name 0 is the innermost. */
static bool pop(struct local *l, uint32_t name, struct open_zone *out_zone)
{
	for (uint32_t i = l->depth; i-- > 0;) {
		if (name && l->zones[i].name != name)
			continue;
		*out_zone = l->zones[i];
		memmove(&l->zones[i], &l->zones[i + 1], (l->depth - i - 1) * sizeof l->zones[0]);
		l->depth--;
		return true;
	}
	return false;
}

void sb_gpu_zone_begin(uint32_t name, sb_cu_stream stream, uint32_t share_ns)
{
	struct local *l = local_get();
	const struct sb_cuda *cuda;
	struct sb_gpu_context *c;
	struct open_zone *z;

	if (!l)
		return;
	z = push(l);
	*z = (struct open_zone){ .name = name, .handle = stream };
	cuda = sb_cuda_get();
	if (!cuda)
		return;
	z->launch_ticks = sb_clock_ticks();
	c = context_now(cuda, l);
	if (!c)
		return;
	z->begin = share_last(l, c, stream, z->launch_ticks - share_ns * sb_clock_hz() / 1000000000u);
	if (!z->begin)
		z->begin = record(cuda, l, c, stream);
	if (z->begin) /* not before: a stream under capture is only asked whether it is */
		z->stream = stream_number(cuda, l, stream);
}

void sb_gpu_zone_end(uint32_t name, sb_cu_stream stream)
{
	struct local *l = local_get();
	struct sb_gpu_pending pending;
	const struct sb_cuda *cuda;
	struct sb_gpu_context *c;
	struct open_zone z;

	if (!l || !pop(l, name, &z) || !z.begin)
		return;
	cuda = sb_cuda_get();
	c = cuda ? context_now(cuda, l) : NULL;
	pending = (struct sb_gpu_pending){ z.begin, NULL, z.launch_ticks, z.name, z.stream, l->tid,
		sb_session_generation() };
	if (c == z.begin->context)
		pending.end = record(cuda, l, c, stream == STROBE_GPU_SAME_STREAM ? z.handle : stream);
	else
		sb_lost(SB_LOST_UNRESOLVED, 1); /* another device is current now */
	if (pending.end && sb_gpu_resolve_submit(&pending))
		return;
	if (pending.end) {
		sb_lost(SB_LOST_GPU_POOL, 1);
		sb_gpu_event_release(pending.end);
	}
	sb_gpu_event_release(z.begin);
}

static void begin(uint32_t name, void *stream, uint32_t share_ns)
{
	strobe_zone_begin_id(name);
	sb_gpu_zone_begin(name, stream, share_ns);
}

void strobe_gpu_zone_begin_id(uint32_t name, void *stream)
{
	if (STROBE_UNLIKELY_(strobe_mode_))
		begin(name, stream, SHARE_BOUND_NS);
}

void strobe_gpu_zone_begin(const char *name, void *stream)
{
	if (STROBE_UNLIKELY_(strobe_mode_))
		begin(strobe_name(name, NULL), stream, SHARE_NS);
}

void strobe_gpu_zone_end_id(uint32_t name, void *stream)
{
	if (!STROBE_UNLIKELY_(strobe_mode_))
		return;
	sb_gpu_zone_end(name, stream);
	strobe_zone_end_id(name);
}

void strobe_gpu_zone_end(void *stream)
{
	strobe_gpu_zone_end_id(0, stream);
}
