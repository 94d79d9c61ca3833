/* Samples of one line of the program added up, in the stage around them: the lines of the model. The pass over the run is
 * in lines.c. */
#include "analyze/python/line_samples.h"
#include "analyze/python/own_frame.h"
#include "analyze/python/source.h"
#include "base/error.h"
#include "base/python_file.h"

#include <stdlib.h>
#include <string.h>

enum { LISTED = 48 };

/* The line of torch's module that called that frame, through a decorator of torch's perhaps. */
static uint32_t caller_of(const char *const *files, uint32_t count, uint32_t called)
{
	uint32_t i = called + 1;

	while (i + 1 < count && !strstr(files[i], "/torch/nn/modules/module.py"))
		i++;
	return i;
}

static void find_hook(
	struct sb_line_samples *s, struct sb_line_sample *at, const char *const *files, uint32_t called)
{
	uint32_t caller = caller_of(files, at->frame_count, called);
	enum sb_hook is = SB_HOOK_NOT;

	if (!sb_python_is_package(files[called]))
		is = sb_hook_called(&s->hooks, s->run, s->model, files[caller], at->lines[caller],
			s->run->names[at->names[called]].text);
	at->flags |= is == SB_HOOK_NOT ? 0 : is == SB_HOOK_CERTAIN ? IN_HOOK | SURELY_IN_HOOK : IN_HOOK;
}

static void find_own(struct sb_line_samples *s, struct sb_line_sample *at)
{
	const char *files[FRAMES];
	uint32_t called;

	for (uint32_t i = 0; i < at->frame_count; i++)
		files[i] = sb_lines_file(s, at->names[i]);
	at->own = sb_own_frame(files, at->frame_count, at->flags & IN_GENERATION);
	called = sb_module_frame(files, at->frame_count, at->own);
	if (called == UINT32_MAX)
		return;
	at->flags |= IN_MODULE;
	find_hook(s, at, files, called);
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int by_line(const void *a, const void *b)
{
	const struct sb_line_sample *x = a, *y = b;
	int order = compare_u32(x->names[x->own], y->names[y->own]);

	order = order ? order : compare_u32(x->lines[x->own], y->lines[y->own]);
	order = order ? order : compare_u32(x->path, y->path);
	order = order ? order : compare_u32(x->names[0], y->names[0]);
	return order ? order : compare_u32(x->at.track, y->at.track);
}

/* Python adds instructions that have no line: they count at the line where their function was seen most. Sorted by_line. */
static void lend_lines(struct sb_line_samples *s)
{
	for (uint32_t i = 0, end; i < s->count; i = end) {
		uint32_t name = s->all[i].names[s->all[i].own], most = 0, most_count = 0, same = 0;

		for (end = i; end < s->count && s->all[end].names[s->all[end].own] == name; end++) {
			uint32_t line = s->all[end].lines[s->all[end].own];

			same = end > i && line == s->all[end - 1].lines[s->all[end - 1].own] ? same + 1 : 1;
			most = line && same > most_count ? line : most;
			most_count = line && same > most_count ? same : most_count;
		}
		for (uint32_t k = i; k < end && !s->all[k].lines[s->all[k].own]; k++)
			s->all[k].lines[s->all[k].own] = most;
	}
}

static bool is_cold(const struct sb_line_samples *s, const struct sb_line_sample *at)
{
	return sb_lines_are_warm_apart(s) && at->flags & IN_FIRST;
}

static bool is_in_once(const struct sb_model *model, double t_s)
{
	const struct sb_uncovered *once = &model->stages.once;

	return once->duration_s > 0 && t_s > once->t_s && t_s <= once->t_s + once->duration_s;
}

/* Of a program that calls its models in a loop of its own: what it does between the calls, each time. */
static double in_loop_s(const struct sb_line_samples *s, const struct sb_line_sample *at)
{
	double t_s = (double)at->at.t_ns / 1e9, from_s = s->model->stages.startup_end_s;
	bool in_loop = !s->generations.count && at->at.track == s->loop && at->path == UINT32_MAX;

	return in_loop && t_s > from_s && t_s < s->model->stages.work_end_s && !is_in_once(s->model, t_s)
		       ? fmin((double)at->weight_ns / 1e9, t_s - from_s)
		       : 0;
}

static void add_to(const struct sb_line_samples *s, struct sb_line *line, const struct sb_line_sample *at)
{
	bool warm = !is_cold(s, at), outside = at->at.t_ns > s->first_ns && !sb_lines_in_generation(s, at);
	double weight_s = (double)at->weight_ns / 1e9, t_s = (double)at->at.t_ns / 1e9,
	       inside_s = (double)at->inside_ns / 1e9;
	double work_s = s->generations.count ? warm * inside_s : weight_s; /* a model may run in none */

	line->total_s += weight_s;
	line->generation_s += warm && at->flags & IN_GENERATION ? inside_s : 0;
	line->loop_s += in_loop_s(s, at);
	line->loop_count += in_loop_s(s, at) > 0;
	line->work_s += s->generations.count || t_s > s->model->stages.startup_end_s ? weight_s : 0;
	line->step_s += warm && at->flags & IN_STEP ? inside_s : 0;
	line->among_s += warm && at->flags & AMONG_STEPS ? inside_s : 0;
	line->module_s += at->flags & IN_MODULE ? work_s : 0;
	line->hook_s += at->flags & IN_HOOK ? work_s : 0;
	line->hook |= (at->flags & SURELY_IN_HOOK) != 0;
	line->warm_count += warm && at->flags & IN_GENERATION;
	line->outside_s += outside ? weight_s : 0;
	line->outside_count += outside;
	line->outside_from_s = outside ? fmin(line->outside_from_s, fmax(0, t_s - weight_s))
				       : line->outside_from_s;
	line->outside_to_s = outside ? fmax(line->outside_to_s, t_s) : line->outside_to_s;
	line->between = at->flags & BETWEEN;
	line->sample_count++;
	line->stood_count += at->stood && !at->ran;
	line->ran_count += at->ran && !at->stood;
	line->without_count += at->stood && at->ran;
	line->cpu_s += at->cpu_ns > 0 ? (double)at->cpu_ns / 1e9 : 0;
	line->cpu_of_s += at->cpu_ns >= 0 ? weight_s : 0;
	line->from_s = line->sample_count == 1 ? fmax(0, t_s - weight_s)
					       : fmin(line->from_s, fmax(0, t_s - weight_s));
	line->to_s = fmax(line->to_s, t_s);
}

static void describe(
	struct sb_line_samples *s, struct sb_run *run, const struct sb_line_sample *at, struct sb_line *line)
{
	line->function = sb_model_text(s->model, run->names[at->names[at->own]].text);
	line->file = sb_lines_file(s, at->names[at->own]);
	line->line = at->lines[at->own];
	line->library = sb_python_is_library(line->file);
	line->inner = at->own ? sb_model_text(s->model, run->names[at->names[0]].text) : NULL;
	line->inner_file = at->own ? sb_lines_file(s, at->names[0]) : NULL;
	line->stage = at->path == UINT32_MAX
			      ? NULL
			      : sb_model_text(s->model, run->names[sb_run_path(run, at->path)->name].text);
	line->outside_from_s = INFINITY;
	line->main = at->at.track < run->track_count && run->tracks[at->at.track].main;
	line->track = at->at.track;
	line->maker = s->maker != UINT32_MAX && at->at.track == s->maker;
}

static int largest_first(const void *a, const void *b)
{
	const struct sb_line *x = a, *y = b;

	double x_s = x->generation_s + x->outside_s, y_s = y->generation_s + y->outside_s;

	if (x_s != y_s) /* the start may be much longer */
		return x_s < y_s ? 1 : -1;
	if (x->work_s != y->work_s)
		return x->work_s < y->work_s ? 1 : -1;
	return x->total_s < y->total_s ? 1 : x->total_s > y->total_s ? -1 : 0;
}

/* The source as it ran: a line of a file that was edited since would be another one. */
static void take_text(const struct sb_run *run, struct sb_model *model, struct sb_line *line)
{
	if (!line->line)
		line->line = sb_source_line_of(run, model, line->file, line->function);
	line->text = sb_source_line(run, model, line->file, line->line);
	line->changed = !line->text && sb_source_changed(run, line->file);
}

int sb_lines_list(struct sb_line_samples *s, struct sb_run *run, struct sb_model *model)
{
	struct sb_line *groups = calloc(s->count ? s->count : 1, sizeof *groups);
	uint32_t count = 0;

	if (!groups)
		return sb_fail(STROBE_ENOMEM, "no memory for the sampled lines of '%s'", run->path);
	for (uint32_t i = 0; i < s->count; i++)
		find_own(s, &s->all[i]);
	qsort(s->all, s->count, sizeof *s->all, by_line);
	lend_lines(s);
	qsort(s->all, s->count, sizeof *s->all, by_line);
	for (uint32_t i = 0; i < s->count; i++) {
		if (!i || by_line(&s->all[i - 1], &s->all[i]))
			describe(s, run, &s->all[i], &groups[count++]);
		add_to(s, &groups[count - 1], &s->all[i]);
	}
	qsort(groups, count, sizeof *groups, largest_first);
	model->lines.count = count < LISTED ? count : LISTED;
	model->lines.all = sb_model_alloc(model, (model->lines.count + 1) * sizeof *groups);
	for (size_t i = 0; model->lines.all && i < model->lines.count; i++) {
		model->lines.all[i] = groups[i];
		take_text(run, model, &model->lines.all[i]);
	}
	free(groups);
	return 0;
}
