/* Numbers as text, always with a decimal point: the host program's locale may use a comma. */
#ifndef SB_BASE_NUMERALS_H
#define SB_BASE_NUMERALS_H

#include <locale.h>
#include <stddef.h>

/* strtod() of the C locale. */
double sb_numerals_read(const char *text, char **out_end);
/* With 15 digits if they read back as the same value, else with 17. */
void sb_numerals_write(double value, char *out, size_t size);

/* Between enter and leave the calling thread reads and prints numbers with a decimal point. */
locale_t sb_numerals_enter(void);
void sb_numerals_leave(locale_t before);

#endif
