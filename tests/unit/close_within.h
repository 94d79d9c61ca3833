/* Compares two numbers. cmocka's comparison of floats passes where one of them is NaN. */
#ifndef TESTS_CLOSE_WITHIN_H
#define TESTS_CLOSE_WITHIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

static inline void close_within(double value, double expected, double tolerance)
{
	if (value != expected && !(fabs(value - expected) <= tolerance))
		fail_msg("%.12g is not %.12g", value, expected);
}

#endif
