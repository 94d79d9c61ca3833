/* Writers: one per thread and copy of the library. Attaching to a session,
 * moving from chunk to chunk, taking over what ended threads left. */
#include "record/recorder.h"

#include "record/clock.h"
#include "record/fork.h"
#include "record/gate.h"
#include "record/put.h"
#include "record/stage_log.h"

#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WRITERS_BEFORE_TAKEOVER = 64, STARVED_RETRY = 64, QUIESCE_YIELDS = 1000000 };

/* Used by threads without a writer: it has no room, so every event takes the slow path. */
static struct sb_writer idle;
_Thread_local struct sb_writer *sb_here = &idle;
static pthread_key_t thread_end_key;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

static void thread_ends(void *writer)
{
	struct sb_writer *w = writer;

	sb_here = &idle;
	sb_writer_leave(w); /* cancelled in the midst of a record: closing would wait for it */
	if (w->session)
		atomic_store_explicit(&w->state, SB_WRITER_ENDED, memory_order_release);
}

static void make_key(void)
{
	pthread_key_create(&thread_end_key, thread_ends);
}

/* ---- chunks -------------------------------------------------------------- */

/* Where the counter cannot be trusted no event is fast: all find their clock on
 * the slow path, and the fast one need not ask. So it is while zones print their lines. */
static uint64_t *usual_end(const struct sb_position *p)
{
	return sb_clock_kind == SB_CLOCK_MONOTONIC || sb_stage_log_on() ? NULL : p->limit;
}

void sb_writer_open_chunk(
	struct sb_writer *w, struct sb_position *p, enum sb_stream stream, uint32_t chunk, uint64_t ticks)
{
	struct sb_extent *x = &REC->extent;
	struct sb_chunk_header *h = sb_chunk_at(x, chunk);
	uint32_t epoch = __atomic_load_n(&h->epoch, __ATOMIC_RELAXED) & ~1u;
	uint64_t now_ticks = sb_clock_ticks();
	struct timespec now;

	if (epoch) {
		__atomic_store_n(&h->epoch, epoch + 1, __ATOMIC_RELEASE);
		atomic_thread_fence(memory_order_release);
		memset(h + 1, 0, x->chunk_bytes - sizeof *h);
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	h->writer = w->id;
	h->tid = w->tid;
	h->stream = (uint16_t)stream;
	h->flags = 0;
	h->seq = ++p->seq;
	h->base_ticks = ticks;
	h->anchor_mono_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec -
			    (uint64_t)((double)(int64_t)(now_ticks - ticks) * 1e9 / (double)sb_clock_hz());
	h->anchor_width_ns = 1000;
	h->track = w->track;
	h->words_lost = w->words_lost;
	h->reserved = 0;
	w->words_lost = 0;
	p->base = ticks;
	p->chunk = chunk;
	p->cur = (uint64_t *)(h + 1);
	p->limit = (uint64_t *)((char *)h + x->chunk_bytes);
	__atomic_store_n(&h->epoch, epoch + 2, __ATOMIC_RELEASE);
	atomic_store_explicit(&p->end, usual_end(p), memory_order_relaxed);
}

static void append_hot(struct sb_writer *w, uint32_t chunk)
{
	struct sb_extent *x = &REC->extent;

	x->next_of[chunk] = 0;
	if (w->hot.chunk && w->oldest)
		x->next_of[w->hot.chunk] = chunk;
	if (!w->oldest)
		w->oldest = chunk;
}

/* A chunk that is used again had the thread's name in it, or comes after one that had. */
static void name_again(struct sb_writer *w)
{
	struct sb_position *p = &w->hot;
	size_t size = strnlen(w->name, sizeof w->name);
	uint32_t words = 1 + (uint32_t)((size + 7) / 8);

	if (!size)
		return;
	p->cur[1] = size;
	memcpy(p->cur + 2, w->name, size); /* the chunk was zeroed */
	__atomic_store_n(p->cur, sb_long(SB_THREAD, words, w->tid), __ATOMIC_RELEASE);
	p->cur += 1 + words;
}

static bool next_hot_chunk(struct sb_writer *w, uint64_t ticks)
{
	struct sb_extent *x = &REC->extent;
	struct sb_file_header *header = sb_header();
	bool recycled = false;
	uint32_t chunk;

	if (!w->hot.chunk && w->starved_count++ % STARVED_RETRY)
		return false;
	if (w->hot.chunk && w->hot.cur < w->hot.limit)
		__atomic_store_n(w->hot.cur, sb_word(SB_PAD, 0, 0), __ATOMIC_RELEASE);
	chunk = sb_chunk_take(x, SB_STREAM_HOT, !w->hot.chunk);
	if (!chunk && w->hot.chunk) {
		uint32_t none = SB_LIMIT_NONE;

		__atomic_compare_exchange_n(
			&header->limited_by, &none, x->bound_by, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		chunk = sb_fold_oldest(w);
		recycled = chunk != 0;
		if (chunk)
			atomic_fetch_add_explicit(&x->recycled, 1, memory_order_relaxed);
	}
	if (!chunk)
		return false;
	append_hot(w, chunk);
	sb_writer_open_chunk(w, &w->hot, SB_STREAM_HOT, chunk, ticks);
	if (recycled)
		name_again(w);
	__atomic_store_n(&header->writer_count, atomic_load(&REC->file_writer_count), __ATOMIC_RELAXED);
	__atomic_fetch_add(&header->slow_ns,
		(uint64_t)((double)(sb_clock_ticks() - ticks) * 1e9 / (double)sb_clock_hz()),
		__ATOMIC_RELAXED);
	return true;
}

static void lose(struct sb_writer *w, uint32_t words)
{
	w->words_lost += words;
	sb_lost(SB_LOST_NO_CHUNK, words);
}

bool sb_writer_room(struct sb_writer *w, uint32_t words, uint64_t ticks)
{
	struct sb_position *p = &w->hot;
	bool far = (ticks - p->base) >> SB_TICK_BITS;

	if (!p->chunk || p->cur + words + (far ? 2 : 0) > p->limit) {
		if (!next_hot_chunk(w, ticks)) {
			lose(w, words);
			return false;
		}
		return true;
	}
	if (far) {
		p->cur[1] = ticks;
		__atomic_store_n(&p->cur[0], sb_long(SB_REBASE, 1, 0), __ATOMIC_RELEASE);
		p->cur += 2;
		p->base = ticks;
	}
	/* Clear the attention flag. */
	atomic_store_explicit(&p->end, usual_end(p), memory_order_relaxed);
	return true;
}

struct sb_writer *sb_writer_enter(void)
{
	for (int tries = 0; tries < 3; tries++) {
		struct sb_writer *w = sb_writer_here();

		if (!w)
			return NULL;
		if (atomic_exchange(&w->busy, true)) {
			sb_lost(SB_LOST_NO_CHUNK, 1);
			return NULL;
		}
		/* Closing a session changes its state first, then waits for busy. */
		if (atomic_load(&REC->state) == SB_OPEN && atomic_load(&REC->session) == w->session)
			return w;
		sb_writer_leave(w); /* closed, or another session meanwhile: that one takes it */
	}
	sb_lost(SB_LOST_NO_CHUNK, 1);
	return NULL;
}

void sb_writers_quiesce(void)
{
	uint32_t count = atomic_load(&REC->writer_count);

	for (uint32_t i = 0; i < count && i < SB_WRITERS_MAX; i++) {
		struct sb_writer *w = atomic_load(&REC->writers[i]);

		for (int patience = 0; w && atomic_load(&w->busy) && patience < QUIESCE_YIELDS; patience++)
			sched_yield();
	}
}

void sb_writers_poison(void)
{
	uint32_t count = atomic_load(&REC->writer_count);

	for (uint32_t i = 0; i < count && i < SB_WRITERS_MAX; i++) {
		struct sb_writer *w = atomic_load(&REC->writers[i]);

		if (w)
			atomic_store_explicit(&w->hot.end, NULL, memory_order_relaxed);
	}
}

/* ---- attaching ----------------------------------------------------------- */

static struct sb_writer *claim_ended(uint32_t session, bool of_this_session)
{
	uint32_t count = atomic_load(&REC->writer_count);

	for (uint32_t i = 0; i < count && i < SB_WRITERS_MAX; i++) {
		struct sb_writer *w = atomic_load(&REC->writers[i]);
		uint32_t state = SB_WRITER_ENDED;

		if (!w || (atomic_load(&w->session) == session) != of_this_session ||
			!atomic_compare_exchange_strong(&w->state, &state, SB_WRITER_LIVE))
			continue;
		if ((atomic_load(&w->session) == session) == of_this_session)
			return w;
		atomic_store(&w->state, SB_WRITER_ENDED); /* it lived and ended again meanwhile */
	}
	return NULL;
}

static bool list_writer(struct sb_writer *w)
{
	uint32_t slot = atomic_fetch_add(&REC->writer_count, 1);

	if (slot >= SB_WRITERS_MAX) {
		atomic_store(&REC->writer_count, SB_WRITERS_MAX);
		return false;
	}
	atomic_store(&REC->writers[slot], w);
	return true;
}

static struct sb_writer *make_writer(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct sb_writer *w = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (w == MAP_FAILED)
		return NULL;
	sb_fork_wipe_in_children(w, page);
	if (!list_writer(w)) {
		munmap(w, page);
		return NULL;
	}
	atomic_store(&w->state, SB_WRITER_LIVE);
	return w;
}

/* The thread's name, in its own stream: it costs no chunk of its own. */
static void write_thread_name(struct sb_writer *w)
{
	w->name[0] = 0;
	if (!prctl(PR_GET_NAME, w->name) && w->name[0])
		sb_put_text(
			SB_STREAM_HOT, SB_THREAD, w->tid, NULL, 0, w->name, strnlen(w->name, sizeof w->name));
}

static void take_over(struct sb_writer *w)
{
	w->tid = (uint32_t)syscall(SYS_gettid);
	w->track = 0;
	sb_put(SB_STREAM_HOT, SB_OWNER, w->tid, NULL, 0);
	write_thread_name(w);
}

static void begin_anew(struct sb_writer *w, uint32_t session)
{
	struct sb_fold *fold = w->fold;

	memset(&w->hot, 0, sizeof w->hot);
	memset(&w->keep, 0, sizeof w->keep);
	memset(&w->device, 0, sizeof w->device);
	w->id = atomic_fetch_add(&REC->file_writer_count, 1) + 1;
	w->tid = (uint32_t)syscall(SYS_gettid);
	w->track = 0;
	w->oldest = 0;
	w->starved_count = 0;
	w->words_lost = 0;
	w->fold = fold;
	if (fold)
		sb_fold_forget(fold);
	w->session = session;
}

/* No chunk was left for a new writer: become an ended one, if there is any. */
static struct sb_writer *take_over_instead(struct sb_writer *w, uint32_t session)
{
	struct sb_writer *ended = claim_ended(session, true);

	if (!ended)
		return w; /* looks for a chunk again from time to time */
	w->session = 0;
	atomic_store_explicit(&w->state, SB_WRITER_ENDED, memory_order_release);
	sb_here = ended;
	pthread_setspecific(thread_end_key, ended);
	take_over(ended);
	return ended;
}

static struct sb_writer *attach(uint32_t session)
{
	struct sb_writer *w = sb_here;
	bool took_over = false;

	pthread_once(&thread_end_once, make_key);
	if (w == &idle) {
		w = claim_ended(session, false);
		if (!w && atomic_load(&REC->file_writer_count) >= WRITERS_BEFORE_TAKEOVER) {
			w = claim_ended(session, true);
			took_over = w != NULL;
		}
		if (!w)
			w = make_writer();
		if (!w) {
			w = claim_ended(session, true);
			took_over = w != NULL;
		}
		if (!w) {
			sb_lost(SB_LOST_NO_CHUNK, 1);
			return NULL;
		}
	} else if (!w->session && !list_writer(w)) { /* a forked child's first thread */
		sb_lost(SB_LOST_NO_CHUNK, 1);
		return NULL;
	}
	sb_here = w;
	pthread_setspecific(thread_end_key, w);
	if (took_over) {
		take_over(w);
		return w;
	}
	atomic_store(&w->state, SB_WRITER_LIVE);
	begin_anew(w, session);
	write_thread_name(w);
	return w->hot.chunk ? w : take_over_instead(w, session);
}

/* Not recorded yet: opens the session or waits for it. */
static uint32_t state_to_record_in(void)
{
	uint32_t state = atomic_load_explicit(&REC->state, memory_order_acquire);

	for (int tries = 0; tries < 3 && (state == SB_ARMED || state == SB_OPENING); tries++) {
		if (state == SB_ARMED)
			sb_session_open_armed();
		state = sb_gate_wait();
	}
	return state;
}

static struct sb_writer *here_slowly(void)
{
	uint32_t state = sb_fork_settle() ? state_to_record_in() : SB_OPENING;
	uint32_t session;

	if (state == SB_ARMED || state == SB_OPENING)
		sb_lost(SB_LOST_OPENING, 1);
	if (state != SB_OPEN)
		return NULL;
	session = atomic_load_explicit(&REC->session, memory_order_acquire);
	return sb_here->session == session ? sb_here : attach(session);
}

struct sb_writer *sb_writer_here(void)
{
	struct sb_writer *w = sb_here;
	int cancel;

	if (w->session && atomic_load_explicit(&REC->state, memory_order_acquire) == SB_OPEN &&
		w->session == atomic_load_explicit(&REC->session, memory_order_acquire) &&
		!sb_fork_is_fresh())
		return w;
	cancel = sb_cancel_off();
	w = here_slowly();
	sb_cancel_restore(cancel);
	return w;
}
