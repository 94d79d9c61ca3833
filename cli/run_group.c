/* The witness: a process that only waits for questions of strobe. It has no open file but the socket, ends with
 * strobe however that ends, and is no child for wait() without __WALL, so that it is neither reaped nor counted
 * as a part of the command. */
#include "run_group.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Who signals all processes one by one (Slurm, systemd), or strobe first and then the group (timeout), needs
 * this long at most. */
#define MOMENT_NS 2000000
#define ANSWER_MS 1000

struct answer {
	int got; /* the signal, or -1 */
	pid_t pid; /* of the sender */
	uid_t uid;
};

/* ---- in the witness: system calls only, strobe may have had threads --------------------- */

static void close_others(void)
{
	struct rlimit most = { 0 };

	if (!syscall(SYS_close_range, 1u, ~0u, 0u))
		return;
	getrlimit(RLIMIT_NOFILE, &most);
	for (int fd = 1; fd < 65536 && (rlim_t)fd < most.rlim_cur; fd++)
		close(fd);
}

/* `pkill strobe` and `pkill -f 'strobe run'` mean strobe, whose signal is then passed on; `pkill -f train.py` means
 * every process with the command in its line. So the witness has the command in its line, but not strobe. */
static void be_named_after(char **command)
{
	static const char title[] = "witness";
	char *start = program_invocation_name, *tail = command[0], *end = tail;
	size_t tail_size;

	prctl(PR_SET_NAME, title);
	prctl(PR_SET_DUMPABLE,
		0); /* `pidof strobe` and `killall /usr/bin/strobe` look at the link to the program */
	for (char **c = command; *c; c++)
		end = *c >= end ? *c + strlen(*c) + 1 : end;
	tail_size = (size_t)(end - tail);
	if (tail < start + sizeof title)
		return;
	memmove(start + sizeof title, tail, tail_size);
	memcpy(start, title, sizeof title);
	memset(start + sizeof title + tail_size, 0, (size_t)(end - start) - sizeof title - tail_size);
}

static _Noreturn void witness(int fd, pid_t strobe, char **command)
{
	const struct timespec at_once = { 0, 0 };
	unsigned char asked;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != strobe)
		_exit(0);
	be_named_after(command);
	dup2(fd, 0);
	close_others();
	while (read(0, &asked, 1) == 1) {
		struct answer answer = { 0 };
		siginfo_t info;
		sigset_t set;

		memset(&info, 0, sizeof info);
		sigemptyset(&set);
		sigaddset(&set, asked);
		answer.got = sigtimedwait(&set, &info, &at_once);
		answer.pid = info.si_pid;
		answer.uid = info.si_uid;
		if (write(0, &answer, sizeof answer) != sizeof answer)
			break;
	}
	_exit(0);
}

/* ---- in strobe ------------------------------------------------------------------------- */

/* Like fork(), but the child's end sends no SIGCHLD. */
static pid_t start(int fd, char **command)
{
	pid_t strobe = getpid(), pid;
	sigset_t every, before;

	sigfillset(&every);
	sigprocmask(SIG_SETMASK, &every, &before);
	pid = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (!pid)
		witness(fd, strobe, command);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

void run_group_begin(struct run_group *group, char **command)
{
	int pair[2];

	*group = (struct run_group){ 0, -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return;
	group->fd = fcntl(pair[0], F_DUPFD_CLOEXEC, 3); /* never 0 to 2: the command would get it */
	close(pair[0]);
	group->pid = group->fd < 0 ? -1 : start(pair[1], command);
	close(pair[1]);
	if (group->pid < 0) {
		group->pid = 0;
		run_group_end(group);
	}
}

void run_group_end(struct run_group *group)
{
	if (group->fd >= 0)
		close(group->fd);
	if (group->pid > 0) {
		kill(group->pid, SIGKILL);
		while (waitpid(group->pid, NULL, __WALL) < 0 && errno == EINTR)
			continue;
	}
	*group = (struct run_group){ 0, -1 };
}

void run_group_look(struct run_group *group)
{
	if (group->pid > 0 && waitpid(group->pid, NULL, __WALL | WNOHANG) == group->pid) {
		group->pid = 0;
		run_group_end(group);
	}
}

/* The kernel signals the members of a group one after another, holding a lock that this call has to wait for:
 * afterwards all of them have it, or none. */
static void let_delivery_finish(const struct run_group *group)
{
	setpgid(group->pid, getpgrp());
}

/* Takes the signal from the witness. */
static bool ask(struct run_group *group, const siginfo_t *info)
{
	unsigned char signal_number = (unsigned char)info->si_signo;
	struct pollfd answered = { group->fd, POLLIN, 0 };
	struct answer answer;

	if (group->pid <= 0)
		return false;
	let_delivery_finish(group);
	if (send(group->fd, &signal_number, 1, MSG_NOSIGNAL) != 1 || poll(&answered, 1, ANSWER_MS) != 1 ||
		recv(group->fd, &answer, sizeof answer, 0) != sizeof answer) {
		run_group_end(group); /* killed, or held: strobe goes on without it */
		return false;
	}
	let_delivery_finish(group);
	return answer.got == info->si_signo && answer.pid == info->si_pid && answer.uid == info->si_uid;
}

static int take(int signal_number, long patience_ns, siginfo_t *out_info)
{
	struct timespec patience = { 0, patience_ns };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal_number);
	return sigtimedwait(&set, out_info, &patience);
}

bool run_group_got(struct run_group *group, const siginfo_t *info)
{
	bool got = ask(group, info);
	siginfo_t more;

	/* One that came between strobe's taking and the witness's was one with the first for the witness. */
	while (got && take(info->si_signo, 0, &more) == info->si_signo)
		ask(group, &more);
	return got;
}

bool run_group_next(const struct run_group *group, int signal_number, siginfo_t *out_info)
{
	return group->pid > 0 && take(signal_number, MOMENT_NS, out_info) == signal_number;
}
