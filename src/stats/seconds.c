/* A duration in the unit that suits it. */
#include "stats/seconds.h"

#include <math.h>
#include <stdio.h>

void sb_text_seconds(char *out, size_t size, double s)
{
	double a = s < 0 ? -s : s;

	if (!isfinite(s))
		snprintf(out, size, "n/a");
	else if (a == 0)
		snprintf(out, size, "0 s");
	else if (a >= 0.9995)
		snprintf(out, size, "%.2f s", s);
	else if (a >= 0.9995e-3)
		snprintf(out, size, a >= 0.1 ? "%.0f ms" : a >= 0.01 ? "%.1f ms" : "%.2f ms", s * 1e3);
	else if (a >= 0.9995e-6)
		snprintf(out, size, a >= 100e-6 ? "%.0f us" : a >= 10e-6 ? "%.1f us" : "%.2f us", s * 1e6);
	else
		snprintf(out, size, "%.0f ns", s * 1e9);
}

void sb_text_share(char *out, size_t size, double ratio, const char *between)
{
	double percent = ratio * 100;

	if (percent == 0)
		snprintf(out, size, "0%s%%", between);
	else if (percent > 0 && percent < 0.05)
		snprintf(out, size, "<%s0.1%s%%", between, between);
	else
		snprintf(out, size, "%.1f%s%%", percent, between);
}

/* What the last digit of sb_text_seconds() stands for. */
static double shown_digit(double seconds)
{
	double a = fabs(seconds), digit = 0.01;

	for (double least = 0.9995; a < least && digit > 1e-12; least /= 10)
		digit /= 10;
	return digit;
}

int sb_digit_decimals(double digit_s)
{
	if (!(digit_s > 1e-9))
		return 9;
	return digit_s >= 0.5 ? 0 : (int)ceil(-log10(digit_s) - 0.01);
}

int sb_printed_decimals(double seconds, double digit_s)
{
	return digit_s > shown_digit(seconds) * 1.01 ? sb_digit_decimals(digit_s) : -1;
}

void sb_text_printed_seconds(char *out, size_t size, double seconds, double digit_s)
{
	int decimals = sb_printed_decimals(seconds, digit_s);

	if (decimals < 0 || !isfinite(seconds))
		sb_text_seconds(out, size, seconds);
	else if (fabs(seconds) < digit_s / 2)
		snprintf(out, size, "0 s");
	else
		snprintf(out, size, "%.*f s", decimals, seconds);
}
