/* Stages that were asked for by name (--stage) and that no process of the run had. */
#ifndef CLI_RUN_STAGES_H
#define CLI_RUN_STAGES_H

#include "record/settings.h"

/* Makes the file in which the Python programs of a run say what they found. */
void run_stages_begin(const char *run_dir, char *out, size_t size);
/* Once for each, on standard error and in the recording; the file is gone then. */
void run_stages_say_missing(const char *file, const struct sb_settings *settings);

#endif
