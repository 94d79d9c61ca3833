/* Reading a string, inside the token loop of jsonin.c: one that lies whole in the window,
 * without escapes, is found here and stays where it is; jsonin_string.c reads the others. */
#ifndef SB_BASE_JSONIN_STRING_H
#define SB_BASE_JSONIN_STRING_H

#include "base/jsonin_number.h"
#include "base/jsonin_window.h"

#include <string.h>

/* High bits set in bytes that end a run of plain characters: '"', '\\',
 * controls, and everything past ASCII. May also mark bytes after the first. */
SB_JSONIN_INLINE uint64_t sb_jsonin_special_bytes(uint64_t x)
{
	uint64_t quote = x ^ (SB_JSONIN_ONES * '"');
	uint64_t backslash = x ^ (SB_JSONIN_ONES * '\\');

	return ((quote - SB_JSONIN_ONES) | (backslash - SB_JSONIN_ONES) | (x - SB_JSONIN_ONES * 0x20) | x) &
	       SB_JSONIN_HIGHS;
}

SB_JSONIN_INLINE char *sb_jsonin_plain_run(char *s)
{
	for (;;) {
		uint64_t x, found;

		memcpy(&x, s, sizeof x);
		found = sb_jsonin_special_bytes(x);
		if (found)
			return s + (__builtin_ctzll(found) >> 3);
		s += 8;
	}
}

/* Length of the UTF-8 sequence at s: 2..4, or 0 when it is not one. The NUL
 * after the window keeps this inside it. */
static inline size_t sb_jsonin_utf8_length(const unsigned char *s)
{
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		return (s[1] & 0xc0) == 0x80 ? 2 : 0;
	if ((s[0] & 0xf0) == 0xe0) {
		if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80)
			return 0;
		if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))
			return 0;
		return 3;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80 || (s[3] & 0xc0) != 0x80)
			return 0;
		if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
			return 0;
		return 4;
	}
	return 0;
}

/* From where the quick scan stopped; start is the first byte not yet kept. */
bool sb_jsonin_read_string_slowly(struct sb_jsonin *p, char *start);

/* At the opening quote. */
SB_JSONIN_INLINE bool sb_jsonin_read_string(struct sb_jsonin *p)
{
	char *start = p->position + 1;
	char *s = sb_jsonin_plain_run(start);

	p->token_offset = sb_jsonin_offset_of(p, p->position);
	p->cut = false;
	while ((unsigned char)*s >= 0x80) {
		size_t n = sb_jsonin_utf8_length((const unsigned char *)s);

		if (!n)
			break;
		s = sb_jsonin_plain_run(s + n);
	}
	if (*s != '"' || s >= p->end || (size_t)(s - start) > p->string_limit)
		return sb_jsonin_read_string_slowly(p, start);
	p->text = start;
	p->size = (size_t)(s - start);
	p->position = s + 1;
	return true;
}

#endif
