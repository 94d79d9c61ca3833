/* Reads what the command prints, passes it on, and turns its stage lines into zones. */
#include "run_labels.h"

#include "command.h"
#include "exchange/stagelog.h"
#include "exchange/text_clean.h"
#include "exchange/textlog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static const int descriptors[2] = { STDOUT_FILENO, STDERR_FILENO };

/* ---- lines ----------------------------------------------------------------- */

static int64_t since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)(now.tv_sec - start->tv_sec) * 1000000000 + now.tv_nsec - start->tv_nsec;
}

static void remember(struct run_labels *l, const char *text)
{
	pthread_mutex_lock(&l->lock);
	snprintf(l->last, sizeof l->last, "%.*s", (int)sizeof l->last - 1, text + strspn(text, " \t"));
	pthread_mutex_unlock(&l->lock);
}

bool run_labels_last(void *of, char *out, size_t size)
{
	struct run_labels *l = of;

	pthread_mutex_lock(&l->lock);
	snprintf(out, size, "%s", l->last);
	pthread_mutex_unlock(&l->lock);
	return *out;
}

static void take_line(struct run_labels *l, char *text)
{
	struct sb_stagelog_line line;

	sb_text_strip_colours(text);
	sb_stagelog_parse(text, &line);
	if (line.kind >= SB_STAGELOG_TIMED && line.kind <= SB_STAGELOG_UNTIMED)
		remember(l, text);
	l->log->now_ns = since(&l->start);
	if (sb_stagelog_take(l->log, &line))
		l->failed = true;
}

static void take_bytes(struct run_labels *l, struct label_stream *s, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != '\n' && bytes[i] != '\r') {
			if (s->used < sizeof s->line - 1 && bytes[i])
				s->line[s->used++] = bytes[i];
			continue;
		}
		s->line[s->used] = 0;
		if (s->used && !l->failed)
			take_line(l, s->line);
		s->used = 0;
	}
}

/* ---- passing on ------------------------------------------------------------- */

/* false: its reader has gone. What a full disk does not take is dropped. */
static bool write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
			poll(&(struct pollfd){ fd, POLLOUT, 0 }, 1, 100);
			continue;
		}
		if (n <= 0)
			return n == 0 || errno == ENOSPC || errno == EFBIG || errno == EDQUOT;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

/* false: nothing more will come, or goes anywhere: the command shall learn that as it would have without us. */
static bool pass_on(struct run_labels *l, struct label_stream *s)
{
	char buffer[65536];
	ssize_t n = read(s->from, buffer, sizeof buffer);
	bool passed;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0) /* a terminal whose other end is closed: EIO */
		return false;
	passed = write_all(s->to, buffer, (size_t)n);
	take_bytes(l, s, buffer, (size_t)n);
	return passed;
}

static void *pump(void *self)
{
	struct run_labels *l = self;
	bool ending = false;

	for (;;) {
		struct pollfd waiting[3] = { { l->streams[0].from, POLLIN, 0 },
			{ l->streams[1].from, POLLIN, 0 }, { ending ? -1 : l->stop[0], POLLIN, 0 } };
		int ready;

		if (waiting[0].fd < 0 && waiting[1].fd < 0 && ending)
			return NULL;
		ready = poll(waiting, 3, ending ? 0 : -1);
		if (ready < 0 && errno != EINTR)
			return NULL;
		if (ending && ready <= 0)
			return NULL; /* what others below the command still write is not waited for */
		for (int i = 0; i < 2; i++)
			if (waiting[i].revents && !pass_on(l, &l->streams[i])) {
				close(l->streams[i].from);
				l->streams[i].from = -1;
			}
		ending |= waiting[2].revents != 0;
	}
}

/* ---- beginning and end -------------------------------------------------------- */

/* A terminal like ours, that changes nothing on the way: ours does that already. */
static int open_terminal(int like, int *out_from, int *out_to)
{
	struct termios mode;
	struct winsize size;
	bool known = !tcgetattr(like, &mode);

	if (known)
		mode.c_oflag &= (tcflag_t)~OPOST;
	memset(&size, 0, sizeof size);
	ioctl(like, TIOCGWINSZ, &size);
	return openpty(out_from, out_to, NULL, known ? &mode : NULL, &size);
}

static int open_stream(struct label_stream *s, int descriptor)
{
	int pair[2] = { -1, -1 };
	int failed = isatty(descriptor) ? open_terminal(descriptor, &pair[0], &pair[1]) : pipe(pair);

	if (failed)
		return -1;
	fcntl(pair[0], F_SETFD, FD_CLOEXEC);
	fcntl(pair[1], F_SETFD, FD_CLOEXEC);
	s->from = pair[0];
	s->write_end = pair[1];
	s->to = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
	return s->to < 0 ? -1 : 0;
}

static void give_back(struct run_labels *l)
{
	for (int i = 0; i < 2; i++) {
		if (l->streams[i].to >= 0)
			dup2(l->streams[i].to, descriptors[i]);
		if (l->streams[i].write_end >= 0)
			close(l->streams[i].write_end);
		l->streams[i].write_end = -1;
	}
}

int run_labels_begin(struct run_labels *l)
{
	struct timespec real;

	memset(l, 0, sizeof *l);
	pthread_mutex_init(&l->lock, NULL);
	l->stop[0] = l->stop[1] = -1;
	for (int i = 0; i < 2; i++)
		l->streams[i].from = l->streams[i].to = l->streams[i].write_end = -1;
	l->log = calloc(1, sizeof *l->log);
	if (!l->log)
		return complain("--labels: no memory");
	l->log->banner = SB_TEXTLOG_NONE;
	clock_gettime(CLOCK_MONOTONIC, &l->start);
	clock_gettime(CLOCK_REALTIME, &real);
	l->log->start_real_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
	if (pipe2(l->stop, O_CLOEXEC))
		return complain("--labels: cannot make a pipe: %s", strerror(errno));
	for (int i = 0; i < 2; i++)
		if (fcntl(descriptors[i], F_GETFD) >= 0 && open_stream(&l->streams[i], descriptors[i]))
			return complain(
				"--labels: cannot watch what the command prints: %s", strerror(errno));
	/* a pipe makes Python keep its lines back until there are many */
	setenv("PYTHONUNBUFFERED", "1", 0);
	for (int i = 0; i < 2; i++)
		if (l->streams[i].write_end >= 0)
			dup2(l->streams[i].write_end, descriptors[i]);
	return 0;
}

int run_labels_started(struct run_labels *l)
{
	give_back(l);
	l->running = !pthread_create(&l->thread, NULL, pump, l);
	return l->running ? 0 : complain("--labels: cannot start a thread");
}

/* The lines as a recording of the process that printed them. */
static void write_recording(struct run_labels *l, const char *folder, const char *name, pid_t pid)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof path, "%s/run.labels.strobe", folder) >= sizeof path)
		return;
	l->log->now_ns = since(&l->start);
	sb_textlog_end_segment(l->log);
	if (l->log->count && sb_textlog_write_live(l->log, name, (uint32_t)pid, path))
		complain_last();
}

bool run_labels_end(struct run_labels *l, const char *folder, const char *name, pid_t pid)
{
	bool any = false;

	if (l->running) {
		close(l->stop[1]);
		pthread_join(l->thread, NULL);
		close(l->stop[0]);
		for (int i = 0; i < 2; i++) {
			if (l->streams[i].from >= 0)
				close(l->streams[i].from);
			if (l->streams[i].to >= 0)
				close(l->streams[i].to);
		}
	}
	if (l->log && l->running && folder) {
		write_recording(l, folder, name, pid);
		any = l->log->count > 0;
	}
	if (l->log)
		sb_textlog_done(l->log);
	free(l->log);
	memset(l, 0, sizeof *l);
	return any;
}
