/* Numbers as text, always with a point: a host program may have chosen a locale
 * whose decimal sign is a comma. */
#ifndef SB_BASE_NUMERALS_H
#define SB_BASE_NUMERALS_H

#include <locale.h>
#include <stddef.h>

/* strtod() of the C locale. */
double sb_numerals_read(const char *text, char **out_end);
/* In few digits, 15 where they are enough, that read back to the same value. */
void sb_numerals_write(double value, char *out, size_t size);

/* The calling thread reads and prints numbers with a point until it leaves. */
locale_t sb_numerals_enter(void);
void sb_numerals_leave(locale_t before);

#endif
