/* The long records: lengths are checked against the chunk before use. */
#include "format/cursor.h"

#include "strobe.h"

size_t sb_cursor_bad_bytes(const struct sb_cursor *c)
{
	if (c->why != SB_CURSOR_BAD_KIND && c->why != SB_CURSOR_BAD_LENGTH)
		return 0;
	return (size_t)(c->end - c->at) * sizeof *c->at;
}

bool sb_cursor_next_long(struct sb_cursor *c, struct sb_record *out_record)
{
	uint64_t w = *c->at;
	uint32_t words = sb_long_words(w);

	if (words >= (size_t)(c->end - c->at)) {
		c->why = SB_CURSOR_BAD_LENGTH;
		return false;
	}
	if (sb_long_type(w) == SB_REBASE) {
		if (words >= 1)
			c->base = c->at[1];
		c->at += 1 + words;
		return false;
	}
	out_record->kind = SB_LONG;
	out_record->type = sb_long_type(w);
	out_record->words = words;
	out_record->aux = sb_long_aux(w);
	out_record->payload = c->at + 1;
	c->at += 1 + words;
	return true;
}

bool sb_record_belongs(uint32_t type, enum sb_stream stream)
{
	enum { HOT = 1 << SB_STREAM_HOT, KEEP = 1 << SB_STREAM_KEEP, DEVICE = 1 << SB_STREAM_DEVICE };
	static const uint8_t streams[] = { [SB_ATTR64] = HOT,
		[SB_ATTR_STR] = HOT,
		[SB_SPAN_OPEN] = HOT,
		[SB_SPAN] = HOT,
		[SB_GPU] = DEVICE,
		[SB_SCHEMA] = KEEP,
		[SB_SAMPLE] = KEEP | DEVICE,
		[SB_SNAPSHOT] = KEEP,
		[SB_ANCHOR] = KEEP,
		[SB_NAME] = KEEP,
		[SB_META] = KEEP,
		[SB_LOST] = KEEP,
		[SB_EVENT] = KEEP,
		[SB_THREAD] = HOT | KEEP,
		[SB_TRACK] = KEEP,
		[SB_SKIP] = KEEP,
		[SB_CACHE] = HOT | KEEP,
		[SB_STREAMING] = HOT | KEEP,
		[SB_MODEL] = KEEP,
		[SB_ALLOC] = HOT | KEEP,
		[SB_GAUGE] = HOT | KEEP,
		[SB_PROCESS] = KEEP,
		[SB_STACK] = HOT | KEEP,
		[SB_CODE_FILE] = KEEP,
		[SB_COUNT64] = HOT };

	return type >= sizeof streams || !streams[type] || streams[type] >> stream & 1;
}

bool sb_record_text(const struct sb_record *r, uint32_t at, const char **out_text, size_t *out_size)
{
	uint64_t size;

	if (at >= r->words)
		return false;
	size = r->payload[at];
	if (size > (uint64_t)(r->words - at - 1) * 8)
		return false;
	*out_text = (const char *)(r->payload + at + 1);
	*out_size = (size_t)size;
	return true;
}

bool sb_record_attr(const struct sb_record *r, uint32_t *at, struct sb_wire_attr *out_attr)
{
	uint64_t head, size;
	uint32_t words;

	if (*at >= r->words)
		return false;
	head = r->payload[*at];
	out_attr->key = (uint32_t)head & SB_ID_MAX;
	out_attr->type = (uint32_t)(head >> 20) & 15;
	size = head >> 32;
	words = out_attr->type == STROBE_TYPE_STRING ? (uint32_t)((size + 7) / 8) : 1;
	if (out_attr->type < STROBE_TYPE_INT || out_attr->type > STROBE_TYPE_BOOL ||
		words > r->words - *at - 1) {
		*at = r->words;
		return false;
	}
	if (out_attr->type == STROBE_TYPE_STRING) {
		out_attr->text = (const char *)(r->payload + *at + 1);
		out_attr->size = (size_t)size;
		out_attr->bits = 0;
	} else {
		out_attr->bits = r->payload[*at + 1];
		out_attr->text = "";
		out_attr->size = 0;
	}
	*at += 1 + words;
	return true;
}
