/* Files that appear whole or not at all. */
#include "base/newfile.h"

#include "base/error.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int sb_newfile_open(struct sb_newfile *f, const char *path, unsigned mode)
{
	char real[PATH_MAX];
	struct stat s;
	bool exists = !stat(path, &s);

	memset(f, 0, sizeof *f);
	f->fd = -1;
	f->path = strdup(exists && realpath(path, real) ? real : path);
	if (!f->path)
		return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", path);
	if (exists && S_ISDIR(s.st_mode))
		return sb_fail(STROBE_EINVAL, "cannot write '%s': it is a folder", path);
	if (!exists || S_ISREG(s.st_mode)) {
		if (asprintf(&f->temporary, "%s.tmp%ld", f->path, (long)getpid()) < 0) {
			f->temporary = NULL;
			return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", path);
		}
	}
	f->fd = f->temporary ? open(f->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
			     : open(f->path, O_WRONLY | O_CLOEXEC);
	if (f->fd < 0)
		return sb_fail_errno("cannot write '%s'", path);
	if (exists && f->temporary)
		fchmod(f->fd, s.st_mode & 0777); /* where the filesystem has permissions */
	return 0;
}

int sb_newfile_close(struct sb_newfile *f, bool keep)
{
	bool made = f->fd >= 0 && f->temporary;
	int err = 0;

	if (f->fd >= 0 && close(f->fd) && keep)
		err = sb_fail_errno("cannot write '%s'", f->path);
	if (made && keep && !err && rename(f->temporary, f->path))
		err = sb_fail_errno("cannot write '%s'", f->path);
	if (made && (!keep || err))
		unlink(f->temporary);
	free(f->path);
	free(f->temporary);
	f->path = f->temporary = NULL;
	f->fd = -1;
	return err;
}
