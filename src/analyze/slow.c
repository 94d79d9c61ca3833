/* The one definition of a slow step or iteration. */
#include "analyze/slow.h"

#include "run/setting.h"

#define RATIO_DEFAULT 1.5
#define LEAST_S 1e-3 /* over the median: below that it is noise */

double sb_slow_ratio(const struct sb_run *run)
{
	double ratio = sb_run_threshold(run, "slow_step_ratio");

	return ratio > 1 ? ratio : RATIO_DEFAULT;
}

bool sb_is_slow(double seconds, double median_s, double ratio)
{
	return seconds > median_s * ratio && seconds - median_s > LEAST_S;
}
