/* Splitting words into columns and joining them again; docs/format.md has the
 * layout. */
#include "format/packed_columns.h"

#include "format/wire.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

/* In the order of the file. */
enum {
	OPS, /* the low 24 bits of every word */
	TICKS, /* timed words: from the word before */
	VALUES, /* ATTR, COUNT, PAD */
	AUX, /* LONG heads: the upper 40 bits */
	PAYLOAD, /* LONG payloads: from the last one of that type */
	COLUMN_COUNT
};

enum { TYPE_COUNT = 256, KEPT_WORDS = 32, VALUES_MAX = 1 << 24 };

/* The last payload of each type; all words past the kept ones share the last. */
struct history {
	uint64_t words[TYPE_COUNT][KEPT_WORDS];
};

struct column {
	uint64_t *values;
	uint32_t count, room;
};

struct sb_columns {
	struct column column[COLUMN_COUNT];
	struct history last;
	bool failed; /* memory ran out */
};

static uint64_t *last_word(struct history *h, uint32_t type, uint32_t index)
{
	return &h->words[type][index < KEPT_WORDS ? index : KEPT_WORDS - 1];
}

/* ---- splitting ------------------------------------------------------------ */

static void push(struct sb_columns *columns, int which, uint64_t value)
{
	struct column *c = &columns->column[which];

	if (!SB_MAKE_ROOM(c->values, c->count, c->room)) {
		columns->failed = true;
		return;
	}
	c->values[c->count++] = value;
}

/* The words of one chunk. A zero ends it; words after that and words of no known
 * kind cannot be kept this way. */
static bool split_chunk(struct sb_columns *c, const uint64_t *words, size_t count)
{
	uint64_t ticks = 0;
	size_t i = 0;

	while (i < count && words[i]) {
		uint64_t w = words[i++];
		uint32_t kind = sb_word_kind(w), payload = sb_long_words(w);

		push(c, OPS, w & 0xffffff);
		if (kind <= SB_SWITCH) {
			push(c, TICKS, sb_word_ticks(w) - ticks);
			ticks = sb_word_ticks(w);
		} else if (kind == SB_ATTR || kind == SB_COUNT || kind == SB_PAD) {
			push(c, VALUES, sb_word_ticks(w));
		} else if (kind == SB_LONG && payload <= count - i) {
			push(c, AUX, sb_long_aux(w));
			for (uint32_t k = 0; k < payload; k++) {
				uint64_t *last = last_word(&c->last, sb_long_type(w), k);

				push(c, PAYLOAD, words[i] - *last);
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
	push(c, OPS, 0);
	return !c->failed;
}

struct sb_columns *sb_columns_split(const char *chunks, uint32_t chunk_count, uint32_t chunk_bytes)
{
	struct sb_columns *c = calloc(1, sizeof *c);

	for (uint32_t i = 0; c && i < chunk_count; i++) {
		const char *words = chunks + (size_t)i * chunk_bytes + SB_CHUNK_HEADER_BYTES;

		if (!split_chunk(c, (const uint64_t *)words, (chunk_bytes - SB_CHUNK_HEADER_BYTES) / 8)) {
			sb_columns_free(c);
			return NULL;
		}
	}
	return c;
}

void sb_columns_free(struct sb_columns *c)
{
	if (!c)
		return;
	for (int i = 0; i < COLUMN_COUNT; i++)
		free(c->column[i].values);
	free(c);
}

/* ---- planes: [count, planes, then plane 0, plane 1, ...] ------------------- */

size_t sb_columns_room(const struct sb_columns *c)
{
	size_t room = 0;

	for (int i = 0; i < COLUMN_COUNT; i++)
		room += 8 + (size_t)c->column[i].count * SB_COLUMN_PLANES;
	return room;
}

/* Planes above the largest value are absent. */
static char *write_planes(char *to, const struct column *c)
{
	uint64_t all = 0;
	uint32_t planes = 0;

	for (uint32_t i = 0; i < c->count; i++)
		all |= c->values[i];
	while (planes < SB_COLUMN_PLANES && all >> (8 * planes))
		planes++;
	memcpy(to, &c->count, 4);
	memcpy(to + 4, &planes, 4);
	to += 8;
	for (uint32_t p = 0; p < planes; p++)
		for (uint32_t i = 0; i < c->count; i++)
			*to++ = (char)(c->values[i] >> (8 * p));
	return to;
}

size_t sb_columns_write(const struct sb_columns *c, char *to)
{
	char *start = to;

	for (int i = 0; i < COLUMN_COUNT; i++)
		to = write_planes(to, &c->column[i]);
	return (size_t)(to - start);
}

static const char *read_planes(const char *from, const char *end, struct column *out_column)
{
	uint32_t count, planes;
	uint64_t *values;

	if (end - from < 8)
		return NULL;
	memcpy(&count, from, 4);
	memcpy(&planes, from + 4, 4);
	from += 8;
	if (planes > SB_COLUMN_PLANES || (uint64_t)count * planes > (uint64_t)(end - from) ||
		count > VALUES_MAX)
		return NULL;
	values = calloc((size_t)count + 1, sizeof *values);
	if (!values)
		return NULL;
	for (uint32_t p = 0; p < planes; p++)
		for (uint32_t i = 0; i < count; i++)
			values[i] |= (uint64_t)(unsigned char)*from++ << (8 * p);
	*out_column = (struct column){ .values = values, .count = count };
	return from;
}

/* ---- joining --------------------------------------------------------------- */

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

static bool join_chunk(struct taker *in, struct history *history, uint64_t *words, size_t count)
{
	uint64_t ticks = 0;
	size_t i = 0;

	for (;;) {
		uint64_t op = take(&in[OPS]);
		uint32_t kind = sb_word_kind(op), payload = sb_long_words(op);

		if (!op)
			return true;
		if (i == count)
			return false;
		if (kind <= SB_SWITCH) {
			ticks += take(&in[TICKS]);
			words[i++] = op | ticks << SB_VALUE_SHIFT;
		} else if (kind != SB_LONG) {
			words[i++] = op | take(&in[VALUES]) << SB_VALUE_SHIFT;
		} else {
			words[i++] = op | take(&in[AUX]) << SB_VALUE_SHIFT;
			if (payload > count - i)
				return false;
			for (uint32_t k = 0; k < payload; k++) {
				uint64_t *last = last_word(history, sb_long_type(op), k);

				*last += take(&in[PAYLOAD]);
				words[i++] = *last;
			}
		}
	}
}

static bool join_chunks(struct sb_columns *c, char *chunks, uint32_t chunk_count, uint32_t chunk_bytes)
{
	struct taker takers[COLUMN_COUNT];

	for (int i = 0; i < COLUMN_COUNT; i++)
		takers[i] = (struct taker){ c->column[i].values, c->column[i].count };
	for (uint32_t i = 0; i < chunk_count; i++) {
		char *words = chunks + (size_t)i * chunk_bytes + SB_CHUNK_HEADER_BYTES;

		if (!join_chunk(
			    takers, &c->last, (uint64_t *)words, (chunk_bytes - SB_CHUNK_HEADER_BYTES) / 8))
			return false;
	}
	return true;
}

bool sb_columns_join(const char *from, size_t bytes, char *chunks, uint32_t chunk_count, uint32_t chunk_bytes)
{
	struct sb_columns *c = calloc(1, sizeof *c);
	const char *end = from + bytes;
	bool ok = c != NULL;

	for (int i = 0; ok && i < COLUMN_COUNT; i++) {
		from = read_planes(from, end, &c->column[i]);
		ok = from != NULL;
	}
	ok = ok && join_chunks(c, chunks, chunk_count, chunk_bytes);
	sb_columns_free(c);
	return ok;
}
