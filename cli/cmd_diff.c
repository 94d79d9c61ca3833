/* strobe diff: what changed between runs, and whether it is real. */
#include "command.h"
#include "diff_output.h"
#include "facts_arg.h"
#include "gate_arg.h"
#include "journal_output.h"
#include "run_arg.h"

#include "compare/compare.h"
#include "base/error.h"
#include "compare/journal.h"
#include "exchange/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command_option options[] = {
	{ "base", 'b', "RUN,RUN...", "several runs of the base, to tell change from noise", false, true },
	{ "new", 'n', "RUN,RUN...", "several runs of the new side", false, true },
	{ "fail-above", 'f', "LIMIT",
		"exit 1 when the total rises by more than LIMIT: 5%; or NAME=10%,peak_memory=2%", false,
		true },
	{ "allow-missing", 0, NULL, "a metric that went missing does not fail --fail-above", false, false },
	{ "min-psnr", 0, "DB", "exit 1 when an output falls below it, or cannot be measured: 40", false,
		false },
	{ "tolerance", 't', "PERCENT",
		"a smaller change counts as none (2%; without repetitions any below 10 ms too)", false,
		false },
	{ "format", 0, "FORMAT", "text, json, markdown or html (text)", false, false },
	{ "template", 0, NULL, "the tracking sheet: every label with its time and change", false, false },
	{ "top", 0, "N", "stages to show (20)", false, false },
	{ "output", 'o', "FILE",
		"write there instead of standard output; its ending chooses the format; may be "
		"repeated",
		false, true },
	RUN_CUT_OPTIONS,
	{ 0 },
};

struct side {
	struct sb_facts **all;
	size_t count;
};

struct diff_question {
	struct side base, now;
	struct sb_gate *gates;
	size_t gate_count;
	struct sb_comparison *comparison;
};

/* ---- the two sides ------------------------------------------------------ */

static int add(const struct args *args, struct side *side, const char *spec, const char *name)
{
	struct sb_facts **grown = realloc(side->all, (side->count + 1) * sizeof *grown);
	int code;

	if (!grown)
		return complain("no memory");
	side->all = grown;
	code = facts_arg_open(args, spec, name, &side->all[side->count]);
	side->count += !code;
	return code;
}

/* "a,b,c"; a name that exists as it stands may hold commas. */
static int add_list(const struct args *args, struct side *side, const char *list)
{
	char *copy = strdup(list), *rest = copy;
	int code = copy ? 0 : complain("no memory");

	for (char *spec = strsep(&rest, ","); spec && !code; spec = strsep(&rest, ","))
		if (*spec)
			code = add(args, side, spec, NULL);
	free(copy);
	return code;
}

static int load_lists(const struct args *args, struct diff_question *question)
{
	const char *list;
	int code = 0;

	for (size_t i = 0; !code && (list = args_nth(args, "base", i)); i++)
		code = add_list(args, &question->base, list);
	for (size_t i = 0; !code && (list = args_nth(args, "new", i)); i++)
		code = add_list(args, &question->now, list);
	return code;
}

static bool is_same_run(const struct sb_facts *a, const struct sb_facts *b)
{
	return a->start_real_ns && a->start_real_ns == b->start_real_ns && !strcmp(a->name, b->name);
}

/* BASE NEW; BASE alone is set against the last run. */
static int load_sides(const struct args *args, struct diff_question *question)
{
	int code = load_lists(args, question), used = 0;
	const char *base = NULL, *now = NULL;

	if (code)
		return code;
	if (!question->base.count && used < args->count)
		base = args->values[used++];
	if (!question->now.count)
		now = used < args->count ? args->values[used++] : "last";
	if (used < args->count || (!base && !question->base.count))
		return complain("diff takes BASE and NEW, or --base A1,A2 --new B1,B2");
	if (now)
		code = add(args, &question->now, now, NULL);
	/* "best" is the best of the runs that NEW is one of */
	if (!code && base)
		code = add(
			args, &question->base, base, question->now.count ? question->now.all[0]->name : NULL);
	if (!code && (!question->base.count || !question->now.count))
		code = complain("--base and --new need at least one run each");
	if (!code && base && !strcmp(base, "best") &&
		is_same_run(question->base.all[0], question->now.all[0]))
		complain("NEW is itself the fastest run of '%s' in the history: it is compared with itself",
			question->now.all[0]->name);
	return code;
}

static void side_done(struct side *side)
{
	for (size_t i = 0; i < side->count; i++)
		sb_facts_free(side->all[i]);
	free(side->all);
}

/* ---- options ------------------------------------------------------------ */

static int read_min_psnr(const struct args *args, double *out_db)
{
	const char *text = args_value(args, "min-psnr");
	char *end;

	if (!text)
		return 0;
	*out_db = strtod(text, &end);
	if (end == text || *end || !(*out_db > 0))
		return complain("--min-psnr takes decibels such as 40, not '%s'", text);
	return 0;
}

/* ---- more than two runs, and the tracking sheet: a journal without a file ---- */

static int print_journal(
	const struct args *args, const struct side *sides, size_t side_count, const char *format)
{
	struct sb_journal *j = sb_journal_new();
	int code = j ? 0 : complain_last();

	for (size_t s = 0; s < side_count && !code; s++)
		for (size_t i = 0; i < sides[s].count && !code; i++)
			if (sb_journal_add(j, sides[s].all[i], NULL, NULL))
				code = complain_last();
	if (!code)
		code = journal_output(args, j, format);
	sb_journal_free(j);
	return code;
}

/* A run of a text that has several, as "sheet.txt#1". */
static int add_part(const struct args *args, struct side *side, const char *path, uint32_t part)
{
	char spec[4200];

	snprintf(spec, sizeof spec, "%s#%u", path, part);
	return add(args, side, spec, NULL);
}

static int compare_many(const struct args *args, uint32_t part_count, const char *format)
{
	struct side runs = { 0 };
	int code = 0;

	if (args_has(args, "fail-above") || args_has(args, "base") || args_has(args, "new"))
		return complain("more than two runs are shown side by side, not judged: for --fail-above "
				"give two, or "
				"--base A1,A2 --new B1,B2");
	for (int i = 0; i < args->count && !part_count && !code; i++)
		code = add(args, &runs, args->values[i], NULL);
	for (uint32_t i = 1; i <= part_count && !code; i++)
		code = add_part(args, &runs, args->values[0], i);
	if (!code)
		code = print_journal(args, &runs, 1, format);
	side_done(&runs);
	return code;
}

/* Of a text that has several runs and is the only thing named; 0: no such text. */
static uint32_t parts_of(const struct args *args)
{
	uint32_t count = args->count == 1 && !args_has(args, "base") && !args_has(args, "new")
				 ? sb_import_run_count(args->values[0])
				 : 1;

	return count > 1 ? count : 0;
}

static int run(struct args *args)
{
	struct sb_compare_options o = { .allow_missing = args_has(args, "allow-missing") };
	const char *format;
	struct diff_question question = { 0 };
	uint32_t part_count = parts_of(args);
	int code = 0;

	if (!diff_output_format(args, &format))
		return EXIT_USAGE;
	if (args_has(args, "template") && args_has(args, "format"))
		return complain("--template and --format cannot be used together");
	if (args->count > 2 || part_count > 2)
		return compare_many(args, part_count, format);
	o.pictures = !strcmp(format, "html");
	code = gate_arg_tolerance(args, &o.tolerance);
	if (!code)
		code = read_min_psnr(args, &o.min_psnr_db);
	if (!code)
		code = gate_arg_read(args, &question.gates, &question.gate_count);
	if (!code && part_count == 2) {
		code = add_part(args, &question.base, args->values[0], 1);
		if (!code)
			code = add_part(args, &question.now, args->values[0], 2);
	} else if (!code) {
		code = load_sides(args, &question);
	}
	o.gates = question.gates;
	o.gate_count = question.gate_count;
	if (!code && sb_compare((const struct sb_facts *const *)question.base.all, question.base.count,
			     (const struct sb_facts *const *)question.now.all, question.now.count, &o,
			     &question.comparison))
		code = complain_last();
	if (!code && args_has(args, "template"))
		code = print_journal(args, (struct side[]){ question.base, question.now }, 2, format);
	else if (!code)
		code = diff_output_print(args, question.comparison, format);
	if (!code)
		code = diff_output_verdict(args, question.comparison, format);
	sb_comparison_free(question.comparison);
	sb_gates_free(question.gates, question.gate_count);
	side_done(&question.base);
	side_done(&question.now);
	return code;
}

const struct command cmd_diff = {
	.name = "diff",
	.usage = "[OPTIONS] BASE [NEW...]",
	.summary = "what changed, whether it is real; --fail-above 5% for CI",
	.description =
		"Sets two runs side by side: the total first, then what likely explains the change, then "
		"the\n"
		"stages by how much they contribute, memory, throughput, disk, configuration and "
		"environment.\n"
		"BASE and NEW are RUNs, report files, 'best' or 'history:ID'; NEW is 'last' unless given. "
		"One\n"
		"text that has BASELINE: and AFTER: (or BEFORE and AFTER) in it holds both sides. Where\n"
		"a side has repetitions (generations, calls, or several runs) a rank test tells change from\n"
		"noise. With one value on each side, a change counts if it is above the tolerance and 10 "
		"ms.\n"
		"--fail-above exits 1 on a regression, and when a metric that BASE has is missing in NEW.\n"
		"More than two runs are shown as a journal: each against the one before and against the "
		"first.",
	.examples = "  strobe diff before.txt after.txt --fail-above 5%\n"
		    "  strobe diff best last --fail-above vae_decode=10%,peak_memory=2%\n"
		    "  strobe diff base.log opt8.log opt6.log --template\n"
		    "  strobe diff --base a1,a2,a3 --new b1,b2,b3 --format markdown > comment.md",
	.exit_status = "0 success, 1 a limit of --fail-above or --min-psnr was passed or a metric is "
		       "missing, 2 an error, which is "
		       "described on standard error.",
	.options = options,
	.run = run,
};
