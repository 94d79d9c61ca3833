/* Forked children. */
#include "record/fork.h"

#include "base/error.h"
#include "record/recorder.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#define NO_ADVICE (-1) /* an advice number that no kernel has */

/* The canary holds the process's number; 0: wiped by a fork. */
#define SETTLING UINT32_MAX
enum { NAPS = 1000 };
static const struct timespec nap = { .tv_nsec = 2000000 };

static void wipe_writers(void)
{
	uint32_t count = atomic_load(&REC->writer_count);

	for (uint32_t i = 0; i < count && i < SB_WRITERS_MAX; i++) {
		struct sb_writer *w = atomic_load(&REC->writers[i]);

		if (w)
			memset((void *)w, 0, sizeof *w);
	}
}

static _Atomic uint32_t *canary_here(void)
{
	return atomic_load_explicit(&REC->canary, memory_order_acquire);
}

/* Only one thread is here yet. */
static void child_of_fork(void)
{
	if (!atomic_load(&REC->unwiped) || !canary_here())
		return;
	wipe_writers();
	atomic_store(canary_here(), 0);
}

/* An emulator (qemu-user) takes every advice, and follows none. */
static bool is_wiped(void *pages, size_t bytes)
{
	return !madvise(pages, bytes, MADV_WIPEONFORK) && madvise(pages, bytes, NO_ADVICE);
}

void sb_fork_wipe_in_children(void *pages, size_t bytes)
{
	static atomic_flag handled = ATOMIC_FLAG_INIT;

	if (is_wiped(pages, bytes))
		return;
	atomic_store(&REC->unwiped, true);
	if (!atomic_flag_test_and_set(&handled))
		pthread_atfork(NULL, NULL, child_of_fork);
}

int sb_fork_watch(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	_Atomic uint32_t *at = canary_here();

	if (at) {
		atomic_store(at, (uint32_t)getpid());
		return 0;
	}
	at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return sb_fail_errno("no memory for the recorder");
	sb_fork_wipe_in_children((void *)at, page);
	atomic_store(at, (uint32_t)getpid());
	atomic_store_explicit(&REC->canary, at, memory_order_release);
	return 0;
}

static bool is_settled(uint32_t canary)
{
	if (!canary || canary == SETTLING)
		return false;
	return !atomic_load_explicit(&REC->unwiped, memory_order_relaxed) || canary == (uint32_t)getpid();
}

bool sb_fork_is_fresh(void)
{
	_Atomic uint32_t *canary = canary_here();

	return canary && !is_settled(atomic_load_explicit(canary, memory_order_acquire));
}

static bool wait_for_settling(_Atomic uint32_t *canary)
{
	if (atomic_load(&REC->settler) == (uint32_t)gettid())
		return false;
	for (int i = 0; i < NAPS && atomic_load(canary) == SETTLING; i++)
		syscall(SYS_futex, canary, FUTEX_WAIT_PRIVATE, SETTLING, &nap, NULL, 0);
	return atomic_load(canary) != SETTLING;
}

static void settle(_Atomic uint32_t *canary)
{
	atomic_store(&REC->settler, (uint32_t)gettid());
	if (atomic_load(&REC->unwiped))
		wipe_writers(); /* a child that no handler knew of */
	sb_session_forked();
	atomic_store(&REC->settler, 0);
	atomic_store_explicit(canary, (uint32_t)getpid(), memory_order_release);
	syscall(SYS_futex, canary, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

bool sb_fork_settle(void)
{
	_Atomic uint32_t *canary = canary_here();
	uint32_t seen = canary ? atomic_load_explicit(canary, memory_order_acquire) : 0;

	if (!canary || is_settled(seen))
		return true;
	if (seen == SETTLING || !atomic_compare_exchange_strong(canary, &seen, SETTLING))
		return wait_for_settling(canary);
	settle(canary);
	return true;
}
