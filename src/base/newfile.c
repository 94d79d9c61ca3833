/* Files that appear whole or not at all. */
#include "base/newfile.h"

#include "base/error.h"
#include "base/filename.h"
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES_MAX = 100 };

/* In a folder that others can write to, a link may be a trap that makes us overwrite another file: only
 * links of the user and of the system are followed. */
static bool is_strangers_link(const char *path)
{
	struct stat s;

	return !lstat(path, &s) && S_ISLNK(s.st_mode) && s.st_uid && s.st_uid != geteuid();
}

static int open_folder(const char *path)
{
	const char *name = sb_filename_of(path);
	char folder[PATH_MAX];
	int size = (int)(name - path);

	if (!size)
		return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (snprintf(folder, sizeof folder, "%.*s", size, path) >= (int)sizeof folder) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Finds a free name; existing files and links are left alone. */
static int open_temporary(struct sb_newfile *f, unsigned mode)
{
	for (int i = 0; i < TRIES_MAX; i++) {
		free(f->temporary);
		if (asprintf(&f->temporary, "%s.tmp%ld-%d", sb_filename_of(f->path), (long)getpid(), i) < 0) {
			f->temporary = NULL;
			errno = ENOMEM;
			return -1;
		}
		f->fd = sb_folder_create(f->folder, f->temporary, mode);
		if (f->fd >= 0 || errno != EEXIST)
			break;
	}
	return f->fd;
}

void sb_newfile_make_way(const char *path)
{
	struct stat s;

	if (!lstat(path, &s) && (S_ISLNK(s.st_mode) || S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode)))
		unlink(path);
}

int sb_newfile_open(struct sb_newfile *f, const char *path, unsigned mode)
{
	char real[PATH_MAX];
	struct stat s;
	bool exists = !stat(path, &s);
	bool in_place = exists && !S_ISREG(s.st_mode);

	memset(f, 0, sizeof *f);
	f->fd = f->folder = -1;
	if (is_strangers_link(path))
		return sb_fail(STROBE_EPERM, "cannot write '%s': it is another user's link", path);
	f->path = strdup(exists && realpath(path, real) ? real : path);
	if (!f->path)
		return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", path);
	if (exists && S_ISDIR(s.st_mode))
		return sb_fail(STROBE_EINVAL, "cannot write '%s': it is a folder", path);
	if (in_place)
		f->fd = open(f->path, O_WRONLY | O_CLOEXEC);
	else if ((f->folder = open_folder(f->path)) >= 0)
		open_temporary(f, mode);
	if (f->fd < 0)
		return sb_fail_errno("cannot write '%s'", path);
	if (exists && !in_place)
		fchmod(f->fd, s.st_mode & 0777); /* where the filesystem has permissions */
	return 0;
}

bool sb_newfile_flush(int fd)
{
	return !fsync(fd) || errno == EINVAL || errno == EROFS;
}

int sb_newfile_close(struct sb_newfile *f, bool keep)
{
	bool made = f->fd >= 0 && f->folder >= 0;
	int err = 0;

	if (made && keep && !sb_newfile_flush(f->fd))
		err = sb_fail_errno("cannot write '%s'", f->path);
	if (f->fd >= 0 && close(f->fd) && keep && !err)
		err = sb_fail_errno("cannot write '%s'", f->path);
	if (made && keep && !err && renameat(f->folder, f->temporary, f->folder, sb_filename_of(f->path)))
		err = sb_fail_errno("cannot write '%s'", f->path);
	if (made && (!keep || err))
		unlinkat(f->folder, f->temporary, 0);
	if (f->folder >= 0)
		close(f->folder);
	free(f->path);
	free(f->temporary);
	f->path = f->temporary = NULL;
	f->fd = f->folder = -1;
	return err;
}

int sb_newfile_move(const char *temporary, const char *path)
{
	int fd = open(temporary, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), err = 0;

	if (fd < 0 || !sb_newfile_flush(fd) || rename(temporary, path))
		err = sb_fail_errno("cannot write '%s'", path);
	if (fd >= 0)
		close(fd);
	if (err)
		unlink(temporary);
	return err;
}
