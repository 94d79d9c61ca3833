/* Follows pointers to spools, only those that strobe wrote. */
#include "format/spool.h"

#include "base/folder.h"
#include "format/wire.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SQUASHED_UID = 65534 };

/* A squashed root owns nothing on a network disk: its files belong to the user "no one" (65534) there. */
static bool wrote_pointer(int folder, int pointer)
{
	struct stat f, p;

	if (fstat(folder, &f) || fstat(pointer, &p) || (p.st_mode & 0022))
		return false;
	return p.st_uid == geteuid() ||
	       (p.st_uid == SQUASHED_UID && f.st_uid == SQUASHED_UID && !(f.st_mode & 0022) && !geteuid());
}

static bool is_own_recording(int fd)
{
	struct stat s;

	return !fstat(fd, &s) && s.st_uid == geteuid() && !(s.st_mode & 0077) && s.st_nlink == 1;
}

static bool belongs_into(int spool, int folder)
{
	struct sb_file_header head;
	struct stat here, there;

	if (pread(spool, &head, sizeof head, 0) != sizeof head ||
		memcmp(head.magic, SB_MAGIC, sizeof head.magic))
		return false;
	head.run_dir[sizeof head.run_dir - 1] = 0;
	return head.run_dir[0] == '/' && !fstat(folder, &here) && !stat(head.run_dir, &there) &&
	       here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

static bool read_path(int folder, const char *pointer, char *out, size_t size)
{
	int fd = sb_folder_read(folder, pointer);
	const char *slash;
	ssize_t n;

	if (fd < 0)
		return false;
	n = wrote_pointer(folder, fd) ? read(fd, out, size - 1) : -1;
	close(fd);
	if (n <= 0)
		return false;
	out[n] = 0;
	slash = strrchr(out, '/');
	return out[0] == '/' && slash && !strncmp(slash + 1, SB_SPOOL_PREFIX, strlen(SB_SPOOL_PREFIX));
}

int sb_spool_follow(int folder, const char *pointer, char *out_path, size_t size)
{
	int fd;

	if (!read_path(folder, pointer, out_path, size))
		return -1;
	fd = sb_folder_read(AT_FDCWD, out_path);
	if (fd < 0)
		return -1;
	if (is_own_recording(fd) && belongs_into(fd, folder))
		return fd;
	close(fd);
	return -1;
}
