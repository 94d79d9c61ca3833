/* What was sampled in the time that a verdict is about. */
#include "analyze/judged.h"

#include <string.h>

#define SAMPLES_LEAST 3
#define MOSTLY 0.5 /* of the run */

struct part {
	double from_s, to_s;
};

/* One generation of it, or the run between its start-up and the end of its last stage. */
static struct part part_of(const struct sb_model *model, size_t index)
{
	const struct sb_generation *g = &model->generations.all[index];
	struct part p = { g->begin_s, g->end_s };

	if (model->generations.whole_run && model->stages.startup_end_s > p.from_s) {
		p.from_s = model->stages.startup_end_s;
		p.to_s = fmax(fmin(p.to_s, model->stages.work_end_s), p.from_s);
	}
	return p;
}

#define COLD_LEAST 0.1 /* of the part: a shorter warm-up changes no verdict */

/* Of a run without generations: its largest stage's first call is a warm-up, as the first generation of several. */
static struct part warm_part_of(const struct sb_model *model, size_t index)
{
	struct part p = part_of(model, index);
	const struct sb_stage *most = NULL;
	double cold_s;

	for (size_t i = 0; model->generations.whole_run && i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (s->parent < 0 && !s->setup && !s->span && s->gpu_span_s > 0 && s->first_s >= p.from_s &&
			(!most || s->total_s > most->total_s))
			most = s;
	}
	cold_s = most ? sb_stage_cold_s(most) : 0;
	if (cold_s > COLD_LEAST * (p.to_s - p.from_s) && most->first_s + cold_s < p.to_s)
		p.from_s = most->first_s + cold_s;
	return p;
}

static int64_t rows_in(const struct sb_series *s, struct part p)
{
	int64_t count = 0;

	for (size_t i = 0; i < s->count; i++)
		count += s->t_s[i] >= p.from_s && s->t_s[i] <= p.to_s;
	return count;
}

static int64_t count_rows(const struct sb_model *model, const struct sb_series *s)
{
	int64_t count = 0;

	for (size_t i = 0; i < model->generations.count; i++)
		count += rows_in(s, part_of(model, i));
	return count;
}

static double mean_of(const struct sb_model *model, const struct sb_series *s, const char *name)
{
	const struct sb_series_column *c = s ? sb_series_column_find(s, name) : NULL;
	double sum = 0, seconds = 0;

	for (size_t i = 0; c && i < model->generations.count; i++) {
		struct part p = warm_part_of(model, i);
		double mean = sb_series_mean(s, c, p.from_s, p.to_s);

		if (isnan(mean))
			continue;
		sum += mean * (p.to_s - p.from_s);
		seconds += p.to_s - p.from_s;
	}
	return seconds > 0 ? sum / seconds : NAN;
}

/* Of the run's busiest GPU in each part. */
static double utilization(const struct sb_model *model)
{
	double sum = 0, seconds = 0;

	for (size_t i = 0; i < model->generations.count; i++) {
		struct part p = warm_part_of(model, i);
		double busiest = NAN;

		for (size_t k = 0; k < model->series_count; k++) {
			const struct sb_series *s = &model->series[k];

			if (!strcmp(s->source, "gpu") &&
				sb_device_is_of_run(&model->devices.touched, s->device))
				busiest = fmax(busiest,
					sb_series_mean(s, sb_series_column_find(s, "utilization_percent"),
						p.from_s, p.to_s));
		}
		if (isnan(busiest))
			continue;
		sum += busiest * (p.to_s - p.from_s);
		seconds += p.to_s - p.from_s;
	}
	return seconds > 0 ? sum / seconds : NAN;
}

void sb_judged_fill(struct sb_model *model)
{
	struct sb_summary_panel *out = &model->summary;

	out->judged_s = out->generation_s;
	if (model->generations.whole_run && model->generations.count)
		out->judged_s = fmax(0, part_of(model, 0).to_s - part_of(model, 0).from_s);
	out->judged_sampled = out->judged_s >= model->stages.wall_s * MOSTLY;
	for (size_t i = 0; i < model->series_count && !out->judged_sampled; i++) {
		const struct sb_series *s = &model->series[i];

		if (strcmp(s->source, "gpu") == 0 || strcmp(s->source, "cpu") == 0)
			out->judged_sampled = count_rows(model, s) >= SAMPLES_LEAST;
	}
	out->gpu_utilization_mean_percent = utilization(model);
	out->cpu_mean_percent = mean_of(model, sb_model_series(model, "cpu", -2), "process_percent");
	out->disk_wait_mean_percent = mean_of(model, sb_model_series(model, "psi", -2), "io_percent");
}
