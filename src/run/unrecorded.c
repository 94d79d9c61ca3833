/* Files of a folder that others may write: their number counts, never what is in them. */
#include "run/unrecorded.h"

#include "base/folder.h"
#include "format/run_keys.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Processes that found the run full left a line each. */
static unsigned count_run_full(int folder, bool remove)
{
	int fd = sb_folder_read(folder, SB_RUN_REFUSED);
	unsigned count = 0;
	char text[4096];
	ssize_t n;

	while (fd >= 0 && (n = read(fd, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < n; i++)
			count += text[i] == '\n';
	if (fd >= 0) {
		close(fd);
		if (remove)
			unlinkat(folder, SB_RUN_REFUSED, 0);
	}
	return count;
}

/* Those that found the disk full left an empty file each. */
static unsigned count_disk_full(int folder, bool remove)
{
	const size_t prefix = sizeof SB_RUN_DISK_FULL - 1;
	int again = dup(folder);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;
	unsigned count = 0;

	if (!d && again >= 0)
		close(again);
	if (!d)
		return 0;
	rewinddir(d);
	while ((entry = readdir(d)))
		if (!strncmp(entry->d_name, SB_RUN_DISK_FULL, prefix) &&
			isdigit((unsigned char)entry->d_name[prefix]))
			count += !remove || !unlinkat(folder, entry->d_name, 0);
	closedir(d);
	return count;
}

struct sb_unrecorded sb_unrecorded_count(int folder, bool remove)
{
	return (struct sb_unrecorded){ count_run_full(folder, remove), count_disk_full(folder, remove), 0 };
}

void sb_unrecorded_say(const struct sb_unrecorded *u,
	void (*say)(void *self, const char *what, const char *why, const char *how), void *self)
{
	const struct {
		unsigned count;
		const char *more, *why, *how;
	} reasons[] = {
		{ u->run_full, "more ", "the recordings of the run were full (max_run_bytes)",
			"raise max_run_bytes, or record fewer processes" },
		{ u->disk_full, "", "no room on the disk", "make room, or record to another disk (-o)" },
		{ u->budget_full, "", "short-lived processes filled the run's budget (max_trace_bytes)",
			"raise max_trace_bytes, or record fewer processes" },
	};
	char what[64];

	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
		if (!reasons[i].count)
			continue;
		snprintf(what, sizeof what, SB_MISSING_RECORDINGS "%u %sprocess%s", reasons[i].count,
			reasons[i].more, reasons[i].count == 1 ? "" : "es");
		say(self, what, reasons[i].why, reasons[i].how);
	}
}
