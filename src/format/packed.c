/* Reading packed recordings. Chunks of one writer and stream are packed a few at a
 * time: their words as columns (packed_columns.c), and zstd does the rest. */
#include "format/packed.h"

#include "base/error.h"
#include "format/packed_columns.h"
#include "format/packed_layout.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define CACHED_GROUPS 16u
#define CHUNKS_MAX (1u << 22)

struct sb_packed {
	int fd;
	uint32_t chunk_bytes;
	uint32_t group_count, chunk_count;
	struct sb_packed_group *groups;
	struct sb_chunk_header *headers;
	uint32_t *group_of; /* chunk -> group */
	struct cached {
		uint32_t group; /* UINT32_MAX: empty */
		uint64_t used;
		char *chunks; /* chunk_count * chunk_bytes */
	} cache[CACHED_GROUPS];
	uint64_t clock;
	ZSTD_DCtx *zstd;
	char *packed, *raw;
	size_t packed_room, raw_room;
};

static bool read_whole(int fd, void *to, size_t size, uint64_t offset)
{
	return sb_read_at(fd, to, size, offset) == size;
}

bool sb_packed_ensure(char **buf, size_t *room, size_t size)
{
	char *more = size > *room ? realloc(*buf, size) : *buf;

	if (!more)
		return false;
	*buf = more;
	*room = size > *room ? size : *room;
	return true;
}

/* Groups follow each other without a gap, and none is larger than its chunks can be. */
static int check_groups(struct sb_packed *p, uint64_t index_offset, uint64_t file_bytes, const char *path)
{
	uint32_t at = 0;

	for (uint32_t b = 0; b < p->group_count; b++) {
		const struct sb_packed_group *e = &p->groups[b];

		if (e->first_chunk != at || e->chunk_count > SB_PACKED_GROUP_CHUNKS ||
			e->chunk_count > p->chunk_count - at || e->offset > file_bytes ||
			e->bytes > file_bytes - e->offset ||
			e->raw_bytes >
				(64 + SB_COLUMN_PLANES * 2) * (p->chunk_bytes / 8) * SB_PACKED_GROUP_CHUNKS)
			return sb_fail(STROBE_EFORMAT,
				"'%s' byte %llu: group %u of this packed recording makes no sense", path,
				(unsigned long long)index_offset, b);
		for (uint32_t i = 0; i < e->chunk_count; i++)
			p->group_of[at++] = b;
	}
	p->chunk_count = at;
	return 0;
}

static int read_index(
	struct sb_packed *p, const struct sb_packed_head *h, uint64_t file_bytes, const char *path)
{
	size_t groups = (size_t)h->group_count * sizeof *p->groups;
	size_t headers = (size_t)h->chunk_count * sizeof *p->headers;

	if (h->index_offset > file_bytes || h->index_bytes > file_bytes - h->index_offset)
		return sb_fail(STROBE_EFORMAT, "'%s' is cut off: its index at byte %llu is missing", path,
			(unsigned long long)h->index_offset);
	if (h->chunk_count > CHUNKS_MAX || h->group_count > h->chunk_count ||
		groups + headers > file_bytes * 256 + 65536)
		return sb_fail(STROBE_EFORMAT,
			"'%s' byte 16: the index of this packed recording makes no sense", path);
	p->groups = malloc(groups + 1);
	p->headers = malloc(headers + 1);
	p->group_of = calloc(h->chunk_count + 1, sizeof *p->group_of);
	if (!p->groups || !p->headers || !p->group_of ||
		!sb_packed_ensure(&p->packed, &p->packed_room, h->index_bytes + 1) ||
		!sb_packed_ensure(&p->raw, &p->raw_room, groups + headers + 1))
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", path);
	if (!read_whole(p->fd, p->packed, h->index_bytes, h->index_offset) ||
		ZSTD_decompressDCtx(p->zstd, p->raw, groups + headers, p->packed, h->index_bytes) !=
			groups + headers)
		return sb_fail(STROBE_EFORMAT,
			"'%s' byte %llu: the index of this packed recording cannot be read: "
			"the file is cut off or damaged",
			path, (unsigned long long)h->index_offset);
	memcpy(p->groups, p->raw, groups);
	memcpy(p->headers, p->raw + groups, headers);
	p->group_count = h->group_count;
	p->chunk_count = h->chunk_count;
	return check_groups(p, h->index_offset, file_bytes, path);
}

int sb_packed_open(int fd, uint64_t file_bytes, const char *path, struct sb_file_header *out_head,
	struct sb_packed **out_packed)
{
	struct sb_packed_head h;
	struct sb_packed *p;
	int err;

	memset(out_head, 0, sizeof *out_head);
	if (!read_whole(fd, &h, sizeof h, 0))
		return sb_fail(STROBE_EFORMAT, "'%s' ends inside its header", path);
	if (h.version != SB_PACKED_VERSION)
		return sb_fail(STROBE_EFORMAT, "'%s' is packed by version %u; this strobe unpacks version %u",
			path, h.version, SB_PACKED_VERSION);
	if (h.head_bytes < 256 || h.head_bytes > 65536 ||
		!read_whole(fd, out_head, h.head_bytes < sizeof *out_head ? h.head_bytes : sizeof *out_head,
			sizeof h))
		return sb_fail(STROBE_EFORMAT, "'%s' ends inside its header", path);
	if (out_head->chunk_bytes < 512 || out_head->chunk_bytes > 1u << 20)
		return sb_fail(STROBE_EFORMAT, "'%s': chunks of %u bytes make no sense", path,
			out_head->chunk_bytes);
	p = calloc(1, sizeof *p);
	if (p)
		p->zstd = ZSTD_createDCtx();
	if (!p || !p->zstd) {
		sb_packed_close(p);
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", path);
	}
	p->fd = fd;
	p->chunk_bytes = out_head->chunk_bytes;
	for (uint32_t i = 0; i < CACHED_GROUPS; i++)
		p->cache[i].group = UINT32_MAX;
	err = read_index(p, &h, file_bytes, path);
	if (err) {
		sb_packed_close(p);
		return err;
	}
	*out_packed = p;
	return 0;
}

void sb_packed_close(struct sb_packed *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < CACHED_GROUPS; i++)
		free(p->cache[i].chunks);
	ZSTD_freeDCtx(p->zstd);
	free(p->groups);
	free(p->headers);
	free(p->group_of);
	free(p->packed);
	free(p->raw);
	free(p);
}

uint32_t sb_packed_count(const struct sb_packed *p)
{
	return p->chunk_count;
}

int sb_packed_chunk_header(struct sb_packed *p, uint32_t i, struct sb_chunk_header *out_header)
{
	if (i >= p->chunk_count)
		return STROBE_EINVAL;
	*out_header = p->headers[i];
	return 0;
}

static bool unpack(struct sb_packed *p, uint32_t group, char *chunks)
{
	const struct sb_packed_group *e = &p->groups[group];
	size_t bytes = (size_t)e->chunk_count * p->chunk_bytes;

	if (!e->raw_bytes || !sb_packed_ensure(&p->packed, &p->packed_room, e->bytes + 1) ||
		!sb_packed_ensure(&p->raw, &p->raw_room, (size_t)e->raw_bytes + 1) ||
		!read_whole(p->fd, p->packed, e->bytes, e->offset) ||
		ZSTD_decompressDCtx(p->zstd, p->raw, e->raw_bytes, p->packed, e->bytes) != e->raw_bytes)
		return false;
	memset(chunks, 0, bytes);
	if (p->raw[0] == SB_PACKED_RAW) {
		if (e->raw_bytes != 1 + bytes)
			return false;
		memcpy(chunks, p->raw + 1, bytes);
	} else if (p->raw[0] != SB_PACKED_COLUMNS ||
		   !sb_columns_join(p->raw + 1, e->raw_bytes - 1, chunks, e->chunk_count, p->chunk_bytes)) {
		return false;
	}
	for (uint32_t i = 0; i < e->chunk_count; i++)
		memcpy(chunks + (size_t)i * p->chunk_bytes, &p->headers[e->first_chunk + i],
			sizeof *p->headers);
	return true;
}

static const char *cached_group(struct sb_packed *p, uint32_t group)
{
	struct cached *oldest = &p->cache[0];

	for (uint32_t i = 0; i < CACHED_GROUPS; i++) {
		if (p->cache[i].group == group) {
			p->cache[i].used = ++p->clock;
			return p->cache[i].chunks;
		}
		if (p->cache[i].used < oldest->used)
			oldest = &p->cache[i];
	}
	if (!oldest->chunks)
		oldest->chunks = malloc((size_t)SB_PACKED_GROUP_CHUNKS * p->chunk_bytes);
	oldest->group = UINT32_MAX;
	if (!oldest->chunks || !unpack(p, group, oldest->chunks))
		return NULL;
	oldest->group = group;
	oldest->used = ++p->clock;
	return oldest->chunks;
}

size_t sb_packed_chunk(struct sb_packed *p, uint32_t i, void *buf)
{
	const char *chunks = i < p->chunk_count ? cached_group(p, p->group_of[i]) : NULL;

	if (!chunks)
		return 0;
	memcpy(buf, chunks + (size_t)(i - p->groups[p->group_of[i]].first_chunk) * p->chunk_bytes,
		p->chunk_bytes);
	return p->chunk_bytes;
}
