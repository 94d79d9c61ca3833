/* Energy of a part of the run, from the series of the GPUs that the run used. */
#include "analyze/model.h"

#include <string.h>

/* At the border of a selected part the sample outside is not there: up to it the total gains as between the last two inside. */
static double at_border(const struct sb_series *s, const struct sb_series_column *c, size_t at, size_t beside,
	double border_s)
{
	double interval_s = fabs(s->t_s[beside] - s->t_s[at]), gap_s = fabs(border_s - s->t_s[at]);
	double gained_j = fabs(c->values[beside] - c->values[at]);

	return gap_s <= interval_s && !isnan(gained_j) ? gained_j * gap_s / interval_s : 0;
}

/* What a running total gained between two times, as far as it was sampled. */
static double gained(
	const struct sb_series *s, const struct sb_series_column *c, bool part, double from_s, double to_s)
{
	const size_t last = s->count - 1;
	double a_s = fmax(from_s, s->t_s[0]), b_s = fmin(to_s, s->t_s[last]);
	double sum_j = b_s > a_s ? sb_series_at(s, c, b_s) - sb_series_at(s, c, a_s) : NAN;

	if (part && last && from_s < s->t_s[0])
		sum_j += at_border(s, c, 0, 1, from_s);
	if (part && last && to_s > s->t_s[last])
		sum_j += at_border(s, c, last, last - 1, to_s);
	return sum_j;
}

double sb_model_energy_j(const struct sb_model *model, double from_s, double to_s)
{
	double sum_j = NAN;

	for (size_t i = 0; i < model->series_count; i++) {
		const struct sb_series *s = &model->series[i];
		const struct sb_series_column *total, *power;
		double j;

		if (strcmp(s->source, "gpu") != 0 || !s->count ||
			!sb_device_is_of_run(&model->devices.touched, s->device))
			continue;
		total = sb_series_column_find(s, "energy_j");
		power = sb_series_column_find(s, "power_w");
		j = total ? gained(s, total, !isnan(model->session.cut_from_s), from_s, to_s)
			  : sb_series_integral(s, power, from_s, to_s);
		if (!isnan(j))
			sum_j = isnan(sum_j) ? j : sum_j + j;
	}
	return sum_j;
}
