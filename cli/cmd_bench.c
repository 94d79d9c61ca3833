/* strobe bench: repeated runs of a command, over sweeps and ladders. */
#include "bench_child.h"
#include "bench_held.h"
#include "bench_marks.h"
#include "bench_pair.h"
#include "bench_plan.h"
#include "command.h"
#include "output.h"
#include "progress.h"

#include "base/buf.h"
#include "report/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command_option options[] = {
	{ "iterations", 'n', "N", "measured runs of each row (10; with --marks 1)", false, false },
	{ "warmup", 'w', "N", "runs before them that do not count (1)", false, false },
	{ "marks", 'm', "NAME",
		"measure inside the process: record it, and take its generations, else iterations, or those "
		"named NAME",
		true, false },
	{ "frames", 'f', "N", "frames of one clip, for frames/s (a sweep over frames sets it too)", false,
		false },
	{ "sweep", 's', "KEY=V1,V2", "run every value in place of {KEY}; several keys: the full grid", false,
		true },
	{ "ladder", 'l', "FILE", "named variants, one 'NAME: WORDS' a line; step and total speed-up", false,
		false },
	{ "target-fps", 't', "FPS", "exit 1 unless every row reaches this many frames/s", false, false },
	{ "timeout", 0, "S", "stop a run that takes longer; its row fails", false, false },
	{ "format", 0, "FORMAT",
		"text, json, csv or html (text); with --compare or --commits text, json, markdown or html",
		false, false },
	{ "output", 'o', "FILE",
		"write there instead of standard output; its ending chooses the format; with --compare or "
		"--commits "
		"it may be repeated",
		false, true },
	{ "compare", 'c', NULL, "run two commands in turns, 'A' 'B', and print their diff", false, false },
	{ "commits", 0, NULL, "the same for COMMAND at two commits: --commits BASE NEW -- COMMAND", false,
		false },
	{ "prepare", 0, "SHELL", "with --commits: run in each commit's folder first, e.g. a build", false,
		false },
	{ "fail-above", 0, "LIMIT",
		"with --compare or --commits: exit 1 when the total rises by more than LIMIT; as in strobe "
		"diff",
		false, true },
	{ "tolerance", 0, "PERCENT", "with --compare or --commits: a smaller change counts as none (2%)",
		false, false },
	{ "show-output", 0, NULL, "let the command print (on standard error)", false, false }, { 0 }
};

struct benchmark {
	struct sb_bench bench;
	struct bench_plan plan;
	struct bench_child child;
	struct progress progress;
	double *row_seconds; /* spent on each row, warm-up included */
	int *row_runs;
	double frames;
	char folder[512]; /* of the recordings, with --marks */
	const char *marks; /* NULL: whole processes */
};

/* Warm-up is made of processes, or with marks of the first marks of each. */
static int warmup_runs(const struct benchmark *benchmark)
{
	return benchmark->marks ? 0 : benchmark->bench.warmup;
}

static int runs_each(const struct benchmark *benchmark)
{
	return warmup_runs(benchmark) + benchmark->bench.iterations;
}

/* ---- time left ---------------------------------------------------------- */

static void estimate_left(struct benchmark *benchmark)
{
	int each = runs_each(benchmark);
	double known = 0, left = 0;
	int runs = 0;

	for (size_t i = 0; i < benchmark->bench.row_count; i++) {
		known += benchmark->row_seconds[i];
		runs += benchmark->row_runs[i];
	}
	benchmark->progress.done = 0;
	for (size_t i = 0; i < benchmark->bench.row_count; i++) {
		const struct sb_bench_row *row = &benchmark->bench.rows[i];
		int open = row->state == SB_BENCH_OK ? each - benchmark->row_runs[i] : 0;

		benchmark->progress.done += (size_t)(each - open);
		if (runs)
			left += open * (benchmark->row_runs[i]
						       ? benchmark->row_seconds[i] / benchmark->row_runs[i]
						       : known / runs);
	}
	benchmark->progress.left_s = runs ? left : -1;
}

static void tick(void *context)
{
	struct benchmark *benchmark = context;

	if (benchmark->progress.left_s > 1)
		benchmark->progress.left_s -= 1;
	progress_draw(&benchmark->progress);
}

/* ---- running ------------------------------------------------------------ */

static int end_row(struct sb_bench_row *row, const struct bench_run *run)
{
	row->state = run->state;
	row->exit_code = run->exit_code;
	row->reason = strdup(run->reason);
	return row->reason ? 0 : complain("no memory");
}

/* One that was not recorded runs once more for it. */
static int end_row_without_memory(struct benchmark *benchmark, size_t i, const struct bench_run *run)
{
	struct sb_bench_row *row = &benchmark->bench.rows[i];

	benchmark->progress.label = "recorded, for what held the memory";
	progress_draw(&benchmark->progress);
	row->held = benchmark->marks ? bench_held_words(benchmark->folder)
				     : bench_held_again(&benchmark->child, benchmark->plan.commands[i]);
	return end_row(row, run);
}

/* What --frames says, else a sweep over frames; NaN: neither. */
static double frames_of_row(const struct benchmark *benchmark, const struct sb_bench_row *row)
{
	double frames = benchmark->frames;
	char *end;

	for (size_t k = 0; isnan(frames) && row->values && k < benchmark->bench.key_count; k++) {
		if (strcmp(benchmark->bench.keys[k], "frames"))
			continue;
		frames = strtod(row->values[k], &end);
		if (*end || !(frames >= 1 && frames <= 1e9))
			return NAN;
	}
	return frames;
}

static int add_marks(struct benchmark *benchmark, struct sb_bench_row *row)
{
	struct bench_run nothing = { .state = SB_BENCH_EMPTY };
	size_t added;

	if (bench_marks_read(benchmark->folder, benchmark->marks, (size_t)benchmark->bench.warmup,
		    frames_of_row(benchmark, row), row, &added))
		return complain_last();
	snprintf(nothing.reason, sizeof nothing.reason, "the recording has no %s past %d for warm-up",
		*benchmark->marks ? benchmark->marks : "generations, iterations or steps",
		benchmark->bench.warmup);
	return added ? 0 : end_row(row, &nothing);
}

static int run_child(struct benchmark *benchmark, size_t i, struct bench_run *out_run)
{
	char **recorded = benchmark->marks
				  ? bench_marks_command(benchmark->plan.commands[i], benchmark->folder)
				  : NULL;
	int err;

	if (benchmark->marks && !recorded)
		return complain_last();
	err = bench_child_run(&benchmark->child, recorded ? recorded : benchmark->plan.commands[i], out_run);
	free(recorded);
	return err ? complain_last() : 0;
}

static int run_row(struct benchmark *benchmark, size_t i, bool counts)
{
	struct sb_bench_row *row = &benchmark->bench.rows[i];
	struct bench_run run;

	benchmark->progress.label = benchmark->bench.row_count > 1 ? row->name : counts ? "" : "warm-up";
	estimate_left(benchmark);
	progress_draw(&benchmark->progress);
	if (run_child(benchmark, i, &run))
		return EXIT_USAGE;
	benchmark->bench.interrupted = run.interrupted;
	if (run.interrupted)
		return 0;
	if (run.state == SB_BENCH_OOM)
		return end_row_without_memory(benchmark, i, &run);
	if (run.state != SB_BENCH_OK)
		return end_row(row, &run);
	benchmark->row_seconds[i] += run.seconds;
	benchmark->row_runs[i]++;
	row->peak_memory_bytes = fmax(row->peak_memory_bytes, run.peak_memory_bytes);
	if (benchmark->marks)
		return add_marks(benchmark, row);
	if (counts && sb_bench_add(row, run.seconds))
		return complain_last();
	return 0;
}

/* Rows take turns, so that a machine that warms up or wanders touches all of
 * them alike. A row that fails is out; the others go on. */
static int run_all(struct benchmark *benchmark)
{
	int each = runs_each(benchmark);
	int code = 0;

	benchmark->row_seconds = calloc(benchmark->bench.row_count, sizeof *benchmark->row_seconds);
	benchmark->row_runs = calloc(benchmark->bench.row_count, sizeof *benchmark->row_runs);
	if (!benchmark->row_seconds || !benchmark->row_runs)
		return complain("no memory");
	progress_init(&benchmark->progress, benchmark->bench.row_count * (size_t)each);
	benchmark->child.tick = tick;
	benchmark->child.context = benchmark;
	for (int round = 0; round < each; round++)
		for (size_t i = 0; i < benchmark->bench.row_count && !code && !benchmark->bench.interrupted;
			i++)
			if (benchmark->bench.rows[i].state == SB_BENCH_OK)
				code = run_row(benchmark, i, round >= warmup_runs(benchmark));
	progress_clear(&benchmark->progress);
	return code;
}

/* ---- the verdict and the output ----------------------------------------- */

static int exit_code(const struct sb_bench *b)
{
	bool missed = false, any = false, unknown = false;

	for (size_t i = 0; i < b->row_count; i++) {
		any |= b->rows[i].state == SB_BENCH_OK;
		missed |= b->rows[i].state == SB_BENCH_OK && b->rows[i].has_target && !b->rows[i].target_met;
		unknown |= b->rows[i].state == SB_BENCH_OK && !b->rows[i].has_target;
	}
	if (b->interrupted)
		return 130;
	if (!any && isnan(b->target_fps))
		return b->rows[0].exit_code ? b->rows[0].exit_code : EXIT_CHECK;
	if (!any)
		return bench_child_exit_code(&(struct bench_run){ .exit_code = b->rows[0].exit_code });
	if (isnan(b->target_fps))
		return EXIT_OK;
	return missed ? EXIT_CHECK : unknown ? EXIT_USAGE : EXIT_OK;
}

static int print_result(const struct args *args, const struct sb_bench *b)
{
	const char *format = output_format(args), *path = args_value(args, "output");
	struct sb_buf out = { 0 };
	int code = 0;

	if (!format || !strcmp(format, "text"))
		sb_bench_text(b, &out);
	else if (!strcmp(format, "csv"))
		sb_bench_csv(b, &out);
	else
		sb_bench_json(b, &out);
	if (format && !strcmp(format, "html"))
		code = output_make_page("bench", &out);
	if (!code)
		code = output_put(&out, path);
	sb_buf_done(&out);
	return code ? code : exit_code(b);
}

/* ---- options ------------------------------------------------------------ */

static bool is_pair(const struct args *args)
{
	return args_has(args, "compare") || args_has(args, "commits");
}

/* What belongs to a pair only, and what a pair cannot have. */
static int check_pair(const struct args *args)
{
	static const char *const others[] = { "sweep", "ladder", "marks", "target-fps", "frames" },
				 *const own[] = { "fail-above", "tolerance", "prepare" };

	if (args_has(args, "compare") && args_has(args, "commits"))
		return complain("--compare and --commits cannot be combined");
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (is_pair(args) && args_has(args, others[i]))
			return complain("--%s is not for a pair of commands", others[i]);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (!is_pair(args) && args_has(args, own[i]))
			return complain("--%s goes with --compare or --commits", own[i]);
	if (args_has(args, "prepare") && !args_has(args, "commits"))
		return complain("--prepare goes with --commits");
	return 0;
}

static bool sweeps_frames(const struct args *args)
{
	const char *sweep;

	for (size_t i = 0; (sweep = args_nth(args, "sweep", i)); i++)
		if (!strncmp(sweep, "frames=", 7))
			return true;
	return false;
}

static int read_options(const struct args *args, struct benchmark *benchmark)
{
	const char *format = output_format(args);
	size_t iterations = args_has(args, "marks") ? 1 : 10, warmup = 1;

	benchmark->bench.target_fps = benchmark->frames = NAN;
	if (!args_count(args, "iterations", 1, 1000000, &iterations) ||
		!args_count(args, "warmup", 0, 1000000, &warmup) ||
		!args_number(args, "frames", 1, 1e9, &benchmark->frames) ||
		!args_number(args, "target-fps", 0.001, 1e9, &benchmark->bench.target_fps) ||
		!args_number(args, "timeout", 0.001, 1e9, &benchmark->child.timeout_s))
		return EXIT_USAGE;
	benchmark->bench.iterations = (int)iterations;
	benchmark->bench.warmup = (int)warmup;
	benchmark->child.show_output = args_has(args, "show-output");
	if (check_pair(args))
		return EXIT_USAGE;
	if (is_pair(args))
		return 0;
	if (format && strcmp(format, "text") && strcmp(format, "json") && strcmp(format, "csv") &&
		strcmp(format, "html"))
		return complain("--format takes text, json, csv or html, not '%s'", format);
	if (args->count)
		return complain(
			"the command goes after '--': strobe bench [OPTIONS] -- %s ...", args->values[0]);
	if (args_has(args, "ladder") && args_has(args, "sweep"))
		return complain("--ladder and --sweep cannot be combined");
	if (!args_has(args, "ladder") && (!args->after_dashes || !args->after_dashes[0]))
		return complain("no command; strobe bench [OPTIONS] -- COMMAND [ARG...]");
	benchmark->marks = args_value(args, "marks");
	benchmark->bench.marks = benchmark->marks != NULL;
	if (!isnan(benchmark->bench.target_fps) && isnan(benchmark->frames) && !benchmark->marks &&
		!sweeps_frames(args))
		return complain("--target-fps needs to know the frames of a run: add --frames N");
	return 0;
}

static int make_plan(const struct args *args, struct benchmark *benchmark)
{
	const char *sweeps[64], *ladder = args_value(args, "ladder");
	size_t count = 0;
	int err;

	while (count < 64 && (sweeps[count] = args_nth(args, "sweep", count)))
		count++;
	if (ladder)
		err = bench_plan_ladder(ladder, args->after_dashes, &benchmark->bench, &benchmark->plan);
	else
		err = bench_plan_sweep(
			sweeps, count, args->after_dashes, &benchmark->bench, &benchmark->plan);
	if (err)
		return complain_last();
	for (size_t i = 0; i < benchmark->bench.row_count; i++)
		benchmark->bench.rows[i].frames_per_clip = frames_of_row(
			benchmark, &benchmark->bench.rows[i]);
	benchmark->bench.command = args->after_dashes && args->after_dashes[0]
					   ? bench_command_text(args->after_dashes)
					   : strdup(ladder);
	return benchmark->bench.command ? 0 : complain("no memory");
}

static int run(struct args *args)
{
	struct benchmark benchmark = { 0 };
	int code = read_options(args, &benchmark);

	if (!code && is_pair(args))
		return bench_pair_run(
			args, &benchmark.child, benchmark.bench.warmup, benchmark.bench.iterations);
	if (!code)
		code = output_check(args_value(args, "output"));
	if (!code)
		code = make_plan(args, &benchmark);
	if (!code && benchmark.marks && bench_marks_begin(benchmark.folder, sizeof benchmark.folder))
		code = complain_last();
	if (!code)
		code = run_all(&benchmark);
	if (!code && sb_bench_compute(&benchmark.bench))
		code = complain_last();
	if (!code)
		code = print_result(args, &benchmark.bench);
	bench_marks_done(benchmark.folder);
	bench_plan_done(&benchmark.plan);
	sb_bench_done(&benchmark.bench);
	free(benchmark.row_seconds);
	free(benchmark.row_runs);
	return code;
}

const struct command cmd_bench = {
	.name = "bench",
	.usage = "[OPTIONS] [--commits BASE NEW] -- COMMAND [ARG...] | --compare 'A' 'B'",
	.summary = "time a command: warmup, iterations, sweeps, target FPS",
	.description =
		"Runs COMMAND again and again, directly and without a shell, and prints mean, median, std\n"
		"(of a sample), min, max, p95, clips/s (runs per second) and, where the frames of a run are\n"
		"known, frames/s. Rows of a sweep or ladder take turns, so that drift affects all equally. "
		"A\n"
		"row that fails or runs out of memory is kept as such and does not end the sweep. When\n"
		"everything fails, the exit code is the command's own. Where bench judges (--target-fps,\n"
		"--compare, --commits), its 1 or 2 becomes 3, so that a crash is not taken for a slow run.\n"
		"With --marks the command is recorded, and the generations or iterations that it marks are\n"
		"what is measured: one process then gives many values, and -w leaves out the first of them.\n"
		"With --compare two commands are recorded in turns, A B A B, and their runs are set against\n"
		"each other as strobe diff does: a noisy machine affects both equally. With --commits it is "
		"one\n"
		"command at two commits of the repository here, each checked out into a folder of its own.",
	.examples =
		"  strobe bench -n 20 -w 3 --frames 81 -- python gen.py\n"
		"  strobe bench --sweep batch=1,2,4 --sweep type=fp16,bf16 -- python gen.py {batch} {type}\n"
		"  strobe bench --frames 81 --target-fps 16 -- ./generate\n"
		"  strobe bench --marks -w 2 -- python generate_many.py\n"
		"  strobe bench --ladder variants.txt -- python gen.py {variant}\n"
		"  strobe bench --compare 'python gen.py' 'python gen.py --compile' --fail-above 5%\n"
		"  strobe bench --commits main HEAD --prepare 'make -s' -- ./generate",
	.exit_status = "0 success, 1 a target or limit was missed, 2 an error, which is described on "
		       "standard error; where "
		       "every run failed the command's own, its 1 or 2 as 3 where bench judges; 130 "
		       "interrupted.",
	.options = options,
	.passes_command = true,
	.run = run,
};
