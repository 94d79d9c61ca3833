/* strobe journal: the baseline of an optimisation and each step after it. */
#include "command.h"
#include "facts_arg.h"
#include "journal_output.h"
#include "output.h"
#include "run_arg.h"

#include "compare/journal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define JOURNAL "strobe-journal.json"

static const struct command_option options[] = {
	{ "file", 'F', "FILE", "the journal (" JOURNAL " in this folder)", false, false },
	{ "format", 0, "FORMAT", "show: text, markdown, json or html (text)", false, false },
	{ "template", 0, NULL, "show: as a sheet of BASELINE and AFTER, a line per stage", false, false },
	{ "output", 'o', "FILE", "write there instead of standard output; its ending chooses the format",
		false, false },
	{ "commit", 0, "TEXT", "the project's commit (default: what git says here)", false, false },
	{ "force", 0, NULL, "start: replace the journal that is there", false, false },
	RUN_CUT_OPTIONS,
	{ 0 },
};

/* What git calls this state of the project; false: nothing. */
static bool find_commit(char *out, size_t size)
{
	FILE *git = popen("git describe --always --dirty --abbrev=7 --exclude='*' 2>/dev/null", "r");
	bool found;

	if (!git)
		return false;
	found = fgets(out, (int)size, git) != NULL;
	found &= pclose(git) == 0;
	out[strcspn(out, "\n")] = 0;
	return found && *out;
}

static int add(
	const struct args *args, const char *file, struct sb_journal *j, const char *spec, const char *title)
{
	const char *commit = args_value(args, "commit");
	struct sb_facts *facts = NULL;
	char found[64];
	int code = facts_arg_open(args, spec, NULL, &facts);

	if (code)
		return code;
	if (!(facts->metrics[SB_METRIC_WALL] > 0)) {
		sb_facts_free(facts);
		return complain("'%s' has no total time, which a journal tracks", spec);
	}
	if (!commit && find_commit(found, sizeof found))
		commit = found;
	if (sb_journal_add(j, facts, title, commit) || sb_journal_write(j, file))
		code = complain_last();
	sb_facts_free(facts);
	return code;
}

static int show(const struct args *args, const struct sb_journal *j)
{
	const char *format = output_format(args) ? output_format(args) : "text";

	if (!strcmp(format, "md"))
		format = "markdown";
	if (!args_has(args, "template") && strcmp(format, "text") && strcmp(format, "markdown") &&
		strcmp(format, "json") && strcmp(format, "html"))
		return complain("--format takes text, markdown, json or html, not '%s'", format);
	return journal_output(args, j, format);
}

static int start(const struct args *args, const char *file)
{
	struct sb_journal *j;
	int code;

	if (args->count > 3)
		return complain("journal start takes RUN and, in quotes, a title");
	if (!access(file, F_OK) && !args_has(args, "force"))
		return complain("'%s' exists already: add to it with 'strobe journal add', or replace it "
				"with --force",
			file);
	j = sb_journal_new();
	if (!j)
		return complain_last();
	code = add(args, file, j, args->count > 1 ? args->values[1] : "last",
		args->count > 2 ? args->values[2] : "baseline");
	if (!code)
		code = show(args, j);
	sb_journal_free(j);
	return code;
}

static int go_on(const struct args *args, const char *file, bool adding)
{
	struct sb_journal *j = NULL;
	int code = 0;

	if (adding ? args->count != 3 : args->count > 1)
		return complain(adding ? "journal add takes RUN and, in quotes, what was done: strobe "
					 "journal add last \"RAFT 12 -> 8\""
				       : "journal show takes no run");
	if (access(file, F_OK))
		return complain("there is no journal '%s': begin one with 'strobe journal start RUN'", file);
	if (sb_journal_read(file, &j))
		return complain_last();
	if (adding)
		code = add(args, file, j, args->values[1], args->values[2]);
	if (!code)
		code = show(args, j);
	sb_journal_free(j);
	return code;
}

static int run(struct args *args)
{
	const char *what = args->count ? args->values[0] : "show", *file = args_value(args, "file");

	file = file ? file : JOURNAL;
	if (!strcmp(what, "start"))
		return start(args, file);
	if (!strcmp(what, "add") || !strcmp(what, "show"))
		return go_on(args, file, !strcmp(what, "add"));
	return complain("journal takes start, add or show, not '%s'", what);
}

const struct command cmd_journal = {
	.name = "journal",
	.usage = "[OPTIONS] [start RUN [TITLE] | add RUN TITLE | show]",
	.summary = "track an optimisation: the baseline and each step after it",
	.description = "Keeps a baseline and the steps after it in strobe-journal.json, a plain file to "
		       "commit with the\n"
		       "project. Each step has its total, its change against the step before and against the "
		       "baseline,\n"
		       "the cumulative speed-up, frames/s, peak memory, the commit, and every stage. RUN is "
		       "a run, a\n"
		       "stage log or a saved summary. 'strobe diff A B C...' compares runs like this without "
		       "a file.",
	.examples = "  strobe journal start baseline.log\n"
		    "  strobe journal add last \"RAFT 12 -> 8\"\n"
		    "  strobe journal show --format markdown",
	.options = options,
	.run = run,
};
