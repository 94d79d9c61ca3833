/* SIGUSR2, by which a user asks for a trace. It is taken only where the program leaves it alone. */
#ifndef SB_GPU_TRACE_SIGNAL_H
#define SB_GPU_TRACE_SIGNAL_H

#include <stdbool.h>

void sb_trace_signal_begin(void); /* a session: forgets what came in the last one */
bool sb_trace_signal_free(void); /* neither the program nor strobe has taken it */
void sb_trace_signal_take(void (*ring)(void)); /* ring: called in the handler */
void sb_trace_signal_leave(void); /* from now on it does nothing */
void sb_trace_signal_forget(void); /* in a forked child */

/* Why none came in the session that sb_trace_signal_leave() ended; NULL: one did. */
const char *sb_trace_signal_why_none(void);

bool sb_trace_signal_waits(void); /* one came */
bool sb_trace_signal_came(void); /* one came since the last call */

#endif
