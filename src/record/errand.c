/* Errands of the helper thread. */
#include "record/errand.h"

#include "base/error.h"
#include "record/recorder.h"

#include <linux/futex.h>
#include <limits.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_while(_Atomic uint32_t *word, uint32_t value)
{
	while (atomic_load_explicit(word, memory_order_acquire) == value)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void change(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Two sessions never open at once, but a folder may be left while one opens. */
static void take(struct sb_errand *e)
{
	for (;;) {
		uint32_t state = SB_ERRAND_NONE;

		if (atomic_compare_exchange_strong(&e->state, &state, SB_ERRAND_TAKEN))
			return;
		wait_while(&e->state, state);
	}
}

int sb_errand_run(int (*f)(void *argument), void *argument)
{
	struct sb_errand *e = &REC->errand;
	int result;

	if (!REC->helper_runs || pthread_equal(REC->helper, pthread_self()))
		return f(argument);
	take(e);
	e->run = f;
	e->argument = argument;
	atomic_store_explicit(&e->state, SB_ERRAND_ASKED, memory_order_release);
	sb_helper_wake();
	wait_while(&e->state, SB_ERRAND_ASKED);
	result = e->result;
	if (result < 0)
		sb_fail(result, "%s", e->message);
	change(&e->state, SB_ERRAND_NONE);
	return result;
}

void sb_errand_serve(void)
{
	struct sb_errand *e = &REC->errand;

	if (atomic_load_explicit(&e->state, memory_order_acquire) != SB_ERRAND_ASKED)
		return;
	e->result = e->run(e->argument);
	snprintf(e->message, sizeof e->message, "%s", e->result < 0 ? sb_error_message() : "");
	change(&e->state, SB_ERRAND_DONE);
}

void sb_errand_forget(void)
{
	atomic_store(&REC->errand.state, SB_ERRAND_NONE);
}
