/* Folders of the user's own, and new files in them. */
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Some filesystems give every file one owner and one mode (a squashed root on NFS, vfat, shared folders of
 * virtual machines). There a new file gets the folder's owner; in a folder of another user it would get
 * ours. */
static bool owner_is_everybodys(int fd, const struct stat *folder, mode_t unwanted)
{
	char name[48];
	struct stat s;
	bool same;
	int probe;

	snprintf(name, sizeof name, ".strobe-whose-files-%ld", (long)getpid());
	probe = sb_folder_create(fd, name, 0600);
	if (probe < 0)
		return false;
	same = !fstat(probe, &s) && s.st_uid == folder->st_uid &&
	       (!(folder->st_mode & unwanted) || (s.st_mode & unwanted));
	close(probe);
	unlinkat(fd, name, 0);
	return same;
}

static bool is_trusted(int fd, enum sb_folder_trust trust)
{
	mode_t unwanted = trust == SB_FOLDER_PRIVATE ? 0077 : 0022;
	struct stat s;

	if (fstat(fd, &s))
		return false;
	if (s.st_uid == geteuid() && !(s.st_mode & unwanted))
		return true;
	return owner_is_everybodys(fd, &s, unwanted);
}

int sb_folder_open(int at, const char *name, enum sb_folder_trust trust)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || is_trusted(fd, trust))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

int sb_folder_reopen(const char *path, const struct sb_folder *known)
{
	struct sb_folder now;
	int fd;

	if (!known->inode)
		return sb_folder_open(AT_FDCWD, path, SB_FOLDER_OWN);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	now = sb_folder_of(fd);
	if (now.device == known->device && now.inode == known->inode)
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

struct sb_folder sb_folder_of(int fd)
{
	struct sb_folder id = { 0, 0 };
	struct stat s;

	if (!fstat(fd, &s))
		id = (struct sb_folder){ (uint64_t)s.st_dev, (uint64_t)s.st_ino };
	return id;
}

int sb_folder_create(int folder, const char *name, unsigned mode)
{
	return openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)mode);
}

int sb_folder_read(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat s;

	if (fd < 0 || (!fstat(fd, &s) && S_ISREG(s.st_mode)))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

int sb_folder_create_in(const char *path, const struct sb_folder *known, const char *name, unsigned mode)
{
	int folder = sb_folder_reopen(path, known);
	int fd = folder < 0 ? -1 : sb_folder_create(folder, name, mode);

	if (folder >= 0)
		close(folder);
	return fd;
}

int sb_folder_read_in(const char *path, const struct sb_folder *known, const char *name)
{
	int folder = sb_folder_reopen(path, known);
	int fd = folder < 0 ? -1 : sb_folder_read(folder, name);

	if (folder >= 0)
		close(folder);
	return fd;
}

void sb_folder_remove_in(const char *path, const struct sb_folder *known, const char *name)
{
	int folder = sb_folder_reopen(path, known);

	if (folder < 0)
		return;
	unlinkat(folder, name, 0);
	close(folder);
}
