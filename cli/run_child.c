/* Starting, watching and reaping the command. It shares our process group and
 * terminal: what the terminal sends (Ctrl-C, Ctrl-Z, a hang-up), or anyone to the
 * group, reaches it by itself; what is sent to strobe alone is passed on. */
#include "run_child.h"

#include "base/infile.h"
#include "command.h"
#include "inherited.h"
#include "output.h"
#include "monitor/source.h"
#include "monitor/tree.h"
#include "record/clock.h"
#include "record/put.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_MS = 1000, LEFT_TRIES = 10, LEFT_MOMENT_NS = 10000000 };
#define LOOK_NS_FIRST 50000000ull
#define LOOK_NS_MOST 60000000000ull
#define TIDY_NS 5000000000ull
#define FOLLOW_NS_FIRST 1000000ull
#define FOLLOW_NS_MOST 256000000ull

static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

/* The interpreter that a script's first line names, when it is not there. */
static bool names_missing_interpreter(const char *command, char *out, size_t size)
{
	char line[256];
	ssize_t n = 0;
	int fd;

	if (strchr(command, '/') && !sb_infile_open(command, SB_INFILE_NAMED, &fd)) {
		n = read(fd, line, sizeof line - 1);
		close(fd);
	}
	line[n > 0 ? n : 0] = 0;
	if (strncmp(line, "#!", 2))
		return false;
	snprintf(out, size, "%s", line + 2 + strspn(line + 2, " \t"));
	out[strcspn(out, " \t\r\n")] = 0;
	return access(out, F_OK) != 0;
}

static int cannot_run(const char *command, int error)
{
	char interpreter[256];

	if (error == ENOENT && names_missing_interpreter(command, interpreter, sizeof interpreter))
		complain("cannot run '%s': its first line names '%s', which does not exist", command,
			interpreter);
	else
		complain("cannot run '%s': %s", command,
			error == ENOENT && !strchr(command, '/') ? "no such command"
			: error == EISDIR                        ? "it is a folder"
								 : strerror(error));
	return error == ENOENT ? 127 : 126;
}

/* 0: it can be run. */
static int error_of(const char *file)
{
	struct stat s;

	if (access(file, X_OK))
		return errno;
	return !stat(file, &s) && S_ISDIR(s.st_mode) ? EISDIR : 0;
}

int run_child_find(const char *command, char *out, size_t size)
{
	const char *path = getenv("PATH");
	int error = ENOENT, found;

	if (strchr(command, '/'))
		return (size_t)snprintf(out, size, "%s", command) < size ? error_of(command) : ENAMETOOLONG;
	while (path && *path && *command) {
		size_t n = strcspn(path, ":");

		if ((size_t)snprintf(out, size, "%.*s/%s", (int)n, path, command) < size) {
			found = error_of(out);
			if (!found)
				return 0;
			error = found == EACCES ? EACCES : error;
		}
		path += n + (path[n] == ':');
	}
	return error;
}

int run_child_check(const char *command)
{
	char file[PATH_MAX];
	int error = run_child_find(command, file, sizeof file);

	return error ? cannot_run(command, error) : 0;
}

void run_child_prepare(struct run_child *child, char **command)
{
	struct sigaction old;

	memset(child, 0, sizeof *child);
	sigemptyset(&child->watched);
	signal(SIGCHLD, SIG_DFL); /* ignored, it would reap behind our back */
	sigaddset(&child->watched, SIGCHLD);
	for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++) {
		sigaction(passed_on[i], NULL, &old);
		if (old.sa_handler != SIG_IGN) /* nohup means it */
			sigaddset(&child->watched, passed_on[i]);
	}
	sigprocmask(SIG_BLOCK, &child->watched, &child->before);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	run_group_begin(&child->group, command);
}

static void record_process(pid_t pid, pid_t parent, bool start, int status, const char *command)
{
	uint64_t payload[4] = { sb_clock_ticks(), (uint64_t)parent, start, (uint64_t)(int64_t)status };

	sb_put_text(SB_STREAM_KEEP, SB_PROCESS, (uint64_t)pid, payload, 4, command, strlen(command));
}

int run_child_start(struct run_child *child, char **command, char **environment)
{
	const struct inherited_start start = { command, environment, -1, false };
	int error = inherited_spawn(&start, &child->pid);

	child->refused = error == EAGAIN || error == ENOMEM;
	if (child->refused)
		return complain("no process can be started beside this one: %s", strerror(error));
	if (error)
		return cannot_run(command[0], error);
	signal(SIGPIPE, SIG_IGN); /* a summary written to a closed pipe must not change the exit code */
	record_process(child->pid, getpid(), true, -1, command[0]);
	return 0;
}

/* ---- waiting ------------------------------------------------------------------- */

static void name_of(pid_t pid, char *out, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	file = fopen(path, "r");
	if (!file || !fgets(out, (int)size, file))
		snprintf(out, size, "?");
	if (file)
		fclose(file);
	out[strcspn(out, "\n")] = 0;
}

/* Everybody who has ended. What each used is noted before it is gone. */
static void reap(struct run_child *child)
{
	siginfo_t info;

	for (;;) {
		char name[32];
		int status;

		memset(&info, 0, sizeof info);
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
			return;
		name_of(info.si_pid, name, sizeof name);
		sb_tree_reaping(info.si_pid);
		if (waitpid(info.si_pid, &status, 0) != info.si_pid)
			return;
		record_process(info.si_pid, getpid(), false, status, info.si_pid == child->pid ? "" : name);
		if (info.si_pid == child->pid) {
			child->status = status;
			child->ended = true;
		} else {
			child->reaped++;
		}
	}
}

static uint32_t living(pid_t *pids)
{
	sb_tree_rescan();
	sb_tree_update(sb_mono_ns(), false);
	return sb_tree_members(pids, RUN_MEMBERS_MAX);
}

static void kill_all(int signal_number)
{
	pid_t pids[RUN_MEMBERS_MAX];
	uint32_t count = living(pids);

	for (uint32_t i = 0; i < count; i++)
		kill(pids[i], signal_number);
}

/* The receivers of strobe's signals: the command; when that has ended, what it left behind. */
static uint32_t receivers(const struct run_child *child, pid_t *pids)
{
	pids[0] = child->pid;
	return child->ended ? living(pids) : 1;
}

/* As a bit for each enum run_place. */
static unsigned places_of_command(const struct run_child *child)
{
	pid_t pids[RUN_MEMBERS_MAX];
	uint32_t count = receivers(child, pids);
	unsigned places = 0;

	for (uint32_t i = 0; i < count; i++)
		places |= 1u << run_group_place(pids[i]);
	return places;
}

/* To all but those in places that have it. */
static void kill_command(const struct run_child *child, int signal_number, unsigned have_it)
{
	pid_t pids[RUN_MEMBERS_MAX];
	uint32_t count = receivers(child, pids);

	for (uint32_t i = 0; i < count; i++)
		if (!(have_it >> run_group_place(pids[i]) & 1))
			kill(pids[i], signal_number);
}

static void write_left_behind(struct run_child *child)
{
	uint32_t count = child->left_count;
	int used = 0;

	child->left_behind[0] = 0;
	if (count)
		used = snprintf(child->left_behind, sizeof child->left_behind,
			"%u process%s still running: ", count, count == 1 ? "" : "es");
	for (uint32_t i = 0; i < count && i < 8; i++) {
		char name[32];

		name_of(child->left[i], name, sizeof name);
		used += snprintf(child->left_behind + used, sizeof child->left_behind - (size_t)used,
			"%s%d (%s)", i ? ", " : "", (int)child->left[i], name);
	}
}

static void note_left_behind(struct run_child *child)
{
	child->left_count = living(child->left);
	write_left_behind(child);
}

/* One that strobe is the parent of stays in the table of processes until it is waited for. */
static bool is_gone(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == pid || (kill(pid, 0) && errno == ESRCH);
}

/* A helper that ends with its program, such as the resource tracker of Python's multiprocessing, does so a moment later. */
const char *run_child_left(struct run_child *child)
{
	const struct timespec moment = { 0, LEFT_MOMENT_NS };

	for (int tries = 0; tries < LEFT_TRIES && child->left_count; tries++) {
		uint32_t kept = 0;

		for (uint32_t i = 0; i < child->left_count; i++)
			if (!is_gone(child->left[i]))
				child->left[kept++] = child->left[i];
		child->left_count = kept;
		if (kept)
			nanosleep(&moment, NULL);
	}
	write_left_behind(child);
	return child->left_behind;
}

/* What is to happen later, unless the command ends before; 0: nothing. */
struct deadlines {
	uint64_t hint_ns, kill_ns;
	uint64_t look_ns, look_after_ns; /* every time four times as late */
	uint64_t tidy_ns;
	uint64_t follow_ns, follow_after_ns; /* as with look, but always */
};

/* The first Ctrl-C is the program's; the second one means it. */
static void interrupt(struct run_child *child, struct deadlines *later)
{
	uint64_t grace_ns = sb_mono_ns() + GRACE_MS * 1000000ull;

	if (++child->interrupts < 2) {
		later->hint_ns = grace_ns;
		return;
	}
	child->killed_by_us = true;
	if (later->kill_ns) {
		kill_all(SIGKILL);
		return;
	}
	kill_command(child, SIGTERM, 0);
	later->hint_ns = 0;
	later->kill_ns = grace_ns;
}

static void meet_deadlines(struct deadlines *later)
{
	uint64_t now_ns = sb_mono_ns();

	if (later->hint_ns && now_ns >= later->hint_ns) {
		later->hint_ns = 0;
		if (isatty(STDERR_FILENO))
			output_say_apart("strobe: the program goes on after Ctrl-C; once more ends it\n");
	}
	if (later->kill_ns && now_ns >= later->kill_ns)
		kill_all(SIGKILL);
}

static void look(struct run_child *child, struct deadlines *later)
{
	uint64_t now_ns = sb_mono_ns();

	if (!later->look_ns || now_ns < later->look_ns)
		return;
	child->look(child->look_for);
	later->look_after_ns *= 4;
	later->look_ns = later->look_after_ns > LOOK_NS_MOST ? 0 : now_ns + later->look_after_ns;
}

static void tidy(struct run_child *child, struct deadlines *later)
{
	if (!later->tidy_ns || sb_mono_ns() < later->tidy_ns)
		return;
	child->tidy(child->tidy_for);
	later->tidy_ns = sb_mono_ns() + TIDY_NS;
}

/* Of what the command left behind, one that is not in strobe's group; strobe itself: there is none. */
static pid_t left_outside(void)
{
	pid_t pids[RUN_MEMBERS_MAX];
	uint32_t count;

	sb_tree_update(sb_mono_ns(), false);
	count = sb_tree_members(pids, RUN_MEMBERS_MAX);
	for (uint32_t i = 0; i < count; i++)
		if (run_group_place(pids[i]) != RUN_IN_GROUP)
			return pids[i];
	return getpid();
}

/* Most programs that leave strobe's group begin with it; others do it at any time. */
static void follow(struct run_child *child, struct deadlines *later)
{
	uint64_t now_ns = sb_mono_ns();

	if (now_ns < later->follow_ns)
		return;
	run_group_follow(&child->group, child->ended ? left_outside() : child->pid);
	if (later->follow_after_ns < FOLLOW_NS_MOST)
		later->follow_after_ns *= 4;
	later->follow_ns = now_ns + later->follow_after_ns;
}

static uint64_t nearer(uint64_t wait_ns, uint64_t deadline_ns, uint64_t now_ns)
{
	uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;

	return deadline_ns && left_ns < wait_ns ? left_ns : wait_ns;
}

static struct timespec patience_of(const struct deadlines *later)
{
	uint64_t now_ns = sb_mono_ns(), wait_ns = 3600000000000ull;

	wait_ns = nearer(wait_ns, later->look_ns, now_ns);
	wait_ns = nearer(wait_ns, later->tidy_ns, now_ns);
	wait_ns = nearer(wait_ns, later->follow_ns, now_ns);
	if ((later->hint_ns || later->kill_ns) && wait_ns > GRACE_MS / 10 * 1000000ull)
		wait_ns = GRACE_MS / 10 * 1000000ull;
	return (struct timespec){ (time_t)(wait_ns / 1000000000u), (long)(wait_ns % 1000000000u) };
}

static void note_signal(struct run_child *child, int signal_number, struct deadlines *later)
{
	if (signal_number == SIGINT)
		interrupt(child, later);
	if (signal_number == SIGTERM)
		child->terminated = true;
}

/* What is typed goes to the whole group; a hang-up to the session's leader alone, and that may be us:
 * `ssh -t host strobe run …`. */
static bool is_typed(const siginfo_t *info)
{
	return info->si_code == SI_KERNEL && info->si_signo != SIGHUP;
}

static void pass_on(struct run_child *child, const siginfo_t *info, struct deadlines *later)
{
	struct run_heard heard = { *info, 0 }, next = heard;
	bool another = true;

	while (another) {
		bool typed = is_typed(&heard.info);

		another = run_group_hear(&child->group, typed ? 0 : places_of_command(child), &heard, &next);
		if (!typed)
			kill_command(child, heard.info.si_signo, heard.places);
		note_signal(child, heard.info.si_signo, later);
		heard = next;
	}
}

/* Who was born while the others were being ended. */
static void kill_the_rest(struct run_child *child)
{
	const struct timespec moment = { 0, 10000000 };
	pid_t pids[RUN_MEMBERS_MAX];

	for (int tries = 0; tries < 20 && living(pids); tries++) {
		kill_all(SIGKILL);
		nanosleep(&moment, NULL);
		reap(child);
	}
}

void run_child_wait(struct run_child *child, bool all)
{
	struct deadlines later = { .look_after_ns = LOOK_NS_FIRST,
		.look_ns = child->look ? sb_mono_ns() + LOOK_NS_FIRST : 0,
		.tidy_ns = child->tidy ? sb_mono_ns() + TIDY_NS : 0,
		.follow_after_ns = FOLLOW_NS_FIRST,
		.follow_ns = sb_mono_ns() + FOLLOW_NS_FIRST };

	for (;;) {
		struct timespec patience = patience_of(&later);
		siginfo_t info;
		int got;

		got = sigtimedwait(&child->watched, &info, &patience);
		if (got > 0 && got != SIGCHLD)
			pass_on(child, &info, &later);
		reap(child);
		run_group_look(&child->group);
		if (!child->ended || all)
			follow(child, &later);
		meet_deadlines(&later);
		tidy(child, &later);
		if (child->ended)
			later.look_ns = 0;
		else
			look(child, &later);
		if (child->ended && (!all || waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT)))
			break;
	}
	if (child->killed_by_us)
		kill_the_rest(child);
	note_left_behind(child);
}

void run_child_release(struct run_child *child)
{
	const struct timespec at_once = { 0, 0 };

	while (sigtimedwait(&child->watched, NULL, &at_once) > 0)
		continue;
	run_group_end(&child->group);
	sigprocmask(SIG_SETMASK, &child->before, NULL);
}
