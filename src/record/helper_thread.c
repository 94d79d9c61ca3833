/* The helper thread of a session: does what touches files, keeps mapped room ahead of
 * the writers, gives pages back behind them, leaves a sign of life and a clock anchor. */
#include "record/recorder.h"

#include "record/born.h"
#include "record/clock.h"
#include "record/errand.h"
#include "record/put.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { AHEAD_MOST = 4 << 20, AHEAD_LEAST = 1 << 20, BEHIND = 4 << 20, BEATS_PER_ANCHOR = 50 };
static const struct timespec beat = { .tv_nsec = 100000000 };

void sb_helper_wake(void)
{
	if (atomic_exchange_explicit(&REC->helper_wakes, 1, memory_order_release) == 0)
		syscall(SYS_futex, &REC->helper_wakes, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void grow_ahead(struct sb_extent *x)
{
	for (;;) {
		uint64_t used = (uint64_t)atomic_load(&x->next_chunk) * x->chunk_bytes;
		uint64_t ready = (uint64_t)atomic_load(&x->ready_chunks) * x->chunk_bytes;
		uint64_t want = used / 4;

		want = want < AHEAD_LEAST ? AHEAD_LEAST : want > AHEAD_MOST ? AHEAD_MOST : want;
		if (!sb_extent_is_asked(x) && (used < AHEAD_LEAST / 4 || ready - used >= want))
			return;
		if (!sb_extent_grow(x))
			return;
	}
}

/* Written pages are left to the page cache, so that they do not count as this process's memory. A writer
 * that returns to one pays a minor fault. */
static void drop_behind(struct sb_extent *x)
{
	uint64_t used = SB_FILE_HEADER_BYTES + (uint64_t)atomic_load(&x->next_chunk) * x->chunk_bytes;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t upto;

	if ((uint64_t)atomic_load(&x->recycled) * x->chunk_bytes >= 2 * (uint64_t)BEHIND) {
		atomic_store(&x->recycled, 0);
		x->dropped_bytes = 0;
	}
	upto = used > BEHIND ? (used - BEHIND) / page * page : 0;
	if (upto < x->dropped_bytes + (1u << 20) && !(x->dropped_bytes == 0 && upto))
		return;
	madvise(x->base + x->dropped_bytes, upto - x->dropped_bytes, MADV_DONTNEED);
	x->dropped_bytes = upto;
}

static void write_anchor(void)
{
	struct sb_anchor a;

	sb_clock_anchor(&a);
	sb_put(SB_STREAM_KEEP, SB_ANCHOR, 0, (uint64_t[]){ a.ticks, a.mono_ns, a.real_ns, a.width_ns }, 4);
}

static void beat_once(struct sb_extent *x, unsigned beats)
{
	grow_ahead(x);
	drop_behind(x);
	__atomic_store_n(&sb_header()->heartbeat_ticks, sb_clock_ticks(), __ATOMIC_RELEASE);
	__atomic_store_n(&sb_header()->chunk_count, atomic_load(&x->next_chunk), __ATOMIC_RELAXED);
	if (beats % ((uint64_t)BEATS_PER_ANCHOR << (3 * sb_keep_scarcity())) == 0)
		write_anchor();
}

static void *keep(void *unused)
{
	uint64_t cpu_ns = 0;

	sb_descriptor_table_make();
	for (unsigned beats = 1;;) {
		uint64_t now_cpu_ns;

		atomic_store(&REC->helper_wakes, 0);
		sb_errand_serve();
		if (atomic_load(&REC->helper_quit))
			break;
		if (atomic_load(&REC->helper_beats))
			beat_once(&REC->extent, beats++);
		now_cpu_ns = thread_cpu_ns();
		sb_session_add_own_cpu(now_cpu_ns - cpu_ns);
		cpu_ns = now_cpu_ns;
		syscall(SYS_futex, &REC->helper_wakes, FUTEX_WAIT_PRIVATE, 0, &beat, NULL, 0);
	}
	sb_descriptor_table_leave();
	return NULL;
}

/* The helper blocks the program's signals, except faults. */
static void block_signals(sigset_t *old)
{
	sigset_t most;

	sigfillset(&most);
	sigdelset(&most, SIGBUS);
	sigdelset(&most, SIGSEGV);
	pthread_sigmask(SIG_SETMASK, &most, old);
}

void sb_helper_start(void)
{
	sigset_t old;
	pthread_attr_t attr;

	if (REC->helper_runs)
		return;
	atomic_store(&REC->helper_quit, 0);
	atomic_store(&REC->helper_beats, false);
	block_signals(&old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 512 * 1024);
	REC->helper_runs = sb_thread_born(&REC->helper, &attr, "strobe-helper", keep, NULL) == 0;
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static int set_beats(void *on)
{
	atomic_store(&REC->helper_beats, *(bool *)on);
	return 0;
}

void sb_helper_beat(bool on)
{
	sb_errand_run(set_beats, &on);
}

void sb_helper_stop(void)
{
	if (!REC->helper_runs)
		return;
	atomic_store(&REC->helper_quit, 1);
	atomic_store(&REC->helper_wakes, 0);
	sb_helper_wake();
	pthread_join(REC->helper, NULL);
	REC->helper_runs = false;
}
