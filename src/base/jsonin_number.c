/* Converts a scanned number to a double, a whole number or a scaled one. */
#include "base/jsonin_number.h"

#include <stdlib.h>
#include <string.h>

static const double powers_of_ten[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

double sb_jsonin_double(const struct sb_jsonin *p)
{
	const struct sb_jsonin_number *n = &p->number;
	char text[SB_JSONIN_NUMBER_MAX + 1];
	double value;

	/* Both operands exact: one correctly rounded operation. */
	if (!n->inexact && n->mantissa < 1ull << 53 && n->exponent >= -22 && n->exponent <= 22) {
		value = (double)n->mantissa;
		value = n->exponent < 0 ? value / powers_of_ten[-n->exponent]
					: value * powers_of_ten[n->exponent];
		return n->negative ? -value : value;
	}
	memcpy(text, p->text, p->size);
	text[p->size] = 0;
	return strtod(text, NULL);
}

bool sb_jsonin_scaled_slowly(const struct sb_jsonin_number *n, int shift, int64_t *out_value)
{
	int exponent = n->exponent + shift;
	uint64_t value = n->mantissa;

	if (!value) {
		*out_value = 0;
		return true;
	}
	if (exponent > 19)
		return false;
	for (; exponent > 0; exponent--)
		if (__builtin_mul_overflow(value, 10, &value))
			return false;
	if (exponent < -19) {
		value = 0;
	} else if (exponent < 0) {
		uint64_t divisor = 1;

		for (; exponent < 0; exponent++)
			divisor *= 10;
		value = value / divisor + (value % divisor >= divisor - divisor / 2);
	}
	if (value > INT64_MAX)
		return false;
	*out_value = n->negative ? -(int64_t)value : (int64_t)value;
	return true;
}

bool sb_jsonin_int(const struct sb_jsonin_number *n, int64_t *out_value)
{
	struct sb_jsonin_number whole = *n;

	while (whole.exponent < 0 && whole.mantissa % 10 == 0 && whole.mantissa) {
		whole.mantissa /= 10;
		whole.exponent++;
	}
	if (whole.inexact || (whole.exponent < 0 && whole.mantissa))
		return false;
	return sb_jsonin_scaled(&whole, 0, out_value);
}

bool sb_jsonin_parse_number(const char *text, size_t size, struct sb_jsonin_number *out_number)
{
	char copy[64 + 8] = { 0 };
	const char *end;

	if (size >= sizeof copy - 8)
		return false;
	memcpy(copy, text, size);
	end = sb_jsonin_take_number(copy, out_number);
	return end && end == copy + size;
}
