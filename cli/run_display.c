/* Watches one file of the run folder, to which programs of the command append a line "SECONDS<tab>LABEL": show the live
 * display every so many seconds under that label; 0: no longer. */
#include "run_display.h"

#include "monitor/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define FILE_NAME "display_asked.txt"

enum { LOOK_MS = 1000, LINES_BYTES = 4096 };

static void close_all(struct run_display *d)
{
	int *const all[] = { &d->file, &d->changes, &d->end[0], &d->end[1] };

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		if (*all[i] >= 0)
			close(*all[i]);
		*all[i] = -1;
	}
}

void run_display_begin(struct run_display *d, const char *run_dir, const struct sb_folder *id)
{
	char opened[40];

	*d = (struct run_display){
		.folder = run_dir, .folder_id = id, .file = -1, .changes = -1, .end = { -1, -1 }
	};
	snprintf(d->path, sizeof d->path, "%s/" FILE_NAME, run_dir);
	d->file = sb_folder_create_in(run_dir, id, FILE_NAME, 0600);
	if (d->file < 0 || pipe2(d->end, O_CLOEXEC)) {
		if (d->file >= 0)
			sb_folder_remove_in(run_dir, id, FILE_NAME);
		close_all(d);
		d->path[0] = 0;
		return;
	}
	d->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	snprintf(opened, sizeof opened, "/proc/self/fd/%d", d->file);
	if (d->changes >= 0 && inotify_add_watch(d->changes, opened, IN_MODIFY) < 0) {
		close(d->changes);
		d->changes = -1;
	}
}

/* One line without its end. What is no such line asks for nothing. */
static void take(char *line)
{
	char *label = strchr(line, '\t'), *end;
	double interval_s = strtod(line, &end);

	if (!label || end != label || !(interval_s >= 0 && interval_s <= 86400))
		return;
	sb_monitor_show(interval_s, label + 1);
}

/* The whole lines that came since the last look. */
static void read_lines(struct run_display *d)
{
	char text[LINES_BYTES + 1], *line, *newline;
	ssize_t size;

	while ((size = pread(d->file, text, LINES_BYTES, d->seen)) > 0) {
		text[size] = 0;
		for (line = text; (newline = memchr(line, '\n', (size_t)(text + size - line)));
			line = newline + 1) {
			*newline = 0;
			take(line);
		}
		if (line == text && size < LINES_BYTES) /* half a line: the rest will come */
			return;
		d->seen += line > text ? line - text : size;
	}
}

static void run(struct sb_thread *thread)
{
	struct run_display *d = thread->owner;
	struct pollfd on[2] = { { .fd = d->end[0], .events = POLLIN },
		{ .fd = d->changes, .events = POLLIN } };
	char events[LINES_BYTES];

	for (;;) {
		read_lines(d);
		if (poll(on, 2, d->changes >= 0 ? -1 : LOOK_MS) < 0 && errno != EINTR)
			return;
		if (on[0].revents)
			return;
		while (d->changes >= 0 && read(d->changes, events, sizeof events) > 0)
			continue;
	}
}

void run_display_watch(struct run_display *d)
{
	if (d->path[0])
		d->started = sb_thread_start(&d->thread, "strobe-display", run, d);
}

void run_display_end(struct run_display *d)
{
	if (!d->path[0])
		return;
	if (d->started) {
		close(d->end[1]); /* the reader sees a hang-up */
		d->end[1] = -1;
		sb_thread_stop(&d->thread, 10000000000ull);
	}
	close_all(d);
	sb_folder_remove_in(d->folder, d->folder_id, FILE_NAME);
	d->path[0] = 0;
}
