/* After the command has ended: spools brought home, reports written, the summary
 * shown. */
#ifndef CLI_RUN_FINISH_H
#define CLI_RUN_FINISH_H

#include "run_child.h"
#include "base/folder.h"
#include "record/settings.h"

#include <stdbool.h>

struct run_finish {
	const struct sb_settings *settings;
	const char *folder;
	const struct sb_folder *folder_id;
	const char *outcome;
	struct run_child *child;
	double wall_s;
	bool quiet;
};

/* Recordings that a killed process left on a node-local disk. */
void run_finish_spools(const char *folder, const struct sb_folder *id);
/* A failure here is reported and changes nothing else: the recording is complete. */
void run_finish_reports(const struct run_finish *finish);

#endif
