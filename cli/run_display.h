/* The live display that the command's own configuration asks for (real_time_display), while `strobe run` has the
 * monitors. */
#ifndef CLI_RUN_DISPLAY_H
#define CLI_RUN_DISPLAY_H

#include "base/folder.h"
#include "monitor/thread.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct run_display {
	const char *folder; /* the run's */
	const struct sb_folder *folder_id;
	char path[PATH_MAX + 32]; /* where programs of the command write what they ask for; "": nowhere */
	int file, changes,
		end[2]; /* opened once: the file, inotify on it (-1: it is looked at every second), a pipe */
	off_t seen;
	bool started;
	struct sb_thread thread;
};

/* Makes the file. Where that fails nothing is asked for, and path is "". run_dir and id outlive it. */
void run_display_begin(struct run_display *display, const char *run_dir, const struct sb_folder *id);
/* From here on what is asked for reaches the monitors, which must run already. */
void run_display_watch(struct run_display *display);
/* Before the monitors stop. Removes the file. Takes one that never began. */
void run_display_end(struct run_display *display);

#endif
