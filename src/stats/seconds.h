/* A duration for people. */
#ifndef SB_STATS_SECONDS_H
#define SB_STATS_SECONDS_H

#include <stddef.h>

void sb_text_seconds(char *out, size_t size, double seconds); /* "1.59 s", "12.3 ms", "850 ns" */

#endif
