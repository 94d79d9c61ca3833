/* What the Python programs of a run said about the stages they were to record. A
 * launcher has none of them, and its workers do: only the whole run can tell. */
#include "run_stages.h"

#include "command.h"
#include "record/put.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "stages_seen.txt"

struct asked {
	char target[sizeof((struct sb_setting_stage *)0)->target];
	char why[160];
	bool found, certain; /* certain: the module was loaded, so the answer is final */
};

void run_stages_begin(const char *run_dir, const struct sb_folder *id, char *out, size_t size)
{
	int fd = sb_folder_create_in(run_dir, id, FILE_NAME, 0600);

	snprintf(out, size, "%s/" FILE_NAME, run_dir);
	if (fd >= 0)
		close(fd);
}

void run_stages_forget(const char *run_dir, const struct sb_folder *id)
{
	sb_folder_remove_in(run_dir, id, FILE_NAME);
}

/* As stages.py writes it: "+target", "-target<tab>why", "?target<tab>why". */
static void take(struct asked *asked, uint32_t count, char *line)
{
	char *why = strchr(line, '\t');

	line[strcspn(line, "\n")] = 0;
	if (!why)
		return;
	*why++ = 0;
	for (struct asked *a = asked; a < asked + count; a++) {
		if (strcmp(a->target, line + 1))
			continue;
		a->found |= line[0] == '+';
		if (line[0] == '-' || (line[0] == '?' && !a->certain))
			snprintf(a->why, sizeof a->why, "%s", why);
		a->certain |= line[0] == '-';
	}
}

static void read_seen(const char *run_dir, const struct sb_folder *id, struct asked *asked, uint32_t count)
{
	int fd = sb_folder_read_in(run_dir, id, FILE_NAME);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512];

	while (stream && fgets(line, sizeof line, stream))
		take(asked, count, line);
	if (stream)
		fclose(stream);
	else if (fd >= 0)
		close(fd);
	run_stages_forget(run_dir, id);
}

void run_stages_say_missing(
	const char *run_dir, const struct sb_folder *id, const struct sb_settings *settings)
{
	uint32_t count = settings->stage_count;
	struct asked *asked = calloc(count + 1, sizeof *asked);
	char what[sizeof asked->target + 8];

	if (!asked || !count) {
		free(asked);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		snprintf(asked[i].target, sizeof asked[i].target, "%s", settings->stages[i].target);
		snprintf(asked[i].why, sizeof asked[i].why, "no Python program with the start-up hook ran");
	}
	read_seen(run_dir, id, asked, count);
	for (uint32_t i = 0; i < count; i++) {
		if (asked[i].found)
			continue;
		snprintf(what, sizeof what, "stage %s", asked[i].target);
		sb_keep_missing(what, asked[i].why, "");
		fprintf(stderr, "strobe: the %s was not recorded: %s\n", what, asked[i].why);
	}
	free(asked);
}
