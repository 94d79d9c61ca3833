/* Opens without waiting, looks at what was opened, and only then hands it out. */
#include "base/infile.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A descriptor that was handed to this process; another process may write to its other end. */
static bool is_own(const char *path)
{
	return !strcmp(path, "/dev/stdin") || !strncmp(path, "/dev/fd/", 8) ||
	       !strncmp(path, "/proc/self/fd/", 14);
}

static int refuse(const char *path)
{
	if (errno == ELOOP)
		return sb_fail(STROBE_EFORMAT, "'%s' is a symbolic link, which is not followed here", path);
	if (errno == ENXIO) /* a socket */
		return sb_fail(STROBE_EFORMAT, "'%s' is not a file", path);
	return sb_fail_errno("cannot open '%s'", path);
}

static int check(int fd, const char *path, bool any_kind)
{
	struct stat st;

	if (fstat(fd, &st))
		return sb_fail_errno("cannot read '%s'", path);
	if (S_ISREG(st.st_mode))
		return 0;
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return sb_fail_errno("cannot read '%s'", path);
	}
	if (!any_kind)
		return sb_fail(STROBE_EFORMAT, "'%s' is not a file", path);
	return fcntl(fd, F_SETFL, O_RDONLY) ? sb_fail_errno("cannot read '%s'", path) : 0;
}

int sb_infile_open(const char *path, enum sb_infile_from from, int *out_fd)
{
	int nofollow = from == SB_INFILE_LISTED ? O_NOFOLLOW : 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | nofollow);
	int err;

	if (fd < 0)
		return refuse(path);
	err = check(fd, path, from == SB_INFILE_STREAM && is_own(path));
	if (err)
		close(fd);
	else
		*out_fd = fd;
	return err;
}
