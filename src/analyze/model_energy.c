/* Energy of a part of the run, from the GPUs' series. */
#include "analyze/model.h"

#include <string.h>

/* What a running total gained between two times, as far as it was sampled. */
static double gained(const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s)
{
	double a_s = fmax(from_s, s->t_s[0]), b_s = fmin(to_s, s->t_s[s->count - 1]);

	return b_s > a_s ? sb_series_at(s, c, b_s) - sb_series_at(s, c, a_s) : NAN;
}

double sb_model_energy_j(const struct sb_model *model, double from_s, double to_s)
{
	double sum_j = NAN;

	for (size_t i = 0; i < model->series_count; i++) {
		const struct sb_series *s = &model->series[i];
		const struct sb_series_column *total, *power;
		double j;

		if (strcmp(s->source, "gpu") != 0 || !s->count)
			continue;
		total = sb_series_column_find(s, "energy_j");
		power = sb_series_column_find(s, "power_w");
		j = total ? gained(s, total, from_s, to_s) : sb_series_integral(s, power, from_s, to_s);
		if (!isnan(j))
			sum_j = isnan(sum_j) ? j : sum_j + j;
	}
	return sum_j;
}
