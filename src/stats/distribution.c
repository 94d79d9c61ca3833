/* Durations in equal bins. */
#include "stats/distribution.h"

#include <math.h>

#define NARROWEST_S 1e-9 /* all durations are the same */

void sb_distribution_of(
	const double *seconds, size_t count, int64_t *counts, struct sb_distribution *out_distribution)
{
	double least_s = INFINITY, most_s = -INFINITY, bin_s;

	if (count < 2 || !counts)
		return;
	for (size_t i = 0; i < count; i++) {
		least_s = fmin(least_s, seconds[i]);
		most_s = fmax(most_s, seconds[i]);
	}
	bin_s = fmax((most_s - least_s) / SB_DISTRIBUTION_BINS, NARROWEST_S);
	for (size_t i = 0; i < count; i++)
		counts[(size_t)fmin((seconds[i] - least_s) / bin_s, SB_DISTRIBUTION_BINS - 1)]++;
	*out_distribution = (struct sb_distribution){ least_s, bin_s, counts, SB_DISTRIBUTION_BINS };
}

SB_FIELD_WHEN(is_made, sb_distribution, it->bin_count > 0)

static const struct sb_field sb_distribution_fields_rows[] = {
	SB_FIELD(sb_distribution, from_s, "from_s", SB_ALWAYS, "where the first bin begins: the shortest"),
	SB_FIELD(sb_distribution, bin_s, "bin_s", SB_ALWAYS, "width of each bin"),
	SB_FIELD_ARRAY(sb_distribution, value_counts, bin_count, "value_count", SB_ALWAYS,
		"durations in each bin; the last bin holds the longest"),
};
SB_FIELDS(sb_distribution_fields, sb_distribution, "Distribution", "Durations counted in equal bins.",
	.present = is_made);
