/* Puts events on streams, and knows when the last one serves again. Which zones are
 * open is zone.c's business. */
#include "gpu/marker.h"

#include "base/hot.h"
#include "record/put.h"

/* What other threads put on the stream meanwhile is at most this long ago. */
#define SHARE_NS 8000u
/* To destroy a context takes longer. */
#define TRUST_NS 1000000u
/* To destroy a context and make another takes longer. */
#define CHECK_NS 5000000u
#define TIMED_PUTS 64u

enum { POOL_EMPTY = -1 }; /* beside the driver's errors, which are positive */

void sb_gpu_marker_init(struct sb_gpu_marker *m)
{
	*m = (struct sb_gpu_marker){ .trust_ticks = sb_clock_ticks_of_ns(TRUST_NS),
		.check_ticks = sb_clock_ticks_of_ns(CHECK_NS),
		.share_ticks = sb_clock_ticks_of_ns(SHARE_NS) };
}

void sb_gpu_marker_done(struct sb_gpu_marker *m)
{
	while (m->spare_count)
		sb_gpu_event_return(m->spares[--m->spare_count]);
}

/* The program may have reset the device, and the new context lie at the old one's
 * address: the old one's events must not be touched. */
static bool is_the_same(struct sb_gpu_marker *m, const struct sb_cuda *cuda, uint64_t now_ticks)
{
	unsigned long long id;

	if (atomic_load_explicit(&m->context->dead, memory_order_relaxed))
		return false;
	if (now_ticks - m->checked_ticks < m->check_ticks)
		return true;
	m->checked_ticks = now_ticks;
	if (!cuda->context_id || (!cuda->context_id(m->handle, &id) && id == m->context->id))
		return true;
	sb_gpu_context_lost(m->context);
	return false;
}

static __attribute__((noinline, cold)) void change(
	struct sb_gpu_marker *m, const struct sb_cuda *cuda, sb_cu_context handle, uint64_t now_ticks)
{
	sb_gpu_marker_done(m); /* the spares are the old one's */
	m->roams |= m->handle && handle != m->handle;
	m->context = sb_gpu_context_of(cuda, handle);
	m->handle = m->context ? handle : NULL;
	m->checked_ticks = now_ticks;
	m->last.event = NULL;
	if (!m->context)
		sb_lost(SB_LOST_GPU_POOL, 1);
}

SB_HOT_CODE struct sb_gpu_context *sb_gpu_marker_ask(
	struct sb_gpu_marker *m, const struct sb_cuda *cuda, uint64_t now_ticks)
{
	uint32_t lost = atomic_load_explicit(&sb_gpu_contexts_lost, memory_order_relaxed);
	sb_cu_context handle;

	m->trusted_ticks = now_ticks - m->trust_ticks; /* not unless there is one */
	if (cuda->context_current(&handle) || !handle) {
		m->context = NULL;
		m->handle = NULL;
		return NULL;
	}
	if (handle != m->handle || !is_the_same(m, cuda, now_ticks))
		change(m, cuda, handle, now_ticks);
	if (m->context && !m->roams)
		m->trusted_ticks = now_ticks;
	m->trusted_lost = lost;
	return m->context;
}

static inline struct sb_gpu_event *share(
	struct sb_gpu_marker *m, sb_cu_stream stream, struct sb_gpu_arrival arrival)
{
	struct sb_gpu_last *last = &m->last;

	if (arrival.ticks - last->left_ticks >= arrival.launch_puts * m->quickest_ticks ||
		arrival.ticks - last->put_ticks >= m->share_ticks)
		return NULL;
	if (!last->event || last->stream != stream || !sb_gpu_event_share(last->event, last->use))
		return NULL;
	last->left_ticks = arrival.ticks;
	return last->event;
}

static SB_HOT_CODE __attribute__((noinline)) void refill(struct sb_gpu_marker *m, const struct sb_cuda *cuda)
{
	m->spare_count = sb_gpu_events_take(cuda, m->context, m->spares, SB_GPU_SPARES);
}

/* The first ones are timed, then one in a while: the quickest is soon known. */
static SB_HOT_INLINE int record(
	struct sb_gpu_marker *m, const struct sb_cuda *cuda, struct sb_gpu_event *event, sb_cu_stream stream)
{
	bool timed = m->put_count < TIMED_PUTS || m->put_count % TIMED_PUTS == 0;
	uint64_t before = timed ? sb_clock_ticks() : 0, use = sb_gpu_event_begin(event), after;
	int err = cuda->event_record(event->handle, stream);

	if (__builtin_expect(err != 0, 0))
		return err;
	after = sb_clock_ticks();
	m->put_count++;
	if (timed && (!m->quickest_ticks || after - before < m->quickest_ticks))
		m->quickest_ticks = after - before;
	m->last = (struct sb_gpu_last){ event, use, stream, after, after };
	return 0;
}

/* 0, the driver's error, or POOL_EMPTY. */
static SB_HOT_INLINE int put(struct sb_gpu_marker *m, const struct sb_cuda *cuda, sb_cu_stream stream)
{
	int capturing = 0, err = cuda->stream_capturing(stream, &capturing);

	if (__builtin_expect(err || capturing, 0))
		return capturing ? SB_CU_CAPTURE_UNSUPPORTED : err;
	if (__builtin_expect(!m->spare_count, 0))
		refill(m, cuda);
	if (!m->spare_count)
		return POOL_EMPTY;
	err = record(m, cuda, m->spares[m->spare_count - 1], stream);
	if (!err)
		m->spare_count--;
	return err;
}

static void count_failure(struct sb_gpu_context *c, int err)
{
	if (err == POOL_EMPTY) {
		sb_lost(SB_LOST_GPU_POOL, 1);
	} else if (sb_cuda_capture_forbids(err)) {
		sb_lost(SB_LOST_GPU_CAPTURE, 1);
	} else {
		if (sb_cuda_context_gone(err))
			sb_gpu_context_lost(c);
		sb_lost(SB_LOST_UNRESOLVED, 1);
	}
}

/* The context was taken for the one of a while ago: where the thread is in another one now, the event goes there. */
static __attribute__((noinline, cold)) struct sb_gpu_event *put_again(
	struct sb_gpu_marker *m, const struct sb_cuda *cuda, sb_cu_stream stream, int err)
{
	struct sb_gpu_context *before = m->context;

	if (!sb_gpu_marker_ask(m, cuda, sb_clock_ticks()))
		return NULL;
	if (m->context != before)
		err = put(m, cuda, stream);
	if (err)
		count_failure(m->context, err);
	return err ? NULL : m->last.event;
}

SB_HOT_CODE struct sb_gpu_event *sb_gpu_marker_put(struct sb_gpu_marker *m, const struct sb_cuda *cuda,
	sb_cu_stream stream, struct sb_gpu_arrival arrival)
{
	struct sb_gpu_event *event = share(m, stream, arrival);
	int err;

	if (event)
		return event;
	err = put(m, cuda, stream);
	return __builtin_expect(!err, 1) ? m->last.event : put_again(m, cuda, stream, err);
}
