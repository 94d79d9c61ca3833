/* Writing packed recordings: groups of a few chunks, then the index, the header
 * last: a file without one was never finished. */
#include "format/packed.h"

#include "base/error.h"
#include "base/newfile.h"
#include "base/whole_write.h"
#include "format/packed_columns.h"
#include "format/packed_layout.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define LEVEL 9

struct packer {
	struct sb_reader *reader;
	const char *path;
	int fd;
	uint64_t offset;
	ZSTD_CCtx *zstd;
	struct sb_packed_group *groups;
	struct sb_chunk_header *headers;
	uint32_t group_count, chunk_count;
	char *chunks; /* SB_PACKED_GROUP_CHUNKS of them */
	char *raw, *packed;
	size_t raw_room, packed_room;
};

static int write_out(struct packer *k, const void *data, size_t size)
{
	if (!sb_write_whole_at(k->fd, data, size, k->offset))
		return sb_fail_errno("cannot write '%s'", k->path);
	k->offset += size;
	return 0;
}

/* Fills k->raw; the bytes in it, 0: no memory, or chunks that cannot be split. */
static size_t make_columns(struct packer *k, uint32_t count)
{
	struct sb_columns *c = sb_columns_split(k->chunks, count, k->reader->head.chunk_bytes);
	size_t size = 0;

	if (c && sb_packed_ensure(&k->raw, &k->raw_room, 1 + sb_columns_room(c))) {
		k->raw[0] = SB_PACKED_COLUMNS;
		size = 1 + sb_columns_write(c, k->raw + 1);
	}
	sb_columns_free(c);
	return size;
}

static int write_compressed(struct packer *k, size_t raw_bytes, size_t *out_bytes)
{
	size_t bound = ZSTD_compressBound(raw_bytes);

	if (!sb_packed_ensure(&k->packed, &k->packed_room, bound))
		return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", k->path);
	*out_bytes = ZSTD_compress2(k->zstd, k->packed, bound, k->raw, raw_bytes);
	if (ZSTD_isError(*out_bytes))
		return sb_fail(STROBE_EIO, "cannot pack '%s': %s", k->path, ZSTD_getErrorName(*out_bytes));
	return write_out(k, k->packed, *out_bytes);
}

static int write_group(struct packer *k, uint32_t first, uint32_t count, bool words)
{
	size_t bytes = (size_t)count * k->reader->head.chunk_bytes, packed = 0;
	size_t raw = words ? make_columns(k, count) : 0;
	uint64_t offset = k->offset;
	int err;

	if (!raw) {
		if (!sb_packed_ensure(&k->raw, &k->raw_room, 1 + bytes))
			return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", k->path);
		k->raw[0] = SB_PACKED_RAW;
		memcpy(k->raw + 1, k->chunks, bytes);
		raw = 1 + bytes;
	}
	err = write_compressed(k, raw, &packed);
	if (!err)
		k->groups[k->group_count++] = (struct sb_packed_group){ .offset = offset,
			.bytes = (uint32_t)packed,
			.first_chunk = first,
			.chunk_count = count,
			.raw_bytes = (uint32_t)raw };
	return err;
}

static int write_groups(struct packer *k)
{
	struct sb_reader *r = k->reader;
	uint32_t i = 0;
	int err = 0;

	while (!err && i < r->chunk_count) {
		const struct sb_chunk *head = &r->chunks[i];
		uint32_t first = k->chunk_count, count = 0;

		for (; i < r->chunk_count && count < SB_PACKED_GROUP_CHUNKS &&
			r->chunks[i].stream == head->stream && r->chunks[i].writer == head->writer;
			i++) {
			uint64_t *to = (uint64_t *)(k->chunks + (size_t)count * r->head.chunk_bytes);
			size_t words;

			memset(to, 0, r->head.chunk_bytes);
			if (!sb_reader_chunk(r, &r->chunks[i], to, &words))
				continue;
			memcpy(&k->headers[k->chunk_count++], to, sizeof *k->headers);
			count++;
		}
		if (count)
			err = write_group(k, first, count, head->stream != SB_STREAM_DIGEST);
	}
	return err;
}

static int write_all(struct packer *k)
{
	struct sb_packed_head h = { .version = SB_PACKED_VERSION, .head_bytes = sizeof k->reader->head };
	size_t groups, headers, packed = 0;
	int err;

	memcpy(h.magic, SB_PACKED_MAGIC, sizeof h.magic);
	k->offset = sizeof h + sizeof k->reader->head;
	err = write_groups(k);
	if (err)
		return err;
	groups = (size_t)k->group_count * sizeof *k->groups;
	headers = (size_t)k->chunk_count * sizeof *k->headers;
	if (!sb_packed_ensure(&k->raw, &k->raw_room, groups + headers + 1))
		return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", k->path);
	memcpy(k->raw, k->groups, groups);
	memcpy(k->raw + groups, k->headers, headers);
	h.group_count = k->group_count;
	h.chunk_count = k->chunk_count;
	h.index_offset = k->offset;
	err = write_compressed(k, groups + headers, &packed);
	h.index_bytes = packed;
	k->offset = 0;
	if (!err)
		err = write_out(k, &h, sizeof h);
	if (!err)
		err = write_out(k, &k->reader->head, sizeof k->reader->head);
	return err;
}

static void packer_done(struct packer *k)
{
	ZSTD_freeCCtx(k->zstd);
	free(k->groups);
	free(k->headers);
	free(k->chunks);
	free(k->raw);
	free(k->packed);
}

int sb_packed_write(struct sb_reader *r, const char *path)
{
	struct packer k = { .reader = r, .path = path };
	struct sb_newfile file;
	int err, closed;

	k.zstd = ZSTD_createCCtx();
	k.groups = calloc(r->chunk_count + 1, sizeof *k.groups);
	k.headers = calloc(r->chunk_count + 1, sizeof *k.headers);
	k.chunks = malloc((size_t)SB_PACKED_GROUP_CHUNKS * r->head.chunk_bytes);
	if (!k.zstd || !k.groups || !k.headers || !k.chunks) {
		packer_done(&k);
		return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", path);
	}
	ZSTD_CCtx_setParameter(k.zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(k.zstd, ZSTD_c_checksumFlag, 1);
	err = sb_newfile_open(&file, path, 0600);
	k.fd = file.fd;
	if (!err)
		err = write_all(&k);
	closed = sb_newfile_close(&file, !err);
	packer_done(&k);
	return err ? err : closed;
}
