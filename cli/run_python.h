/* Python programs that the start-up hook cannot reach, and why. */
#ifndef CLI_RUN_PYTHON_H
#define CLI_RUN_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct run_python {
	const char *hook_folder; /* as it is written in PYTHONPATH; NULL: none is attached */
	bool unreached; /* a Python came by without the hook */
	pid_t pid; /* which one; 0: the command itself */
	char why[200], how[200];
	bool uses_strobe; /* a process had strobe loaded, whatever became of it */
};

/* From the command line alone, also through a script's first line: a program may have
 * ended before its process can be looked at. */
void run_python_look_at_command(struct run_python *p, char *const *command);
/* At the processes that run now. */
void run_python_look_at_processes(struct run_python *p);

#endif
