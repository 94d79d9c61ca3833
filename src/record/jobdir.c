/* Job folders: one for every start of a job, side by side. */
#include "record/jobdir.h"

#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

enum { ATTEMPTS_MAX = 10000 };
#define LAUNCH_FILE "launch.txt" /* which start of the job made the folder */

static bool write_launch(int folder, const char *launch)
{
	int fd = sb_folder_create(folder, LAUNCH_FILE, 0600);
	size_t size = strlen(launch);
	bool written = fd >= 0 && write(fd, launch, size) == (ssize_t)size;

	if (fd >= 0)
		close(fd);
	return written;
}

static bool same_launch(int folder, const char *launch)
{
	char text[sizeof((struct sb_rank *)0)->launch + 1];
	int fd = sb_folder_read(folder, LAUNCH_FILE);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof text);
	close(fd);
	return n == (ssize_t)strlen(launch) && !memcmp(text, launch, (size_t)n);
}

static int rename_new(int parent, const char *from, const char *to)
{
	long r = syscall(SYS_renameat2, parent, from, parent, to, RENAME_NOREPLACE);

	if (!r || (errno != EINVAL && errno != ENOSYS))
		return (int)r;
	return renameat(parent, from, parent, to); /* onto a folder with a file in it, it fails too */
}

/* The folder appears with its launch file in it, or not at all: a rank that comes at
 * the same time never sees it half made. */
static int make_job(int parent, const char *name, const char *launch)
{
	char hidden[96];
	int fd, why;

	snprintf(hidden, sizeof hidden, ".strobe-job-%ld-%lx", (long)getpid(), (unsigned long)&hidden);
	if (mkdirat(parent, hidden, 0700))
		return -1;
	fd = sb_folder_open(parent, hidden, SB_FOLDER_PRIVATE);
	if (fd >= 0 && write_launch(fd, launch) && !rename_new(parent, hidden, name))
		return fd;
	why = errno;
	if (fd >= 0) {
		unlinkat(fd, LAUNCH_FILE, 0);
		close(fd);
	}
	unlinkat(parent, hidden, AT_REMOVEDIR);
	errno = why;
	return -1;
}

static int join_or_make(int parent, const char *name, const char *launch)
{
	int fd = sb_folder_open(parent, name, SB_FOLDER_PRIVATE);

	if (fd < 0 && errno == ENOENT) {
		fd = make_job(parent, name, launch);
		if (fd >= 0 || (errno != EEXIST && errno != ENOTEMPTY))
			return fd;
		fd = sb_folder_open(parent, name, SB_FOLDER_PRIVATE);
	}
	if (fd >= 0 && same_launch(fd, launch))
		return fd;
	if (fd >= 0)
		close(fd);
	errno = EEXIST; /* a file, a link, a stranger's folder, another start's: not this one */
	return -1;
}

/* -1 with EEXIST: this attempt is not ours to join. */
static int make_rank_in(int parent, const char *name, const struct sb_rank *rank)
{
	char rank_name[24];
	int job = join_or_make(parent, name, rank->launch), fd = -1, why;

	if (job < 0)
		return -1;
	snprintf(rank_name, sizeof rank_name, "rank_%d", rank->rank);
	if (!mkdirat(job, rank_name, 0700))
		fd = sb_folder_open(job, rank_name, SB_FOLDER_PRIVATE);
	why = errno;
	close(job);
	errno = why;
	return fd;
}

int sb_jobdir_make_rank(int parent, const char *stem, const struct sb_rank *rank, char *out_name, size_t size)
{
	for (int attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
		int fd;

		if (attempt == 1)
			snprintf(out_name, size, "%s", stem);
		else
			snprintf(out_name, size, "%s.%d", stem, attempt);
		fd = make_rank_in(parent, out_name, rank);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}
