/* Run folders, and spools for filesystems that cannot be mapped. */
#include "record/rundir.h"

#include "base/error.h"
#include "record/rank.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
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

static void point_last_at(const char *output_dir, const char *folder)
{
	char link[1200], temporary[1240];

	snprintf(link, sizeof link, "%s/last", output_dir);
	snprintf(temporary, sizeof temporary, "%s.%ld", link, (long)getpid());
	unlink(temporary);
	if (symlink(folder, temporary))
		return;
	if (rename(temporary, link))
		unlink(temporary);
}

static int make_unique(const char *output_dir, const char *name, char *out_path, size_t size)
{
	char stamp[32], folder[160];
	time_t now = time(NULL);
	struct tm parts;

	localtime_r(&now, &parts);
	strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
	for (int i = 0; i < 1000; i++) {
		char again[16] = "";

		if (i)
			snprintf(again, sizeof again, ".%d", i);
		snprintf(folder, sizeof folder, "%s-%s-%ld%s", name, stamp, (long)getpid(), again);
		if ((size_t)snprintf(out_path, size, "%s/%s", output_dir, folder) >= size)
			return sb_fail(STROBE_EINVAL, "the folder name is too long: '%.80s...'", output_dir);
		if (!mkdir(out_path, 0700)) {
			point_last_at(output_dir, folder);
			return 0;
		}
		if (errno != EEXIST)
			return sb_fail_errno("cannot make the run folder '%s'", out_path);
	}
	return sb_fail(STROBE_EBUSY, "too many runs called '%s' in '%s'", name, output_dir);
}

/* All ranks of a job share a folder without talking: its name is the job's. */
static int make_ranked(
	const char *output_dir, const char *name, const struct sb_rank *rank, char *out_path, size_t size)
{
	char folder[160];
	int err;

	snprintf(folder, sizeof folder, "%s-%s", name, rank->job);
	if ((size_t)snprintf(out_path, size, "%s/%s/rank_%d", output_dir, folder, rank->rank) >= size)
		return sb_fail(STROBE_EINVAL, "the folder name is too long: '%.80s...'", output_dir);
	err = sb_rundir_ensure(out_path, 0700);
	if (!err && rank->rank == 0)
		point_last_at(output_dir, folder);
	return err;
}

int sb_rundir_make(const struct sb_settings *settings, char *out_path, size_t size)
{
	char name[80];
	struct sb_rank rank;
	int err = sb_rundir_ensure(settings->output_dir, 0777);

	if (err)
		return err;
	plain_name(settings->name, name, sizeof name);
	sb_rank_detect(&rank);
	if (rank.rank >= 0 && rank.job[0])
		return make_ranked(settings->output_dir, name, &rank, out_path, size);
	return make_unique(settings->output_dir, name, out_path, size);
}

/* The folder beside last that was changed last; false when there is none. */
static bool newest_run(const char *output_dir, char *out, size_t size)
{
	DIR *d = opendir(output_dir);
	struct dirent *entry;
	struct timespec best = { 0, 0 };
	bool found = false;

	while (d && (entry = readdir(d))) {
		char path[1400];
		struct stat s;

		snprintf(path, sizeof path, "%s/%s", output_dir, entry->d_name);
		if (entry->d_name[0] == '.' || lstat(path, &s) || !S_ISDIR(s.st_mode) ||
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

static void remove_recordings(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char path[1400];

		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		if (!strncmp(entry->d_name, "run.strobe", 10))
			unlink(path);
	}
	if (d)
		closedir(d);
}

void sb_rundir_discard(const char *path)
{
	char output_dir[1024], link[1200], target[300], newest[300];
	const char *slash = strrchr(path, '/');
	ssize_t n;

	remove_recordings(path);
	if (rmdir(path) || !slash)
		return;
	snprintf(output_dir, sizeof output_dir, "%.*s", (int)(slash - path), path);
	snprintf(link, sizeof link, "%s/last", output_dir);
	n = readlink(link, target, sizeof target - 1);
	if (n <= 0)
		return;
	target[n] = 0;
	if (strcmp(target, slash + 1))
		return;
	if (newest_run(output_dir, newest, sizeof newest))
		point_last_at(output_dir, newest);
	else
		unlink(link);
}

/* ---- spools --------------------------------------------------------------- */

bool sb_rundir_needs_spool(const char *path)
{
	static const unsigned long cannot[] = { NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, 0xff534d42ul /* CIFS */,
		0xfe534d42ul /* SMB2 */, 0x65735546ul /* FUSE */, V9FS_MAGIC, 0x0bd00bd0ul /* Lustre */,
		0x47504653ul /* GPFS */, 0x19830326ul /* BeeGFS */, 0x00c36400ul /* Ceph */, AFS_SUPER_MAGIC,
		OCFS2_SUPER_MAGIC };
	const char *forced = getenv("STROBE_SPOOL");
	struct statfs fs;

	if (forced)
		return forced[0] == '1';
	if (statfs(path, &fs))
		return false;
	for (size_t i = 0; i < sizeof cannot / sizeof cannot[0]; i++)
		if ((unsigned long)fs.f_type == cannot[i])
			return true;
	return false;
}

static void write_pointer(const char *run_dir, const char *file_name, const char *spool_path)
{
	char pointer[1300];
	int fd;

	snprintf(pointer, sizeof pointer, "%s/%s.spool", run_dir, file_name);
	fd = open(pointer, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write(fd, spool_path, strlen(spool_path)) < 0)
		unlink(pointer);
	close(fd);
}

int sb_spool_open(const char *run_dir, const char *file_name, char *out_path, size_t size, int *out_fd)
{
	const char *folders[] = { getenv("STROBE_SPOOL_DIR"), getenv("TMPDIR"), "/tmp", "/var/tmp",
		"/dev/shm" };

	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		int fd;

		if (!folders[i] || sb_rundir_needs_spool(folders[i]) == (getenv("STROBE_SPOOL") == NULL))
			continue;
		if ((size_t)snprintf(out_path, size, "%s/strobe-%ld-XXXXXX", folders[i], (long)getpid()) >=
			size)
			continue;
		fd = mkostemp(out_path, O_CLOEXEC);
		if (fd < 0)
			continue;
		write_pointer(run_dir, file_name, out_path);
		*out_fd = fd;
		return 0;
	}
	return sb_fail(STROBE_EIO,
		"'%s' cannot be mapped and no local folder can be written; set STROBE_SPOOL_DIR", run_dir);
}

static int copy_bytes(int from, int to)
{
	char block[65536];
	ssize_t n;

	while ((n = read(from, block, sizeof block)) > 0)
		for (ssize_t done = 0; done < n;) {
			ssize_t w = write(to, block + done, (size_t)(n - done));

			if (w < 0 && errno != EINTR)
				return -1;
			done += w > 0 ? w : 0;
		}
	return n < 0 ? -1 : 0;
}

bool sb_spool_rescue(const char *spool_path, const char *run_dir, const char *file_name)
{
	char target[1300], temporary[1320], pointer[1320];
	int from, to, failed, why;

	snprintf(target, sizeof target, "%s/%s", run_dir, file_name);
	snprintf(temporary, sizeof temporary, "%s.tmp", target);
	snprintf(pointer, sizeof pointer, "%s.spool", target);
	from = open(spool_path, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return false;
	to = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	failed = to < 0 || copy_bytes(from, to);
	close(from);
	if (to >= 0 && close(to))
		failed = 1;
	if (failed || rename(temporary, target)) {
		why = errno;
		unlink(temporary);
		errno = why;
		return false;
	}
	unlink(spool_path);
	unlink(pointer);
	return true;
}

int sb_spool_move(const char *spool_path, const char *run_dir, const char *file_name)
{
	if (sb_spool_rescue(spool_path, run_dir, file_name))
		return 0;
	return sb_fail_errno(
		"cannot move the recording from '%s' to '%s/%s'", spool_path, run_dir, file_name);
}
