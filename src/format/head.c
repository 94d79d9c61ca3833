/* Headers of plain, packed and gathered files: a few reads each. */
#include "format/head.h"

#include "format/gathered.h"
#include "format/packed.h"
#include "format/packed_layout.h"
#include "format/reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_plain(int fd, uint64_t offset, struct sb_file_header *out_head)
{
	return sb_read_at(fd, out_head, sizeof *out_head, offset) == sizeof *out_head &&
	       !memcmp(out_head->magic, SB_MAGIC, sizeof out_head->magic);
}

static bool read_packed(int fd, struct sb_file_header *out_head)
{
	struct sb_packed_head packed;
	size_t size;

	memset(out_head, 0, sizeof *out_head);
	if (sb_read_at(fd, &packed, sizeof packed, 0) != sizeof packed ||
		packed.version != SB_PACKED_VERSION || packed.head_bytes < 256 || packed.head_bytes > 65536)
		return false;
	size = packed.head_bytes < sizeof *out_head ? packed.head_bytes : sizeof *out_head;
	return sb_read_at(fd, out_head, size, sizeof packed) == size;
}

static void visit_parts(const char *path, int fd, sb_head_visit *visit, void *context)
{
	struct sb_gathered_part *parts = NULL;
	struct sb_file_header head;
	size_t count = 0;

	sb_gathered_list(path, &parts, &count); /* where it fails, those before the damage */
	for (size_t i = 0; i < count; i++)
		if (read_plain(fd, parts[i].offset, &head))
			visit(&head, context);
	free(parts);
}

static enum sb_head_kind read_open(const char *path, int fd, sb_head_visit *visit, void *context)
{
	struct sb_file_header head;
	char magic[8];

	if (sb_read_at(fd, magic, sizeof magic, 0) != sizeof magic)
		return SB_HEAD_NONE;
	if (!memcmp(magic, SB_GATHERED_MAGIC, sizeof magic)) {
		visit_parts(path, fd, visit, context);
		return SB_HEAD_GATHERED;
	}
	if (!memcmp(magic, SB_PACKED_MAGIC, sizeof magic) && read_packed(fd, &head)) {
		visit(&head, context);
		return SB_HEAD_PACKED;
	}
	if (!read_plain(fd, 0, &head))
		return SB_HEAD_NONE;
	visit(&head, context);
	return SB_HEAD_PLAIN;
}

enum sb_head_kind sb_head_read(
	const char *path, enum sb_infile_from from, sb_head_visit *visit, void *context, uint64_t *out_bytes)
{
	enum sb_head_kind kind;
	struct stat st;
	int fd;

	if (sb_infile_open(path, from, &fd))
		return SB_HEAD_NONE;
	kind = read_open(path, fd, visit, context);
	if (kind != SB_HEAD_NONE && !fstat(fd, &st))
		*out_bytes = (uint64_t)st.st_blocks * 512;
	close(fd);
	return kind;
}
