/* libFuzzer on packed recordings, together with recording_fuzz.c. Chance does not
 * get past zstd: this unpacks one block, or the index, changes that and packs it
 * again, so that what was changed is what is read. */
#include "format/packed.h"
#include "format/wire.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define RAW_BYTES_MAX (1u << 17)
#define BLOCKS_MAX 4096u

/* As in packed.c and docs/format.md. */
struct head {
	char magic[8];
	uint32_t version, head_bytes, block_count, chunk_count;
	uint64_t index_offset, index_bytes;
};
struct entry {
	uint64_t offset;
	uint32_t bytes, first_chunk, chunk_count, raw_bytes;
};

struct file {
	struct head head;
	const uint8_t *data;
	size_t size;
	uint8_t *index; /* unpacked: entries, then chunk headers */
	size_t index_bytes;
};

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

static size_t unpack(const struct file *f, uint64_t offset, uint64_t bytes, uint8_t *to, size_t room)
{
	size_t n;

	if (offset > f->size || bytes > f->size - offset)
		return 0;
	n = ZSTD_decompress(to, room, f->data + offset, bytes);
	return ZSTD_isError(n) ? 0 : n;
}

static int open_file(struct file *f, const uint8_t *data, size_t size)
{
	if (size < sizeof f->head || memcmp(data, SB_PACKED_MAGIC, 8))
		return 0;
	memcpy(&f->head, data, sizeof f->head);
	f->data = data;
	f->size = size;
	if (f->head.block_count > BLOCKS_MAX || f->head.head_bytes > size - sizeof f->head ||
		!(f->index = malloc(RAW_BYTES_MAX)))
		return 0;
	f->index_bytes = unpack(f, f->head.index_offset, f->head.index_bytes, f->index, RAW_BYTES_MAX);
	return f->index_bytes >= f->head.block_count * sizeof(struct entry);
}

/* The file again, with block `changed` made of raw. 0: it does not fit. */
static size_t write_file(
	struct file *f, uint32_t changed, const uint8_t *raw, size_t raw_bytes, uint8_t *to, size_t most)
{
	size_t at = sizeof f->head + f->head.head_bytes, n;

	if (at > most)
		return 0;
	memcpy(to + sizeof f->head, f->data + sizeof f->head, f->head.head_bytes);
	for (uint32_t i = 0; i < f->head.block_count; i++) {
		struct entry e;

		memcpy(&e, f->index + i * sizeof e, sizeof e);
		if (i == changed) {
			n = ZSTD_compress(to + at, most - at, raw, raw_bytes, 1);
			if (ZSTD_isError(n))
				return 0;
			e.raw_bytes = (uint32_t)raw_bytes;
		} else {
			n = e.bytes;
			if (e.offset > f->size || n > f->size - e.offset || n > most - at)
				return 0;
			memcpy(to + at, f->data + e.offset, n);
		}
		e.offset = at;
		e.bytes = (uint32_t)n;
		memcpy(f->index + i * sizeof e, &e, sizeof e);
		at += n;
	}
	n = ZSTD_compress(to + at, most - at, f->index, f->index_bytes, 1);
	if (ZSTD_isError(n))
		return 0;
	f->head.index_offset = at;
	f->head.index_bytes = n;
	memcpy(to, &f->head, sizeof f->head);
	return at + n;
}

static size_t mutate(struct file *f, uint8_t *data, size_t most, unsigned int seed)
{
	size_t entries = f->head.block_count * sizeof(struct entry), raw_bytes = 0, size;
	uint8_t *raw = malloc(RAW_BYTES_MAX), *whole = malloc(most);
	uint32_t block = UINT32_MAX;

	if (raw && whole && f->head.block_count && seed % 4) {
		struct entry e;

		block = seed / 4 % f->head.block_count;
		memcpy(&e, f->index + block * sizeof e, sizeof e);
		raw_bytes = unpack(f, e.offset, e.bytes, raw, RAW_BYTES_MAX);
		raw_bytes = raw_bytes ? LLVMFuzzerMutate(raw, raw_bytes, RAW_BYTES_MAX) : 0;
	} else if (f->index_bytes > entries) { /* the chunks' headers; entries are written anew */
		LLVMFuzzerMutate(f->index + entries, f->index_bytes - entries, f->index_bytes - entries);
	}
	size = raw && whole && (raw_bytes || block == UINT32_MAX)
		       ? write_file(f, block, raw, raw_bytes, whole, most)
		       : 0;
	if (size)
		memcpy(data, whole, size);
	free(raw);
	free(whole);
	return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
	struct file f = { 0 };
	size_t changed = 0;

	if (seed % 16 && open_file(&f, data, size))
		changed = mutate(&f, data, most, seed / 16);
	free(f.index);
	return changed ? changed : LLVMFuzzerMutate(data, size, most);
}
