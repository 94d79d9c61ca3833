/* Forked children. What belongs to the parent's recorder is in memory that the system
 * wipes in a child (MADV_WIPEONFORK); where it refuses, a fork handler and the process
 * number do the same. One thread of the child then starts afresh, the others wait. */
#ifndef SB_RECORD_FORK_H
#define SB_RECORD_FORK_H

#include <stdbool.h>
#include <stddef.h>

int sb_fork_watch(void); /* notes which process this is */
/* True if the recorder belongs to this process; in a child it is made so. False: not yet, because another
 * thread does it and takes too long, or a signal handler has interrupted this one. */
bool sb_fork_settle(void);
/* True in a child whose recorder is still its parent's. */
bool sb_fork_is_fresh(void);
/* Asks the system to wipe these pages in children, or remembers that it does not. */
void sb_fork_wipe_in_children(void *pages, size_t bytes);

#endif
