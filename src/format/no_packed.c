/* A build without zstd: packed recordings are recognised and refused. */
#include "format/packed.h"

#include "base/error.h"

int sb_packed_open(int fd, uint64_t file_bytes, const char *path, struct sb_file_header *out_head,
	struct sb_packed **out_packed)
{
	return sb_fail(
		STROBE_ENOTSUP, "'%s' is packed and this build has no zstd: build strobe with libzstd", path);
}

void sb_packed_close(struct sb_packed *p)
{
}

uint32_t sb_packed_count(const struct sb_packed *p)
{
	return 0;
}

size_t sb_packed_chunk(struct sb_packed *p, uint32_t i, void *buf)
{
	return 0;
}

int sb_packed_chunk_header(struct sb_packed *p, uint32_t i, struct sb_chunk_header *out_header)
{
	return STROBE_ENOTSUP;
}

int sb_packed_write(struct sb_reader *r, const char *path)
{
	return sb_fail(STROBE_ENOTSUP, "packing needs zstd: build strobe with libzstd");
}
