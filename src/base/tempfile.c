/* A file without a name; where the file system has none, one whose name is removed at once. */
#include "base/tempfile.h"

#include "base/error.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int sb_tempfile_open(const char *folder, int *out_fd)
{
	char path[600];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) {
		snprintf(path, sizeof path, "%s/strobe-XXXXXX", folder);
		fd = mkostemp(path, O_CLOEXEC);
		if (fd < 0)
			return sb_fail_errno("cannot make a temporary file in '%s'", folder);
		unlink(path);
	}
	*out_fd = fd;
	return 0;
}
