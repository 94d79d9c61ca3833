/* What the Python programs of a run said about the stages they were to record. A
 * launcher has none of them, and its workers do: only the whole run can tell. */
#include "run_stages.h"

#include "command.h"
#include "record/put.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct asked {
	char target[sizeof((struct sb_setting_stage *)0)->target];
	char why[160];
	bool found, certain; /* certain: the module was loaded, so the answer is final */
};

void run_stages_begin(const char *run_dir, char *out, size_t size)
{
	int fd;

	snprintf(out, size, "%s/stages_seen.txt", run_dir);
	fd = open(out, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
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

static void read_seen(const char *file, struct asked *asked, uint32_t count)
{
	FILE *stream = fopen(file, "re");
	char line[512];

	while (stream && fgets(line, sizeof line, stream))
		take(asked, count, line);
	if (stream)
		fclose(stream);
	unlink(file);
}

void run_stages_say_missing(const char *file, const struct sb_settings *settings)
{
	uint32_t count = settings->stage_count;
	struct asked *asked = calloc(count + 1, sizeof *asked);
	char what[sizeof asked->target + 8];

	if (!asked)
		return;
	for (uint32_t i = 0; i < count; i++) {
		snprintf(asked[i].target, sizeof asked[i].target, "%s", settings->stages[i].target);
		snprintf(asked[i].why, sizeof asked[i].why, "no Python program with the start-up hook ran");
	}
	read_seen(file, asked, count);
	for (uint32_t i = 0; i < count; i++) {
		if (asked[i].found)
			continue;
		snprintf(what, sizeof what, "stage %s", asked[i].target);
		sb_keep_missing(what, asked[i].why, "");
		fprintf(stderr, "strobe: the %s was not recorded: %s\n", what, asked[i].why);
	}
	free(asked);
}
