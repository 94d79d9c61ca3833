/* The witness only waits for questions of strobe. It has no open file but the socket, ends with strobe however that
 * ends, and is no child for wait() without __WALL, so that it is neither reaped nor counted as a part of the command. */
#include "run_witness.h"

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

#define ANSWER_MS 5000

/* ---- in the witness: system calls only, strobe may have threads ------------------------- */

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

static void go_to(enum run_place place)
{
	if (place == RUN_IN_SESSION)
		setpgid(0, 0);
	if (place == RUN_APART)
		setsid();
}

static void answer_questions(void)
{
	const struct timespec at_once = { 0, 0 };
	unsigned char asked;

	while (read(0, &asked, 1) == 1) {
		struct run_answer answer = { 0 };
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
}

static _Noreturn void testify(int fd, pid_t strobe, enum run_place place, char **command)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != strobe)
		_exit(0);
	go_to(place);
	be_named_after(command);
	dup2(fd, 0);
	close_others();
	answer_questions();
	_exit(0);
}

/* ---- in strobe ------------------------------------------------------------------------- */

/* Like fork(), but the child's end sends no SIGCHLD. */
static pid_t start(int fd, enum run_place place, char **command)
{
	pid_t strobe = getpid(), pid;
	sigset_t every, before;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	pid = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (!pid)
		testify(fd, strobe, place, command);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

void run_witness_begin(struct run_witness *witness, enum run_place place, char **command)
{
	int pair[2];

	*witness = (struct run_witness){ 0, -1, place };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return;
	witness->fd = fcntl(pair[0], F_DUPFD_CLOEXEC, 3); /* never 0 to 2: the command would get it */
	close(pair[0]);
	witness->pid = witness->fd < 0 ? -1 : start(pair[1], place, command);
	close(pair[1]);
	if (witness->pid < 0) {
		witness->pid = 0;
		run_witness_end(witness);
	}
}

void run_witness_end(struct run_witness *witness)
{
	if (witness->fd >= 0)
		close(witness->fd);
	if (witness->pid > 0) {
		kill(witness->pid, SIGKILL);
		while (waitpid(witness->pid, NULL, __WALL) < 0 && errno == EINTR)
			continue;
	}
	*witness = (struct run_witness){ 0, -1, witness->place };
}

void run_witness_look(struct run_witness *witness)
{
	if (witness->pid > 0 && waitpid(witness->pid, NULL, __WALL | WNOHANG) == witness->pid) {
		witness->pid = 0;
		run_witness_end(witness);
	}
}

bool run_witness_ask(struct run_witness *witness, int signal_number, struct run_answer *out_answer)
{
	unsigned char asked = (unsigned char)signal_number;
	struct pollfd answered = { witness->fd, POLLIN, 0 };

	if (witness->pid <= 0)
		return false;
	kill(witness->pid,
		SIGCONT); /* who stopped every process, and let the program alone go on, has stopped it */
	if (send(witness->fd, &asked, 1, MSG_NOSIGNAL) == 1 && poll(&answered, 1, ANSWER_MS) == 1 &&
		recv(witness->fd, out_answer, sizeof *out_answer, 0) == sizeof *out_answer)
		return true;
	run_witness_end(witness); /* killed, or held: strobe goes on without it */
	return false;
}
