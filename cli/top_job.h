/* `strobe top` of a job: one line per rank, the slowest first. */
#ifndef CLI_TOP_JOB_H
#define CLI_TOP_JOB_H

#include <stdbool.h>

/* One screen as text, or one that is drawn anew until the user leaves. Returns an exit code. */
int top_job(const char *spec, bool once, double interval_s);

#endif
