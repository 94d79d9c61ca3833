/* strobe whatif: what a run would take with other settings. */
#include "command.h"
#include "facts_arg.h"
#include "job_arg.h"
#include "output.h"
#include "run_arg.h"

#include "base/vec.h"
#include "compare/whatif.h"
#include "report/whatif.h"
#include "run/resolve.h"
#include "store/history.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REMEMBERED 20 /* runs of the history that are looked at */

static const struct command_option options[] = {
	{ "with", 'w', "RUN,RUN...", "more runs of the same pipeline with other settings, to fit over", false,
		true },
	{ "no-history", 0, NULL, "do not use the runs of the same name in the history", false, false },
	{ "format", 0, "FORMAT", "text or json (text)", false, false },
	{ "output", 'o', "FILE", "write there instead of standard output; its ending chooses the format",
		false, false },
	RUN_CUT_OPTIONS,
	{ 0 },
};

struct whatif_question {
	struct sb_facts *run;
	struct sb_vec others; /* struct sb_facts * */
};

static int add(void *self, struct sb_facts *facts)
{
	struct whatif_question *question = self;
	struct sb_facts **slot = sb_vec_push(&question->others, sizeof *slot);

	if (!slot) {
		sb_facts_free(facts);
		return complain("no memory");
	}
	*slot = facts;
	return 0;
}

/* Runs of the same name whose folders are still there. What cannot be read is left out without a message. */
static int load_remembered(struct whatif_question *question)
{
	struct sb_history_filter filter = { .name = question->run->name, .limit = REMEMBERED };
	struct sb_history_run *runs = NULL;
	struct sb_history *h = NULL;
	size_t count = 0;
	int code = 0;

	if (!*question->run->name || sb_history_open(NULL, &h) || sb_history_list(h, &filter, &runs, &count))
		count = 0;
	for (size_t i = 0; i < count && !code; i++) {
		struct sb_facts *facts = NULL;

		if (!runs[i].dir || access(runs[i].dir, R_OK) || !runs[i].complete ||
			runs[i].start_real_ns == question->run->start_real_ns ||
			facts_arg_load(runs[i].dir, NULL, false, &facts))
			continue;
		code = add(question, facts);
	}
	sb_history_runs_free(runs, count);
	sb_history_close(h);
	return code;
}

/* A job lasts as long as the rank that works most: that one's folder. */
static int slowest_rank(const char *spec, char *out, size_t size)
{
	struct sb_aggregate *a = NULL;
	const struct sb_aggregate_rank *most;
	char folder[PATH_MAX];

	if (sb_run_resolve(spec, folder, sizeof folder) || job_arg_read(folder, 0, &a))
		return complain_last();
	most = &a->ranks[0];
	for (size_t i = 1; i < a->rank_count; i++)
		if (a->ranks[i].work_s > most->work_s)
			most = &a->ranks[i];
	snprintf(out, size, "%s/rank_%" PRId64, folder, most->rank);
	sb_aggregate_free(a);
	return 0;
}

static int load(const struct args *args, const char *spec, struct whatif_question *question)
{
	char rank[PATH_MAX + 32];
	const char *list;
	int code = job_arg_is_job(spec) ? slowest_rank(spec, rank, sizeof rank) : 0;

	if (!code)
		code = facts_arg_open(args, job_arg_is_job(spec) ? rank : spec, NULL, &question->run);
	for (size_t i = 0; !code && (list = args_nth(args, "with", i)); i++)
		code = facts_arg_open_list(args, list, add, question);
	if (!code && !args_has(args, "no-history"))
		code = load_remembered(question);
	return code;
}

static int print(const struct args *args, const struct sb_whatif *w, const char *format)
{
	const char *path = args_value(args, "output");
	struct sb_buf out = { 0 };
	int code;

	if (!strcmp(format, "json"))
		sb_whatif_json(w, &out);
	else
		sb_whatif_text(w, path ? 100 : terminal_columns(STDOUT_FILENO), &out);
	code = output_put(&out, path);
	sb_buf_done(&out);
	return code;
}

static void question_done(struct whatif_question *question)
{
	struct sb_facts **all = question->others.items;

	for (size_t i = 0; i < question->others.count; i++)
		sb_facts_free(all[i]);
	sb_vec_done(&question->others);
	sb_facts_free(question->run);
}

static int run(struct args *args)
{
	const char *format = output_format(args) ? output_format(args) : "text";
	bool has_run = args->count > 0 && !strchr(args->values[0], '=');
	const char *const *settings = (const char *const *)args->values + has_run;
	size_t setting_count = (size_t)(args->count - has_run);
	struct whatif_question question = { 0 };
	struct sb_whatif *w = NULL;
	int code;

	if (strcmp(format, "text") && strcmp(format, "json"))
		return complain("--format takes text or json, not '%s'", format);
	if (!setting_count)
		return complain("whatif takes RUN and STAGE.SETTING=NUMBER: strobe whatif last 3b.iters=8");
	code = load(args, has_run ? args->values[0] : "last", &question);
	if (!code && sb_whatif(question.run, (const struct sb_facts *const *)question.others.items,
			     question.others.count, settings, setting_count, &w))
		code = complain_last();
	if (!code)
		code = print(args, w, format);
	sb_whatif_free(w);
	question_done(&question);
	return code;
}

const struct command cmd_whatif = {
	.name = "whatif",
	.usage = "[OPTIONS] [RUN] STAGE.SETTING=NUMBER...",
	.summary = "predict the total time with other settings, with its error",
	.description =
		"Predicts how long a run would take with other settings: fewer iterations or steps, more\n"
		"frames, a larger batch. It takes the cost of one unit from the run. Where other runs of "
		"the\n"
		"same pipeline are known (--with, and the history's runs of the same name), it fits a fixed\n"
		"part and a part per unit over all of them. It says where it extrapolates.\n"
		"STAGE is a code, a name or a part of one. SETTING is a number that the stage carries: "
		"iters,\n"
		"steps, frames, tokens, batch, width, height. The report lists the stages and settings to "
		"try\n"
		"under 'Strategies by stage'. For a job it predicts the rank with the most work.",
	.examples = "  strobe whatif last 3b.iters=8 4f.2.steps=1\n"
		    "  strobe whatif baseline.log vae.batch=8 --with batch1.log,batch2.log",
	.options = options,
	.run = run,
};
