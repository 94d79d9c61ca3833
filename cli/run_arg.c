/* Opens the RUN a command was given. */
#include "run_arg.h"

#include "job_arg.h"

#include "base/error.h"
#include "exchange/import.h"
#include "import_progress.h"
#include "run/catalogue.h"
#include "run/nodes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_time(const struct args *args, const char *name, bool *out_given, int64_t *out_ns)
{
	const char *text = args_value(args, name);
	bool negative = text && *text == '-';

	if (!text)
		return true;
	if (sb_cut_parse_duration(text + negative, out_ns)) {
		complain("--%s takes a time such as 90s, 10m or 1.5h, not '%s'", name, text);
		return false;
	}
	if (negative)
		*out_ns = -*out_ns;
	*out_given = true;
	return true;
}

/* 'strobe export' has a --to of its own: there the end of a part is --until. */
static const char *end_option(const struct args *args)
{
	for (const struct command_option *o = args->command->options; o && o->name; o++)
		if (!strcmp(o->name, "until"))
			return "until";
	return "to";
}

bool run_arg_has_cut(const struct args *args)
{
	return args_has(args, "generation") || args_has(args, "last") || args_has(args, "from") ||
	       args_has(args, end_option(args));
}

/* 0, or the exit code after complaining. */
static int read_cut(const struct args *args, struct sb_cut *out_cut)
{
	size_t generation = 0;
	bool has_last = false;

	if (!args_count(args, "generation", 1, 1000000000, &generation) ||
		!read_time(args, "last", &has_last, &out_cut->last_ns) ||
		!read_time(args, "from", &out_cut->has_from, &out_cut->from_ns) ||
		!read_time(args, end_option(args), &out_cut->has_to, &out_cut->to_ns))
		return EXIT_USAGE;
	out_cut->generation = (int32_t)generation;
	return 0;
}

/* The newest run may be in a folder that the program chose. */
static void say_where(const char *spec, const char *path)
{
	const char *root = sb_run_root();

	if ((!spec || !strcmp(spec, "last")) && strncmp(path, root, strlen(root)) != 0)
		fprintf(stderr, "strobe: the newest run here is %s\n", path);
}

int run_arg_open(const struct args *args, const char *spec, struct sb_run **out_run)
{
	struct sb_cut cut = { 0 };
	int code = read_cut(args, &cut);

	if (code)
		return code;
	if (sb_run_open(spec, &cut, out_run))
		return complain_last();
	say_where(spec, (*out_run)->path);
	return 0;
}

/* Ranks whose clock could not be set are shown at their hosts' time of day. */
static int open_ranks(
	const char *path, const struct sb_aggregate *a, const struct sb_cut *cut, struct sb_run **out_run)
{
	struct sb_run_rank *ranks = calloc(a->rank_count + 1, sizeof *ranks);
	char(*paths)[PATH_MAX] = calloc(a->rank_count + 1, sizeof *paths);
	int err = ranks && paths ? 0 : sb_fail(STROBE_ENOMEM, "no memory for the ranks of '%s'", path);

	for (size_t i = 0; i < a->rank_count && !err; i++) {
		double offset_s = a->ranks[i].align.offset_s;

		err = sb_run_resolve(a->ranks[i].label, paths[i], sizeof paths[i]);
		ranks[i] = (struct sb_run_rank){ paths[i], isnan(offset_s) ? 0 : (int64_t)(offset_s * 1e9) };
	}
	if (!err)
		err = sb_run_open_ranks(path, ranks, a->rank_count, cut, out_run);
	free(ranks);
	free(paths);
	return err ? complain_last() : 0;
}

/* Its recordings lie in the runs of several nodes. */
static bool is_of_nodes(const char *path)
{
	struct sb_nodes nodes = { 0 };
	bool several = !sb_job_find_nodes(path, &nodes) && nodes.count;

	sb_nodes_done(&nodes);
	return several;
}

/* Recordings of other attempts lie beside its own. */
static bool is_one_attempt_of_several(const char *path)
{
	struct sb_job job = { 0 };
	bool several = !sb_job_find_itself(path, &job) && sb_job_is_attempt_inside(path, &job);

	sb_job_done(&job);
	return several;
}

int run_arg_open_all(const struct args *args, const char *spec, struct sb_run **out_run)
{
	struct sb_aggregate *a = NULL;
	struct sb_cut cut = { 0 };
	char path[PATH_MAX];
	int code = read_cut(args, &cut);

	if (code)
		return code;
	if (sb_run_resolve(spec, path, sizeof path))
		return complain_last();
	if (sb_catalogue_kind(path, NULL) != SB_CATALOGUE_JOB && !is_of_nodes(path) &&
		!is_one_attempt_of_several(path))
		return run_arg_open(args, spec, out_run);
	if (job_arg_read(path, 0, &a))
		return complain_last();
	code = open_ranks(sb_run_is_in_page(spec) ? spec : path, a, &cut, out_run);
	sb_aggregate_free(a);
	return code;
}

static int import_on_the_fly(const char *path, char *out_path, size_t size)
{
	struct import_progress progress;
	struct sb_import_options options = { 0 };
	int err;

	import_progress_begin(&progress, path, &options);
	err = sb_import_on_the_fly(path, &options, out_path, size);
	import_progress_end(&progress);
	return err;
}

void run_arg_install_importer(void)
{
	sb_run_set_importer(import_on_the_fly);
}
