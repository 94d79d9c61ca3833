/* The thread that asks the driver, and the zones that wait for their events. */
#include "gpu/resolve.h"

#include "base/hot.h"
#include "gpu/align.h"
#include "record/born.h"
#include "record/clock.h"
#include "record/put.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define WAITING_MAX 8192u
#define BLOCKED_MAX 64u
#define BUSY_NS 100000000L /* between looks while zones come in: one wakes as much as many */
#define IDLE_NS 200000000L
#define BELL_COUNT 2048u /* zones that do not wait for the next look */
#define BELL_EVERY 256u
#define STOP_NS 1000000000ull /* how long a stop may look for the last events */
#define RESERVE 64u /* events kept free ahead of use */

static SB_HOT_LINES struct sb_ring submitted;
static struct sb_gpu_pending *waiting;
static uint32_t waiting_count;

static pthread_t thread;
static bool threaded, stopping;
static bool ending; /* until the thread is joined, or what it left is drained: no other thread before that */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

enum outcome { RESOLVED, NOT_YET, LOST };

static void put(const struct sb_gpu_pending *z, int64_t start, uint64_t duration)
{
	uint64_t payload[4];

	/* Work cannot begin before it was asked for: alignment is a few µs wide. */
	payload[0] = start > (int64_t)z->launch_ticks ? (uint64_t)start : z->launch_ticks;
	payload[1] = duration;
	payload[2] = z->launch_ticks;
	payload[3] = (uint64_t)z->stream << 32 | z->tid;
	sb_put(SB_STREAM_DEVICE, SB_GPU,
		(uint64_t)z->name | (uint64_t)SB_GPU_ZONE << 20 |
			(uint64_t)(z->begin->context->device & 255) << 24,
		payload, 4);
}

static enum outcome resolve(const struct sb_cuda *cuda, struct sb_gpu_pending *z)
{
	uint64_t use = sb_gpu_event_use(z->begin);
	int64_t duration;
	float ms;
	int err;

	ms = 0; /* nothing was put on the stream: one event is both */
	err = z->begin == z->end ? cuda->event_query(z->begin->handle)
				 : cuda->event_elapsed_ms(&ms, z->begin->handle, z->end->handle);
	if (err == SB_CU_NOT_READY)
		return NOT_YET;
	if (err)
		return LOST;
	if (z->begin->placed_use != use) {
		if (!sb_gpu_align_place(cuda, z->begin, z->launch_ticks))
			return LOST;
		z->begin->placed_use = use;
	}
	duration = ms > 0 ? llround((double)ms * 1e-3 * (double)sb_clock_hz()) : 0;
	z->end->ticks = z->begin->ticks + duration;
	z->end->placed_use = sb_gpu_event_use(z->end);
	if (z->epoch == sb_session_epoch())
		put(z, z->begin->ticks, (uint64_t)duration);
	return RESOLVED;
}

/* Events of one stream happen in order: after one that has not, none has. */
struct blocked {
	const struct sb_gpu_context *context[BLOCKED_MAX];
	uint32_t stream[BLOCKED_MAX];
	uint32_t count;
};

static bool is_blocked(const struct blocked *b, const struct sb_gpu_pending *z)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (b->stream[i] == z->stream && b->context[i] == z->begin->context)
			return true;
	return false;
}

static void block(struct blocked *b, const struct sb_gpu_pending *z)
{
	if (b->count == BLOCKED_MAX)
		return;
	b->context[b->count] = z->begin->context;
	b->stream[b->count++] = z->stream;
}

static void drop(struct sb_gpu_pending *z, bool lost)
{
	if (lost)
		sb_lost(SB_LOST_UNRESOLVED, 1);
	sb_gpu_event_release(z->begin);
	sb_gpu_event_release(z->end);
}

/* The program may have destroyed the context, or reset the device and made
 * another at the same address. */
static bool enter(const struct sb_cuda *cuda, struct sb_gpu_context *c)
{
	unsigned long long id = c->id;
	sb_cu_context ignored, handle = atomic_load(&c->handle);

	if (atomic_load(&c->dead) || !handle)
		return false;
	if (cuda->context_push(handle)) {
		sb_gpu_context_lost(c);
		return false;
	}
	if (cuda->context_id && (cuda->context_id(handle, &id) || id != c->id)) {
		cuda->context_pop(&ignored);
		sb_gpu_context_lost(c);
		return false;
	}
	return true;
}

/* Everything of one context, oldest first; what still waits is kept in order. */
static void resolve_context(const struct sb_cuda *cuda, struct sb_gpu_context *c)
{
	bool alive = enter(cuda, c);
	struct blocked blocked = { .count = 0 };
	uint32_t kept = 0;
	sb_cu_context ignored;

	for (uint32_t i = 0; i < waiting_count; i++) {
		struct sb_gpu_pending *z = &waiting[i];
		enum outcome outcome = NOT_YET;

		if (z->begin->context == c) {
			outcome = !alive ? LOST : is_blocked(&blocked, z) ? NOT_YET : resolve(cuda, z);
			if (outcome == NOT_YET)
				block(&blocked, z);
		}
		if (outcome == NOT_YET)
			waiting[kept++] = *z;
		else
			drop(z, outcome == LOST);
	}
	waiting_count = kept;
	if (!alive)
		return;
	if (sb_ring_count(&c->free) < RESERVE)
		sb_gpu_pool_grow(cuda, c, RESERVE);
	cuda->context_pop(&ignored);
}

uint32_t sb_gpu_resolve_pass(void)
{
	const struct sb_cuda *cuda = sb_cuda_get();
	struct sb_gpu_context *c;

	if (!waiting || !cuda)
		return 0;
	while (waiting_count < WAITING_MAX && sb_ring_pop(&submitted, &waiting[waiting_count]))
		waiting_count++;
	for (uint32_t i = 0; waiting_count && (c = sb_gpu_context_at(i)); i++)
		resolve_context(cuda, c);
	return waiting_count;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void drain(void)
{
	const struct timespec pause = { 0, 1000000 };
	uint64_t deadline = now_ns(CLOCK_MONOTONIC) + STOP_NS;

	while (sb_gpu_resolve_pass() && now_ns(CLOCK_MONOTONIC) < deadline)
		nanosleep(&pause, NULL);
	while (waiting_count)
		drop(&waiting[--waiting_count], true);
}

static void *run(void *unused)
{
	const struct sb_cuda *cuda = sb_cuda_get();
	int mode = SB_CU_CAPTURE_RELAXED;
	struct timespec until;
	uint64_t at;

	(void)unused;
	/* Else asking about an event would break a capture on another thread. */
	cuda->capture_mode(&mode);
	pthread_mutex_lock(&lock);
	while (!stopping) {
		uint64_t before = atomic_load(&submitted.head);

		pthread_mutex_unlock(&lock);
		sb_gpu_resolve_pass();
		at = now_ns(CLOCK_MONOTONIC) +
		     (uint64_t)(waiting_count || atomic_load(&submitted.head) != before ? BUSY_NS : IDLE_NS);
		until = (struct timespec){ (time_t)(at / 1000000000u), (long)(at % 1000000000u) };
		pthread_mutex_lock(&lock);
		if (!stopping)
			pthread_cond_clockwait(&wake, &lock, CLOCK_MONOTONIC, &until);
	}
	pthread_mutex_unlock(&lock);
	drain();
	sb_session_add_own_cpu(now_ns(CLOCK_THREAD_CPUTIME_ID));
	return NULL;
}

static bool spawn(void)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* a fault on the recording is handled, see record/fault.h */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = sb_thread_born(&thread, NULL, "strobe-gpu", run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !err;
}

void sb_gpu_resolve_start(bool with_thread)
{
	pthread_mutex_lock(&lock);
	if (!waiting && sb_ring_init(&submitted, WAITING_MAX, sizeof(struct sb_gpu_pending)))
		waiting = malloc(WAITING_MAX * sizeof *waiting);
	if (waiting && with_thread && !threaded && !ending) {
		stopping = false;
		threaded = spawn();
	}
	pthread_mutex_unlock(&lock);
	if (with_thread)
		sb_session_on_close(sb_gpu_resolve_stop);
}

SB_HOT_CODE void sb_gpu_resolve_prefetch(void)
{
	sb_ring_prefetch(&submitted);
}

SB_HOT_CODE bool sb_gpu_resolve_submit(const struct sb_gpu_pending *zone)
{
	if (!sb_ring_push_sized(&submitted, zone, sizeof *zone))
		return false;
	if (atomic_load_explicit(&submitted.tail, memory_order_relaxed) % BELL_EVERY == 0 &&
		sb_ring_count(&submitted) >= BELL_COUNT)
		pthread_cond_signal(&wake);
	return true;
}

void sb_gpu_resolve_stop(void)
{
	bool join, made;

	pthread_mutex_lock(&lock);
	join = threaded;
	made = waiting;
	threaded = false;
	stopping = ending = true;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
	if (join)
		pthread_join(thread, NULL);
	else if (made)
		drain();
	pthread_mutex_lock(&lock);
	ending = false;
	pthread_mutex_unlock(&lock);
}

void sb_gpu_resolve_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&wake, NULL);
	threaded = stopping = ending = false;
	waiting_count = 0;
	sb_ring_done(&submitted);
	free(waiting);
	waiting = NULL;
}
