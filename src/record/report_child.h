/* The report is made by the packaged tool in a child process: analysis never
 * runs inside the pipeline. */
#ifndef SB_RECORD_REPORT_CHILD_H
#define SB_RECORD_REPORT_CHILD_H

#include "record/settings.h"

/* Starts `strobe report --format … RUN` and waits for it a bounded time. Finds
 * the tool through STROBE_CLI, beside this library, or on PATH; without it, and
 * in a setuid program, the recording is simply left for later. */
void sb_report_child_start(const char *run_dir, const struct sb_settings *settings);

#endif
