/* System calls, not the C library's functions, which refuse two of the signals. */
#include "inherited.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIGNALS = 64, STACK_BYTES = 256 * 1024 };

static uint64_t ignored, blocked;

/* As the kernel has it on x86_64 and aarch64. */
struct disposition {
	uintptr_t handler;
	unsigned long flags;
	uintptr_t restorer;
	uint64_t mask;
};

static void set_mask(const uint64_t *mask, uint64_t *out_before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, out_before, sizeof *mask);
}

void inherited_note(void)
{
	for (int s = 1; s <= SIGNALS; s++) {
		struct disposition d = { 0 };

		if (!syscall(SYS_rt_sigaction, s, NULL, &d, sizeof d.mask) && d.handler == (uintptr_t)SIG_IGN)
			ignored |= 1ull << (s - 1);
	}
	set_mask(NULL, &blocked);
}

void inherited_restore(void)
{
	for (int s = 1; s <= SIGNALS; s++) {
		const struct disposition d = { .handler = (uintptr_t)(ignored >> (s - 1) & 1 ? SIG_IGN
											     : SIG_DFL) };

		syscall(SYS_rt_sigaction, s, &d, NULL, sizeof d.mask);
	}
	set_mask(&blocked, NULL);
}

struct start {
	char **command, **environment;
	int error;
};

/* On a stack of its own in strobe's memory, with every signal blocked until no handler of strobe's is left. */
static int become(void *argument)
{
	struct start *start = argument;

	inherited_restore();
	execvpe(start->command[0], start->command, start->environment);
	start->error = errno;
	_exit(127);
}

int inherited_spawn(char **command, char **environment, pid_t *out_pid)
{
	const uint64_t every = ~0ull;
	struct start start = { command, environment, 0 };
	size_t size = STACK_BYTES;
	uint64_t before;
	char *stack;
	pid_t pid;

	for (char **c = command; *c; c++)
		size += sizeof *c; /* a script without a first line: /bin/sh gets a copy of them */
	size = (size + 4095) & ~(size_t)4095;
	stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return errno;
	set_mask(&every, &before);
	pid = clone(become, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
	if (pid < 0)
		start.error = errno;
	set_mask(&before, NULL);
	munmap(stack, size);
	if (start.error) {
		if (pid > 0)
			waitpid(pid, NULL, 0);
		return start.error;
	}
	*out_pid = pid;
	return 0;
}
