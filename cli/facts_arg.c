/* Reads the facts of a RUN, a report file or a run of the history. */
#include "facts_arg.h"
#include "job_arg.h"
#include "run_arg.h"

#include "base/error.h"
#include "base/filename.h"
#include "exchange/report_in.h"
#include "exchange/warehouse.h"
#include "store/history.h"
#include "report/build.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int load_history(const char *spec, const char *name, struct sb_facts **out_facts)
{
	struct sb_history *h = NULL;
	int64_t id;
	int err = sb_history_open(NULL, &h);

	if (!err)
		err = sb_history_find(h, strncmp(spec, "history:", 8) ? spec : spec + 8, name, &id);
	if (!err)
		err = sb_history_facts(h, id, out_facts);
	if (!err)
		(*out_facts)->label = sb_facts_text(*out_facts, spec);
	sb_history_close(h);
	return err;
}

static int facts_of_run(struct sb_run *run, const char *spec, bool histograms, struct sb_facts **out_facts)
{
	struct sb_model_options options = { .calls = histograms, .no_neighbours = true };
	struct sb_model *model = NULL;
	int err = sb_report_build(run, &options, &model);

	if (!err)
		err = sb_facts_of_model(model, spec, out_facts);
	sb_model_free(model);
	return err;
}

static int load_run(const char *spec, bool histograms, struct sb_facts **out_facts)
{
	struct sb_run *run = NULL;
	int err = sb_run_open(spec, NULL, &run);

	if (!err)
		err = facts_of_run(run, spec, histograms, out_facts);
	sb_run_close(run);
	return err;
}

static bool is_report(const char *spec)
{
	struct stat st;

	return sb_ends_with(spec, ".json") && !stat(spec, &st) && S_ISREG(st.st_mode) &&
	       sb_report_in_is_report(spec);
}

int facts_arg_load_run(const char *spec, struct sb_facts **out_facts)
{
	return is_report(spec) ? sb_report_in(spec, out_facts) : load_run(spec, true, out_facts);
}

static int load_job(const char *spec, struct sb_facts **out_facts)
{
	struct sb_aggregate *a = NULL;
	int err = job_arg_read(spec, 0, &a);

	if (!err)
		err = sb_facts_of_job(a, spec, out_facts);
	sb_aggregate_free(a);
	return err;
}

static int load_from_warehouse(const char *url, struct sb_facts **out_facts)
{
	struct sb_aggregate *a = NULL;
	struct sb_warehouse w;
	int err = sb_warehouse_open(url, &w);

	if (!err)
		err = sb_warehouse_aggregate(&w, &a);
	if (!err)
		err = sb_facts_of_job(a, url, out_facts);
	sb_aggregate_free(a);
	return err;
}

int facts_arg_load(const char *spec, const char *name, bool histograms, struct sb_facts **out_facts)
{
	if (!strcmp(spec, "best") || !strncmp(spec, "history:", 8))
		return load_history(spec, name, out_facts);
	if (sb_warehouse_is_url(spec))
		return load_from_warehouse(spec, out_facts);
	if (is_report(spec))
		return sb_report_in(spec, out_facts);
	if (job_arg_is_job(spec))
		return load_job(spec, out_facts);
	return load_run(spec, histograms, out_facts);
}

int facts_arg_open(const struct args *args, const char *spec, const char *name, struct sb_facts **out_facts)
{
	struct sb_run *run = NULL;
	int code;

	if (!run_arg_has_cut(args))
		return facts_arg_load(spec, name, true, out_facts) ? complain_last() : 0;
	code = run_arg_open(args, spec, &run);
	if (!code && facts_of_run(run, spec, true, out_facts))
		code = complain_last();
	sb_run_close(run);
	return code;
}

int facts_arg_open_list(const struct args *args, const char *list,
	int (*take)(void *self, struct sb_facts *facts), void *self)
{
	char *copy = strdup(list), *rest = copy;
	int code = copy ? 0 : complain("no memory");

	for (char *spec = strsep(&rest, ","); spec && !code; spec = strsep(&rest, ",")) {
		struct sb_facts *facts = NULL;

		code = *spec ? facts_arg_open(args, spec, NULL, &facts) : 0;
		if (!code && facts)
			code = take(self, facts);
	}
	free(copy);
	return code;
}
