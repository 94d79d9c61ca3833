/* Numbers as text, always with a point: a host program may have chosen a locale
 * whose decimal sign is a comma. */
#ifndef SB_BASE_NUMERALS_H
#define SB_BASE_NUMERALS_H

#include <locale.h>

/* strtod() of the C locale. */
double sb_numerals_read(const char *text, char **out_end);

/* The calling thread reads and prints numbers with a point until it leaves. */
locale_t sb_numerals_enter(void);
void sb_numerals_leave(locale_t before);

#endif
