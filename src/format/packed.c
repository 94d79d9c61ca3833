/* Packed recordings. Chunks of one writer and lane are packed a few at a time:
 * the words are split into columns (kind and id, tick deltas, values, payloads),
 * byte planes of each are put side by side, and zstd does the rest. */
#include "format/packed.h"

#include "base/error.h"
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define VERSION 1u
#define BLOCK_CHUNKS 8u
#define CACHED_BLOCKS 16u
#define LEVEL 9
#define CHUNKS_MAX (1u << 22)
#define PLANES 8u

struct packed_head {
	char magic[8];
	uint32_t version;
	uint32_t head_bytes; /* of the recording's own header, which follows */
	uint32_t block_count;
	uint32_t chunk_count;
	uint64_t index_offset;
	uint64_t index_bytes;
};

/* The index, itself compressed: blocks, then every chunk's header. */
struct block_entry {
	uint64_t offset;
	uint32_t bytes;
	uint32_t first_chunk;
	uint32_t chunk_count;
	uint32_t raw_bytes; /* of the columns */
};

struct sb_packed {
	int fd;
	uint32_t chunk_bytes;
	uint32_t block_count, chunk_count;
	struct block_entry *blocks;
	struct sb_chunk_header *headers;
	uint32_t *block_of; /* chunk -> block */
	struct cached {
		uint32_t block; /* UINT32_MAX: empty */
		uint64_t used;
		char *chunks; /* chunk_count * chunk_bytes */
	} cache[CACHED_BLOCKS];
	uint64_t clock;
	ZSTD_DCtx *zstd;
	char *packed, *raw;
	size_t packed_room, raw_room;
};

/* ---- columns ------------------------------------------------------------- */

enum { RAW = 0, COLUMNS = 1 };

/* A list of 64-bit values, written as byte planes. */
struct column {
	uint64_t *values;
	uint32_t count, room;
};

struct columns {
	struct column ops; /* the low 24 bits of every word */
	struct column ticks; /* timed words: from the word before */
	struct column values; /* ATTR, COUNT */
	struct column aux; /* LONG heads: the upper 40 bits */
	struct column payload; /* LONG payloads: from the last one of that type */
	uint64_t last[256][32]; /* the last payload of each type, first 32 words */
};

static bool push(struct column *c, uint64_t value)
{
	if (c->count == c->room) {
		uint32_t room = c->room ? c->room * 2 : 4096;
		uint64_t *more = realloc(c->values, room * sizeof *more);

		if (!more)
			return false;
		c->values = more;
		c->room = room;
	}
	c->values[c->count++] = value;
	return true;
}

static void columns_done(struct columns *c)
{
	free(c->ops.values);
	free(c->ticks.values);
	free(c->values.values);
	free(c->aux.values);
	free(c->payload.values);
	free(c);
}

/* The words of one chunk into the columns. A zero ends the chunk; words after it
 * and words of no known kind cannot be kept this way. */
static bool split(struct columns *c, const uint64_t *words, size_t count)
{
	uint64_t ticks = 0;
	size_t i = 0;

	while (i < count && words[i]) {
		uint64_t w = words[i++];
		uint32_t kind = sb_word_kind(w), type = sb_long_type(w), payload = sb_long_words(w);

		if (!push(&c->ops, w & 0xffffff))
			return false;
		if (kind <= SB_SWITCH) {
			push(&c->ticks, sb_word_ticks(w) - ticks);
			ticks = sb_word_ticks(w);
		} else if (kind == SB_ATTR || kind == SB_COUNT || kind == SB_PAD) {
			push(&c->values, sb_word_ticks(w));
		} else if (kind == SB_LONG && payload <= count - i) {
			push(&c->aux, sb_long_aux(w));
			for (uint32_t k = 0; k < payload; k++) {
				uint64_t *last = &c->last[type][k < 32 ? k : 31];

				push(&c->payload, words[i] - *last);
				*last = words[i++];
			}
		} else {
			return false;
		}
		if (kind == SB_PAD)
			break;
	}
	for (; i < count; i++)
		if (words[i])
			return false;
	return push(&c->ops, 0);
}

struct taker {
	const uint64_t *values;
	uint32_t left;
};

static uint64_t take(struct taker *t)
{
	if (!t->left)
		return 0;
	t->left--;
	return *t->values++;
}

static bool join(struct taker *in, uint64_t (*all_last)[32], uint64_t *words, size_t count)
{
	struct taker *ops = &in[0], *tick = &in[1], *values = &in[2], *aux = &in[3], *payload = &in[4];
	uint64_t ticks = 0;
	size_t i = 0;

	for (;;) {
		uint64_t op = take(ops);
		uint32_t kind = sb_word_kind(op), n = sb_long_words(op);

		if (!op)
			return true;
		if (i == count)
			return false;
		if (kind <= SB_SWITCH) {
			ticks += take(tick);
			words[i++] = op | ticks << SB_VALUE_SHIFT;
		} else if (kind != SB_LONG) {
			words[i++] = op | take(values) << SB_VALUE_SHIFT;
		} else {
			words[i++] = op | take(aux) << SB_VALUE_SHIFT;
			if (n > count - i)
				return false;
			for (uint32_t k = 0; k < n; k++) {
				uint64_t *last = &all_last[sb_long_type(op)][k < 32 ? k : 31];

				*last += take(payload);
				words[i++] = *last;
			}
		}
	}
}

/* [count, then plane 0, plane 1, ...]: planes above the largest value are absent. */
static size_t planes_size(const struct column *c)
{
	return 8 + (size_t)c->count * PLANES;
}

static char *write_planes(char *to, const struct column *c)
{
	uint64_t all = 0;
	uint32_t planes = 0;

	for (uint32_t i = 0; i < c->count; i++)
		all |= c->values[i];
	while (planes < PLANES && all >> (8 * planes))
		planes++;
	memcpy(to, &c->count, 4);
	memcpy(to + 4, &planes, 4);
	to += 8;
	for (uint32_t p = 0; p < planes; p++)
		for (uint32_t i = 0; i < c->count; i++)
			*to++ = (char)(c->values[i] >> (8 * p));
	return to;
}

static const char *read_planes(
	const char *from, const char *end, struct taker *out_taker, uint64_t **out_values)
{
	uint32_t count, planes;
	uint64_t *values;

	if (end - from < 8)
		return NULL;
	memcpy(&count, from, 4);
	memcpy(&planes, from + 4, 4);
	from += 8;
	if (planes > PLANES || (uint64_t)count * planes > (uint64_t)(end - from) || count > 1u << 24)
		return NULL;
	values = calloc((size_t)count + 1, sizeof *values);
	if (!values)
		return NULL;
	for (uint32_t p = 0; p < planes; p++)
		for (uint32_t i = 0; i < count; i++)
			values[i] |= (uint64_t)(unsigned char)*from++ << (8 * p);
	*out_values = values;
	*out_taker = (struct taker){ values, count };
	return from;
}

/* ---- reading ------------------------------------------------------------- */

static bool read_whole(int fd, void *to, size_t size, uint64_t offset)
{
	return sb_read_at(fd, to, size, offset) == size;
}

static bool ensure(char **buf, size_t *room, size_t size)
{
	char *more = size > *room ? realloc(*buf, size) : *buf;

	if (!more)
		return false;
	*buf = more;
	*room = size > *room ? size : *room;
	return true;
}

static int read_index(struct sb_packed *p, const struct packed_head *h, uint64_t file_bytes, const char *path)
{
	size_t blocks = (size_t)h->block_count * sizeof *p->blocks;
	size_t headers = (size_t)h->chunk_count * sizeof *p->headers;
	uint32_t at = 0;

	if (h->index_offset > file_bytes || h->index_bytes > file_bytes - h->index_offset)
		return sb_fail(STROBE_EFORMAT, "'%s' is cut off: its index at byte %llu is missing", path,
			(unsigned long long)h->index_offset);
	if (h->chunk_count > CHUNKS_MAX || h->block_count > h->chunk_count ||
		blocks + headers > file_bytes * 256 + 65536)
		return sb_fail(STROBE_EFORMAT,
			"'%s' byte 16: the index of this packed recording makes no sense", path);
	p->blocks = malloc(blocks + 1);
	p->headers = malloc(headers + 1);
	p->block_of = calloc(h->chunk_count + 1, sizeof *p->block_of);
	if (!p->blocks || !p->headers || !p->block_of ||
		!ensure(&p->packed, &p->packed_room, h->index_bytes + 1) ||
		!ensure(&p->raw, &p->raw_room, blocks + headers + 1))
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", path);
	if (!read_whole(p->fd, p->packed, h->index_bytes, h->index_offset) ||
		ZSTD_decompressDCtx(p->zstd, p->raw, blocks + headers, p->packed, h->index_bytes) !=
			blocks + headers)
		return sb_fail(STROBE_EFORMAT,
			"'%s' byte %llu: the index of this packed recording cannot be read: "
			"the file is cut off or damaged",
			path, (unsigned long long)h->index_offset);
	memcpy(p->blocks, p->raw, blocks);
	memcpy(p->headers, p->raw + blocks, headers);
	p->block_count = h->block_count;
	p->chunk_count = h->chunk_count;
	for (uint32_t b = 0; b < h->block_count; b++) {
		const struct block_entry *e = &p->blocks[b];

		if (e->first_chunk != at || e->chunk_count > BLOCK_CHUNKS ||
			e->chunk_count > h->chunk_count - at || e->offset > file_bytes ||
			e->bytes > file_bytes - e->offset ||
			e->raw_bytes > (64 + PLANES * 2) * (p->chunk_bytes / 8) * BLOCK_CHUNKS)
			return sb_fail(STROBE_EFORMAT,
				"'%s' byte %llu: block %u of this packed recording makes no sense", path,
				(unsigned long long)h->index_offset, b);
		for (uint32_t i = 0; i < e->chunk_count; i++)
			p->block_of[at++] = b;
	}
	p->chunk_count = at;
	return 0;
}

int sb_packed_open(int fd, uint64_t file_bytes, const char *path, struct sb_file_header *out_head,
	struct sb_packed **out_packed)
{
	struct packed_head h;
	struct sb_packed *p;
	int err;

	memset(out_head, 0, sizeof *out_head);
	if (!read_whole(fd, &h, sizeof h, 0))
		return sb_fail(STROBE_EFORMAT, "'%s' ends inside its header", path);
	if (h.version != VERSION)
		return sb_fail(STROBE_EFORMAT, "'%s' is packed by version %u; this strobe unpacks version %u",
			path, h.version, VERSION);
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
	for (uint32_t i = 0; i < CACHED_BLOCKS; i++)
		p->cache[i].block = UINT32_MAX;
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
	for (uint32_t i = 0; i < CACHED_BLOCKS; i++)
		free(p->cache[i].chunks);
	ZSTD_freeDCtx(p->zstd);
	free(p->blocks);
	free(p->headers);
	free(p->block_of);
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

static bool join_block(struct sb_packed *p, const struct block_entry *e, const char *raw, char *chunks)
{
	uint64_t(*last)[32] = calloc(256, sizeof *last);
	const char *from = raw + 1, *end = raw + e->raw_bytes;
	uint64_t *values[5] = { 0 };
	struct taker takers[5];
	bool ok = last != NULL;

	for (int i = 0; ok && i < 5; i++) {
		from = read_planes(from, end, &takers[i], &values[i]);
		ok = from != NULL;
	}
	for (uint32_t c = 0; ok && c < e->chunk_count; c++)
		ok = join(takers, last,
			(uint64_t *)(chunks + (size_t)c * p->chunk_bytes + SB_CHUNK_HEADER_BYTES),
			(p->chunk_bytes - SB_CHUNK_HEADER_BYTES) / 8);
	for (int i = 0; i < 5; i++)
		free(values[i]);
	free(last);
	return ok;
}

static bool unpack(struct sb_packed *p, uint32_t block, char *chunks)
{
	const struct block_entry *e = &p->blocks[block];
	size_t bytes = (size_t)e->chunk_count * p->chunk_bytes;

	if (!e->raw_bytes || !ensure(&p->packed, &p->packed_room, e->bytes + 1) ||
		!ensure(&p->raw, &p->raw_room, (size_t)e->raw_bytes + 1) ||
		!read_whole(p->fd, p->packed, e->bytes, e->offset) ||
		ZSTD_decompressDCtx(p->zstd, p->raw, e->raw_bytes, p->packed, e->bytes) != e->raw_bytes)
		return false;
	memset(chunks, 0, bytes);
	if (p->raw[0] == RAW) {
		if (e->raw_bytes != 1 + bytes)
			return false;
		memcpy(chunks, p->raw + 1, bytes);
	} else if (p->raw[0] != COLUMNS || !join_block(p, e, p->raw, chunks)) {
		return false;
	}
	for (uint32_t i = 0; i < e->chunk_count; i++)
		memcpy(chunks + (size_t)i * p->chunk_bytes, &p->headers[e->first_chunk + i],
			sizeof *p->headers);
	return true;
}

static const char *cached_block(struct sb_packed *p, uint32_t block)
{
	struct cached *oldest = &p->cache[0];

	for (uint32_t i = 0; i < CACHED_BLOCKS; i++) {
		if (p->cache[i].block == block) {
			p->cache[i].used = ++p->clock;
			return p->cache[i].chunks;
		}
		if (p->cache[i].used < oldest->used)
			oldest = &p->cache[i];
	}
	if (!oldest->chunks)
		oldest->chunks = malloc((size_t)BLOCK_CHUNKS * p->chunk_bytes);
	oldest->block = UINT32_MAX;
	if (!oldest->chunks || !unpack(p, block, oldest->chunks))
		return NULL;
	oldest->block = block;
	oldest->used = ++p->clock;
	return oldest->chunks;
}

size_t sb_packed_chunk(struct sb_packed *p, uint32_t i, void *buf)
{
	const char *chunks = i < p->chunk_count ? cached_block(p, p->block_of[i]) : NULL;

	if (!chunks)
		return 0;
	memcpy(buf, chunks + (size_t)(i - p->blocks[p->block_of[i]].first_chunk) * p->chunk_bytes,
		p->chunk_bytes);
	return p->chunk_bytes;
}

/* ---- writing ------------------------------------------------------------- */

struct packer {
	struct sb_reader *reader;
	const char *path;
	int fd;
	uint64_t offset;
	ZSTD_CCtx *zstd;
	struct block_entry *blocks;
	struct sb_chunk_header *headers;
	uint32_t block_count, chunk_count;
	char *chunks; /* BLOCK_CHUNKS of them */
	char *raw, *packed;
	size_t raw_room, packed_room;
};

static int write_out(struct packer *k, const void *data, size_t size)
{
	const char *from = data;

	while (size) {
		ssize_t n = pwrite(k->fd, from, size, (off_t)k->offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sb_fail_errno("cannot write '%s'", k->path);
		from += n;
		size -= (size_t)n;
		k->offset += (uint64_t)n;
	}
	return 0;
}

/* Fills k->raw; the bytes in it, 0: no memory. */
static size_t make_columns(struct packer *k, uint32_t count)
{
	uint32_t chunk_bytes = k->reader->head.chunk_bytes;
	struct columns *c = calloc(1, sizeof *c);
	const struct column *all[5];
	size_t need = 1;
	bool ok = c != NULL;
	char *to;

	for (uint32_t i = 0; ok && i < count; i++)
		ok = split(c, (uint64_t *)(k->chunks + (size_t)i * chunk_bytes + SB_CHUNK_HEADER_BYTES),
			(chunk_bytes - SB_CHUNK_HEADER_BYTES) / 8);
	if (!ok) {
		if (c)
			columns_done(c);
		return 0;
	}
	memcpy(all, (const struct column *[]){ &c->ops, &c->ticks, &c->values, &c->aux, &c->payload },
		sizeof all);
	for (int i = 0; i < 5; i++)
		need += planes_size(all[i]);
	if (!ensure(&k->raw, &k->raw_room, need)) {
		columns_done(c);
		return 0;
	}
	to = k->raw;
	*to++ = COLUMNS;
	for (int i = 0; i < 5; i++)
		to = write_planes(to, all[i]);
	columns_done(c);
	return (size_t)(to - k->raw);
}

static int write_compressed(struct packer *k, size_t raw_bytes, size_t *out_bytes)
{
	size_t bound = ZSTD_compressBound(raw_bytes);

	if (!ensure(&k->packed, &k->packed_room, bound))
		return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", k->path);
	*out_bytes = ZSTD_compress2(k->zstd, k->packed, bound, k->raw, raw_bytes);
	if (ZSTD_isError(*out_bytes))
		return sb_fail(STROBE_EIO, "cannot pack '%s': %s", k->path, ZSTD_getErrorName(*out_bytes));
	return write_out(k, k->packed, *out_bytes);
}

static int write_block(struct packer *k, uint32_t first, uint32_t count, bool words)
{
	size_t bytes = (size_t)count * k->reader->head.chunk_bytes, packed = 0;
	size_t raw = words ? make_columns(k, count) : 0;
	uint64_t offset = k->offset;
	int err;

	if (!raw) {
		if (!ensure(&k->raw, &k->raw_room, 1 + bytes))
			return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", k->path);
		k->raw[0] = RAW;
		memcpy(k->raw + 1, k->chunks, bytes);
		raw = 1 + bytes;
	}
	err = write_compressed(k, raw, &packed);
	if (!err)
		k->blocks[k->block_count++] = (struct block_entry){ .offset = offset,
			.bytes = (uint32_t)packed,
			.first_chunk = first,
			.chunk_count = count,
			.raw_bytes = (uint32_t)raw };
	return err;
}

static int write_blocks(struct packer *k)
{
	struct sb_reader *r = k->reader;
	uint32_t i = 0;
	int err = 0;

	while (!err && i < r->chunk_count) {
		const struct sb_chunk *head = &r->chunks[i];
		uint32_t first = k->chunk_count, count = 0;

		for (; i < r->chunk_count && count < BLOCK_CHUNKS && r->chunks[i].lane == head->lane &&
			r->chunks[i].writer == head->writer;
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
			err = write_block(k, first, count, head->lane != SB_LANE_DIGEST);
	}
	return err;
}

static int write_all(struct packer *k)
{
	struct packed_head h = { .version = VERSION, .head_bytes = sizeof k->reader->head };
	size_t blocks, headers, packed = 0;
	int err;

	memcpy(h.magic, SB_PACKED_MAGIC, sizeof h.magic);
	k->offset = sizeof h + sizeof k->reader->head;
	err = write_blocks(k);
	if (err)
		return err;
	blocks = (size_t)k->block_count * sizeof *k->blocks;
	headers = (size_t)k->chunk_count * sizeof *k->headers;
	if (!ensure(&k->raw, &k->raw_room, blocks + headers + 1))
		return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", k->path);
	memcpy(k->raw, k->blocks, blocks);
	memcpy(k->raw + blocks, k->headers, headers);
	h.block_count = k->block_count;
	h.chunk_count = k->chunk_count;
	h.index_offset = k->offset;
	err = write_compressed(k, blocks + headers, &packed);
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
	free(k->blocks);
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
	k.blocks = calloc(r->chunk_count + 1, sizeof *k.blocks);
	k.headers = calloc(r->chunk_count + 1, sizeof *k.headers);
	k.chunks = malloc((size_t)BLOCK_CHUNKS * r->head.chunk_bytes);
	if (!k.zstd || !k.blocks || !k.headers || !k.chunks) {
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
