/* Iterates the records in one chunk. Every length and kind is checked. */
#ifndef SB_FORMAT_CURSOR_H
#define SB_FORMAT_CURSOR_H

#include "format/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sb_cursor_end {
	SB_CURSOR_RUNNING,
	SB_CURSOR_ZERO, /* the first word not written yet, or the chunk is full */
	SB_CURSOR_BAD_KIND, /* a word of no known kind */
	SB_CURSOR_BAD_LENGTH /* a record that leaves its chunk */
};

struct sb_cursor {
	const uint64_t *at, *end;
	uint64_t base;
	enum sb_cursor_end why;
};

struct sb_record {
	enum sb_kind kind;
	uint32_t id; /* short words: name, key, counter, track */
	uint64_t ticks; /* BEGIN, END, MARK, SWITCH: absolute */
	int64_t value; /* ATTR, COUNT */
	uint32_t type; /* LONG: enum sb_long_type, or one from the future */
	uint32_t words; /* LONG: of the payload, all inside the chunk */
	uint64_t aux;
	const uint64_t *payload;
};

static inline void sb_cursor_init(
	struct sb_cursor *c, const uint64_t *words, size_t count, uint64_t base_ticks)
{
	c->at = words;
	c->end = words + count;
	c->base = base_ticks;
	c->why = SB_CURSOR_RUNNING;
}

/* Bytes behind the point where reading stopped because of damage. */
size_t sb_cursor_bad_bytes(const struct sb_cursor *c);
bool sb_cursor_next_long(struct sb_cursor *c, struct sb_record *out_record);

/* REBASE and PAD are handled here; callers never see them. */
static inline bool sb_cursor_next(struct sb_cursor *c, struct sb_record *out_record)
{
	uint64_t w;

	while (c->at < c->end) {
		w = *c->at;
		switch (sb_word_kind(w)) {
		case SB_BEGIN:
		case SB_END:
		case SB_MARK:
		case SB_SWITCH:
			out_record->kind = sb_word_kind(w);
			out_record->id = sb_word_id(w);
			out_record->ticks = c->base + sb_word_ticks(w);
			c->at++;
			return true;
		case SB_ATTR:
		case SB_COUNT:
			out_record->kind = sb_word_kind(w);
			out_record->id = sb_word_id(w);
			out_record->value = sb_word_signed(w);
			c->at++;
			return true;
		case SB_PAD: c->at = c->end; break;
		case SB_LONG:
			if (sb_cursor_next_long(c, out_record))
				return true;
			if (c->why != SB_CURSOR_RUNNING)
				return false;
			break;
		default: c->why = w ? SB_CURSOR_BAD_KIND : SB_CURSOR_ZERO; return false;
		}
	}
	c->why = SB_CURSOR_ZERO;
	return false;
}

/* Whether a LONG record of this type may be in a chunk of this stream. Analyses rely on the
 * order of streams, so a record elsewhere is damage. Unknown types may be anywhere. */
bool sb_record_belongs(uint32_t type, enum sb_stream stream);

/* ---- inside payloads ---- */

/* "bytes" at the payload's word `at`: text is not NUL-terminated. False when
 * the length does not fit. */
bool sb_record_text(const struct sb_record *r, uint32_t at, const char **out_text, size_t *out_size);

/* "attrs" from the payload's word *at on; advances it. */
struct sb_wire_attr {
	uint32_t key;
	uint32_t type; /* enum strobe_type */
	uint64_t bits; /* INT, FLOAT, BOOL */
	const char *text;
	size_t size;
};
bool sb_record_attr(const struct sb_record *r, uint32_t *at, struct sb_wire_attr *out_attr);

#endif
