/* Job folders: one for every start of a job, side by side. */
#include "record/jobdir.h"

#include "base/folder.h"
#include "record/descriptor.h"
#include "record/launcher.h"

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

/* What the file says: a line that all ranks of one start share, and, where that may be
 * shared by another start too, the machine and the launching process of its maker. */
struct launch {
	char text[sizeof((struct sb_rank *)0)->launch];
	struct sb_launcher by; /* machine "": not known */
};

static struct launch launch_of(const struct sb_rank *rank)
{
	struct launch l = { .by = { "", "" } };

	memcpy(l.text, rank->launch, sizeof l.text);
	if (!rank->launch_told)
		sb_launcher_find(rank->entry, &l.by);
	return l;
}

static bool write_launch(int folder, const struct launch *l)
{
	char text[sizeof *l + 4];
	int fd = sb_folder_create(folder, LAUNCH_FILE, 0600);
	int size = snprintf(text, sizeof text, l->by.machine[0] ? "%s\n%s\n%s" : "%s", l->text, l->by.machine,
		l->by.process);
	bool written = fd >= 0 && sb_descriptor_write(fd, text, (size_t)size);

	if (fd >= 0)
		close(fd);
	return written;
}

/* The next line of the text, ended; NULL: there is none. */
static const char *line_of(char **text)
{
	return *text && **text ? strsep(text, "\n") : NULL;
}

/* If nothing else differs, two starts differ in their launching process. That holds on one machine; across
 * machines only the text is compared. */
static bool same_launch(int folder, const struct launch *l)
{
	char text[sizeof *l + 4], *rest = text;
	const char *launch, *machine, *process;
	int fd = sb_folder_read(folder, LAUNCH_FILE);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	launch = line_of(&rest);
	machine = line_of(&rest);
	process = line_of(&rest);
	if (!launch || strcmp(launch, l->text))
		return false;
	return !process || !l->by.machine[0] || strcmp(machine, l->by.machine) ||
	       !strcmp(process, l->by.process);
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
static int make_job(int parent, const char *name, const struct launch *launch)
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

static int join_or_make(int parent, const char *name, const struct launch *launch)
{
	int fd = sb_folder_open(parent, name, SB_FOLDER_PRIVATE);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		return -1;
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
static int make_rank_in(int parent, const char *name, const struct launch *launch, int rank)
{
	char rank_name[24];
	int job = join_or_make(parent, name, launch), fd = -1, why;

	if (job < 0)
		return -1;
	snprintf(rank_name, sizeof rank_name, "rank_%d", rank);
	if (!mkdirat(job, rank_name, 0700))
		fd = sb_folder_open(job, rank_name, SB_FOLDER_PRIVATE);
	why = errno;
	if (fd < 0 && why == EMFILE)
		unlinkat(job, rank_name, AT_REMOVEDIR);
	close(job);
	errno = why;
	return fd;
}

int sb_jobdir_make_rank(int parent, const char *stem, const struct sb_rank *rank, char *out_name, size_t size,
	int *out_attempt)
{
	const struct launch launch = launch_of(rank);

	for (int attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
		int fd;

		if (attempt == 1)
			snprintf(out_name, size, "%s", stem);
		else
			snprintf(out_name, size, "%s.%d", stem, attempt);
		fd = make_rank_in(parent, out_name, &launch, rank->rank);
		if (fd >= 0)
			*out_attempt = attempt;
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}
