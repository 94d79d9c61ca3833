/* Two commands in turns. Each run is recorded, becomes facts and is thrown away. */
#include "bench_pair.h"
#include "bench_marks.h"
#include "bench_plan.h"
#include "diff_output.h"
#include "facts_arg.h"
#include "gate_arg.h"
#include "output.h"
#include "progress.h"

#include "base/error.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct pair_side {
	const char *label; /* what the user typed */
	char **words; /* the command */
	char folder[PATH_MAX]; /* a commit's files; "": here */
	struct sb_facts **all;
	size_t count;
};

struct pair {
	struct pair_side sides[2];
	struct bench_child *child;
	struct progress progress;
	char records[512];
	const char *prepare; /* NULL: nothing */
	bool interrupted;
};

/* ---- what runs ----------------------------------------------------------- */

static size_t count_words(char **words)
{
	size_t count = 0;

	while (words && words[count])
		count++;
	return count;
}

/* words, started in folder. Free the list, not its words. */
static char **in_folder(char *folder, char **words)
{
	static char *before[] = { "sh", "-c", "cd \"$0\" && exec \"$@\"" };
	size_t count = count_words(words), own = *folder ? 4 : 0;
	char **all = calloc(own + count + 1, sizeof *all);

	if (!all)
		return NULL;
	if (own) {
		memcpy(all, before, sizeof before);
		all[3] = folder;
	}
	memcpy(all + own, words, count * sizeof *all);
	return all;
}

/* what: the part of the work that fails, "" for the command itself. */
static int run_words(struct pair *pair, struct pair_side *side, char **words, const char *what)
{
	char **all = in_folder(side->folder, words);
	struct bench_run run;
	int err;

	if (!all)
		return complain("no memory");
	err = bench_child_run(pair->child, all, &run);
	free(all);
	if (err)
		return complain_last();
	pair->interrupted = run.interrupted;
	if (pair->interrupted || run.state == SB_BENCH_OK)
		return 0;
	complain("%s%s: %s", what, side->label, run.reason);
	return bench_child_exit_code(&run);
}

/* ---- one run ------------------------------------------------------------- */

/* The label is what the user typed: the recording's own place is gone when it is shown. */
static int keep_facts(struct pair *pair, struct pair_side *side)
{
	struct sb_facts **grown = realloc(side->all, (side->count + 1) * sizeof *grown);
	char last[PATH_MAX], real[PATH_MAX];

	if (!grown)
		return complain("no memory");
	side->all = grown;
	snprintf(last, sizeof last, "%s/last", pair->records);
	if (facts_arg_load(last, NULL, true, &side->all[side->count]))
		return complain_last();
	side->all[side->count]->label = sb_facts_text(side->all[side->count], side->label);
	side->count++;
	if (realpath(last, real))
		bench_marks_done(real);
	return 0;
}

static int run_side(struct pair *pair, struct pair_side *side, bool counts)
{
	char **recorded = bench_marks_command(side->words, pair->records);
	int code;

	if (!recorded)
		return complain_last();
	pair->progress.label = counts ? side->label : "warm-up";
	progress_draw(&pair->progress);
	code = run_words(pair, side, recorded, "");
	free(recorded);
	pair->progress.done++;
	if (!code && !pair->interrupted && counts)
		code = keep_facts(pair, side);
	return code;
}

static int run_rounds(struct pair *pair, int warmup, int iterations)
{
	int code = 0;

	progress_init(&pair->progress, 2 * (size_t)(warmup + iterations));
	pair->progress.left_s = -1;
	for (int round = 0; round < warmup + iterations; round++)
		for (size_t s = 0; s < 2 && !code && !pair->interrupted; s++)
			code = run_side(pair, &pair->sides[s], round >= warmup);
	progress_clear(&pair->progress);
	return code;
}

/* ---- commits ------------------------------------------------------------- */

static int check_out(struct pair *pair, struct pair_side *side, const char *name)
{
	char *words[] = { "git", "worktree", "add", "-q", "--detach", side->folder, (char *)side->label,
		NULL };
	struct bench_run run;

	if (side->label[0] == '-')
		return complain("'%s' is not a commit", side->label);
	snprintf(side->folder, sizeof side->folder, "%s/%s", pair->records, name);
	if (bench_child_run(pair->child, words, &run))
		return complain_last();
	pair->interrupted = run.interrupted;
	if (pair->interrupted || run.state == SB_BENCH_OK)
		return 0;
	return complain("cannot check out '%s': %s", side->label, run.reason);
}

/* Makes both folders ready: `git worktree add`, then --prepare in each. */
static int check_out_both(struct pair *pair)
{
	char *prepare[] = { "sh", "-c", (char *)pair->prepare, NULL };
	int code = check_out(pair, &pair->sides[0], "base");

	if (!code && !pair->interrupted)
		code = check_out(pair, &pair->sides[1], "new");
	for (size_t s = 0; s < 2 && !code && pair->prepare && !pair->interrupted; s++)
		code = run_words(pair, &pair->sides[s], prepare, "--prepare at ");
	return code;
}

static void put_away(struct pair *pair)
{
	char *words[] = { "git", "worktree", "remove", "--force", NULL, NULL };
	struct bench_run run;
	struct stat st;

	for (size_t s = 0; s < 2; s++) {
		words[4] = pair->sides[s].folder;
		if (*words[4] && !stat(words[4], &st))
			bench_child_run(pair->child, words, &run);
	}
}

/* ---- the command --------------------------------------------------------- */

static int take_commands(const struct args *args, struct pair *pair)
{
	if (args->after_dashes && args->after_dashes[0])
		return complain("--compare takes two commands, each as one word: --compare 'A' 'B'");
	for (int s = 0; s < 2; s++) {
		struct pair_side *side = &pair->sides[s];

		if (bench_plan_split(side->label, "--compare", s + 1, &side->words))
			return complain_last();
		if (!side->words[0])
			return complain("--compare: command %d is empty", s + 1);
	}
	return 0;
}

static int take_commits(const struct args *args, struct pair *pair)
{
	if (!args->after_dashes || !args->after_dashes[0])
		return complain("no command; strobe bench --commits BASE NEW -- COMMAND [ARG...]");
	pair->sides[0].words = pair->sides[1].words = args->after_dashes;
	return check_out_both(pair);
}

/* What the runs are judged and printed with, read before they are made: a slip must not cost them. */
struct judging {
	struct sb_compare_options options;
	struct sb_gate *gates;
	const char *format;
};

static int read_judging(const struct args *args, struct judging *out_judging)
{
	struct sb_compare_options *o = &out_judging->options;
	const char *path;
	int code = diff_output_format(args, &out_judging->format) ? 0 : EXIT_USAGE;

	if (!code)
		code = gate_arg_tolerance(args, &o->tolerance);
	for (size_t i = 0; !code && (path = args_nth(args, "output", i)); i++)
		code = output_check(path);
	if (!code)
		code = gate_arg_read(args, &out_judging->gates, &o->gate_count);
	o->gates = out_judging->gates;
	return code;
}

static int compare(const struct pair *pair, const struct sb_compare_options *o, struct sb_comparison **out)
{
	const struct pair_side *a = &pair->sides[0], *b = &pair->sides[1];

	if (sb_compare((const struct sb_facts *const *)a->all, a->count,
		    (const struct sb_facts *const *)b->all, b->count, o, out))
		return complain_last();
	return 0;
}

/* A limit may name what no run has, which is known only now: what was measured is shown all the same. */
static int compare_and_print(const struct args *args, const struct pair *pair, const struct judging *j)
{
	struct sb_compare_options o = j->options;
	struct sb_comparison *c = NULL;
	int code = compare(pair, &o, &c), printed;

	if (code && o.gate_count) {
		o.gate_count = 0;
		printed = compare(pair, &o, &c);
	} else {
		printed = code;
	}
	if (!printed)
		printed = diff_output_print(args, c, j->format);
	if (!code)
		code = printed ? printed : diff_output_verdict(args, c, j->format);
	sb_comparison_free(c);
	return code;
}

static void pair_done(struct pair *pair, bool own_words)
{
	put_away(pair);
	bench_marks_done(pair->records);
	for (size_t s = 0; s < 2; s++) {
		for (size_t i = 0; i < pair->sides[s].count; i++)
			sb_facts_free(pair->sides[s].all[i]);
		free(pair->sides[s].all);
		if (own_words)
			bench_plan_free_words(pair->sides[s].words);
	}
}

int bench_pair_run(const struct args *args, struct bench_child *child, int warmup, int iterations)
{
	struct pair pair = { .child = child, .prepare = args_value(args, "prepare") };
	bool commits = args_has(args, "commits");
	struct judging judging = { 0 };
	int code = 0;

	if (args->count != 2)
		return complain(commits ? "--commits takes BASE and NEW before the '--'"
					: "--compare takes two commands: --compare 'A' 'B'");
	for (int s = 0; s < 2; s++)
		pair.sides[s].label = args->values[s];
	code = read_judging(args, &judging);
	if (!code && bench_marks_begin(pair.records, sizeof pair.records))
		code = complain_last();
	if (!code)
		code = commits ? take_commits(args, &pair) : take_commands(args, &pair);
	if (!code)
		code = run_rounds(&pair, warmup, iterations);
	if (!code && pair.sides[0].count && pair.sides[1].count)
		code = compare_and_print(args, &pair, &judging);
	pair_done(&pair, !commits);
	sb_gates_free(judging.gates, judging.options.gate_count);
	return pair.interrupted ? 130 : code;
}
