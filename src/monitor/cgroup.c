/* Reads the limits of this process's control group. */
#include "monitor/cgroup.h"

#include "monitor/procfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The path of a line "N:controllers:/path" of /proc/self/cgroup that names the
 * controller ("" is version 2's only line). */
static bool path_of(const char *text, const char *controller, char *out, size_t size)
{
	while (text && *text) {
		const char *names = strchr(text, ':');
		const char *path = names ? strchr(names + 1, ':') : NULL;
		size_t length = path ? (size_t)(path - names - 1) : 0;
		const char *hit = path && *controller
					  ? memmem(names + 1, length, controller, strlen(controller))
					  : NULL;

		if (path && (*controller ? hit != NULL : length == 0)) {
			snprintf(out, size, "%.*s", (int)strcspn(path + 1, "\n"), path + 1);
			return true;
		}
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return false;
}

static bool has_file(const char *folder, const char *name)
{
	char text[64];

	return sb_procfile_sys_text(text, sizeof text, "%s/%s", folder, name) >= 0;
}

/* In a container the path is often the host's: then the mount's root is ours. */
static bool settle(struct sb_cgroup *c, const char *mount, const char *path, const char *probe)
{
	snprintf(c->folder, sizeof c->folder, "%s%s", mount, strcmp(path, "/") ? path : "");
	if (!has_file(c->folder, probe))
		snprintf(c->folder, sizeof c->folder, "%s", mount);
	return has_file(c->folder, probe);
}

void sb_cgroup_find(struct sb_cgroup *c)
{
	char text[4096], path[300];

	memset(c, 0, sizeof *c);
	if (sb_procfile_proc_text(text, sizeof text, "self/cgroup") <= 0)
		return;
	if (path_of(text, "memory", path, sizeof path)) {
		c->found = settle(c, "fs/cgroup/memory", path, "memory.limit_in_bytes");
	} else if (path_of(text, "", path, sizeof path)) {
		c->v2 = true;
		c->found = settle(c, "fs/cgroup", path, "memory.events");
		if (!c->found) /* the root group has no memory files */
			c->found = has_file("fs/cgroup", "cgroup.controllers");
	}
}

static uint64_t number_in(const char *folder, const char *name)
{
	char text[64];

	if (sb_procfile_sys_text(text, sizeof text, "%s/%s", folder, name) <= 0 || text[0] == 'm')
		return 0;
	return strtoull(text, NULL, 10);
}

uint64_t sb_cgroup_memory_limit(const struct sb_cgroup *c)
{
	char folder[400];
	uint64_t limit = 0;

	if (!c->found)
		return 0;
	snprintf(folder, sizeof folder, "%s", c->folder);
	for (;;) {
		uint64_t here = number_in(folder, c->v2 ? "memory.max" : "memory.limit_in_bytes");
		char *slash;

		if (here && here < 1ull << 60 && (!limit || here < limit))
			limit = here;
		slash = strrchr(folder, '/');
		if (!slash || !strcmp(folder, "fs/cgroup") || !strcmp(folder, "fs/cgroup/memory"))
			return limit;
		*slash = 0;
	}
}

uint64_t sb_cgroup_memory_used(const struct sb_cgroup *c)
{
	uint64_t used, cached = 0;
	char text[4096];

	if (!c->found)
		return 0;
	used = number_in(c->folder, c->v2 ? "memory.current" : "memory.usage_in_bytes");
	if (sb_procfile_sys_text(text, sizeof text, "%s/memory.stat", c->folder) > 0)
		sb_procfile_field(text, c->v2 ? "inactive_file " : "total_inactive_file ", &cached);
	return used > cached ? used - cached : used;
}

bool sb_cgroup_oom_kills(const struct sb_cgroup *c, uint64_t *out_count)
{
	char text[16384];

	if (c->found &&
		sb_procfile_sys_text(text, sizeof text, "%s/%s", c->folder,
			c->v2 ? "memory.events" : "memory.oom_control") > 0 &&
		sb_procfile_field(text, "oom_kill ", out_count))
		return true;
	return sb_procfile_proc_text(text, sizeof text, "vmstat") > 0 &&
	       sb_procfile_field(text, "oom_kill ", out_count);
}
