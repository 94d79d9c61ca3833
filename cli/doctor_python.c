/* Does the start-up hook reach the Python of this shell? It is tried. */
#include "doctor.h"
#include "run_attach.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 };

static char probe[] = "import sys\n"
		      "sys.stdout.write('%d.%d.%d %d %s' % (sys.version_info[:3] + "
		      "(any(name.endswith('._strobe') for name in sys.modules), sys.executable)))\n";

/* The environment with the hook, and with recording on; nothing begins a stage. */
static char **environment_with(const char *hook, char *path, size_t size)
{
	static char enabled[] = "STROBE_ENABLED=1", quiet[] = "PYTHONWARNINGS=ignore";
	size_t count = 0, kept = 0;
	char **list;

	while (environ[count])
		count++;
	list = calloc(count + 4, sizeof *list);
	if (!list)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "PYTHON", 6) && strncmp(environ[i], "STROBE_", 7))
			list[kept++] = environ[i];
	snprintf(path, size, "PYTHONPATH=%s", hook);
	list[kept++] = path;
	list[kept++] = enabled;
	list[kept++] = quiet;
	return list;
}

/* What it prints within the time; false when it could not be started. */
static bool ask(const char *hook, char *out, size_t size)
{
	static char name[] = "python3", option[] = "-c";
	char *command[] = { name, option, probe, NULL }, path[PATH_MAX + 16];
	char **environment = environment_with(hook, path, sizeof path);
	posix_spawn_file_actions_t files;
	struct pollfd ready;
	size_t used = 0;
	ssize_t n;
	int ends[2];
	pid_t pid;
	bool started;

	if (!environment || pipe2(ends, O_CLOEXEC)) {
		free(environment);
		return false;
	}
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	started = !posix_spawnp(&pid, name, &files, NULL, command, environment);
	posix_spawn_file_actions_destroy(&files);
	free(environment);
	close(ends[1]);
	ready = (struct pollfd){ ends[0], POLLIN, 0 };
	while (started && used + 1 < size && poll(&ready, 1, PATIENCE_MS) > 0 &&
		(n = read(ends[0], out + used, size - 1 - used)) > 0)
		used += (size_t)n;
	out[used] = 0;
	close(ends[0]);
	if (started) {
		kill(pid, SIGKILL); /* it has said all, or it hangs */
		waitpid(pid, NULL, 0);
	}
	return started;
}

static void look_hook(struct doctor_finding *f)
{
	char path[PATH_MAX];

	if (run_attach_find_hook(path, sizeof path))
		doctor_say(f, DOCTOR_OK, "", "%.200s", path);
	else
		doctor_say(f, DOCTOR_MISSING, "build or install the Python package",
			"the start-up hook is not beside the strobe command");
}

static void look_python(struct doctor_finding *f)
{
	char hook[PATH_MAX], said[PATH_MAX] = "", version[16], program[PATH_MAX];
	int attached;

	if (!run_attach_find_hook(hook, sizeof hook))
		doctor_say(
			f, DOCTOR_MISSING, "build or install the Python package", "no start-up hook to try");
	else if (!ask(hook, said, sizeof said))
		doctor_say(f, DOCTOR_MISSING,
			"install Python 3.9 or newer, if Python programs are to be recorded",
			"there is no python3 on the PATH");
	else if (sscanf(said, "%15s %d %4000s", version, &attached, program) != 3)
		doctor_say(f, DOCTOR_MISSING, "see what 'python3 -c pass' says", "python3 does not start");
	else if (!attached)
		doctor_say(f, DOCTOR_MISSING,
			"CPython 3.9 to 3.14 with the GIL, and a strobe built for this machine",
			"Python %s (%.150s) does not load strobe", version, program);
	else
		doctor_say(f, DOCTOR_OK, "", "Python %s (%.180s) records when started by strobe run", version,
			program);
}

const struct doctor_check doctor_python_checks[] = {
	{ "Python", "start-up hook", look_hook },
	{ "Python", "python3", look_python },
	{ 0 },
};
