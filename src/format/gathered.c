/* Many small recordings, one after the other in a file. */
#include "format/gathered.h"

#include "base/error.h"
#include "base/infile.h"
#include "base/room.h"
#include "base/whole_write.h"
#include "format/reader.h"
#include "format/wire.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, CHUNKS_MAX = 1 << 20, VERSION = 1 };

struct head {
	char magic[8];
	uint32_t version, reserved;
	uint64_t end; /* what lies behind is not there yet: written last */
};

bool sb_gathered_begin(int fd)
{
	struct head h = { SB_GATHERED_MAGIC, VERSION, 0, PAGE_BYTES };

	return !ftruncate(fd, PAGE_BYTES) && sb_write_whole_at(fd, &h, sizeof h, 0);
}

static bool read_head(int fd, struct head *out)
{
	return sb_read_at(fd, out, sizeof *out, 0) == sizeof *out &&
	       !memcmp(out->magic, SB_GATHERED_MAGIC, sizeof out->magic) && out->version == VERSION &&
	       out->end >= PAGE_BYTES;
}

static bool header_makes_sense(const struct sb_file_header *h)
{
	return !memcmp(h->magic, SB_MAGIC, sizeof h->magic) && h->header_bytes >= sizeof *h &&
	       h->header_bytes <= (1u << 20) && h->chunk_bytes >= 512 && h->chunk_bytes <= (1u << 20) &&
	       h->chunk_count <= CHUNKS_MAX;
}

static uint64_t bytes_of(const struct sb_file_header *h)
{
	return h->header_bytes + (uint64_t)h->chunk_count * h->chunk_bytes;
}

/* ---- adding ------------------------------------------------------------------- */

/* A killed process leaves a count that is too low, and room that it never used. */
static uint32_t chunks_used(int fd, const struct sb_file_header *h)
{
	uint32_t used = 0, epoch;

	for (uint32_t i = 0; i < CHUNKS_MAX; i++) {
		uint64_t offset = h->header_bytes + (uint64_t)i * h->chunk_bytes;

		if (sb_read_at(fd, &epoch, sizeof epoch, offset) < sizeof epoch)
			break;
		if (epoch)
			used = i + 1;
	}
	return used;
}

static bool is_zero(const char *buffer, size_t size)
{
	return !buffer[0] && !memcmp(buffer, buffer + 1, size - 1);
}

static bool copy_pages(int to, uint64_t at, int from, uint64_t offset, uint64_t end)
{
	char buffer[PAGE_BYTES];

	while (offset < end) {
		size_t size = end - offset < PAGE_BYTES ? (size_t)(end - offset) : PAGE_BYTES;

		memset(buffer, 0, sizeof buffer);
		sb_read_at(from, buffer, size, offset);
		if (!is_zero(buffer, size) && !sb_write_whole_at(to, buffer, size, at + offset))
			return false;
		offset += size;
	}
	return true;
}

/* The header as it will be in the gathered file, with the exact count. */
static bool read_recording(int fd, struct sb_file_header *out)
{
	if (sb_read_at(fd, out, sizeof *out, 0) != sizeof *out)
		return false;
	out->chunk_count = 0;
	if (!header_makes_sense(out))
		return false;
	out->chunk_count = chunks_used(fd, out);
	return true;
}

uint64_t sb_gathered_bytes(int recording)
{
	struct sb_file_header h;

	return read_recording(recording, &h) ? bytes_of(&h) : 0;
}

bool sb_gathered_add(int fd, int recording)
{
	struct sb_file_header h;
	struct head head;
	uint64_t end;

	if (!read_head(fd, &head) || !read_recording(recording, &h))
		return false;
	end = head.end + bytes_of(&h);
	if (ftruncate(fd, (off_t)head.end) || ftruncate(fd, (off_t)end) || /* whatever was begun is gone */
		!sb_write_whole_at(fd, &h, sizeof h, head.end) ||
		!copy_pages(fd, head.end, recording, h.header_bytes, bytes_of(&h)))
		return false;
	head.end = end;
	return sb_write_whole_at(fd, &head, sizeof head, 0);
}

/* ---- reading ------------------------------------------------------------------- */

bool sb_gathered_is(const char *path)
{
	char magic[8];

	sb_file_magic(path, SB_INFILE_LISTED, magic);
	return !memcmp(magic, SB_GATHERED_MAGIC, sizeof magic);
}

static int list_parts(int fd, const char *path, struct sb_gathered_part **parts, size_t *count)
{
	struct head head;
	struct stat st;
	size_t room = 0;

	if (!read_head(fd, &head) || fstat(fd, &st))
		return sb_fail(STROBE_EFORMAT, "'%s' is damaged: its first %d bytes make no sense", path,
			(int)sizeof head);
	for (uint64_t offset = PAGE_BYTES; offset < head.end;) {
		struct sb_file_header h;

		if (sb_read_at(fd, &h, sizeof h, offset) != sizeof h || !header_makes_sense(&h) ||
			offset + bytes_of(&h) > (uint64_t)st.st_size)
			return sb_fail(STROBE_EFORMAT,
				"'%s' is cut off or damaged at byte %llu: the recordings from there on "
				"cannot be read",
				path, (unsigned long long)offset);
		if (!SB_MAKE_ROOM(*parts, *count, room))
			return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", path);
		(*parts)[(*count)++] = (struct sb_gathered_part){ offset, bytes_of(&h) };
		offset += bytes_of(&h);
	}
	return 0;
}

int sb_gathered_list(const char *path, struct sb_gathered_part **out_parts, size_t *out_count)
{
	struct sb_gathered_part *parts = NULL;
	size_t count = 0;
	int fd, err = sb_infile_open(path, SB_INFILE_LISTED, &fd);

	if (err)
		return err;
	err = list_parts(fd, path, &parts, &count);
	close(fd);
	*out_parts = parts;
	*out_count = count;
	return err;
}
