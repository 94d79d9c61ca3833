/* The gate: the recorder's state, changed by one thread at a time. One opens a session;
 * the others wait for it, and what a thread that cannot wait loses is counted. */
#ifndef SB_RECORD_GATE_H
#define SB_RECORD_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* From this state to SB_OPENING, by this thread. False: it is in another state now. */
bool sb_gate_claim(uint32_t from);
/* Leaves SB_OPENING, or any other state; wakes those who wait. */
void sb_gate_set(uint32_t state);
/* The opening thread has written the first records of the session. */
void sb_gate_done(void);
/* Waits for that, so that a session is not closed while it is opened. */
void sb_gate_wait_done(void);
/* The state, when no other thread is opening any more. SB_OPENING: that takes too long,
 * or it is this thread itself that a signal handler has interrupted. */
uint32_t sb_gate_wait(void);

#endif
