/* The gate: the recorder's state, changed by one thread at a time. One opens a session;
 * the others wait for it. What is lost by a thread that cannot wait is counted. */
#ifndef SB_RECORD_GATE_H
#define SB_RECORD_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Changes the state from `from` to SB_OPENING, for this thread. False: the state is another one by now. */
bool sb_gate_claim(uint32_t from);
/* Sets the state and wakes the threads that wait for it. */
void sb_gate_set(uint32_t state);
/* Says that the opening thread has written the first records of the session. */
void sb_gate_done(void);
/* Waits until it has, so that a session is not closed while it is opened. */
void sb_gate_wait_done(void);
/* Waits while another thread opens a session; returns the state. SB_OPENING: it takes too long,
 * or a signal handler interrupted the opening thread and asks. */
uint32_t sb_gate_wait(void);

#endif
