/* Makes run folders: always new and private, below a folder that others may own. */
#include "record/rundir.h"

#include "base/error.h"
#include "record/jobdir.h"
#include "record/rank.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int sb_rundir_ensure(const char *path, unsigned mode)
{
	char part[1024];

	if (strlen(path) >= sizeof part)
		return sb_fail(STROBE_EINVAL, "the folder name is too long: '%.80s...'", path);
	strcpy(part, path);
	for (char *p = part + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		if (mkdir(part, 0777) && errno != EEXIST)
			return sb_fail_errno("cannot make the folder '%s'", part);
		*p = '/';
	}
	if (mkdir(part, mode) && errno != EEXIST)
		return sb_fail_errno("cannot make the folder '%s'", path);
	return 0;
}

/* Names come from users: nothing but plain characters reaches a path. */
static void plain_name(const char *name, char *out, size_t size)
{
	size_t n = 0;

	for (; *name && n + 1 < size && n < 64; name++)
		out[n++] = isalnum((unsigned char)*name) || strchr("._-", *name) ? *name : '_';
	out[n] = 0;
	if (!n || out[0] == '.')
		out[0] = '_';
	if (!n)
		strcpy(out, "run");
}

/* <output_dir>/last: a link of the user's own is moved, nothing else is replaced. */
static void point_last_at(int parent, const char *folder)
{
	char temporary[64];
	struct stat s;
	bool exists = !fstatat(parent, "last", &s, AT_SYMLINK_NOFOLLOW);

	if (exists && (!S_ISLNK(s.st_mode) || s.st_uid != geteuid()))
		return;
	snprintf(temporary, sizeof temporary, ".strobe-last-%ld", (long)getpid());
	if (symlinkat(folder, parent, temporary))
		return;
	if (renameat(parent, temporary, parent, "last"))
		unlinkat(parent, temporary, 0);
}

/* A new folder of our own below parent: its descriptor, or -1. */
static int make_unique(int parent, const char *name, char *out_name, size_t size)
{
	char stamp[32];
	time_t now = time(NULL);
	struct tm parts;

	localtime_r(&now, &parts);
	strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
	for (int i = 0; i < 1000; i++) {
		char again[16] = "";
		int fd, why;

		if (i)
			snprintf(again, sizeof again, ".%d", i);
		snprintf(out_name, size, "%s-%s-%ld%s", name, stamp, (long)getpid(), again);
		if (!mkdirat(parent, out_name, 0700)) {
			fd = sb_folder_open(parent, out_name, SB_FOLDER_PRIVATE);
			why = errno;
			if (fd < 0)
				unlinkat(parent, out_name, AT_REMOVEDIR);
			errno = why;
			return fd;
		}
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

/* All ranks of a job share a folder without talking: its name is the job's. */
static int make_ranked(int parent, const char *name, const struct sb_rank *rank, char *out_name, size_t size,
	int *out_attempt)
{
	char stem[160];

	snprintf(stem, sizeof stem, "%s-%s", name, rank->job);
	return sb_jobdir_make_rank(parent, stem, rank, out_name, size, out_attempt);
}

static int make_below(int parent, const struct sb_settings *settings, char *out_path, size_t size,
	struct sb_folder *out_folder, int *out_attempt)
{
	char name[80], folder[200], rank_name[32] = "";
	struct sb_rank rank;
	bool ranked;
	int fd, attempt = 0;

	plain_name(settings->name, name, sizeof name);
	sb_rank_detect(&rank);
	ranked = rank.rank >= 0 && rank.job[0];
	fd = ranked ? make_ranked(parent, name, &rank, folder, sizeof folder, &attempt)
		    : make_unique(parent, name, folder, sizeof folder);
	if (fd < 0)
		return sb_fail_errno("cannot make a run folder in '%s'", settings->output_dir);
	*out_folder = sb_folder_of(fd);
	*out_attempt = attempt;
	close(fd);
	if (!ranked || rank.rank == 0)
		point_last_at(parent, folder);
	if (ranked)
		snprintf(rank_name, sizeof rank_name, "/rank_%d", rank.rank);
	snprintf(out_path, size, "%s/%s%s", settings->output_dir, folder, rank_name);
	return 0;
}

int sb_rundir_make(const struct sb_settings *settings, char *out_path, size_t size,
	struct sb_folder *out_folder, int *out_attempt)
{
	int parent, err = sb_rundir_ensure(settings->output_dir, 0777);

	if (err)
		return err;
	if (strlen(settings->output_dir) + 240 > size)
		return sb_fail(
			STROBE_EINVAL, "the folder name is too long: '%.80s...'", settings->output_dir);
	parent = open(settings->output_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return sb_fail_errno("cannot open the folder '%s'", settings->output_dir);
	err = make_below(parent, settings, out_path, size, out_folder, out_attempt);
	close(parent);
	return err;
}

/* ---- taking back --------------------------------------------------------------- */

/* The user's newest folder beside last; false when there is none. */
static bool newest_run(const char *output_dir, char *out, size_t size)
{
	DIR *d = opendir(output_dir);
	struct dirent *entry;
	struct timespec best = { 0, 0 };
	bool found = false;

	while (d && (entry = readdir(d))) {
		struct stat s;

		if (entry->d_name[0] == '.' || fstatat(dirfd(d), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) ||
			!S_ISDIR(s.st_mode) || s.st_uid != geteuid() ||
			(found && (s.st_mtim.tv_sec < best.tv_sec ||
					  (s.st_mtim.tv_sec == best.tv_sec &&
						  s.st_mtim.tv_nsec < best.tv_nsec))))
			continue;
		best = s.st_mtim;
		found = true;
		snprintf(out, size, "%s", entry->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

static bool remove_recordings(const char *path, const struct sb_folder *folder)
{
	int fd = sb_folder_reopen(path, folder);

	if (fd < 0)
		return false;
	unlinkat(fd, "run.strobe", 0);
	unlinkat(fd, "run.strobe.spool", 0);
	close(fd);
	return !rmdir(path);
}

void sb_rundir_discard(const char *path, const struct sb_folder *folder)
{
	char output_dir[1024], target[300], newest[300];
	const char *slash = strrchr(path, '/');
	int parent;
	ssize_t n;

	if (!remove_recordings(path, folder) || !slash)
		return;
	snprintf(output_dir, sizeof output_dir, "%.*s", (int)(slash - path), path);
	parent = open(output_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	n = parent < 0 ? -1 : readlinkat(parent, "last", target, sizeof target - 1);
	target[n > 0 ? n : 0] = 0;
	if (n > 0 && !strcmp(target, slash + 1)) {
		if (newest_run(output_dir, newest, sizeof newest))
			point_last_at(parent, newest);
		else
			unlinkat(parent, "last", 0);
	}
	if (parent >= 0)
		close(parent);
}
