/* The handler only remembers that the signal came. */
#include "gpu/trace_signal.h"

#include "format/run_keys.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic bool listening, signalled;
static _Atomic bool heard; /* one came in this session */
static const char *why_none = SB_SIGNAL_THEIRS; /* in the last session */
static void (*_Atomic wake)(void);

static void on_signal(int number)
{
	void (*tell)(void) = atomic_load(&wake);
	int saved = errno;

	(void)number;
	if (atomic_load(&listening)) {
		atomic_store(&heard, true);
		atomic_store(&signalled, true);
		tell();
	}
	errno = saved;
}

void sb_trace_signal_begin(void)
{
	atomic_store(&heard, false);
	atomic_store(&signalled, false);
}

bool sb_trace_signal_free(void)
{
	struct sigaction now;

	if (atomic_load(&listening) || sigaction(SIGUSR2, NULL, &now))
		return false;
	/* Ours is of an earlier session, or of the process that this one was forked from. */
	return now.sa_handler == SIG_DFL || now.sa_handler == on_signal;
}

void sb_trace_signal_take(void (*ring)(void))
{
	struct sigaction ours = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	atomic_store(&wake, ring);
	atomic_store(&listening, true);
	sigaction(SIGUSR2, &ours, NULL);
}

/* The handler stays: a late one must not kill the program, and one that is ignored would be ignored by every program that this one
 * starts, too. */
void sb_trace_signal_leave(void)
{
	struct sigaction now;

	why_none = SB_SIGNAL_THEIRS;
	if (!atomic_exchange(&listening, false))
		return;
	if (atomic_load(&heard))
		why_none = NULL;
	else if (!sigaction(SIGUSR2, NULL, &now) && now.sa_handler == on_signal)
		why_none = SB_NO_SIGNAL;
}

void sb_trace_signal_forget(void)
{
	atomic_store(&listening, false);
	atomic_store(&signalled, false);
}

const char *sb_trace_signal_why_none(void)
{
	return why_none;
}

bool sb_trace_signal_waits(void)
{
	return atomic_load(&signalled);
}

bool sb_trace_signal_came(void)
{
	return atomic_exchange(&signalled, false);
}
