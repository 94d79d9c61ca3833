/* Compares what comes next with what came the last time. The bytes that are kept hold no NUL: where the
 * input is the same, the window does not end. */
#include "base/jsonin_habit.h"

#include "base/bytes16.h"
#include "base/jsonin_window.h"

/* Where the byte is now, NULL where it has left the window. */
static const char *still_there(const struct sb_jsonin *p, uint64_t offset)
{
	return offset < p->buffer_offset ? NULL : p->buffer + (offset - p->buffer_offset);
}

/* How many of the bytes are the same, at least as far as size. */
SB_BYTES16_INLINE unsigned count_same(const char *a, const char *b, unsigned size)
{
	unsigned same = sb_bytes16_same(sb_bytes16_load(a), sb_bytes16_load(b));

	for (unsigned at = 16; same == at && at < size; at += 16)
		same += sb_bytes16_same(sb_bytes16_load(a + at), sb_bytes16_load(b + at));
	return same;
}

/* ---- members ---- */

/* Rare: kept out of next_usual, which is short without it. */
static __attribute__((noinline)) enum sb_jsonin_token learn_member(
	struct sb_jsonin *p, struct sb_jsonin_habit *h)
{
	uint64_t offset = sb_jsonin_offset_of(p, p->position);
	uint8_t state = (uint8_t)p->state;
	enum sb_jsonin_token token = sb_jsonin_next_member(p);
	const char *from = still_there(p, offset), *to = p->position, *text;

	h->state = SB_JSONIN_WANT_VALUE; /* no member begins there */
	h->meaning = 0;
	if (!from || (token != SB_JSONIN_KEY && token != SB_JSONIN_OBJECT_END))
		return token;
	text = token == SB_JSONIN_KEY ? p->text : to - 1;
	if (token == SB_JSONIN_KEY && (text == p->scratch.data || p->cut)) /* not as it is written */
		return token;
	to += token == SB_JSONIN_KEY && *to == ' ';
	if ((size_t)(to - from) > sizeof h->bytes)
		return token;
	memcpy(h->bytes, from, (size_t)(to - from));
	h->size = (uint8_t)(to - from);
	h->text_at = (uint8_t)(text - from);
	h->text_size = token == SB_JSONIN_KEY ? (uint8_t)p->size : 0;
	h->state = state;
	h->token = (uint8_t)token;
	return token;
}

enum sb_jsonin_token sb_jsonin_next_usual(struct sb_jsonin *p, struct sb_jsonin_habit *h)
{
	char *s = p->position;

	if (p->state != h->state || count_same(s, h->bytes, h->size) < h->size)
		return learn_member(p, h);
	p->position = s + h->size;
	if (h->token == SB_JSONIN_OBJECT_END) {
		p->token_offset = sb_jsonin_offset_of(p, s + h->text_at);
		p->state = SB_JSONIN_AFTER_VALUE;
		p->depth--;
		return SB_JSONIN_OBJECT_END;
	}
	p->text = s + h->text_at;
	p->size = h->text_size;
	p->cut = false;
	p->token_offset = sb_jsonin_offset_of(p, p->text - 1);
	p->state = SB_JSONIN_WANT_VALUE;
	return SB_JSONIN_KEY;
}

/* ---- values ---- */

bool sb_jsonin_pass_same(struct sb_jsonin *p, const struct sb_jsonin_same *v)
{
	if (!v->compared || p->state != SB_JSONIN_WANT_VALUE ||
		count_same(p->position, v->bytes, v->compared) < v->compared)
		return false;
	p->position += v->size;
	p->state = SB_JSONIN_AFTER_VALUE;
	return true;
}

enum sb_jsonin_token sb_jsonin_learn_value(struct sb_jsonin *p, struct sb_jsonin_same *v)
{
	uint64_t offset = sb_jsonin_offset_of(p, p->position);
	enum sb_jsonin_token token = sb_jsonin_next_value(p);
	const char *from = still_there(p, offset);
	size_t compared;

	v->compared = 0;
	if (!from || (token != SB_JSONIN_STRING && token != SB_JSONIN_NUMBER) || p->text == p->scratch.data)
		return token;
	compared = (size_t)(p->position - from) + (token == SB_JSONIN_NUMBER);
	if (compared > sizeof v->bytes || p->position == p->end)
		return token;
	memcpy(v->bytes, from, compared);
	v->compared = (uint8_t)compared;
	v->size = (uint8_t)(p->position - from);
	return token;
}
