/* Scanning a number, inside the token loop of jsonin.c. */
#ifndef SB_BASE_JSONIN_NUMBER_H
#define SB_BASE_JSONIN_NUMBER_H

#include "base/jsonin.h"

/* Every number goes through here: one function, because calls would cost as much as the work. */
#define SB_JSONIN_INLINE static inline __attribute__((always_inline))

SB_JSONIN_INLINE bool sb_jsonin_is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

SB_JSONIN_INLINE const char *sb_jsonin_take_digits(
	const char *s, struct sb_jsonin_number *n, int exponent_step)
{
	for (; sb_jsonin_is_digit(*s); s++) {
		if (n->mantissa < 1000000000000000000ull) {
			n->mantissa = n->mantissa * 10 + (unsigned)(*s - '0');
			n->exponent += exponent_step;
		} else {
			n->inexact |= *s != '0';
			n->exponent += 1 + exponent_step;
		}
	}
	return s;
}

static inline const char *sb_jsonin_take_exponent(const char *s, struct sb_jsonin_number *n)
{
	bool negative = false;
	int32_t exponent = 0;

	if (*s == '+' || *s == '-')
		negative = *s++ == '-';
	if (!sb_jsonin_is_digit(*s))
		return NULL;
	for (; sb_jsonin_is_digit(*s); s++)
		if (exponent < 100000)
			exponent = exponent * 10 + (*s - '0');
	n->exponent += negative ? -exponent : exponent;
	return s;
}

/* The end of the number at s, NULL when it is malformed. */
SB_JSONIN_INLINE const char *sb_jsonin_take_number(const char *s, struct sb_jsonin_number *n)
{
	*n = (struct sb_jsonin_number){ 0 };
	if (*s == '-') {
		n->negative = true;
		s++;
	}
	if (!sb_jsonin_is_digit(*s))
		return NULL;
	if (*s == '0' && sb_jsonin_is_digit(s[1]))
		return NULL;
	s = sb_jsonin_take_digits(s, n, 0);
	if (*s == '.') {
		if (!sb_jsonin_is_digit(s[1]))
			return NULL;
		s = sb_jsonin_take_digits(s + 1, n, -1);
	}
	if (*s == 'e' || *s == 'E')
		s = sb_jsonin_take_exponent(s + 1, n);
	return s;
}

#endif
