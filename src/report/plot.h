/* A line over time, drawn in a terminal. */
#ifndef SB_REPORT_PLOT_H
#define SB_REPORT_PLOT_H

#include "base/buf.h"

#include <stddef.h>

/* Values from left to right in braille dots (NaN: a gap), with the largest and
 * smallest at the left edge. low and high are already words with units. columns
 * and rows are of the whole plot, at least 20 and 3. */
void sb_plot(const double *values, size_t count, const char *low, const char *high, int columns, int rows,
	struct sb_buf *out);

#endif
