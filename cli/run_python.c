/* Which Python processes have no start-up hook: by their options and environment. */
#include "run_python.h"
#include "run_child.h"

#include "base/infile.h"
#include "base/filename.h"
#include "monitor/source.h"
#include "monitor/tree.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 64, PROCESSES_MAX = 64 };

static bool is_python(const char *path)
{
	const char *name = sb_filename_of(path);
	size_t stem = !strncmp(name, "python", 6) ? 6 : !strncmp(name, "pypy", 4) ? 4 : 0;

	return stem &&
	       !name[stem + strspn(name + stem, "0123456789.dt")]; /* python3.13t, not python3-config */
}

/* The first of Python's own options that keeps the hook out: I, E or S; 0: none. */
static char option_without_hook(char *const *arguments)
{
	for (; *arguments && (*arguments)[0] == '-' && (*arguments)[1] && (*arguments)[1] != '-'; arguments++)
		for (const char *letter = *arguments + 1; *letter; letter++) {
			if (strchr("IES", *letter))
				return *letter;
			if (strchr("cm", *letter)) /* the rest is the program's */
				return 0;
			if (strchr("WX", *letter)) {
				if (!letter[1] && arguments[1])
					arguments++;
				break;
			}
		}
	return 0;
}

static void say_option(struct run_python *p, char option)
{
	p->unreached = true;
	snprintf(p->why, sizeof p->why, "python was started with -%c, which keeps the start-up hook out",
		option);
	snprintf(p->how, sizeof p->how,
		"run it without -%c, or 'import strobe; strobe.start()' in the program", option);
}

/* ---- the command line ----------------------------------------------------------- */

static size_t split(char *text, char **words, size_t limit)
{
	size_t count = 0;
	char *rest = NULL;

	for (char *word = strtok_r(text, " \t\n", &rest); word && count + 1 < limit;
		word = strtok_r(NULL, " \t\n", &rest))
		words[count++] = word;
	words[count] = NULL;
	return count;
}

/* "#!/usr/bin/env -S python3 -I" to its words, without env and its -S. */
static char **first_line_words(const char *command, char *line, size_t size, char **words)
{
	char file[PATH_MAX];
	ssize_t n = 0;
	int fd;

	if (!run_child_find(command, file, sizeof file) && !sb_infile_open(file, SB_INFILE_NAMED, &fd)) {
		n = read(fd, line, size - 1);
		close(fd);
	}
	line[n > 0 ? n : 0] = 0;
	if (strncmp(line, "#!", 2))
		return NULL;
	line[strcspn(line, "\n")] = 0;
	if (!split(line + 2, words, WORDS_MAX))
		return NULL;
	if (!strcmp(sb_filename_of(words[0]), "env")) {
		words++;
		if (*words && !strcmp(*words, "-S"))
			words++;
	}
	return *words ? words : NULL;
}

void run_python_look_at_command(struct run_python *p, char *const *command)
{
	char line[512], *words[WORDS_MAX], **first;
	char option = 0;

	if (!p->hook_folder)
		return;
	if (is_python(command[0])) {
		option = option_without_hook(command + 1);
	} else {
		first = first_line_words(command[0], line, sizeof line, words);
		if (first && is_python(first[0]))
			option = option_without_hook(first + 1);
	}
	if (option)
		say_option(p, option);
}

/* ---- processes ------------------------------------------------------------------ */

/* Bytes read, or -1. */
static ssize_t read_process_file(pid_t pid, const char *name, char *out, size_t size)
{
	char path[64];
	size_t used = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && used + 1 < size && (n = read(fd, out + used, size - 1 - used)) > 0)
		used += (size_t)n;
	out[used] = 0;
	if (fd < 0)
		return -1;
	close(fd);
	return (ssize_t)used;
}

static const char *variable_of(const char *environment, ssize_t size, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = environment; at < environment + size && *at; at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return at + length + 1;
	return NULL;
}

/* Its environment as it was at the start: what it was given. True: the hook is in. */
static bool look_at_environment(struct run_python *p, pid_t pid, const char *program)
{
	static char environment[256 << 10];
	ssize_t size = read_process_file(pid, "environ", environment, sizeof environment);
	const char *path = variable_of(environment, size, "PYTHONPATH");

	if (size < 0 || size + 1 == sizeof environment || (path && strstr(path, p->hook_folder)))
		return true;
	p->unreached = true;
	p->pid = pid;
	snprintf(p->why, sizeof p->why, "%.60s was started %s, without the start-up hook", program,
		variable_of(environment, size, "STROBE_RUN_DIR") ? "with another PYTHONPATH"
								 : "with a cleared environment");
	snprintf(p->how, sizeof p->how,
		"pass PYTHONPATH and STROBE_* on to it, or put 'strobe run' right before it");
	return false;
}

static bool look_at_python(struct run_python *p, pid_t pid, const char *program)
{
	char text[4096], *words[WORDS_MAX], option;
	ssize_t size = read_process_file(pid, "cmdline", text, sizeof text);
	size_t count = 0;

	for (char *at = text; at < text + size && count + 1 < WORDS_MAX; at += strlen(at) + 1)
		words[count++] = at;
	words[count] = NULL;
	if (!count)
		return true;
	option = option_without_hook(words + 1);
	if (!option)
		return look_at_environment(p, pid, program);
	say_option(p, option);
	p->pid = pid;
	return false;
}

static bool has_strobe_loaded(pid_t pid)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	bool found = false;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	while (file && !found && getline(&line, &capacity, file) > 0)
		found = strstr(line, "/libstrobe.so") || strstr(line, "/_strobe.");
	free(line);
	if (file)
		fclose(file);
	return found;
}

void run_python_look_at_processes(struct run_python *p)
{
	pid_t pids[PROCESSES_MAX];
	uint32_t count;

	sb_tree_update(sb_mono_ns(), false);
	count = sb_tree_members(pids, PROCESSES_MAX);
	for (uint32_t i = 0; i < count; i++) {
		char path[64], program[PATH_MAX];
		ssize_t n;

		snprintf(path, sizeof path, "/proc/%d/exe", (int)pids[i]);
		n = readlink(path, program, sizeof program - 1);
		if (n <= 0)
			continue;
		program[n] = 0;
		if (is_python(program) && p->hook_folder &&
			look_at_python(p, pids[i], sb_filename_of(program)))
			continue; /* the hook has loaded strobe there: that says nothing */
		if (!p->uses_strobe)
			p->uses_strobe = has_strobe_loaded(pids[i]);
	}
}
