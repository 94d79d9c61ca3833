/* What the monitors sampled of each GPU. */
#include "advise/sampled.h"

#include <string.h>

const struct sb_series *sb_sampled_gpu(const struct sb_model *model, size_t *i)
{
	while (*i < model->series_count) {
		const struct sb_series *s = &model->series[(*i)++];

		if (strcmp(s->source, "gpu") == 0 && s->count)
			return s;
	}
	return NULL;
}

const struct sb_stats *sb_sampled_stats(const struct sb_series *s, const char *column)
{
	const struct sb_series_column *c = s ? sb_series_column_find(s, column) : NULL;

	return c && c->stats.count ? &c->stats : NULL;
}

bool sb_sampled_use(const struct sb_model *model, const struct sb_series *s)
{
	const struct sb_stats *util = sb_sampled_stats(s, "utilization_percent"),
			      *own = sb_sampled_stats(s, "process_memory_mb");

	return sb_device_is_of_run(&model->devices.touched, s->device) &&
	       ((util && util->max > 0) || (own && own->max > 0));
}
