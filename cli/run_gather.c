/* Gathering the recordings of short-lived processes. */
#include "run_gather.h"

#include "base/newfile.h"
#include "format/gathered.h"
#include "format/reader.h"
#include "record/put.h"
#include "run/run.h"
#include "run/unrecorded.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GATHERED_FILE "run.workers.strobe"
/* A process that was killed leaves up to LARGE_BYTES for what it used of SMALL_BYTES. */
enum { FEW = 32, MANY = 4096, SMALL_BYTES = 256 * 1024, LARGE_BYTES = 4 * 1024 * 1024 };

/* "run.4711.strobe", "run.4711.1.strobe" */
static bool is_name_of_process(const char *name)
{
	size_t size = strlen(name);

	return size > 11 && size < 64 && !strncmp(name, "run.", 4) && isdigit((unsigned char)name[4]) &&
	       !strcmp(name + size - 7, ".strobe");
}

/* No process has it open for writing or mapped, in any container: the kernel gives a lease
 * on such a file only. Where a filesystem has no leases, files stay as they are. */
static bool has_no_writer(int fd)
{
	void (*before)(int) = signal(SIGIO, SIG_IGN); /* sent to the holder when the file is opened */
	bool leased = !fcntl(fd, F_SETLEASE, F_RDLCK);

	if (leased)
		fcntl(fd, F_SETLEASE, F_UNLCK);
	signal(SIGIO, before);
	return leased;
}

static bool is_of_ended_process(const struct run_gather *g, int fd)
{
	struct sb_file_header head;

	return sb_read_at(fd, &head, sizeof head, 0) == sizeof head &&
	       !memcmp(head.magic, SB_MAGIC, sizeof head.magic) && (pid_t)head.pid != g->command &&
	       !sb_run_is_running(&head) && has_no_writer(fd);
}

/* A small recording of a process that has ended: its descriptor, or -1. */
static int open_finished(const struct run_gather *g, int folder, const char *name)
{
	struct stat st;
	int fd = sb_folder_read(folder, name);

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && st.st_size <= LARGE_BYTES && is_of_ended_process(g, fd) &&
		sb_gathered_bytes(fd) <= SMALL_BYTES)
		return fd;
	close(fd);
	return -1;
}

struct found {
	char names[MANY][64];
	bool taken[MANY]; /* gathered or dropped: to be removed */
	unsigned count;
};

/* A bounded number at a time: the rest is found the next time. */
static void find(const struct run_gather *g, int folder, struct found *out)
{
	int again = dup(folder);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	out->count = 0;
	while (d && out->count < MANY && (entry = readdir(d))) {
		int fd = is_name_of_process(entry->d_name) ? open_finished(g, folder, entry->d_name) : -1;

		if (fd < 0)
			continue;
		close(fd);
		snprintf(out->names[out->count++], sizeof out->names[0], "%s", entry->d_name);
	}
	if (d)
		closedir(d);
	else if (again >= 0)
		close(again);
}

static bool begin(struct run_gather *g, int folder)
{
	int fd;

	if (g->fd > 0)
		return true;
	fd = sb_folder_create(folder, GATHERED_FILE, 0600);
	if (fd < 0)
		return false;
	if (!sb_gathered_begin(fd)) {
		unlinkat(folder, GATHERED_FILE, 0);
		close(fd);
		return false;
	}
	g->fd = fd;
	return true;
}

/* False: it stays, for the disk is full or it is no recording. */
static bool gather(struct run_gather *g, int folder, const char *name)
{
	int fd = open_finished(g, folder, name);
	struct stat st;
	bool taken = fd >= 0;

	if (fd < 0)
		return false;
	if (g->bytes >= g->most_bytes)
		g->dropped_count++;
	else
		taken = sb_gathered_add(g->fd, fd);
	close(fd);
	if (!fstat(g->fd, &st))
		g->bytes = (uint64_t)st.st_size;
	return taken;
}

/* The originals go when the copies are on the disk. */
static void gather_all(struct run_gather *g, int folder, struct found *found)
{
	for (unsigned i = 0; i < found->count; i++)
		found->taken[i] = gather(g, folder, found->names[i]);
	if (!sb_newfile_flush(g->fd))
		return;
	for (unsigned i = 0; i < found->count; i++)
		if (found->taken[i])
			unlinkat(folder, found->names[i], 0);
}

void run_gather_finished(struct run_gather *g)
{
	int folder = sb_folder_reopen(g->folder, g->folder_id);
	struct found *found = folder < 0 ? NULL : malloc(sizeof *found);

	for (int round = 0; found && round < 256; round++) {
		find(g, folder, found);
		if (!found->count || (g->fd <= 0 && found->count < FEW) || !begin(g, folder))
			break;
		gather_all(g, folder, found);
		if (found->count < MANY)
			break;
	}
	free(found);
	if (folder >= 0)
		close(folder);
}

static void keep(void *self, const char *what, const char *why, const char *how)
{
	(void)self;
	sb_keep_missing(what, why, how);
}

bool run_gather_say_refused(const struct run_gather *g)
{
	int folder = sb_folder_reopen(g->folder, g->folder_id);
	struct sb_unrecorded u;

	if (folder < 0)
		return false;
	u = sb_unrecorded_count(folder, true);
	close(folder);
	sb_unrecorded_say(&u, keep, NULL);
	return u.run_full || u.disk_full;
}

void run_gather_end(struct run_gather *g)
{
	struct sb_unrecorded dropped = { 0 };

	run_gather_finished(g);
	dropped.budget_full = g->dropped_count;
	if (g->fd > 0)
		close(g->fd);
	g->fd = 0;
	sb_unrecorded_say(&dropped, keep, NULL);
}
