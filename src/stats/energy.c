/* An energy in the unit that suits it. */
#include "stats/energy.h"

#include <math.h>
#include <stdio.h>

#define J_PER_WH 3600.0

void sb_text_energy(char *out, size_t size, double wh)
{
	double a = fabs(wh), j = wh * J_PER_WH;

	if (!isfinite(wh))
		snprintf(out, size, "n/a");
	else if (a == 0)
		snprintf(out, size, "0 J");
	else if (a >= 999.5)
		snprintf(out, size, "%.2f kWh", wh / 1000);
	else if (a >= 0.0995)
		snprintf(out, size, a >= 9.995 ? "%.1f Wh" : "%.2f Wh", wh);
	else if (fabs(j) >= 0.9995)
		snprintf(out, size, fabs(j) >= 99.95 ? "%.0f J" : "%.1f J", j);
	else
		snprintf(out, size, fabs(j) >= 0.00995 ? "%.0f mJ" : "%.2g mJ", j * 1000);
}
