/* Scanning a number, inside the token loop of jsonin.c. */
#ifndef SB_BASE_JSONIN_NUMBER_H
#define SB_BASE_JSONIN_NUMBER_H

#include "base/jsonin.h"

#include <string.h>

/* Every number goes through here: one function, because calls would cost as much as the work. */
#define SB_JSONIN_INLINE static inline __attribute__((always_inline))

SB_JSONIN_INLINE bool sb_jsonin_is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* The value of eight digits, the first in the lowest byte; digits less '0'. */
SB_JSONIN_INLINE uint64_t sb_jsonin_eight_digits(uint64_t x)
{
	x = x * 10 + (x >> 8);
	return ((x & 0x000000ff000000ffull) * 0x000f424000000064ull +
		       (x >> 16 & 0x000000ff000000ffull) * 0x0000271000000001ull) >>
	       32;
}

/* Up to eight digits at a time, while the mantissa holds them. Looks at 8 bytes from where it stops. */
SB_JSONIN_INLINE const char *sb_jsonin_take_most_digits(
	const char *s, struct sb_jsonin_number *n, int exponent_step)
{
	static const uint64_t power[9] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000 };
	/* What the mantissa is below, so that it stays below 10^18. */
	static const uint64_t room[9] = { 1000000000000000000, 100000000000000000, 10000000000000000,
		1000000000000000, 100000000000000, 10000000000000, 1000000000000, 100000000000, 10000000000 };

	for (;;) {
		uint64_t x, other;
		unsigned count;

		memcpy(&x, s, sizeof x);
		x ^= 0x3030303030303030ull;
		/* The lowest high bit that is set is that of the first byte that is no digit. */
		other = ((x + 0x7676767676767676ull) | x) & 0x8080808080808080ull;
		count = other ? (unsigned)__builtin_ctzll(other) >> 3 : 8;
		if (!count || n->mantissa >= room[count])
			return s;
		n->mantissa = n->mantissa * power[count] + sb_jsonin_eight_digits(x << (64 - 8 * count));
		n->exponent += (int)count * exponent_step;
		s += count;
		if (count < 8)
			return s;
	}
}

SB_JSONIN_INLINE const char *sb_jsonin_take_digits(
	const char *s, struct sb_jsonin_number *n, int exponent_step)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	s = sb_jsonin_take_most_digits(s, n, exponent_step);
#endif
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

/* The end of the number at s, NULL when it is malformed. Eight bytes after the number can be looked at. */
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
