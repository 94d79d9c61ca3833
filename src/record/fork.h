/* Forked children. What belongs to the parent's recorder is in memory that the system
 * wipes in a child (MADV_WIPEONFORK); where it refuses, a fork handler and the process
 * number do the same. One thread of the child then starts afresh, the others wait. */
#ifndef SB_RECORD_FORK_H
#define SB_RECORD_FORK_H

#include <stdbool.h>
#include <stddef.h>

int sb_fork_watch(void); /* from now on this process is known by its number */
/* Is the recorder this process's own? Makes it so in a child. False: not yet, another
 * thread is at it and takes too long, or a signal handler has interrupted this one. */
bool sb_fork_settle(void);
/* Is this a child that has not settled yet? Then what the recorder says is its parent's. */
bool sb_fork_is_fresh(void);
/* Asks the system to wipe these pages in children, or remembers that it does not. */
void sb_fork_wipe_in_children(void *pages, size_t bytes);

#endif
