/* How the process ended, in the recording that is closed by then. */
#include "record/recorder.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* A child that was forked has its parent's path, and no recording there. */
static bool is_own(const struct sb_file_header *head)
{
	return !memcmp(head->magic, SB_MAGIC, sizeof head->magic) && head->pid == (uint32_t)getpid() &&
	       head->closed == SB_CLOSED_IN_ORDER;
}

void strobe_exit_status(int status)
{
	const uint32_t failed = SB_CLOSED_FAILED;
	struct sb_file_header head;
	int fd;

	if (!status || !REC->file_path[0] || strobe_recording())
		return;
	fd = open(REC->file_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	if (pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head && is_own(&head) &&
		pwrite(fd, &failed, sizeof failed, offsetof(struct sb_file_header, closed)) < 0) {
		/* it stays one that ended in order: the program is not told */
	}
	close(fd);
}
