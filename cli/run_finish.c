/* The end of `strobe run`. */
#include "run_finish.h"

#include "command.h"
#include "record/rundir.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

void run_finish_spools(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char pointer[PATH_MAX + 300], name[256];
		struct sb_buf spool = { 0 };

		if (!ends_with(entry->d_name, ".strobe.spool"))
			continue;
		snprintf(pointer, sizeof pointer, "%s/%s", folder, entry->d_name);
		snprintf(name, sizeof name, "%.*s", (int)(strlen(entry->d_name) - strlen(".spool")), entry->d_name);
		if (!sb_buf_read_file(&spool, pointer, PATH_MAX) && sb_spool_move(sb_buf_text(&spool), folder, name))
			complain_last();
		sb_buf_done(&spool);
	}
	if (d)
		closedir(d);
}

void run_finish_discard(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char path[PATH_MAX + 300];

		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		if (!strncmp(entry->d_name, "run.strobe", 10))
			unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(folder);
}

void run_finish_reports(const struct run_finish *f)
{
	if (f->quiet)
		return;
	fprintf(stderr, "== strobe: %s, %s, %.2f s\n", f->settings->name, f->outcome, f->wall_s);
	if (f->left_behind[0])
		fprintf(stderr, "%s\n", f->left_behind);
	fprintf(stderr, "recording: %s\n", f->folder);
}
