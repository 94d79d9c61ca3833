/* One measured run of a command. */
#include "bench_child.h"
#include "command.h"
#include "inherited.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TAIL_BYTES 65536

extern char **environ;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int output_file(void)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("strobe-bench", MFD_CLOEXEC);
}

/* Never 0 to 2, which strobe may have been started without: these are the command's. */
static int keep_high(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (fd >= 0)
		close(fd);
	return high;
}

/* The last of what the command printed; returns its size. */
static size_t read_tail(int output, char *tail, size_t size)
{
	struct stat st;
	ssize_t n;

	if (fstat(output, &st) || !S_ISREG(st.st_mode))
		return 0;
	n = pread(
		output, tail, size - 1, st.st_size > (off_t)(size - 1) ? st.st_size - (off_t)(size - 1) : 0);
	n = n < 0 ? 0 : n;
	for (ssize_t i = 0; i < n; i++)
		if (!tail[i])
			tail[i] = ' ';
	tail[n] = 0;
	return (size_t)n;
}

static bool says_out_of_memory(const char *text)
{
	static const char *const words[] = { "out of memory", "OutOfMemoryError", "MemoryError",
		"std::bad_alloc", "CUDA_ERROR_OUT_OF_MEMORY", "Cannot allocate memory" };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcasestr(text, words[i]))
			return true;
	return false;
}

static void take_last_line(const char *tail, char *out, size_t size)
{
	const char *end = tail + strlen(tail), *start;
	size_t n;

	while (end > tail && strchr(" \t\r\n", end[-1]))
		end--;
	for (start = end; start > tail && start[-1] != '\n'; start--)
		;
	n = (size_t)(end - start);
	snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), start);
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < 0x20)
			*c = ' ';
}

/* The out-of-memory killer leaves no line: a SIGKILL that bench did not send is taken
 * for it, and named so. */
static void explain(struct bench_run *run, int status, int output, bool timed_out)
{
	static char tail[TAIL_BYTES];
	size_t size = read_tail(output, tail, sizeof tail);
	char last[120] = "";

	if (size)
		take_last_line(tail, last, sizeof last);
	if (timed_out) {
		run->state = SB_BENCH_TIMEOUT;
		snprintf(run->reason, sizeof run->reason, "stopped after %.1f s", run->seconds);
	} else if (size && says_out_of_memory(tail)) {
		run->state = SB_BENCH_OOM;
		snprintf(run->reason, sizeof run->reason, "%s", *last ? last : "out of memory");
	} else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		run->state = SB_BENCH_OOM;
		snprintf(run->reason, sizeof run->reason,
			"killed by SIGKILL, most likely the out-of-memory killer");
	} else {
		run->state = SB_BENCH_FAILED;
		if (WIFSIGNALED(status))
			snprintf(run->reason, sizeof run->reason, "killed by signal %d (%s)",
				WTERMSIG(status), strsignal(WTERMSIG(status)));
		else
			snprintf(run->reason, sizeof run->reason, "exit %d%s%s", WEXITSTATUS(status),
				*last ? ": " : "", last);
	}
}

/* Waits for the child; kills its group at the deadline or on Ctrl-C. */
static int await(const struct bench_child *child, pid_t pid, double start, struct bench_run *run,
	struct rusage *usage, bool *out_timed_out)
{
	sigset_t wanted;
	int status;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGCHLD);
	sigaddset(&wanted, SIGINT);
	sigaddset(&wanted, SIGTERM);
	while (wait4(pid, &status, WNOHANG, usage) != pid) {
		double left = child->timeout_s > 0 ? start + child->timeout_s - now_s() : 1;
		double nap = left < 0.001 ? 0.001 : left < 1 ? left : 1;
		struct timespec t = { (time_t)nap, (long)((nap - floor(nap)) * 1e9) };
		int got = sigtimedwait(&wanted, NULL, &t);

		if (got == SIGINT || got == SIGTERM) {
			kill(-pid, run->interrupted ? SIGKILL : got);
			run->interrupted = true;
		} else if (child->timeout_s > 0 && left <= 0) {
			*out_timed_out = true;
			kill(-pid, SIGKILL);
		}
		if (child->tick && got < 0)
			child->tick(child->context);
	}
	return status;
}

int bench_child_run(const struct bench_child *child, char **command, struct bench_run *out_run)
{
	struct bench_run run = { SB_BENCH_OK, 0, NAN, NAN, false, "" };
	int output = keep_high(child->show_output ? dup(STDERR_FILENO) : output_file());
	sigset_t blocked, before;
	struct rusage usage = { 0 };
	bool timed_out = false;
	const struct inherited_start start = { command, environ, output, true };
	double begin_s;
	pid_t pid;
	int status, error;

	if (output < 0)
		return sb_fail_errno("cannot keep the command's output");
	signal(SIGCHLD, SIG_DFL); /* ignored, it would reap behind our back */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	begin_s = now_s();
	error = inherited_spawn(&start, &pid);
	if (error) {
		run.state = SB_BENCH_FAILED;
		run.exit_code = error == ENOENT ? 127 : 126;
		snprintf(
			run.reason, sizeof run.reason, "cannot run '%.80s': %s", command[0], strerror(error));
	} else {
		status = await(child, pid, begin_s, &run, &usage, &timed_out);
		run.seconds = now_s() - begin_s;
		run.peak_memory_bytes = (double)usage.ru_maxrss * 1024;
		run.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		if (status)
			explain(&run, status, output, timed_out);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(output);
	*out_run = run;
	return 0;
}

int bench_child_exit_code(const struct bench_run *run)
{
	return run->exit_code > EXIT_USAGE ? run->exit_code : EXIT_COMMAND;
}
