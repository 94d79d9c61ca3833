/* The monitors' samples, and questions to a series. Not the sampling itself:
 * that is src/monitor. */
#include "analyze/series.h"
#include "analyze/setting.h"

#include "base/error.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define POINTS_DEFAULT 10000u
#define POINTS_MOST 1000000u

size_t sb_model_points(const struct sb_model *model, const struct sb_run *run)
{
	const struct sb_model_options *options = sb_model_build_options(model);
	double set = sb_run_setting_number(run, "max_data_points");

	if (options && options->max_data_points)
		return options->max_data_points < POINTS_MOST ? options->max_data_points : POINTS_MOST;
	return set >= 1 && set <= POINTS_MOST ? (size_t)set : POINTS_DEFAULT;
}

/* ---- the analysis ------------------------------------------------------- */

struct source {
	const struct sb_run_schema *schema;
	struct sb_sampled sampled;
};

struct samples {
	struct sb_run *run;
	size_t points;
	struct sb_vec sources; /* struct source */
	int err;
};

/* A sampler that starts again declares its columns again. */
static bool same_columns(const struct sb_run_schema *a, const struct sb_run_schema *b)
{
	if (a->process != b->process || a->device != b->device || a->column_count != b->column_count ||
		strcmp(a->source, b->source) != 0)
		return false;
	for (uint32_t i = 0; i < a->column_count; i++) {
		if (strcmp(a->columns[i], b->columns[i]) != 0)
			return false;
	}
	return true;
}

static struct source *source_of(struct samples *s, const struct sb_run_schema *schema)
{
	struct source *all = s->sources.items, *made;

	for (size_t i = 0; i < s->sources.count; i++) {
		if (all[i].schema == schema || same_columns(all[i].schema, schema))
			return &all[i];
	}
	made = sb_vec_push(&s->sources, sizeof *made);
	if (!made) {
		s->err = sb_fail(STROBE_ENOMEM, "no memory for the samples of '%s'", schema->source);
		return NULL;
	}
	made->schema = schema;
	s->err = sb_sampled_init(&made->sampled, schema->columns, schema->column_count, s->points);
	return s->err ? NULL : made;
}

static void see_sample(void *self, const struct sb_event *event)
{
	struct samples *s = self;
	struct source *source;

	if (s->err || event->kind != SB_EVENT_SAMPLE)
		return;
	if (event->t_ns < s->run->from_ns || event->t_ns > s->run->to_ns)
		return; /* an earlier session's, or outside the part asked for */
	source = source_of(s, event->sample.schema);
	if (source)
		s->err = sb_sampled_add(&source->sampled, (double)event->t_ns / 1e9, event->sample.values);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct samples *s = calloc(1, sizeof *s);

	if (!s)
		return sb_fail(STROBE_ENOMEM, "no memory for samples");
	s->run = run;
	s->points = sb_model_points(model, run);
	v->self = s;
	v->kinds = 1u << SB_EVENT_SAMPLE;
	v->event = see_sample;
	return 0;
}

static bool same_place(const struct source *a, const struct source *b)
{
	return a->schema->device == b->schema->device && strcmp(a->schema->source, b->schema->source) == 0;
}

/* Two samplers may have watched the same thing (the tool and the process
 * itself): the one that saw more of it speaks. */
static bool is_best(const struct samples *s, size_t which)
{
	const struct source *all = s->sources.items;

	for (size_t i = 0; i < s->sources.count; i++) {
		if (i == which || !same_place(&all[i], &all[which]))
			continue;
		if (all[i].sampled.sample_count > all[which].sampled.sample_count)
			return false;
		if (all[i].sampled.sample_count == all[which].sampled.sample_count && i < which)
			return false;
	}
	return true;
}

static int by_source(const void *a, const void *b)
{
	const struct sb_series *x = a, *y = b;
	int order = strcmp(x->source, y->source);

	return order ? order : x->device - y->device;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct samples *s = self;
	const struct source *all = s->sources.items;

	if (s->err)
		return s->err;
	model->series = sb_model_alloc(model, s->sources.count * sizeof *model->series);
	if (s->sources.count && !model->series)
		return sb_fail(STROBE_ENOMEM, "no memory for samples");
	for (size_t i = 0; i < s->sources.count; i++) {
		struct sb_series *series = &model->series[model->series_count];
		int err;

		if (!is_best(s, i))
			continue;
		err = sb_sampled_store(&all[i].sampled, model, series);
		if (err)
			return err;
		series->source = sb_model_text(model, all[i].schema->source);
		series->device = all[i].schema->device;
		if (!series->source)
			return sb_fail(STROBE_ENOMEM, "no memory for samples");
		model->series_count++;
	}
	if (model->series_count)
		qsort(model->series, model->series_count, sizeof *model->series, by_source);
	return 0;
}

static void done(void *self)
{
	struct samples *s = self;
	struct source *all;

	if (!s)
		return;
	all = s->sources.items;
	for (size_t i = 0; i < s->sources.count; i++)
		sb_sampled_done(&all[i].sampled);
	sb_vec_done(&s->sources);
	free(s);
}

const struct sb_analysis sb_analysis_series = {
	.name = "series",
	.begin = begin,
	.finish = finish,
	.done = done,
};

/* ---- questions ---------------------------------------------------------- */

/* The first row at or after t_s. */
static size_t row_at(const struct sb_series *s, double t_s)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->t_s[mid] < t_s)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

double sb_series_at(const struct sb_series *s, const struct sb_series_column *c, double t_s)
{
	size_t i;
	double share;

	if (!s || !c || !s->count || t_s < s->t_s[0] || t_s > s->t_s[s->count - 1])
		return NAN;
	i = row_at(s, t_s);
	if (i == 0 || s->t_s[i] == t_s)
		return c->values[i];
	share = (t_s - s->t_s[i - 1]) / (s->t_s[i] - s->t_s[i - 1]);
	return c->values[i - 1] + share * (c->values[i] - c->values[i - 1]);
}

double sb_series_max(const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s)
{
	double max = NAN;

	if (!s || !c)
		return NAN;
	for (size_t i = row_at(s, from_s); i < s->count && s->t_s[i] <= to_s; i++) {
		if (!isnan(c->values[i]) && !(c->values[i] <= max))
			max = c->values[i];
	}
	return max;
}

static double integrate(const struct sb_series *s, const struct sb_series_column *c, double from_s,
	double to_s, double *out_known_s)
{
	double sum = 0, known_s = 0;
	size_t i = row_at(s, from_s);

	for (i = i ? i : 1; i < s->count && s->t_s[i - 1] < to_s; i++) {
		double a_s = fmax(s->t_s[i - 1], from_s), b_s = fmin(s->t_s[i], to_s);
		double a = sb_series_at(s, c, a_s), b = sb_series_at(s, c, b_s);

		if (isnan(a) || isnan(b) || b_s <= a_s)
			continue;
		sum += (a + b) / 2 * (b_s - a_s);
		known_s += b_s - a_s;
	}
	*out_known_s = known_s;
	return known_s > 0 ? sum : NAN;
}

double sb_series_integral(
	const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s)
{
	double known_s;

	return s && c ? integrate(s, c, from_s, to_s, &known_s) : NAN;
}

double sb_series_mean(const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s)
{
	double known_s, sum;

	if (!s || !c)
		return NAN;
	sum = integrate(s, c, from_s, to_s, &known_s);
	if (isnan(sum))
		return sb_series_at(s, c, (from_s + to_s) / 2);
	return sum / known_s;
}

/* What a running total gained between two times, as far as it was sampled. */
static double gained(const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s)
{
	double a_s = fmax(from_s, s->t_s[0]), b_s = fmin(to_s, s->t_s[s->count - 1]);

	return b_s > a_s ? sb_series_at(s, c, b_s) - sb_series_at(s, c, a_s) : NAN;
}

double sb_series_energy_j(const struct sb_model *model, double from_s, double to_s)
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
