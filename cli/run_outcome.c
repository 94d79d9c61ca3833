/* How the command ended, as a code and in words. */
#include "run_child.h"

#include <stdio.h>
#include <sys/wait.h>

int run_child_exit_code(const struct run_child *child)
{
	return WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status) : WEXITSTATUS(child->status);
}

/* glibc's sigabbrev_np() is younger than the systems we run on. */
static const char *signal_name(int number)
{
	static const char *const names[] = {
		[SIGHUP] = "SIGHUP",
		[SIGINT] = "SIGINT",
		[SIGQUIT] = "SIGQUIT",
		[SIGILL] = "SIGILL",
		[SIGTRAP] = "SIGTRAP",
		[SIGABRT] = "SIGABRT",
		[SIGBUS] = "SIGBUS",
		[SIGFPE] = "SIGFPE",
		[SIGKILL] = "SIGKILL",
		[SIGUSR1] = "SIGUSR1",
		[SIGSEGV] = "SIGSEGV",
		[SIGUSR2] = "SIGUSR2",
		[SIGPIPE] = "SIGPIPE",
		[SIGALRM] = "SIGALRM",
		[SIGTERM] = "SIGTERM",
		[SIGSTKFLT] = "SIGSTKFLT",
		[SIGXCPU] = "SIGXCPU",
		[SIGXFSZ] = "SIGXFSZ",
		[SIGVTALRM] = "SIGVTALRM",
		[SIGPROF] = "SIGPROF",
		[SIGIO] = "SIGIO",
		[SIGPWR] = "SIGPWR",
		[SIGSYS] = "SIGSYS",
	};

	return (size_t)number < sizeof names / sizeof names[0] ? names[number] : NULL;
}

void run_child_outcome(const struct run_child *child, bool out_of_memory, char *out, size_t size)
{
	int used;

	if (WIFSIGNALED(child->status)) {
		const char *name = signal_name(WTERMSIG(child->status));
		char number[24];

		snprintf(number, sizeof number, "signal %d", WTERMSIG(child->status));
		used = snprintf(out, size, "killed by %s%s", name ? name : number,
			WCOREDUMP(child->status) ? ", core dumped" : "");
	} else {
		used = snprintf(out, size, "exit %d", WEXITSTATUS(child->status));
	}
	if (out_of_memory)
		snprintf(out + used, size - (size_t)used, "%s",
			WIFSIGNALED(child->status) ? " (out of memory)"
						   : ", the out-of-memory killer took a process of it");
	else if (child->killed_by_us)
		snprintf(out + used, size - (size_t)used, " after Ctrl-C twice");
	else if (child->interrupts)
		snprintf(out + used, size - (size_t)used, " after Ctrl-C");
	else if (child->terminated && !(WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGTERM))
		snprintf(out + used, size - (size_t)used, " after SIGTERM");
}
