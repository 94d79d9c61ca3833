/* The signals as strobe itself was started with them (ignored, blocked), and how to start a program with the same. All 64:
 * the C library keeps 32 and 33 from its callers, and posix_spawn() leaves those ignored. */
#ifndef CLI_INHERITED_H
#define CLI_INHERITED_H

#include <stdbool.h>
#include <sys/types.h>

/* First of all in main(). */
void inherited_note(void);
/* Before an exec, in the process that does it. */
void inherited_restore(void);
struct inherited_start {
	char **command, **environment;
	int output; /* for what it prints; its input is empty then. -1: all three as strobe has them */
	bool own_group; /* a process group of its own */
};
/* As execvpe() finds it. 0, or the errno it would give. */
int inherited_spawn(const struct inherited_start *start, pid_t *out_pid);

#endif
