/* Starts the packaged tool on a finished recording. */
#include "record/report_child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 60000 };

static bool is_program(const char *path)
{
	struct stat s;

	return !stat(path, &s) && S_ISREG(s.st_mode) && !access(path, X_OK);
}

/* In a build folder, an installation, or the Python package. */
static bool beside_library(char *out, size_t size)
{
	static const char *const places[] = { "strobe", "../strobe", "../bin/strobe", "../../bin/strobe",
		"bin/strobe", "../../strobe" };
	char folder[PATH_MAX];
	Dl_info info;
	char *slash;

	if (!dladdr((void *)(uintptr_t)sb_report_child_start, &info) || !info.dli_fname)
		return false;
	if (!realpath(info.dli_fname, folder) || !(slash = strrchr(folder, '/')))
		return false;
	*slash = 0;
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
		if ((size_t)snprintf(out, size, "%s/%s", folder, places[i]) < size && is_program(out))
			return true;
	return false;
}

static bool on_path(char *out, size_t size)
{
	const char *path = secure_getenv("PATH");

	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (n && (size_t)snprintf(out, size, "%.*s/strobe", (int)n, path) < size && is_program(out))
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static bool find_tool(char *out, size_t size)
{
	const char *given = secure_getenv("STROBE_CLI");

	if (given) {
		snprintf(out, size, "%s", given);
		return is_program(out);
	}
	return beside_library(out, size) || on_path(out, size);
}

/* Without this a tool that itself uses the library would record its own report. */
static char **child_environment(void)
{
	size_t count = 0, n = 0;
	char **copy;

	while (environ[count])
		count++;
	copy = calloc(count + 2, sizeof *copy);
	if (!copy)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "STROBE_ENABLED=", 15) && strncmp(environ[i], "LD_PRELOAD=", 11))
			copy[n++] = environ[i];
	copy[n] = "STROBE_ENABLED=0";
	return copy;
}

static void wait_bounded(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	for (int ms = 0; ms < WAIT_MS; ms += 2) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return;
		nanosleep(&pause, NULL);
	}
}

void sb_report_child_start(const char *run_dir, const struct sb_settings *settings)
{
	static const char *const formats[] = { "json", "html", "json", "all" };
	char tool[PATH_MAX];
	char *argv[] = { tool, "report", "--write", NULL, "--", (char *)run_dir, NULL };
	char format[32];
	char **env;
	posix_spawn_file_actions_t actions;
	pid_t pid;

	if (getauxval(AT_SECURE)) /* setuid: where the tool seems to be is the user's choice (argv[0]) */
		return;
	if (!find_tool(tool, sizeof tool))
		return;
	snprintf(format, sizeof format, "--format=%s", formats[settings->report_format & 3]);
	argv[3] = format;
	env = child_environment();
	if (!env)
		return;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (!posix_spawn(&pid, tool, &actions, NULL, argv, env))
		wait_bounded(pid);
	posix_spawn_file_actions_destroy(&actions);
	free(env);
}
