/* libFuzzer on plain recordings, together with a target that reads them. Chance rarely
 * leaves a file whose chunks and lengths still hold: this changes one thing that means
 * something, so that what lies behind the reader is reached. */
#include "format/wire.h"

#include <stdlib.h>
#include <string.h>

#define RECORDS_MAX 2048u

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

struct recording {
	uint8_t *data;
	size_t size, most, chunk_bytes, chunk_count;
	uint64_t random;
};

struct record { /* of one chunk, in words */
	uint32_t at, words;
};

struct chunk {
	uint8_t *bytes;
	uint64_t *words;
	uint32_t room; /* words behind its header */
	uint32_t used;
	struct record records[RECORDS_MAX];
	uint32_t count;
};

static uint64_t chance(struct recording *r)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return r->random;
}

static uint32_t below(struct recording *r, uint64_t limit)
{
	return (uint32_t)(chance(r) % limit);
}

static int open_recording(struct recording *r)
{
	if (r->size < SB_FILE_HEADER_BYTES + 4096 || memcmp(r->data, SB_MAGIC, 8))
		return 0;
	r->chunk_bytes = r->data[17] == 0x40 ? 16384 : 4096;
	r->chunk_count = (r->size - SB_FILE_HEADER_BYTES) / r->chunk_bytes;
	return r->chunk_count > 0;
}

/* Records up to the first word that is none. */
static void find_records(struct chunk *c)
{
	c->count = c->used = 0;
	while (c->used < c->room && c->count < RECORDS_MAX) {
		uint64_t w = c->words[c->used];
		uint32_t words = sb_word_kind(w) == SB_LONG ? 1 + sb_long_words(w) : 1;

		if (!w || sb_word_kind(w) > SB_LONG || words > c->room - c->used)
			return;
		c->records[c->count++] = (struct record){ c->used, words };
		c->used += words;
	}
}

static void open_chunk(struct recording *r, struct chunk *c, uint32_t index)
{
	c->bytes = r->data + SB_FILE_HEADER_BYTES + index * r->chunk_bytes;
	c->words = (uint64_t *)(c->bytes + SB_CHUNK_HEADER_BYTES);
	c->room = (uint32_t)((r->chunk_bytes - SB_CHUNK_HEADER_BYTES) / 8);
	find_records(c);
}

/* Numbers that readers have to survive. */
static uint64_t odd_number(struct recording *r, uint64_t was)
{
	static const uint64_t odd[] = { 0, 1, 2, 255, 65535, UINT32_MAX, UINT64_MAX, INT64_MAX, 1ull << 63,
		1ull << 62, 1ull << 52, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
		0x7fefffffffffffff, 0x8000000000000000, 1, 0x3ff0000000000000, 0xbff0000000000000,
		0x43e0000000000000, 1000000000, 86400000000000 };

	switch (below(r, 6)) {
	case 0: return was + below(r, 100);
	case 1: return was - below(r, 100);
	case 2: return was ^ 1ull << below(r, 64);
	case 3: return was + (chance(r) >> below(r, 64));
	default: return odd[below(r, sizeof odd / sizeof odd[0])];
	}
}

static void change_word(struct recording *r, struct chunk *c)
{
	const struct record *at = &c->records[below(r, c->count)];
	uint64_t *w = &c->words[at->at];

	if (at->words > 1 && below(r, 2)) {
		w += 1 + below(r, at->words - 1);
		*w = below(r, 4) ? odd_number(r, *w) : c->words[below(r, c->used)];
	} else if (sb_word_kind(*w) == SB_LONG) {
		uint64_t aux = below(r, 2) ? odd_number(r, sb_long_aux(*w)) : sb_long_aux(*w);

		*w = sb_long(below(r, 2) ? below(r, 30) : sb_long_type(*w), at->words - 1, aux);
	} else {
		*w = sb_word((enum sb_kind)(below(r, 3) ? sb_word_kind(*w) : 1 + below(r, 6)),
			below(r, 2) ? sb_word_id(*w) : below(r, below(r, 2) ? 80 : SB_ID_MAX),
			below(r, 2) ? sb_word_ticks(*w) : odd_number(r, sb_word_ticks(*w)));
	}
}

/* A record of one chunk goes before one of another, or of the same. */
static void copy_record(struct recording *r, struct chunk *from, struct chunk *to)
{
	const struct record *what = &from->records[below(r, from->count)];
	uint32_t at = to->count ? to->records[below(r, to->count)].at : 0;
	uint64_t *copy = malloc(what->words * sizeof *copy);

	if (copy && to->room - to->used >= what->words) {
		memcpy(copy, from->words + what->at, what->words * sizeof *copy);
		memmove(to->words + at + what->words, to->words + at, (to->used - at) * sizeof *copy);
		memcpy(to->words + at, copy, what->words * sizeof *copy);
	}
	free(copy);
}

static void remove_record(struct recording *r, struct chunk *c)
{
	const struct record *what = &c->records[below(r, c->count)];

	memmove(c->words + what->at, c->words + what->at + what->words,
		(c->used - what->at - what->words) * sizeof *c->words);
	memset(c->words + c->used - what->words, 0, what->words * sizeof *c->words);
}

static void change_chunk_header(struct recording *r, struct chunk *c)
{
	struct sb_chunk_header *h = (struct sb_chunk_header *)c->bytes;

	switch (below(r, 9)) {
	case 0: h->stream = (uint16_t)(1 + below(r, 4)); break;
	case 1: h->writer = 1 + below(r, 5); break;
	case 2: h->tid = below(r, 2) ? 1000 + below(r, 4) : (uint32_t)odd_number(r, h->tid); break;
	case 3: h->track = below(r, 4); break;
	case 4: h->seq = 1 + below(r, 5); break;
	case 5: h->base_ticks = odd_number(r, h->base_ticks); break;
	case 6: h->epoch = below(r, 5); break;
	case 7: h->anchor_mono_ns = odd_number(r, h->anchor_mono_ns); break;
	default: h->words_lost = odd_number(r, h->words_lost); break;
	}
}

static void change_file_header(struct recording *r)
{
	struct sb_file_header *h = (struct sb_file_header *)r->data;

	switch (below(r, 9)) {
	case 0: h->clock_hz = odd_number(r, h->clock_hz); break;
	case 1: h->clock_kind = below(r, 6); break;
	case 2: h->start_ticks = odd_number(r, h->start_ticks); break;
	case 3: h->start_mono_ns = odd_number(r, h->start_mono_ns); break;
	case 4: h->start_real_ns = odd_number(r, h->start_real_ns); break;
	case 5: h->end_ticks = odd_number(r, h->end_ticks); break;
	case 6: h->closed = !h->closed; break;
	case 7: *sb_lost_at(h, below(r, SB_LOST_REASONS)) = odd_number(r, 0); break;
	default: h->world_size = (int32_t)below(r, 9); break;
	}
}

/* One more chunk, as a copy with the next number. */
static void copy_chunk(struct recording *r, struct chunk *c)
{
	struct sb_chunk_header *h;

	if (r->size + r->chunk_bytes > r->most)
		return;
	r->size = SB_FILE_HEADER_BYTES + r->chunk_count * r->chunk_bytes;
	memcpy(r->data + r->size, c->bytes, r->chunk_bytes);
	h = (struct sb_chunk_header *)(r->data + r->size);
	h->seq++;
	r->size += r->chunk_bytes;
}

static void change(struct recording *r, struct chunk *c, struct chunk *other)
{
	uint32_t what = below(r, 16);

	open_chunk(r, c, below(r, r->chunk_count));
	if (what == 0)
		change_file_header(r);
	else if (what <= 2)
		change_chunk_header(r, c);
	else if (what == 3)
		copy_chunk(r, c);
	else if (!c->count) /* a digest, or empty */
		LLVMFuzzerMutate(c->bytes, r->chunk_bytes, r->chunk_bytes);
	else if (what == 4)
		remove_record(r, c);
	else if (what <= 7) {
		open_chunk(r, other, below(r, r->chunk_count));
		copy_record(r, c, other);
	} else
		change_word(r, c);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
	struct recording r = {
		.data = data, .size = size, .most = most, .random = seed * 2654435761u + 1ull
	};
	static struct chunk c, other;

	if (seed % 16 == 0 || !open_recording(&r))
		return LLVMFuzzerMutate(data, size, most);
	for (uint32_t times = 1 + below(&r, 4); times; times--)
		change(&r, &c, &other);
	return r.size;
}
