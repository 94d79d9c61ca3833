/* Links a `strobe run` with those inside its command: each is a run of its own, named in the outer run's
 * folder. */
#include "run_outer.h"

#include "command.h"

#include "base/filename.h"
#include "monitor/monitor.h"
#include "record/put.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INNER_RUNS "inner_runs.txt" /* gone again when the run has ended */

void run_outer_notice(char *out_folder, size_t size)
{
	static const char *const theirs[] = { "STROBE_RUN_DIR", "STROBE_MONITOR", "STROBE_REAL_TIME_DISPLAY",
		"STROBE_NAME", "STROBE_STAGES_SEEN", SB_MONITOR_RANKS, SB_MONITOR_DISPLAY_ASKED };
	const char *outer = getenv("STROBE_RUN_DIR");

	if (!outer || !*outer || access(outer, W_OK))
		return;
	snprintf(out_folder, size, "%s", outer);
	for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++)
		unsetenv(theirs[i]);
}

void run_outer_tell(const char *outer, const char *folder, const char *absolute, bool quiet)
{
	int outer_fd, fd;

	if (!*outer)
		return;
	if (!quiet)
		fprintf(stderr, "strobe: inside the run '%s': what this command records goes to '%s'\n",
			sb_filename_of(outer), folder);
	outer_fd = sb_folder_open(AT_FDCWD, outer, SB_FOLDER_OWN);
	if (outer_fd < 0)
		return;
	fd = openat(outer_fd, INNER_RUNS, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		0600);
	close(outer_fd);
	if (fd < 0)
		return;
	dprintf(fd, "%s\n", absolute);
	close(fd);
}

bool run_outer_say_inner(const char *run_dir, const struct sb_folder *id)
{
	char folder[PATH_MAX], first[PATH_MAX] = "", why[96];
	int fd = sb_folder_read_in(run_dir, id, INNER_RUNS);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned count = 0;

	while (file && fgets(folder, sizeof folder, file))
		if (!count++)
			snprintf(first, sizeof first, "%.*s", (int)strcspn(folder, "\n"), folder);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	if (!count)
		return false;
	sb_folder_remove_in(run_dir, id, INNER_RUNS);
	snprintf(why, sizeof why, "%u 'strobe run' inside the command recorded into %s", count,
		count == 1 ? "a run of its own" : "runs of their own");
	sb_keep_missing("stages of inner runs", why, first);
	return true;
}
