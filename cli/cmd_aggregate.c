/* strobe aggregate: many ranks into one report. */
#include "command.h"
#include "job_arg.h"
#include "output.h"

#include "exchange/warehouse.h"
#include "report/ranks/read.h"

#include <malloc.h>
#include <string.h>

static const struct command_option options[] = {
	{ "format", 0, "FORMAT", "text, json or html (text)", false, false },
	{ "output", 'o', "FILE", "write there instead of standard output; its ending chooses the format",
		false, false },
	{ "reports_dir", 0, "DIR", "the folder with the ranks or their reports; the same as DIR", false,
		false },
	{ "top", 0, "N", "rows of each table (15)", false, false },
	{ "threads", 'j', "N", "read this many ranks at once (one per core, at most 8)", false, false },
	{ 0 },
};

static int find_inputs(const struct args *args, struct aggregate_inputs *inputs)
{
	const char *folder = args_value(args, "reports_dir");
	const char *first = folder ? folder : args->count ? args->values[0] : "last";
	int err = folder || !args->count ? aggregate_find(inputs, first) : 0;

	for (int i = 0; i < args->count && !err; i++)
		err = aggregate_find(inputs, args->values[i]);
	if (err)
		return complain_last();
	if (!inputs->count)
		return complain(
			"'%s' holds no ranks: no rank_<N> folders, no .strobe files, no reports", first);
	return 0;
}

static int print(const struct args *args, const struct sb_aggregate *a)
{
	const char *format = output_format(args);

	return job_arg_print(args, a, format ? format : "text", args_value(args, "output"));
}

static int aggregate(const struct args *args, struct aggregate_inputs *inputs)
{
	struct sb_aggregate *a = NULL;
	size_t threads = 0;
	int code;

	if (!args_count(args, "threads", 1, SB_RANKS_THREADS_MAX, &threads))
		return EXIT_USAGE;
	code = find_inputs(args, inputs);
	if (!code && job_arg_read_inputs(inputs, threads, &a))
		code = complain_last();
	if (!code)
		code = print(args, a);
	sb_aggregate_free(a);
	return code;
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

/* Each rank frees what the next one needs: it stays here instead of going back to the system. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

static int run(struct args *args)
{
	const char *format = args_value(args, "format");
	struct aggregate_inputs inputs = { 0 };
	int code;

	if (format && strcmp(format, "text") && strcmp(format, "json") && strcmp(format, "html"))
		return complain("--format takes text, json or html, not '%s'", format);
	if (args->count && sb_warehouse_is_url(args->values[0]))
		return aggregate_warehouse(args);
	keep_freed_memory();
	code = aggregate(args, &inputs);
	aggregate_inputs_done(&inputs);
	return code;
}

const struct command cmd_aggregate = {
	.name = "aggregate",
	.usage = "[OPTIONS] [DIR|RUN...]|clickhouse://HOST:PORT/DB?job=ID",
	.summary = "many ranks into one report",
	.description =
		"Reads rank_<N> folders, recordings or report files (strobe's, or the rank_*/*.json of "
		"the session\n"
		"profilers) and makes one report of them: min, max and average of every metric with the "
		"rank of each\n"
		"extreme, and its sum where it adds up; the stragglers and what they are slow at; the load "
		"imbalance\n"
		"of every stage; the waiting at collectives; the scaling where there are several world "
		"sizes.\n"
		"A rank that is missing or broken is named, and the rest is aggregated.",
	.examples = "  strobe aggregate strobe-runs/train-4711\n"
		    "  strobe aggregate ws1 ws2 ws4 ws8\n"
		    "  strobe aggregate profiling_reports --format json -o aggregated_report.json",
	.options = options,
	.run = run,
};
