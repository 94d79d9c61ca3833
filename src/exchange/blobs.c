/* One buffer: the tail while adding, a window while reading. */
#include "exchange/blobs.h"

#include "base/error.h"
#include "base/tempfile.h"
#include "base/whole_write.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES (1u << 20)
#define WINDOW_BYTES (64u << 10) /* read ahead while offsets go forwards */

struct sb_blobs {
	int fd;
	char folder[512];
	uint64_t buffer_offset; /* of buffer[0] */
	size_t used;
	bool unwritten; /* the buffer holds what the file does not */
	char buffer[BUFFER_BYTES];
};

int sb_blobs_new(const char *folder, struct sb_blobs **out_blobs)
{
	struct sb_blobs *b = malloc(sizeof *b);

	if (!b)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	b->fd = -1;
	b->buffer_offset = b->used = 0;
	b->unwritten = false;
	snprintf(b->folder, sizeof b->folder, "%s", folder);
	*out_blobs = b;
	return 0;
}

void sb_blobs_free(struct sb_blobs *b)
{
	if (!b)
		return;
	if (b->fd >= 0)
		close(b->fd);
	free(b);
}

static int flush(struct sb_blobs *b)
{
	int err = b->fd < 0 ? sb_tempfile_open(b->folder, &b->fd) : 0;

	if (!err && !sb_write_whole_at(b->fd, b->buffer, b->used, b->buffer_offset))
		err = sb_fail_errno("cannot write a temporary file in '%s'", b->folder);
	b->buffer_offset += b->used;
	b->used = 0;
	b->unwritten = false;
	return err;
}

int sb_blobs_add(struct sb_blobs *b, const void *bytes, size_t size, uint64_t *out_offset)
{
	if (b->used + size > BUFFER_BYTES) {
		int err = flush(b);

		if (err)
			return err;
	}
	memcpy(b->buffer + b->used, bytes, size);
	b->unwritten = true;
	*out_offset = b->buffer_offset + b->used;
	b->used += size;
	return 0;
}

static int move_window(struct sb_blobs *b, uint64_t offset, size_t size)
{
	uint64_t window_end = b->buffer_offset + b->used;
	bool forwards = offset >= b->buffer_offset && offset <= window_end + WINDOW_BYTES;
	int err = b->unwritten ? flush(b) : 0;
	ssize_t n;

	if (err)
		return err;
	n = b->fd < 0 ? 0 : pread(b->fd, b->buffer, forwards ? WINDOW_BYTES : SB_BLOB_MAX, (off_t)offset);
	if (n < (ssize_t)size)
		return sb_fail(STROBE_EIO, "cannot read a temporary file in '%s'", b->folder);
	b->buffer_offset = offset;
	b->used = (size_t)n;
	return 0;
}

const void *sb_blobs_get(struct sb_blobs *b, uint64_t offset, size_t size)
{
	bool here = offset >= b->buffer_offset && offset + size <= b->buffer_offset + b->used;

	if (!here && move_window(b, offset, size))
		return NULL;
	return b->buffer + (offset - b->buffer_offset);
}
