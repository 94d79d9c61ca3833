/* Puts events on streams, and knows when the last one serves again. Which zones are
 * open is zone.c's business. */
#include "gpu/marker.h"

#include "record/clock.h"
#include "record/put.h"

/* What other threads put on the stream meanwhile is at most this long ago. */
#define SHARE_NS 8000u
/* To destroy a context and make another takes longer. */
#define CHECK_NS 5000000u
#define TIMED_PUTS 64u

void sb_gpu_marker_init(struct sb_gpu_marker *m)
{
	*m = (struct sb_gpu_marker){ .check_ticks = sb_clock_ticks_of_ns(CHECK_NS),
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

struct sb_gpu_context *sb_gpu_marker_context(
	struct sb_gpu_marker *m, const struct sb_cuda *cuda, uint64_t now_ticks)
{
	sb_cu_context handle;

	if (cuda->context_current(&handle) || !handle)
		return NULL;
	if (handle == m->handle && is_the_same(m, cuda, now_ticks))
		return m->context;
	m->context = sb_gpu_context_of(cuda, handle);
	m->handle = m->context ? handle : NULL;
	m->checked_ticks = now_ticks;
	m->last.event = NULL;
	if (!m->context)
		sb_lost(SB_LOST_GPU_POOL, 1);
	return m->context;
}

static struct sb_gpu_event *share(
	struct sb_gpu_marker *m, struct sb_gpu_context *c, sb_cu_stream stream, struct sb_gpu_arrival arrival)
{
	struct sb_gpu_last *last = &m->last;

	if (!last->event || last->stream != stream || last->event->context != c)
		return NULL;
	if (arrival.ticks - last->left_ticks >= arrival.launch_puts * m->quickest_ticks ||
		arrival.ticks - last->put_ticks >= m->share_ticks)
		return NULL;
	if (!sb_gpu_event_share(last->event, last->use))
		return NULL;
	last->left_ticks = arrival.ticks;
	return last->event;
}

void sb_gpu_marker_leave(struct sb_gpu_marker *m)
{
	m->last.left_ticks = sb_clock_ticks();
}

static bool may_put(const struct sb_cuda *cuda, struct sb_gpu_context *c, sb_cu_stream stream)
{
	int capturing = 0, err = cuda->stream_capturing(stream, &capturing);

	if (!err && !capturing)
		return true;
	if (capturing || sb_cuda_capture_forbids(err)) {
		sb_lost(SB_LOST_GPU_CAPTURE, 1);
		return false;
	}
	if (sb_cuda_context_gone(err))
		sb_gpu_context_lost(c);
	sb_lost(SB_LOST_UNRESOLVED, 1);
	return false;
}

/* The resolving thread had it last: its cache line is on the way before it is needed. */
static struct sb_gpu_event *take(
	struct sb_gpu_marker *m, const struct sb_cuda *cuda, struct sb_gpu_context *c)
{
	struct sb_gpu_event *event;

	if (m->spare_context != c)
		sb_gpu_marker_done(m);
	m->spare_context = c;
	if (!m->spare_count)
		m->spare_count = sb_gpu_events_take(cuda, c, m->spares, SB_GPU_SPARES);
	if (!m->spare_count)
		return NULL;
	event = m->spares[--m->spare_count];
	if (m->spare_count)
		__builtin_prefetch(m->spares[m->spare_count - 1], 1);
	sb_gpu_event_begin(event);
	return event;
}

/* The first ones are timed, then one in a while: the quickest is soon known. */
static int put(
	struct sb_gpu_marker *m, const struct sb_cuda *cuda, struct sb_gpu_event *event, sb_cu_stream stream)
{
	bool timed = m->put_count < TIMED_PUTS || m->put_count % TIMED_PUTS == 0;
	uint64_t before = timed ? sb_clock_ticks() : 0, after;
	int err = cuda->event_record(event->handle, stream);

	if (err)
		return err;
	after = sb_clock_ticks();
	m->put_count++;
	if (timed && (!m->quickest_ticks || after - before < m->quickest_ticks))
		m->quickest_ticks = after - before;
	m->last = (struct sb_gpu_last){ event, sb_gpu_event_use(event), stream, after, after };
	return 0;
}

struct sb_gpu_event *sb_gpu_marker_put(struct sb_gpu_marker *m, const struct sb_cuda *cuda,
	struct sb_gpu_context *c, sb_cu_stream stream, struct sb_gpu_arrival arrival)
{
	struct sb_gpu_event *event = share(m, c, stream, arrival);
	int err;

	if (event || !may_put(cuda, c, stream))
		return event;
	event = take(m, cuda, c);
	if (!event) {
		sb_lost(SB_LOST_GPU_POOL, 1);
		return NULL;
	}
	err = put(m, cuda, event, stream);
	if (err) {
		sb_gpu_event_release(event);
		if (sb_cuda_context_gone(err))
			sb_gpu_context_lost(c);
		sb_lost(SB_LOST_UNRESOLVED, 1);
		return NULL;
	}
	return event;
}
