/* A duration for people. */
#ifndef SB_STATS_SECONDS_H
#define SB_STATS_SECONDS_H

#include <stddef.h>

/* The same of a time that was printed before: no digit that it did not have. digit_s NAN: it was measured. */
void sb_text_printed_seconds(char *out, size_t size, double seconds, double digit_s);
/* Decimals of such a time in seconds; -1: its own unit shows no more than it had. */
int sb_printed_decimals(double seconds, double digit_s);
/* Decimals that a printed time has in seconds; 9: it was measured. */
int sb_digit_decimals(double digit_s);
void sb_text_seconds(char *out, size_t size, double seconds); /* "1.59 s", "12.3 ms", "850 ns" */
/* "12.3%", "<0.1%" where it would read 0.0 but is more, "0%" where it is not; between: before the sign. */
void sb_text_share(char *out, size_t size, double ratio, const char *between);

#endif
