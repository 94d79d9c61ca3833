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
