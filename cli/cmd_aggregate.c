/* strobe aggregate: many ranks into one report. */
#include "aggregate_find.h"
#include "command.h"
#include "facts_arg.h"
#include "output.h"
#include "progress.h"

#include "compare/aggregate.h"
#include "base/error.h"
#include "exchange/warehouse.h"
#include "report/ranks/ranks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORKERS_MAX 16

static const struct command_option options[] = {
	{ "format", 0, "FORMAT", "text, json or html (text)", false, false },
	{ "output", 'o', "FILE", "write there instead of standard output; its ending chooses the format",
		false, false },
	{ "reports_dir", 0, "DIR", "the folder with the ranks or their reports, as an argument also says",
		false, false },
	{ "top", 0, "N", "rows of each table (15)", false, false },
	{ "threads", 'j', "N", "read this many ranks at once (one per core, at most 8)", false, false },
	{ 0 },
};

struct aggregate_job {
	struct aggregate_inputs inputs;
	struct sb_aggregate *aggregate;
	pthread_mutex_t lock;
	size_t next;
	size_t done;
	int err;
	char message[512]; /* of err: messages belong to their thread */
	struct progress progress;
	time_t started;
};

static void report_progress(struct aggregate_job *job)
{
	double spent = difftime(time(NULL), job->started);

	job->progress.done = job->done;
	if (job->done % 16 || spent < 1)
		return;
	job->progress.left_s = spent / (double)job->done * (double)(job->inputs.count - job->done);
	progress_draw(&job->progress);
}

/* Reading is what costs; adding is short and done one at a time. */
static void *work(void *context)
{
	struct aggregate_job *job = context;

	for (;;) {
		struct sb_facts *facts = NULL;
		const char *path;
		int err;

		pthread_mutex_lock(&job->lock);
		path = job->next < job->inputs.count && !job->err ? job->inputs.paths[job->next++] : NULL;
		pthread_mutex_unlock(&job->lock);
		if (!path)
			return NULL;
		err = facts_arg_load(path, NULL, true, &facts);
		pthread_mutex_lock(&job->lock);
		err = err ? sb_aggregate_broken(job->aggregate, path, sb_error_message())
			  : sb_aggregate_add(job->aggregate, facts);
		if (err && !job->err) {
			job->err = err;
			snprintf(job->message, sizeof job->message, "%s", sb_error_message());
		}
		job->done++;
		report_progress(job);
		pthread_mutex_unlock(&job->lock);
		sb_facts_free(facts);
	}
}

static int read_all(struct aggregate_job *job, size_t workers)
{
	pthread_t threads[WORKERS_MAX];
	size_t started = 0;

	progress_init(&job->progress, job->inputs.count);
	job->started = time(NULL);
	pthread_mutex_init(&job->lock, NULL);
	while (started + 1 < workers && !pthread_create(&threads[started], NULL, work, job))
		started++;
	work(job);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_destroy(&job->lock);
	progress_clear(&job->progress);
	return job->err ? complain("%s", job->message) : 0;
}

static int find_inputs(const struct args *args, struct aggregate_job *job)
{
	const char *folder = args_value(args, "reports_dir");
	const char *first = folder ? folder : args->count ? args->values[0] : "last";
	int err = folder || !args->count ? aggregate_find(&job->inputs, first) : 0;

	for (int i = 0; i < args->count && !err; i++)
		err = aggregate_find(&job->inputs, args->values[i]);
	if (err)
		return complain_last();
	if (!job->inputs.count)
		return complain(
			"'%s' holds no ranks: no rank_<N> folders, no .strobe files, no reports", first);
	return 0;
}

static int print(const struct args *args, const struct sb_aggregate *a)
{
	const char *format = output_format(args), *path = args_value(args, "output");
	struct sb_aggregate_options o = { .colour = !path && terminal_has_colour(STDOUT_FILENO) };
	struct sb_buf out = { 0 };
	int code = 0;

	o.top = 15;
	if (!args_count(args, "top", 1, 1000000, &o.top))
		return EXIT_USAGE;
	if (!format || !strcmp(format, "text"))
		sb_aggregate_text(a, &o, &out);
	else
		sb_aggregate_json(a, &out);
	if (format && !strcmp(format, "html"))
		code = output_make_page("aggregate", &out);
	if (!code)
		code = output_put(&out, path);
	sb_buf_done(&out);
	return code;
}

static int aggregate(const struct args *args, struct aggregate_job *job)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t workers = cores > 8 ? 8 : cores > 0 ? (size_t)cores : 1;
	int code;

	if (!args_count(args, "threads", 1, WORKERS_MAX, &workers))
		return EXIT_USAGE;
	code = find_inputs(args, job);
	if (!code)
		code = read_all(job, workers);
	if (code)
		return code;
	if (!job->aggregate->rank_count) {
		for (size_t i = 0; i < job->aggregate->problem_count && i < 5; i++)
			complain("%s: %s", job->aggregate->problems[i].label,
				job->aggregate->problems[i].what);
		return complain("none of %zu inputs could be read: nothing to aggregate", job->inputs.count);
	}
	if (sb_aggregate_finish(job->aggregate))
		return complain_last();
	return print(args, job->aggregate);
}

static int aggregate_warehouse(const struct args *args)
{
	struct sb_aggregate *a = NULL;
	struct sb_warehouse w;
	int code;

	if (args->count > 1)
		return complain("one warehouse at a time, not '%s' too", args->values[1]);
	if (sb_warehouse_open(args->values[0], &w) || sb_warehouse_aggregate(&w, &a))
		return complain_last();
	code = print(args, a);
	sb_aggregate_free(a);
	return code;
}

static int run(struct args *args)
{
	const char *format = args_value(args, "format");
	struct aggregate_job job = { 0 };
	int code;

	if (format && strcmp(format, "text") && strcmp(format, "json") && strcmp(format, "html"))
		return complain("--format is text, json or html, not '%s'", format);
	if (args->count && sb_warehouse_is_url(args->values[0]))
		return aggregate_warehouse(args);
	job.aggregate = sb_aggregate_new();
	code = job.aggregate ? aggregate(args, &job) : complain_last();
	sb_aggregate_free(job.aggregate);
	aggregate_inputs_done(&job.inputs);
	return code;
}

const struct command cmd_aggregate = {
	.name = "aggregate",
	.usage = "[OPTIONS] [DIR|RUN...]|clickhouse://HOST:PORT/DB?job=ID",
	.summary = "many ranks into one report",
	.description = "Reads rank_<N> folders, recordings or report files (strobe's, or those of the "
		       "session profilers\n"
		       "that write rank_*/*.json) and tells min, max, average and sum of every metric with "
		       "the rank of\n"
		       "each extreme, compares ranks, names stragglers and what they are slow at, the load "
		       "imbalance of\n"
		       "every stage, the waiting at collectives, and the scaling over world sizes where "
		       "there are several.\n"
		       "A rank that is missing or broken is named, and the rest is aggregated.",
	.examples = "  strobe aggregate strobe-runs/train-4711\n"
		    "  strobe aggregate ws1 ws2 ws4 ws8\n"
		    "  strobe aggregate profiling_reports --format json -o aggregated_report.json",
	.options = options,
	.run = run,
};
