/* System calls, not the C library's functions, which refuse two of the signals. */
#include "inherited.h"

#include <errno.h>
#include <fcntl.h>
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

struct child {
	const struct inherited_start *start;
	int error;
};

static int arrange(const struct inherited_start *start)
{
	int empty;

	if (start->own_group && setpgid(0, 0))
		return -1;
	if (start->output < 0)
		return 0;
	empty = open("/dev/null", O_RDONLY);
	if (empty < 0 || (empty && dup2(empty, STDIN_FILENO) < 0) || dup2(start->output, STDOUT_FILENO) < 0 ||
		dup2(start->output, STDERR_FILENO) < 0)
		return -1;
	return empty > STDERR_FILENO ? close(empty) : 0;
}

/* On a stack of its own in strobe's memory, with every signal blocked until no handler of strobe's is left. */
static int become(void *argument)
{
	struct child *child = argument;

	if (!arrange(child->start)) {
		inherited_restore();
		execvpe(child->start->command[0], child->start->command, child->start->environment);
	}
	child->error = errno;
	_exit(127);
}

int inherited_spawn(const struct inherited_start *start, pid_t *out_pid)
{
	const uint64_t every = ~0ull;
	struct child child = { start, 0 };
	size_t size = STACK_BYTES;
	uint64_t before;
	char *stack;
	pid_t pid;

	for (char **c = start->command; *c; c++)
		size += sizeof *c; /* a script without a first line: /bin/sh gets a copy of them */
	size = (size + 4095) & ~(size_t)4095;
	stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return errno;
	set_mask(&every, &before);
	pid = clone(become, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
	if (pid < 0)
		child.error = errno;
	set_mask(&before, NULL);
	munmap(stack, size);
	if (child.error) {
		if (pid > 0)
			waitpid(pid, NULL, 0);
		return child.error;
	}
	*out_pid = pid;
	return 0;
}
