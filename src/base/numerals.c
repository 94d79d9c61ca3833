/* Numbers with a decimal point, whatever the locale. */
#include "base/numerals.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* libc's own constant object: nothing is allocated, nothing is ever freed. */
static locale_t plain(void)
{
	static _Atomic(locale_t) found;
	locale_t locale = atomic_load(&found);

	if (!locale) {
		locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
		atomic_store(&found, locale);
	}
	return locale;
}

double sb_numerals_read(const char *text, char **out_end)
{
	locale_t before = sb_numerals_enter();
	double value = strtod(text, out_end);

	sb_numerals_leave(before);
	return value;
}

void sb_numerals_write(double value, char *out, size_t size)
{
	locale_t before = sb_numerals_enter();

	snprintf(out, size, "%.15g", value);
	if (strtod(out, NULL) != value)
		snprintf(out, size, "%.17g", value);
	sb_numerals_leave(before);
}

locale_t sb_numerals_enter(void)
{
	return plain() ? uselocale(plain()) : (locale_t)0;
}

void sb_numerals_leave(locale_t before)
{
	if (before)
		uselocale(before);
}
