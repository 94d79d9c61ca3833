/* The shapes that most members of an object have, found in the window without the grammar's states: a
 * plain key with its colon, a plain string, a number of few digits. Anything else, the NUL after the window
 * included, is left unread for jsonin.c. For the reader's own files only. */
#ifndef SB_BASE_JSONIN_QUICK_H
#define SB_BASE_JSONIN_QUICK_H

#include "base/jsonin_string.h"

/* Skips one space, or a line end and the indent of the next line. Longer runs are left to jsonin.c. */
SB_JSONIN_INLINE char *sb_jsonin_quick_space(char *s)
{
	if ((unsigned char)*s > ' ')
		return s;
	if (*s == ' ' && (unsigned char)s[1] > ' ')
		return s + 1;
	if (*s == ' ' || *s == '\n')
		return s + 1 + sb_bytes16_first(sb_bytes16_load(s + 1) != ' ');
	return s;
}

/* Between two members of an object: the next key, or the object's end. */
SB_JSONIN_INLINE bool sb_jsonin_quick_member(struct sb_jsonin *p, enum sb_jsonin_token *out_token)
{
	char *s = p->position, *quote;

	s = sb_jsonin_quick_space(s);
	if (p->state == SB_JSONIN_AFTER_VALUE && *s == ',') {
		s = sb_jsonin_quick_space(s + 1);
	} else {
		if (*s == '}' &&
			(p->state == SB_JSONIN_AFTER_VALUE || p->state == SB_JSONIN_WANT_KEY_OR_END)) {
			p->token_offset = sb_jsonin_offset_of(p, s);
			p->depth--;
			p->position = s + 1;
			p->state = SB_JSONIN_AFTER_VALUE;
			*out_token = SB_JSONIN_OBJECT_END;
			return true;
		}
		if (p->state != SB_JSONIN_WANT_KEY_OR_END)
			return false;
	}
	if (*s != '"')
		return false;
	quote = sb_jsonin_plain_run(s + 1);
	if (*quote != '"' || quote[1] != ':' || (size_t)(quote - s) > p->string_limit)
		return false;
	p->token_offset = sb_jsonin_offset_of(p, s);
	p->cut = false;
	p->text = s + 1;
	p->size = (size_t)(quote - s - 1);
	p->position = quote + 2;
	p->state = SB_JSONIN_WANT_VALUE;
	*out_token = SB_JSONIN_KEY;
	return true;
}

SB_JSONIN_INLINE bool sb_jsonin_quick_string(struct sb_jsonin *p, char *s)
{
	char *quote = sb_jsonin_plain_run(s + 1);

	if (*quote != '"' || (size_t)(quote - s) > p->string_limit)
		return false;
	p->token_offset = sb_jsonin_offset_of(p, s);
	p->cut = false;
	p->text = s + 1;
	p->size = (size_t)(quote - s - 1);
	p->position = quote + 1;
	p->state = SB_JSONIN_AFTER_VALUE;
	return true;
}

SB_JSONIN_INLINE bool sb_jsonin_quick_end_of_number(char c)
{
	return c == ',' || c == '\n' || c == '}' || c == ' ' || c == ']';
}

/* A whole number of up to 15 digits that is not wanted. */
SB_JSONIN_INLINE bool sb_jsonin_quick_pass(struct sb_jsonin *p, char *s)
{
	sb_bytes16 x = sb_bytes16_load(s);
	unsigned count = sb_bytes16_first((x < '0') | (x > '9'));

	if (!count || count == 16 || (*s == '0' && count > 1) || !sb_jsonin_quick_end_of_number(s[count]))
		return false;
	p->token_offset = sb_jsonin_offset_of(p, s);
	p->text = s;
	p->size = count;
	p->position = s + count;
	p->state = SB_JSONIN_AFTER_VALUE;
	return true;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* How many of the eight bytes are digits, before the first other one; the bytes less '0'. */
SB_JSONIN_INLINE unsigned sb_jsonin_quick_digits(const char *s, uint64_t *out_digits)
{
	uint64_t x, other;

	memcpy(&x, s, sizeof x);
	x ^= 0x3030303030303030ull;
	other = ((x + 0x7676767676767676ull) | x) & 0x8080808080808080ull;
	*out_digits = x;
	return other ? (unsigned)__builtin_ctzll(other) >> 3 : 8;
}

/* Up to 15 digits, up to 7 after the point, 18 in all, followed by a byte that no number contains. */
SB_JSONIN_INLINE bool sb_jsonin_quick_number(struct sb_jsonin *p, char *s)
{
	static const uint64_t power[8] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000 };
	bool negative = *s == '-';
	char *at = s + negative;
	uint64_t digits, mantissa;
	unsigned count = sb_jsonin_quick_digits(at, &digits), more, places = 0;

	if (!count || (*at == '0' && count > 1))
		return false;
	mantissa = sb_jsonin_eight_digits(digits << (64 - 8 * count));
	at += count;
	if (count == 8) {
		more = sb_jsonin_quick_digits(at, &digits);
		if (more == 8)
			return false;
		if (more)
			mantissa = mantissa * power[more] + sb_jsonin_eight_digits(digits << (64 - 8 * more));
		count += more;
		at += more;
	}
	if (*at == '.') {
		places = sb_jsonin_quick_digits(at + 1, &digits);
		if (!places || places == 8 || count + places > 18)
			return false;
		mantissa = mantissa * power[places] + sb_jsonin_eight_digits(digits << (64 - 8 * places));
		at += 1 + places;
	}
	if (!sb_jsonin_quick_end_of_number(*at))
		return false;
	p->number = (struct sb_jsonin_number){ mantissa, -(int32_t)places, negative, false };
	p->token_offset = sb_jsonin_offset_of(p, s);
	p->text = s;
	p->size = (size_t)(at - s);
	p->position = at;
	p->state = SB_JSONIN_AFTER_VALUE;
	return true;
}
#else
SB_JSONIN_INLINE bool sb_jsonin_quick_number(struct sb_jsonin *p, char *s)
{
	(void)p;
	(void)s;
	return false;
}
#endif

#endif
