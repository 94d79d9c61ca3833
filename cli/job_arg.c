/* Reads the ranks of a job that stands in place of a RUN. */
#include "job_arg.h"

#include "base/error.h"
#include "facts_arg.h"
#include "job_page.h"
#include "output.h"
#include "progress.h"
#include "report/files.h"
#include "report/page/page.h"
#include "report/ranks/ranks.h"
#include "report/ranks/read.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool job_arg_is_job(const char *spec)
{
	struct sb_job job = { 0 };
	char path[PATH_MAX];
	bool several = !sb_run_resolve(spec, path, sizeof path) && !sb_job_find(path, &job) && job.rank_count;

	sb_job_done(&job);
	return several;
}

/* ---- reading ---- */

struct watch {
	struct progress progress;
	time_t started;
};

static void report_progress(void *self, size_t done, size_t total)
{
	struct watch *w = self;
	double spent = difftime(time(NULL), w->started);

	w->progress.done = done;
	if (done % 16 || spent < 1)
		return;
	w->progress.left_s = spent / (double)done * (double)(total - done);
	progress_draw(&w->progress);
}

static int load_rank(const char *path, struct sb_facts **out_facts)
{
	return facts_arg_load_run(path, out_facts);
}

static bool has_file(const char *folder, const char *name)
{
	char path[PATH_MAX];

	return (size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path &&
	       !access(path, F_OK);
}

/* The job's page links to what is there. */
static void find_pages(struct sb_aggregate *a)
{
	for (size_t i = 0; i < a->rank_count; i++)
		a->ranks[i].page = has_file(a->ranks[i].label, "profiling_report.html");
	for (size_t i = 0; i < a->attempt_count; i++)
		a->attempts[i].page = has_file(a->attempts[i].label, "aggregated_report.html");
}

int job_arg_read_inputs(
	const struct aggregate_inputs *inputs, size_t threads, struct sb_aggregate **out_aggregate)
{
	struct watch watch = { .started = time(NULL) };
	struct sb_ranks_reading how = {
		.load = load_rank, .threads = threads, .progress = report_progress, .self = &watch
	};
	struct sb_aggregate *a = sb_aggregate_new();
	int err = a ? sb_ranks_add_attempts(a, inputs->attempts, inputs->attempt_count) : STROBE_ENOMEM;

	progress_init(&watch.progress, inputs->count);
	if (!err)
		err = sb_ranks_read(a, inputs->paths, inputs->count, &how);
	progress_clear(&watch.progress);
	if (err) {
		sb_aggregate_free(a);
		return err;
	}
	find_pages(a);
	job_page_rename(a);
	*out_aggregate = a;
	return 0;
}

/* "'/tmp/x/rank_3' is cut off" with x for "/tmp/x": "'x/rank_3' is cut off". Where there is no memory for it the
 * text goes. */
static void rename_in(char **text, const char *folder, const char *name)
{
	size_t length = strlen(folder);
	struct sb_buf out = { 0 };
	const char *from = *text, *at;
	char *made;

	if (!from || !strstr(from, folder))
		return;
	for (; (at = strstr(from, folder)); from = at + length + (!*name && at[length] == '/')) {
		sb_buf_add(&out, from, (size_t)(at - from));
		sb_buf_puts(&out, name);
	}
	sb_buf_puts(&out, from);
	made = sb_buf_failed(&out) ? NULL : strdup(sb_buf_text(&out));
	sb_buf_done(&out);
	if (!made) {
		**text = 0;
		return;
	}
	free(*text);
	*text = made;
}

void job_arg_rename(struct sb_aggregate *a, const char *folder, const char *name)
{
	for (size_t i = 0; i < a->rank_count; i++) {
		rename_in(&a->ranks[i].label, folder, name);
		rename_in(&a->ranks[i].damage, folder, name);
	}
	for (size_t i = 0; i < a->attempt_count; i++)
		rename_in(&a->attempts[i].label, folder, name);
	for (size_t i = 0; i < a->problem_count; i++) {
		rename_in(&a->problems[i].label, folder, name);
		rename_in(&a->problems[i].what, folder, name);
	}
}

int job_arg_open_part(
	const struct sb_job_part *part, const char *folder, struct sb_run **out_run, char out_path[PATH_MAX])
{
	struct sb_run *run = NULL;
	int err = sb_run_open_folder(part->path, &run);

	*out_run = NULL;
	if (err && err != STROBE_ENOMEM) {
		complain("%s is left out: %s", part->name, sb_error_message());
		return 0;
	}
	if (!err && (size_t)snprintf(out_path, PATH_MAX, "%s/%s", folder, part->name) >= PATH_MAX)
		err = sb_fail(STROBE_EINVAL, "'%s': the name is too long", folder);
	if (!err && *part->name && mkdir(out_path, 0700))
		err = sb_fail_errno("cannot make the folder '%s'", out_path);
	if (err)
		sb_run_close(run);
	else
		*out_run = run;
	return err;
}

int job_arg_read(const char *spec, size_t threads, struct sb_aggregate **out_aggregate)
{
	struct aggregate_inputs inputs = { 0 };
	char path[PATH_MAX];
	int err = sb_run_resolve(spec, path, sizeof path);

	if (!err)
		err = aggregate_find(&inputs, path);
	if (!err)
		err = job_arg_read_inputs(&inputs, threads, out_aggregate);
	aggregate_inputs_done(&inputs);
	return err;
}

/* ---- what is made of it ---- */

static int make(const struct sb_aggregate *a, const struct sb_aggregate_options *o, const char *format,
	struct sb_buf *out)
{
	struct sb_buf json = { 0 };
	int err = 0;

	if (!strcmp(format, "md"))
		sb_buf_puts(out, "```text\n");
	if (!strcmp(format, "text") || !strcmp(format, "md"))
		sb_aggregate_text(a, o, out);
	else
		sb_aggregate_json(a, strcmp(format, "html") ? out : &json);
	if (!strcmp(format, "md"))
		sb_buf_puts(out, "```\n");
	if (!strcmp(format, "html"))
		err = sb_page_wrap("aggregate", &json, out);
	sb_buf_done(&json);
	return err;
}

static bool read_top(const struct args *args, struct sb_aggregate_options *o)
{
	o->top = 15;
	return args_count(args, "top", 1, 1000000, &o->top);
}

int job_arg_print(const struct args *args, const struct sb_aggregate *a, const char *format, const char *path)
{
	struct sb_aggregate_options o = { .colour = !path && terminal_has_colour(STDOUT_FILENO) };
	struct sb_buf out = { 0 };
	int code;

	if (!read_top(args, &o))
		return EXIT_USAGE;
	code = make(a, &o, format, &out) ? complain_last() : output_put(&out, path);
	sb_buf_done(&out);
	return code;
}

static int write_files(const struct sb_aggregate *a, const struct sb_aggregate_options *o, const char *folder,
	unsigned files)
{
	static const struct {
		unsigned file;
		const char *format, *ending;
	} all[] = { { SB_FILE_JSON, "json", "json" }, { SB_FILE_HTML, "html", "html" },
		{ SB_FILE_TEXT, "text", "txt" } };
	int err = 0;

	for (size_t i = 0; i < sizeof all / sizeof all[0] && !err; i++) {
		struct sb_buf out = { 0 };
		char path[PATH_MAX];

		if (!(files & all[i].file) || (size_t)snprintf(path, sizeof path, "%s/aggregated_report.%s",
						      folder, all[i].ending) >= sizeof path)
			continue;
		err = make(a, o, all[i].format, &out);
		if (!err)
			err = sb_buf_write_own_file(&out, path, 0600);
		sb_buf_done(&out);
	}
	return err;
}

int job_arg_write_quietly(const struct sb_aggregate *a, const char *folder, unsigned files)
{
	return write_files(a, &(struct sb_aggregate_options){ .top = 15 }, folder, files);
}

int job_arg_write(const struct args *args, const struct sb_aggregate *a, const char *folder, unsigned files)
{
	struct sb_aggregate_options o = { 0 };

	if (!read_top(args, &o))
		return EXIT_USAGE;
	if (write_files(a, &o, folder, files))
		return complain_last();
	printf("reports written to %s\n", folder);
	return EXIT_OK;
}
