/* Student's t: how many deviations a border lies away when few values tell the deviation. */
#include "stats/statistics.h"

#define LARGEST 30 /* from here on a formula is as good */

double sb_student_t(double freedom)
{
	static const double borders[LARGEST + 1] = { INFINITY, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447,
		2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093,
		2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042 };

	if (!(freedom >= 1))
		return INFINITY;
	return freedom < LARGEST + 1 ? borders[(int)freedom] : 1.960 + 2.45 / freedom;
}
