/* The gate: one thread opens a session, the others wait. */
#include "record/gate.h"

#include "record/recorder.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long a thread waits for another that opens; after that no thread waits for this
 * opening any more. */
enum { NAPS = 200 };
static const struct timespec nap = { .tv_nsec = 10000000 };

bool sb_gate_claim(uint32_t from)
{
	if (!atomic_compare_exchange_strong(&REC->state, &from, SB_OPENING))
		return false;
	atomic_store(&REC->opening_hangs, false);
	atomic_store(&REC->opener, (uint32_t)gettid());
	return true;
}

void sb_gate_set(uint32_t state)
{
	if (state != SB_OPEN)
		atomic_store(&REC->opener, 0);
	atomic_store_explicit(&REC->state, state, memory_order_release);
	syscall(SYS_futex, &REC->state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void sb_gate_done(void)
{
	atomic_store(&REC->opener, 0);
	syscall(SYS_futex, &REC->opener, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void sb_gate_wait_done(void)
{
	uint32_t opener;

	for (int i = 0; i < NAPS && (opener = atomic_load(&REC->opener)) && opener != (uint32_t)gettid(); i++)
		syscall(SYS_futex, &REC->opener, FUTEX_WAIT_PRIVATE, opener, &nap, NULL, 0);
}

uint32_t sb_gate_wait(void)
{
	uint32_t state = atomic_load_explicit(&REC->state, memory_order_acquire);

	if (state != SB_OPENING || atomic_load(&REC->opener) == (uint32_t)gettid())
		return state;
	for (int i = 0; i < NAPS && !atomic_load(&REC->opening_hangs); i++) {
		syscall(SYS_futex, &REC->state, FUTEX_WAIT_PRIVATE, SB_OPENING, &nap, NULL, 0);
		state = atomic_load_explicit(&REC->state, memory_order_acquire);
		if (state != SB_OPENING)
			return state;
	}
	atomic_store(&REC->opening_hangs, true);
	return atomic_load_explicit(&REC->state, memory_order_acquire);
}
