/* strobe report: text, JSON, HTML from a run. */
#include "command.h"
#include "job_arg.h"
#include "output.h"

#include "report/build.h"
#include "record/rundir.h"
#include "report/files.h"
#include "report/outputs.h"
#include "report/source_lines.h"
#include "report/page/html.h"
#include "report/json.h"
#include "report/markdown/markdown.h"
#include "report/ranks/screen.h"
#include "report/summary.h"
#include "report/text.h"
#include "run_arg.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command_option options[] = {
	{ "format", 'f', "FORMAT", "text (default), json, html, md, or all as files in the run folder", false,
		false },
	{ "output", 'o', "FILE", "write there, its ending chooses the format; with --format all: a folder",
		false, false },
	{ "write", 0, NULL, "write the format's usual file into the run folder", false, false },
	{ "brief", 'b', NULL, "one screen: the lines that strobe run ends with", false, false },
	{ "top", 0, "N", "rows of the timing table (20)", false, false },
	{ "sort", 0, "KEY", "total, self, mean, count, min, max, p50, p95, p99, last, gpu or name", false,
		false },
	{ "combine", 0, NULL, "one row per name, wherever in the tree the stage is", false, false },
	{ "no-groups", 0, NULL, "keep chunk_1, chunk_2, chunk_3... and imports apart", false, false },
	{ "columns", 0, "N", "width of the text (else COLUMNS, else the terminal's, else 100)", false,
		false },
	RUN_CUT_OPTIONS,
	{ 0 },
};

static const struct {
	const char *name;
	unsigned files;
} formats[] = { { "text", SB_FILE_TEXT }, { "json", SB_FILE_JSON | SB_FILE_TEXT | SB_FILE_MEMORY },
	{ "html", SB_FILE_HTML }, { "md", 0 }, { "all", SB_FILE_ALL } };

static bool format_known(const char *format)
{
	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
		if (!strcmp(formats[i].name, format))
			return true;
	return false;
}

/* In the run folder; 0: none of them. */
static unsigned files_of(const char *format)
{
	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
		if (!strcmp(formats[i].name, format))
			return formats[i].files;
	return 0;
}

static int write_folder(struct sb_run *run, struct sb_model *model, const char *folder, unsigned files)
{
	if (!folder)
		return complain("'%s' has no run folder: say where with -o", run->path);
	if (sb_rundir_ensure(folder, 0700) || sb_report_outputs_keep(run, model) ||
		(folder == run->folder && sb_report_source_lines_keep(run, model)) ||
		sb_report_files_write(run, model, folder, files))
		return complain_last();
	if (files == SB_FILE_TEXT)
		printf("timing_summary.txt written to %s (with --format all, the other reports too)\n",
			folder);
	else
		printf("reports written to %s\n", folder);
	return EXIT_OK;
}

static int make_text(
	const struct args *args, const struct sb_model *model, bool to_terminal, struct sb_buf *out)
{
	struct sb_text_options text = { .sort = args_value(args, "sort"), .top = 20 };
	size_t columns = to_terminal ? (size_t)terminal_columns(STDOUT_FILENO) : 100;

	if (!args_count(args, "top", 1, 1000000, &text.top) ||
		!args_count(args, "columns", 60, 1000, &columns))
		return EXIT_USAGE;
	text.columns = (int)columns;
	text.colour = to_terminal && terminal_has_colour(STDOUT_FILENO);
	return sb_report_text(model, &text, out) ? complain_last() : 0;
}

static int make_brief(
	const struct args *args, const struct sb_model *model, bool to_terminal, struct sb_buf *out)
{
	struct sb_summary_options how = { .colour = to_terminal && terminal_has_colour(STDOUT_FILENO) };
	size_t columns = to_terminal ? (size_t)terminal_columns(STDOUT_FILENO) : 100;

	if (!args_count(args, "columns", 60, 1000, &columns))
		return EXIT_USAGE;
	how.columns = (int)columns;
	return sb_report_summary(model, &how, out) ? complain_last() : 0;
}

static int make(const struct args *args, struct sb_run *run, const struct sb_model *model, const char *format,
	bool to_terminal, struct sb_buf *out)
{
	if (!strcmp(format, "json"))
		return sb_report_json(model, out) ? complain_last() : 0;
	if (!strcmp(format, "html"))
		return sb_report_html(run, model, out) ? complain_last() : 0;
	if (!strcmp(format, "md"))
		return sb_report_markdown(model, out) ? complain_last() : 0;
	return args_has(args, "brief") ? make_brief(args, model, to_terminal, out)
				       : make_text(args, model, to_terminal, out);
}

static int deliver(const struct args *args, struct sb_run *run, struct sb_model *model, const char *format)
{
	const char *output = args_value(args, "output");
	bool to_stdout = !output || !strcmp(output, "-");
	struct sb_buf out = { 0 };
	int code;

	if (!strcmp(format, "all"))
		return write_folder(run, model, output ? output : run->folder, SB_FILE_ALL);
	if (args_has(args, "write"))
		return write_folder(run, model, output ? output : run->folder, files_of(format));
	if (!strcmp(format, "html") && !output)
		return write_folder(run, model, run->folder, SB_FILE_HTML);
	code = make(args, run, model, format, to_stdout, &out);
	if (!code && to_stdout && fwrite(sb_buf_text(&out), 1, out.size, stdout) != out.size)
		code = complain("cannot write to standard output");
	if (!code && !to_stdout && sb_buf_write_file(&out, output, 0600))
		code = complain_last();
	sb_buf_done(&out);
	return code;
}

static int print_ranks(const struct sb_aggregate *a, const char *folder)
{
	struct sb_buf out = { 0 };
	int code;

	sb_ranks_screen(a, folder, &out);
	code = fputs(sb_buf_text(&out), stdout) < 0 ? complain("cannot write to standard output") : EXIT_OK;
	sb_buf_done(&out);
	return code;
}

/* A job's report is on its ranks. */
static int report_job(const struct args *args, const char *spec, const char *format)
{
	const char *output = args_value(args, "output");
	bool to_folder = !strcmp(format, "all") || args_has(args, "write") ||
			 (!strcmp(format, "html") && !output);
	struct sb_aggregate *a = NULL;
	char folder[PATH_MAX];
	int code = 0;

	if (run_arg_has_cut(args))
		return complain("'%s' is a job: name one rank to report a part of it, such as %s/rank_0",
			spec ? spec : "last", spec ? spec : "last");
	if (sb_run_resolve(spec, folder, sizeof folder) || job_arg_read(folder, 0, &a))
		return complain_last();
	if (to_folder && !output && sb_run_is_in_page(spec))
		code = complain("'%s' has no run folder: say where with -o", spec);
	else if (to_folder && output && sb_rundir_ensure(output, 0700))
		code = complain_last();
	else if (args_has(args, "brief"))
		code = print_ranks(a, folder);
	else if (to_folder)
		code = job_arg_write(args, a, output ? output : folder, files_of(format));
	else
		code = job_arg_print(args, a, format, output && strcmp(output, "-") ? output : NULL);
	sb_aggregate_free(a);
	return code;
}

static int run(struct args *args)
{
	const char *format = output_format(args) ? output_format(args) : "text";
	const char *sort = args_value(args, "sort");
	struct sb_model_options model_options = { .combine = args_has(args, "combine"),
		.no_groups = args_has(args, "no-groups") };
	struct sb_run *opened;
	struct sb_model *model;
	int code;

	if (args->count > 1)
		return complain(
			"one run at a time; 'strobe diff' sets two side by side, 'strobe aggregate' many");
	if (!strcmp(format, "markdown"))
		format = "md";
	if (!format_known(format))
		return complain("--format takes text, json, html, md or all, not '%s'", format);
	if (args_has(args, "brief") && (strcmp(format, "text") || args_has(args, "write")))
		return complain("--brief is one screen of text: leave out --format, --write and -o with "
				"another ending");
	if (args_has(args, "write") && !files_of(format))
		return complain("a run folder has no file of the format '%s': name one with -o", format);
	if (sort && !sb_text_sort_known(sort))
		return complain("--sort takes total, self, mean, count, min, max, p50, p95, p99, last, gpu "
				"or name, not '%s'",
			sort);
	if (job_arg_is_job(args->count ? args->values[0] : NULL))
		return report_job(args, args->count ? args->values[0] : NULL, format);
	code = run_arg_open(args, args->count ? args->values[0] : NULL, &opened);
	if (code)
		return code;
	if (sb_report_build(opened, &model_options, &model)) {
		code = complain_last();
		sb_run_close(opened);
		return code;
	}
	code = deliver(args, opened, model, format);
	sb_model_free(model);
	sb_run_close(opened);
	return code;
}

const struct command cmd_report = {
	.name = "report",
	.usage = "[OPTIONS] [RUN]",
	.summary = "text, JSON, HTML and Markdown from a run",
	.description =
		"Prints where the time of a run went: a timing table, the tree of stages with self and\n"
		"unattributed time, iterations, memory, advice, and what was lost or not recorded.\n"
		"--format md is an account of at most 200 lines to paste: what ran, where the time went,\n"
		"findings with evidence and places, what was not recorded.\n"
		"RUN is a run folder, a .strobe file, a trace or stage log, or last (the default), last~1...",
	.examples = "  strobe report\n"
		    "  strobe report --brief\n"
		    "  strobe report last~1 --sort self --top 50\n"
		    "  strobe report strobe-runs/wan-20260101-120000-4242 --format json -o report.json\n"
		    "  strobe report run.strobe --generation 2\n"
		    "  strobe report last --format md -o report.md\n"
		    "  strobe report --format all",
	.options = options,
	.run = run,
};
