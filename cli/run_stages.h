/* Stages that were asked for by name (--stage) and that no process of the run had. */
#ifndef CLI_RUN_STAGES_H
#define CLI_RUN_STAGES_H

#include "base/folder.h"
#include "record/settings.h"

/* Makes the file in which the Python programs of a run say what they found. */
void run_stages_begin(const char *run_dir, const struct sb_folder *id, char *out, size_t size);
/* Removes it again. */
void run_stages_forget(const char *run_dir, const struct sb_folder *id);
/* Once for each, on standard error and in the recording; the file is gone then. */
void run_stages_say_missing(
	const char *run_dir, const struct sb_folder *id, const struct sb_settings *settings);

#endif
