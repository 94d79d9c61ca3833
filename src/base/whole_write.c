/* See whole_write.h. */
#include "base/whole_write.h"

#include <errno.h>
#include <unistd.h>

/* Whether to go on after a call that wrote n bytes. */
static bool took(ssize_t n, size_t *done)
{
	if (n < 0)
		return errno == EINTR;
	if (n == 0) { /* never of a file, but it must not loop for ever */
		errno = EIO;
		return false;
	}
	*done += (size_t)n;
	return true;
}

bool sb_write_whole(int fd, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size;)
		if (!took(write(fd, (const char *)bytes + done, size - done), &done))
			return false;
	return true;
}

bool sb_write_whole_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
	for (size_t done = 0; done < size;)
		if (!took(pwrite(fd, (const char *)bytes + done, size - done, (off_t)(offset + done)), &done))
			return false;
	return true;
}
