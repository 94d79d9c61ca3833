/* The command under `strobe run`: started as it is, waited for, signals passed
 * on, everything below it reaped. */
#ifndef CLI_RUN_CHILD_H
#define CLI_RUN_CHILD_H

#include "run_group.h"

#include <stdbool.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

enum { RUN_MEMBERS_MAX = 256 };

struct run_child {
	pid_t pid;
	bool refused; /* the system has no room for one more process */
	bool ended; /* and waited for: the pid may be another process's by now */
	int status; /* as wait() tells it */
	int interrupts; /* Ctrl-C, or SIGINT sent to strobe */
	bool killed_by_us; /* after a second Ctrl-C */
	bool terminated; /* strobe received a SIGTERM */
	unsigned reaped; /* processes of the tree that strobe had to wait for */
	pid_t left[RUN_MEMBERS_MAX]; /* processes that the command left running */
	uint32_t left_count;
	char left_behind[400]; /* "2 processes still running: 123 (foo), 124 (bar)"; "" none */
	void (*look)(void *); /* called now and then while the command runs; may be NULL */
	void *look_for;
	void (*tidy)(void *); /* the same, every few seconds until the end; may be NULL */
	void *tidy_for;
	sigset_t before; /* the signal mask that strobe was started with */
	sigset_t watched;
	struct run_group group;
};

/* The file that execvp() would run; 0, or the errno it would give. */
int run_child_find(const char *command, char *out, size_t size);
/* Is there such a command? 0, or 127 or 126, having complained. */
int run_child_check(const char *command);
/* Before anything starts threads: signals wait for run_child_wait(). command: as it stands in strobe's arguments. */
void run_child_prepare(struct run_child *child, char **command);
/* 0, or the exit code a shell would give (127, 126), having complained. */
int run_child_start(struct run_child *child, char **command, char **environment);
/* Until the command has ended; with all, until everything below it has. */
void run_child_wait(struct run_child *child, bool all);
/* Signals are strobe's own again: Ctrl-C ends the writing of reports. Those that
 * were meant for the command are forgotten. */
void run_child_release(struct run_child *child);
/* What of left_behind runs even now, after the reports; those that end with the command get a moment more. */
const char *run_child_left(struct run_child *child);
/* The code to pass on: its own, or 128 + signal. */
int run_child_exit_code(const struct run_child *child);
/* "exit 0", "killed by SIGSEGV, core dumped", … */
void run_child_outcome(const struct run_child *child, bool out_of_memory, char *out, size_t size);

#endif
