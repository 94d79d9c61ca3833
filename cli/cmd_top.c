/* strobe top: a running or finished recording in the terminal. Reads the files
 * beside the writer; what a refresh costs decides when the next one comes. */
#include "command.h"
#include "job_arg.h"
#include "top_job.h"
#include "top_screen.h"
#include "top_target.h"
#include "top_view.h"

#include "base/error.h"
#include "report/build.h"

#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOW_WINDOW_S 10.0
enum { COST_FACTOR = 20 }; /* reading takes at most a twentieth of one core */

static const struct command_option options[] = {
	{ "interval", 'i', "SECONDS", "time between refreshes, 0.1 to 60; default 1", false, false },
	{ "once", '1', NULL, "print one screen as text and end", false, false },
	{ "sort", 's', "BY", "order of the stages: tree (default), self or rate", false, false },
	{ 0 },
};

struct top {
	char run[PATH_MAX];
	struct sb_model *whole, *now;
	double whole_due_s, now_due_s; /* on the monotonic clock */
	double interval_s;
	struct top_view view;
};

static double mono_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int build(const char *spec, const struct sb_cut *cut, struct sb_model **model, bool *out_live)
{
	struct sb_model_options how = { .max_data_points = 600 };
	struct sb_model *fresh = NULL;
	struct sb_run *run;
	int err = sb_run_open(spec, cut, &run);

	if (err)
		return err;
	if (out_live)
		*out_live = run->live;
	err = sb_report_build(run, &how, &fresh);
	sb_run_close(run);
	if (err)
		return err;
	sb_model_free(*model);
	*model = fresh;
	return 0;
}

static double due_after(double start_s, double interval_s)
{
	double cost_s = mono_s() - start_s, wait_s = cost_s * COST_FACTOR;

	return start_s + (wait_s > interval_s ? wait_s : interval_s);
}

/* Brings the models up to date where they are due; false when nothing changed. */
static int refresh_models(struct top *t, bool *out_changed)
{
	struct sb_cut last = { .last_ns = (int64_t)(NOW_WINDOW_S * 1e9) };
	double start_s = mono_s();
	bool live = t->now != NULL;
	int err = 0;

	*out_changed = false;
	if (start_s >= t->whole_due_s) {
		err = build(t->run, NULL, &t->whole, &live);
		t->whole_due_s = due_after(start_s, live ? t->interval_s : 5);
		*out_changed = true;
	}
	if (!err && !live) {
		sb_model_free(t->now);
		t->now = NULL;
		return 0;
	}
	start_s = mono_s();
	if (!err && start_s >= t->now_due_s) {
		err = build(t->run, &last, &t->now, NULL);
		t->now_due_s = due_after(start_s, t->interval_s);
		*out_changed = true;
	}
	return err;
}

static void render(struct top *t)
{
	t->view.whole = t->whole;
	t->view.now = t->now;
	t->view.window_s = t->whole->session.duration_s < NOW_WINDOW_S ? t->whole->session.duration_s
								       : NOW_WINDOW_S;
	if (!(t->view.window_s > 0))
		t->view.window_s = 1e-9;
	top_view_render(&t->view);
}

static int print_once(struct top *t)
{
	bool changed;

	t->view.columns = terminal_columns(STDOUT_FILENO);
	t->view.rows = 1000;
	if (refresh_models(t, &changed))
		return complain_last();
	render(t);
	fputs(sb_buf_text(&t->view.text), stdout);
	return EXIT_OK;
}

/* true: the user wants to leave. */
static bool obey(struct top *t, enum top_key key)
{
	switch (key) {
	case TOP_KEY_QUIT: return true;
	case TOP_KEY_SORT: t->view.sort = (t->view.sort + 1) % TOP_SORTS; break;
	case TOP_KEY_UP: t->view.scroll -= t->view.scroll > 0; break;
	case TOP_KEY_DOWN: t->view.scroll++; break;
	default: break;
	}
	return false;
}

static int watch(struct top *t)
{
	enum top_key key = TOP_KEY_RESIZE;
	int code = top_screen_open();
	char message[700] = "";

	if (code)
		return code;
	t->view.with_keys = true;
	while (!obey(t, key)) {
		bool changed;
		double next_s;

		if (refresh_models(t, &changed)) {
			snprintf(message, sizeof message, "%s", sb_error_message());
			break;
		}
		if (changed || key != TOP_KEY_NONE) {
			top_screen_size(&t->view.rows, &t->view.columns);
			render(t);
			top_screen_draw(&t->view);
		}
		next_s = t->now && t->now_due_s < t->whole_due_s ? t->now_due_s : t->whole_due_s;
		next_s -= mono_s();
		key = top_screen_key(next_s < 0.05 ? 50 : next_s > 60 ? 60000 : (int)(next_s * 1000) + 1);
	}
	top_screen_close();
	return *message ? complain("%s", message) : EXIT_OK;
}

static bool choose_sort(const struct args *args, struct top_view *view)
{
	static const char *const names[] = { "tree", "self", "rate" };
	const char *by = args_value(args, "sort");

	for (int i = 0; by && i < TOP_SORTS; i++)
		if (!strcmp(names[i], by)) {
			view->sort = (enum top_sort)i;
			return true;
		}
	if (by)
		complain("--sort takes tree, self or rate, not '%s'", by);
	return !by;
}

static int run(struct args *args)
{
	struct top t = { .interval_s = 1 };
	int code;

	if (args->count > 1)
		return complain("one RUN or process at a time, not also '%s'", args->values[1]);
	if (!args_number(args, "interval", 0.1, 60, &t.interval_s) || !choose_sort(args, &t.view))
		return EXIT_USAGE;
	setlocale(LC_CTYPE, "");
	t.view.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	if (!args_has(args, "once") && !isatty(STDOUT_FILENO))
		return complain("standard output is not a terminal; 'strobe top --once' prints one screen");
	if (job_arg_is_job(args->count ? args->values[0] : "last"))
		return top_job(args->count ? args->values[0] : "last", args_has(args, "once"), t.interval_s);
	code = top_target_find(args->count ? args->values[0] : NULL, t.run, sizeof t.run);
	if (code)
		return code;
	code = args_has(args, "once") ? print_once(&t) : watch(&t);
	sb_model_free(t.whole);
	sb_model_free(t.now);
	top_view_done(&t.view);
	return code;
}

const struct command cmd_top = {
	.name = "top",
	.usage = "[OPTIONS] [RUN|PID]",
	.summary = "live terminal view of a running or finished recording",
	.description =
		"Shows stages with their rates, steps and frames per second now, and GPU, CPU, memory "
		"and disk.\n"
		"Reads the recording's files: the program is not slowed down. Keys: q quit, s sort, "
		"arrows scroll.\n"
		"RUN is a run folder, a .strobe file or last (the default), last~1...; PID any process of "
		"a run.\nFor a job it shows the ranks, the one with the most work first.",
	.examples = "  strobe top                 the last run\n  strobe top 12345           the run that "
		    "process 12345 records into\n"
		    "  strobe top --once last~1   one screen as text",
	.options = options,
	.run = run,
};
