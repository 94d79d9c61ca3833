/* line_profile: what `@profile` timed, as the Python package recorded it when the program ended: an event for each
 * function, followed by one for each of its lines. */
#include "analyze/analysis.h"
#include "base/error.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_MOST = 20000, FUNCTIONS_MOST = 2000 };

struct profiled {
	struct sb_run *run;
	struct sb_model *model;
	struct sb_vec functions, lines; /* struct sb_profiled_function, struct sb_profiled_line */
	uint32_t process; /* of the function that was seen last */
	bool failed;
};

static int64_t whole(const struct sb_event *e, const char *key)
{
	double value = sb_attr_number(e->attrs, e->attr_count, key);

	return value >= 0 && value < 1e15 ? (int64_t)value : 0;
}

static const char *words(struct profiled *p, const struct sb_event *e, const char *key)
{
	const struct sb_run_attr *a = sb_attr_find(e->attrs, e->attr_count, key);

	return a && a->type == STROBE_TYPE_STRING && *a->s ? sb_model_text(p->model, a->s) : NULL;
}

static void add_function(struct profiled *p, const struct sb_event *e)
{
	struct sb_profiled_function *f = p->functions.count < FUNCTIONS_MOST
						 ? sb_vec_push(&p->functions, sizeof *f)
						 : NULL;

	p->process = e->process;
	if (!f) {
		p->failed |= p->functions.count < FUNCTIONS_MOST;
		return;
	}
	*f = (struct sb_profiled_function){ .name = words(p, e, "function"),
		.file = words(p, e, "file"),
		.line = whole(e, "line"),
		.calls = whole(e, "calls"),
		.timed_calls = whole(e, "timed_calls"),
		.total_s = (double)whole(e, "total_ns") / 1e9 };
	f->name = f->name ? f->name : "?";
}

static void add_line(struct profiled *p, const struct sb_event *e)
{
	struct sb_profiled_function *all = p->functions.items, *f;
	struct sb_profiled_line *n;

	if (!p->functions.count || p->functions.count == FUNCTIONS_MOST || p->process != e->process ||
		p->lines.count == LINES_MOST)
		return;
	f = &all[p->functions.count - 1];
	n = sb_vec_push(&p->lines, sizeof *n);
	if (!n) {
		p->failed = true;
		return;
	}
	*n = (struct sb_profiled_line){ .line = whole(e, "line"),
		.hits = whole(e, "hits"),
		.total_s = (double)whole(e, "time_ns") / 1e9,
		.text = words(p, e, "text") };
	n->ratio = f->total_s > 0 ? fmin(1, n->total_s / f->total_s) : 0;
	f->line_count++;
}

static void see_event(void *self, const struct sb_event *e)
{
	struct profiled *p = self;
	const char *name = p->run->names[e->name].text;

	if (strcmp(name, "strobe.line_function") == 0)
		add_function(p, e);
	else if (strcmp(name, "strobe.line") == 0)
		add_line(p, e);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *visitor)
{
	struct profiled *p = calloc(1, sizeof *p);

	if (!p)
		return sb_fail(STROBE_ENOMEM, "no memory for the lines of '%s'", run->path);
	p->run = run;
	p->model = model;
	visitor->self = p;
	visitor->kinds = 1u << SB_EVENT_EVENT;
	visitor->event = see_event;
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct profiled *p = self;
	struct sb_line_profile_panel *panel = &model->line_profile;
	struct sb_profiled_line *lines = sb_model_alloc(model, (p->lines.count + 1) * sizeof *lines);

	panel->all = sb_model_alloc(model, (p->functions.count + 1) * sizeof *panel->all);
	if (p->failed || !lines || !panel->all)
		return sb_fail(STROBE_ENOMEM, "no memory for the lines of '%s'", run->path);
	if (p->lines.count)
		memcpy(lines, p->lines.items, p->lines.count * sizeof *lines);
	for (; panel->count < p->functions.count; panel->count++) {
		struct sb_profiled_function *f = &panel->all[panel->count];

		*f = ((const struct sb_profiled_function *)p->functions.items)[panel->count];
		f->lines = lines;
		lines += f->line_count;
	}
	return 0;
}

static void done(void *self)
{
	struct profiled *p = self;

	if (!p)
		return;
	sb_vec_done(&p->functions);
	sb_vec_done(&p->lines);
	free(p);
}

const struct sb_analysis sb_analysis_line_profile = {
	.name = "line_profile",
	.begin = begin,
	.finish = finish,
	.done = done,
};
