/* Spools for filesystems that cannot be mapped. */
#include "record/spool.h"

#include "base/error.h"
#include "format/spool.h"
#include "record/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { FILE_NAME_MAX = 128 };

bool sb_rundir_needs_spool(const char *path)
{
	static const unsigned long cannot[] = { NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, 0xff534d42ul /* CIFS */,
		0xfe534d42ul /* SMB2 */, 0x65735546ul /* FUSE */, V9FS_MAGIC, 0x0bd00bd0ul /* Lustre */,
		0x47504653ul /* GPFS */, 0x19830326ul /* BeeGFS */, 0x00c36400ul /* Ceph */, AFS_SUPER_MAGIC,
		OCFS2_SUPER_MAGIC };
	const char *forced = secure_getenv("STROBE_SPOOL");
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

/* name + suffix, for a signal handler too. False: too long. */
static bool join_name(const char *name, const char *suffix, char out[FILE_NAME_MAX])
{
	size_t n = strlen(name), m = strlen(suffix);

	if (n + m >= FILE_NAME_MAX)
		return false;
	memcpy(out, name, n);
	memcpy(out + n, suffix, m + 1);
	return true;
}

static void write_pointer(int folder, const char *file_name, const char *spool_path)
{
	char pointer[FILE_NAME_MAX];
	int fd;

	if (!join_name(file_name, SB_SPOOL_SUFFIX, pointer))
		return;
	fd = sb_folder_create(folder, pointer, 0600);
	if (fd < 0)
		return;
	if (!sb_descriptor_write(fd, spool_path, strlen(spool_path)))
		unlinkat(folder, pointer, 0);
	close(fd);
}

int sb_spool_open(
	int folder, const char *run_dir, const char *file_name, char *out_path, size_t size, int *out_fd)
{
	const char *folders[] = { secure_getenv("STROBE_SPOOL_DIR"), secure_getenv("TMPDIR"), "/tmp",
		"/var/tmp", "/dev/shm" };

	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		int fd;

		if (!folders[i] || folders[i][0] != '/' ||
			sb_rundir_needs_spool(folders[i]) == (secure_getenv("STROBE_SPOOL") == NULL))
			continue;
		if ((size_t)snprintf(out_path, size, "%s/" SB_SPOOL_PREFIX "%ld-XXXXXX", folders[i],
			    (long)getpid()) >= size)
			continue;
		fd = mkostemp(out_path, O_CLOEXEC);
		if (fd < 0)
			continue;
		write_pointer(folder, file_name, out_path);
		*out_fd = fd;
		return 0;
	}
	return sb_fail(STROBE_EIO,
		"'%s' cannot be mapped and no local folder can be written; set STROBE_SPOOL_DIR", run_dir);
}

uint64_t sb_spool_bytes(int folder, const char *pointer)
{
	int fd = sb_folder_read(folder, pointer);
	struct stat s;
	char path[1100];
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, path, sizeof path - 1);
	close(fd);
	path[n > 0 ? n : 0] = 0;
	if (path[0] != '/' || lstat(path, &s) || !S_ISREG(s.st_mode) || s.st_uid != geteuid())
		return 0;
	return (uint64_t)s.st_size;
}

static int copy_bytes(int from, int to)
{
	char buffer[65536];
	ssize_t n;

	while ((n = read(from, buffer, sizeof buffer)) > 0)
		for (ssize_t done = 0; done < n;) {
			ssize_t w = write(to, buffer + done, (size_t)(n - done));

			if (w < 0 && errno != EINTR)
				return -1;
			done += w > 0 ? w : 0;
		}
	return n < 0 ? -1 : 0;
}

/* Still the file that was opened, not what has taken its name since. */
static bool is_same_file(int fd, const char *path)
{
	struct stat a, b;

	return !fstat(fd, &a) && !lstat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool sb_spool_bring_home(int spool, const char *spool_path, int folder, const char *file_name)
{
	char temporary[FILE_NAME_MAX], pointer[FILE_NAME_MAX];
	bool whole = false;
	int to = -1, why;

	if (join_name(file_name, ".tmp", temporary) && join_name(file_name, SB_SPOOL_SUFFIX, pointer)) {
		to = sb_folder_create(folder, temporary, 0600);
		whole = to >= 0 && !copy_bytes(spool, to) && !fsync(to);
		if (to >= 0 && close(to))
			whole = false;
		whole = whole && !renameat(folder, temporary, folder, file_name);
	}
	why = errno;
	if (to >= 0 && !whole)
		unlinkat(folder, temporary, 0);
	if (whole) {
		if (is_same_file(spool, spool_path))
			unlink(spool_path);
		unlinkat(folder, pointer, 0);
	}
	close(spool);
	errno = why;
	return whole;
}

bool sb_spool_rescue(
	const char *spool_path, const char *run_dir, const struct sb_folder *known, const char *file_name)
{
	int folder = sb_folder_reopen(run_dir, known), spool, why;
	bool moved;

	if (folder < 0)
		return false;
	spool = sb_folder_read(AT_FDCWD, spool_path);
	moved = spool >= 0 && sb_spool_bring_home(spool, spool_path, folder, file_name);
	why = errno;
	close(folder);
	errno = why;
	return moved;
}

int sb_spool_move(
	const char *spool_path, const char *run_dir, const struct sb_folder *known, const char *file_name)
{
	if (sb_spool_rescue(spool_path, run_dir, known, file_name))
		return 0;
	return sb_fail_errno(
		"cannot move the recording from '%s' to '%s/%s'", spool_path, run_dir, file_name);
}
