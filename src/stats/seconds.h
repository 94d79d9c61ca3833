/* A duration for people. */
#ifndef SB_STATS_SECONDS_H
#define SB_STATS_SECONDS_H

#include <stddef.h>

/* A duration that was read from printed text: shows no digit that the text did not have. digit_s: what
 * its last digit stands for; NAN: it was measured, not read. */
void sb_text_printed_seconds(char *out, size_t size, double seconds, double digit_s);
/* How many decimals such a duration has in seconds; -1: sb_text_seconds() shows no digit too many. */
int sb_printed_decimals(double seconds, double digit_s);
/* How many decimals a last digit of digit_s seconds makes; 9: it was measured. */
int sb_digit_decimals(double digit_s);
void sb_text_seconds(char *out, size_t size, double seconds); /* "1.59 s", "12.3 ms", "850 ns" */
/* "12.3%", "<0.1%" where it would read 0.0 but is more, "0%" where it is not; between: before the sign. */
void sb_text_share(char *out, size_t size, double ratio, const char *between);

#endif
