/* The monitors' samples into model->series. Not the sampling itself: that is src/monitor. */
#include "analyze/analysis.h"
#include "analyze/sampled.h"
#include "analyze/touched_devices.h"

#include "base/error.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct source {
	const struct sb_run_schema *schema;
	int device; /* by the monitors' number */
	struct sb_sampled sampled;
};

struct samples {
	struct sb_run *run;
	size_t points;
	struct sb_device_numbers numbers;
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

/* Each row of a counter is a mean since the row before. */
static bool holds_means(const char *source)
{
	return !strcmp(source, "gpu_pm") || !strcmp(source, "gpu_counters");
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
	made->device = strcmp(schema->source,
			       "gpu_pm") /* sampled by the process itself, which has its own numbers */
			       ? schema->device
			       : sb_device_number(&s->numbers, schema->process, schema->device);
	s->err = sb_sampled_init(&made->sampled, schema->columns, schema->column_count, s->points);
	if (holds_means(schema->source))
		made->sampled.merge = SB_SAMPLED_MEANS;
	return s->err ? NULL : made;
}

static void see_sample(void *self, const struct sb_event *event)
{
	struct samples *s = self;
	struct source *source;

	if (s->err || event->kind != SB_EVENT_SAMPLE)
		return;
	/* an earlier session's, or outside the selected part; the last ones are taken as a session ends */
	if (event->t_ns < s->run->from_ns || (s->run->is_cut && event->t_ns > s->run->to_ns))
		return;
	source = source_of(s, event->sample.schema);
	if (source)
		s->err = sb_sampled_add(&source->sampled, (double)event->t_ns / 1e9, event->sample.values);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct samples *s = calloc(1, sizeof *s);

	if (!s)
		return sb_fail(STROBE_ENOMEM, "no memory for samples");
	s->numbers.run = s->run = run;
	s->points = sb_model_points(model, run);
	v->self = s;
	v->kinds = 1u << SB_EVENT_SAMPLE;
	v->event = see_sample;
	return 0;
}

static bool same_place(const struct source *a, const struct source *b)
{
	return a->device == b->device && strcmp(a->schema->source, b->schema->source) == 0;
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
		series->device = all[i].device;
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
