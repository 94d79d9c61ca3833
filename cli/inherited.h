/* The signals as strobe itself was started with them (ignored, blocked), and how to start a program with the same. All 64:
 * the C library keeps 32 and 33 from its callers, and posix_spawn() leaves those ignored. */
#ifndef CLI_INHERITED_H
#define CLI_INHERITED_H

#include <sys/types.h>

/* First of all in main(). */
void inherited_note(void);
/* Before an exec, in the process that does it. */
void inherited_restore(void);
/* As execvpe() finds it. 0, or the errno it would give. */
int inherited_spawn(char **command, char **environment, pid_t *out_pid);

#endif
