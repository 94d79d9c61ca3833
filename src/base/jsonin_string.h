/* Reading a string, inside the token loop of jsonin.c: one that lies whole in the window,
 * without escapes, is found here and stays where it is; jsonin_string.c reads the others. */
#ifndef SB_BASE_JSONIN_STRING_H
#define SB_BASE_JSONIN_STRING_H

#include "base/bytes16.h"
#include "base/jsonin_number.h"
#include "base/jsonin_window.h"

#include <string.h>

/* The first of '"', '\\', controls and everything past ASCII from s on. The NUL after the window is one. */
SB_JSONIN_INLINE char *sb_jsonin_plain_run(char *s)
{
	for (;;) {
		sb_bytes16 x = sb_bytes16_load(s);
		unsigned n = sb_bytes16_first((x == '"') | (x == '\\') | (x < ' '));

		s += n;
		if (n < 16)
			return s;
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
