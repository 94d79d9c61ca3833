/* strobe export: a run in the format of another tool. */
#include "command.h"
#include "export_packed.h"
#include "export_warehouse.h"

#include "base/filename.h"
#include "base/newfile.h"
#include "exchange/export.h"
#include "exchange/warehouse.h"
#include "report/build.h"
#include "report/panels/panel.h"
#include "run/job.h"
#include "job_arg.h"
#include "run_arg.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAME(name) #name ", "
#define FINDINGS_MOST 50u

static const struct command_option options[] = {
	{ "to", 0, "FORMAT", SB_EXPORTERS(NAME) "or clickhouse://HOST:PORT/DB", false, false },
	{ "output", 'o', "FILE",
		"where to (default: into the run folder; -: standard output); its ending chooses the format",
		false, false },
	{ "print-schema", 0, "VERSION",
		"with --to clickhouse://...: print the tables for an operator to apply, as a server of that "
		"version takes them (today's); connects to nothing",
		true, false },
	{ "quiet", 'q', NULL, "print the file name only", false, false },
	{ "no-findings", 0, NULL, "leave the findings out of a chrome or perfetto trace; quicker", false,
		false },
	{ "generation", 0, "N", "only the N-th generation (video, prompt, request)", false, false },
	{ "last", 0, "TIME", "only the last 10m, 90s, 1.5h", false, false },
	{ "from", 0, "TIME", "from this time after the start (negative: before the end)", false, false },
	{ "until", 0, "TIME", "up to this time after the start (negative: before the end)", false, false },
	{ 0 },
};

static int unknown_format(const char *name)
{
	char known[256] = "";

	for (const struct sb_exporter *const *e = sb_exporters; *e; e++) {
		if (*known)
			strcat(known, ", ");
		strncat(known, (*e)->name, 32);
	}
	if (!name)
		return complain("--to is missing: one of %s", known);
	return complain("there is no format '%s': --to takes one of %s", name, known);
}

/* In the run folder; beside nothing, in the current one. */
static void default_path(const struct sb_run *run, const struct sb_exporter *exporter, char *out, size_t size)
{
	const char *dot = strchr(exporter->file_name, '.');
	char stem[256], folder[2048];
	uint32_t attempt;

	if (run->folder && exporter->write_file) {
		export_packed_path(run->folder, run->process_count > 1 ? "" : ".strobe", out, size);
		return;
	}
	if (run->folder && sb_job_attempt_inside(run->folder, folder, sizeof folder, &attempt)) {
		snprintf(out, size, "%s/attempt_%u.%s", folder, attempt, exporter->file_name);
		return;
	}
	if (run->folder) {
		snprintf(out, size, "%s/%s", run->folder, exporter->file_name);
		return;
	}
	snprintf(stem, sizeof stem, "%s", sb_filename_of(run->path));
	stem[strcspn(stem, ".")] = 0;
	snprintf(out, size, "%s%s", *stem ? stem : "trace", exporter->write_file ? ".packed.strobe" : dot);
}

static void print_count(uint64_t count, const char *what)
{
	if (count)
		printf(", %llu %s", (unsigned long long)count, what);
}

static void print_summary(const struct sb_export_summary *s, const char *path)
{
	char size[32];

	sb_text_bytes(size, sizeof size, (double)s->bytes);
	printf("%s: %s", path, size);
	print_count(s->zones, "zones");
	print_count(s->gpu, "GPU records");
	print_count(s->counters, "counter values");
	print_count(s->marks, "marks");
	print_count(s->findings, "findings");
	printf("\n");
	if (s->overlapping)
		printf("  %llu span%s may overlap others and %s not in it\n",
			(unsigned long long)s->overlapping, s->overlapping == 1 ? "" : "s",
			s->overlapping == 1 ? "is" : "are");
	if (s->folded_zones)
		printf("  %llu older zones are known by their sums only and are not in it\n",
			(unsigned long long)s->folded_zones);
}

static void list_formats(struct sb_buf *out)
{
	for (const struct sb_exporter *const *e = sb_exporters; *e; e++)
		sb_buf_printf(out, "%-12s%s\n", (*e)->name, (*e)->summary);
}

/* ---- findings, for a timeline to show ---- */

static struct sb_marker marker_of(const struct sb_advice *f)
{
	bool timed = f->where.to_s > f->where.from_s && f->where.from_s >= 0;

	return (struct sb_marker){ f->id, f->priority, f->issue, f->suggestion,
		timed ? (int64_t)(f->where.from_s * 1e9) : 0, timed ? (int64_t)(f->where.to_s * 1e9) : 0 };
}

/* The texts belong to the model. */
static int collect(const struct sb_model *model, struct sb_markers *out)
{
	out->all = calloc(model->advice.count + 1, sizeof *out->all);
	if (!out->all)
		return complain("no memory");
	for (size_t i = 0; i < model->advice.count && i < FINDINGS_MOST; i++)
		out->all[out->count++] = marker_of(&model->advice.all[i]);
	return 0;
}

static int export_to(
	const struct args *args, const struct sb_exporter *exporter, struct sb_run *run, const char *path)
{
	struct sb_export_summary summary;
	struct sb_markers markers = { 0 };
	struct sb_model *model = NULL;
	int code = 0;

	if (exporter->takes_markers && !args_has(args, "no-findings")) {
		if (sb_report_build(run, NULL, &model))
			return complain_last();
		code = collect(model, &markers);
	}
	if (!code && sb_export(exporter, run, &markers, path, &summary))
		code = complain_last();
	else if (!code && strcmp(path, "-"))
		args_has(args, "quiet") ? (void)printf("%s\n", path) : print_summary(&summary, path);
	free(markers.all);
	sb_model_free(model);
	return code;
}

static int run(struct args *args)
{
	const char *chosen = args_value(args, "output");
	const char *format = args_value(args, "to");
	const struct sb_exporter *exporter = format   ? sb_exporter_find(format)
					     : chosen ? sb_exporter_of_file(chosen)
						      : NULL;
	struct sb_run *opened = NULL;
	char path[4096];
	int code;

	if (args_has(args, "print-schema"))
		return export_print_schema(format, args_value(args, "print-schema"));
	if (format && sb_warehouse_is_url(format))
		return export_warehouse(args->count ? args->values[0] : "last", format);
	if (!exporter)
		return unknown_format(format);
	if (args->count > 1)
		return complain("one RUN at a time, not '%s' too", args->values[1]);
	if (chosen && !strcmp(chosen, "-") && isatty(STDOUT_FILENO) && !exporter->readable)
		return complain("this format is not for a terminal: name a file with -o, or pipe it");
	if (exporter->write_file && job_arg_is_job(args->count ? args->values[0] : NULL))
		return export_packed_job(args, args->count ? args->values[0] : NULL, chosen);
	code = run_arg_open_all(args, args->count ? args->values[0] : NULL, &opened);
	if (code)
		return code;
	if (chosen)
		snprintf(path, sizeof path, "%s", chosen);
	else
		default_path(opened, exporter, path, sizeof path);
	if (!chosen && opened->folder)
		sb_newfile_make_way(path);
	code = export_to(args, exporter, opened, path);
	sb_run_close(opened);
	return code;
}

const struct command cmd_export = {
	.name = "export",
	.usage = "[OPTIONS] [RUN] --to FORMAT",
	.summary = "a run in the format of another tool, packed, or into a warehouse",
	.list_choices = list_formats,
	.description =
		"clickhouse://HOST:PORT/DB[?job=ID]  into a warehouse: a run, or all ranks of a folder\n"
		"https://HOST:PORT/DB[?job=ID]  the same, through TLS (needs libcurl)\n"
		"\n"
		"The trace of a job shows all of its ranks, by node and rank, on one clock. A packed job is\n"
		"a folder with every rank packed.\n"
		"The file appears whole or not at all; memory does not grow with the recording.",
	.examples = "  strobe export --to perfetto last\n"
		    "  strobe export --to chrome --last 10s -o trace.json "
		    "strobe-runs/wan_t2v-20260101-120000-4242\n"
		    "  strobe export --to csv -o - last | head",
	.exit_status = "0 success, 1 some runs of a folder could not be loaded into the warehouse, 2 an "
		       "error, which is "
		       "described on standard error.",
	.options = options,
	.run = run,
};
