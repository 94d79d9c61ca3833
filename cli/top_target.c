/* From a process id to its run folder: the environment that `strobe run` gave
 * it, or the recording it has mapped. */
#include "top_target.h"

#include "command.h"

#include "base/filename.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool from_environment(const char *pid, char *out, size_t size)
{
	char path[64], *entry = NULL;
	size_t capacity = 0;
	bool found = false;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%s/environ", pid);
	file = fopen(path, "r");
	while (file && !found && getdelim(&entry, &capacity, 0, file) > 0)
		found = !strncmp(entry, "STROBE_RUN_DIR=", 15) &&
			(size_t)snprintf(out, size, "%s", entry + 15) < size;
	free(entry);
	if (file)
		fclose(file);
	return found;
}

static bool from_mappings(const char *pid, char *out, size_t size)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	bool found = false;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%s/maps", pid);
	file = fopen(path, "r");
	while (file && !found && getline(&line, &capacity, file) > 0) {
		char *name = strchr(line, '/'), *slash;

		if (!name)
			continue;
		name[strcspn(name, "\n")] = 0;
		slash = strrchr(name, '/');
		if (strncmp(slash + 1, "run.", 4) || !sb_ends_with(name, ".strobe"))
			continue;
		*slash = 0;
		found = (size_t)snprintf(out, size, "%s", name) < size;
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

int top_target_find(const char *spec, char *out, size_t size)
{
	char path[64];

	if (!spec || !*spec || spec[strspn(spec, "0123456789")] || !access(spec, F_OK)) {
		snprintf(out, size, "%s", spec ? spec : "last");
		return 0;
	}
	snprintf(path, sizeof path, "/proc/%.20s", spec);
	if (access(path, F_OK))
		return complain("there is no process %s, and no run of that name", spec);
	/* The mapping first: a strobe inside a strobe records into its own folder. */
	if (from_mappings(spec, out, size) || from_environment(spec, out, size))
		return 0;
	snprintf(path, sizeof path, "/proc/%.20s/maps", spec);
	if (access(path, R_OK))
		return complain("process %s belongs to another user: %s", spec, strerror(errno));
	return complain("process %s does not record; start it with 'strobe run -- …'", spec);
}
