/* One pass over the run for all analyses together. */
#include "analyze/analysis.h"

#include "base/error.h"
#include "run/setting.h"

#include <stdlib.h>
#include <string.h>

#define ANALYSES_MAX 64
#define VISITORS_MAX 63 /* of one pass: run/zones.c has a bit for each */
#define POINTS_DEFAULT 10000u
#define POINTS_MOST 1000000u

struct build {
	struct sb_model model; /* first: a model is a build */
	struct sb_model_options options;
};

const struct sb_model_options *sb_model_build_options(const struct sb_model *model)
{
	return &((const struct build *)model)->options;
}

size_t sb_model_points(const struct sb_model *model, const struct sb_run *run)
{
	const struct sb_model_options *options = sb_model_build_options(model);
	double set = sb_run_setting_number(run, "max_data_points");

	if (options && options->max_data_points)
		return options->max_data_points < POINTS_MOST ? options->max_data_points : POINTS_MOST;
	return set >= 1 && set <= POINTS_MOST ? (size_t)set : POINTS_DEFAULT;
}

static bool sees_something(const struct sb_visitor *v)
{
	return v->zone || v->zone_begin || v->event;
}

/* One pass for those that want to see something. */
static int pass(struct sb_run *run, const struct sb_visitor *all, size_t count)
{
	struct sb_visitor wanting[VISITORS_MAX];
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (!sees_something(&all[i]))
			continue;
		if (used == VISITORS_MAX)
			return sb_fail(
				STROBE_EINVAL, "more than %d analyses want to see the run", VISITORS_MAX);
		wanting[used++] = all[i];
	}
	return sb_run_visit(run, wanting, used);
}

static int visit_all(struct sb_run *run, struct sb_model *model)
{
	struct sb_visitor visitors[ANALYSES_MAX + 1];
	size_t begun = 0;
	int err = 0;

	memset(visitors, 0, sizeof visitors);
	for (; !err && sb_analyses[begun] && begun < ANALYSES_MAX; begun++)
		if (sb_analyses[begun]->begin)
			err = sb_analyses[begun]->begin(run, model, &visitors[begun]);
	if (!err)
		err = pass(run, visitors, begun);
	for (size_t i = 0; !err && i < begun; i++)
		if (sb_analyses[i]->finish)
			err = sb_analyses[i]->finish(visitors[i].self, run, model);
	for (size_t i = 0; i < begun; i++)
		if (sb_analyses[i]->done)
			sb_analyses[i]->done(visitors[i].self);
	return err;
}

int sb_analyze(struct sb_run *run, const struct sb_model_options *options, struct sb_model **out_model)
{
	struct build *b = calloc(1, sizeof *b);
	int err;

	if (!b)
		return sb_fail(STROBE_ENOMEM, "no memory for the report of '%s'", run->path);
	if (options)
		b->options = *options;
	err = visit_all(run, &b->model);
	if (!err && b->model.failed)
		err = sb_fail(STROBE_ENOMEM, "no memory for the report of '%s'", run->path);
	if (err) {
		sb_model_free(&b->model);
		return err;
	}
	*out_model = &b->model;
	return 0;
}
