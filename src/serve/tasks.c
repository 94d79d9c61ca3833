/* The worker's tasks. An id from a request is only compared with the ids of runs that were found. */
#include "serve/tasks.h"

#include "compare/compare.h"
#include "report/build.h"
#include "base/error.h"
#include "base/filename.h"
#include "report/diff/diff.h"
#include "report/page/gzip.h"
#include "report/json.h"
#include "report/ranks/ranks.h"
#include "report/ranks/read.h"
#include "report/timeline/timeline.h"
#include "serve/fleet.h"
#include "serve/listing.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

static void refuse(struct sb_worker_task *task, int status, const char *message)
{
	task->status = status;
	snprintf(task->message, sizeof task->message, "%s", message);
	sb_buf_done(&task->body);
	sb_buf_done(&task->timeline);
}

static bool may_read(struct sb_worker_task *task, struct sb_worker_link *link, const char *path)
{
	char message[512];

	if (sb_worker_reading(link, path))
		return true;
	snprintf(message, sizeof message,
		"reading '%.300s' killed the process that reads runs: it is left alone until "
		"the server restarts",
		path);
	refuse(task, 500, message);
	return false;
}

/* ---- reports ---- */

static int pack_timeline(struct sb_run *run, struct sb_buf *out)
{
	struct sb_buf plain = { 0 };
	int err = sb_timeline_write(run, &plain);

	if (!err && sb_gzip(plain.data, plain.size, out)) {
		sb_buf_clear(out);
		sb_buf_add(out, plain.data, plain.size);
	}
	sb_buf_done(&plain);
	return err;
}

static int build_report(struct sb_worker_task *task, const char *path)
{
	struct sb_model *model = NULL;
	struct sb_run *run = NULL;
	int err = sb_run_open(path, NULL, &run);

	if (!err)
		err = sb_report_build(run, &(struct sb_model_options){ 0 }, &model);
	if (!err)
		err = sb_report_json(model, &task->body);
	if (!err)
		err = pack_timeline(run, &task->timeline);
	if (!err)
		task->state = run->live ? SB_RUN_LIVE : run->complete ? SB_RUN_ENDED : SB_RUN_KILLED;
	sb_model_free(model);
	sb_run_close(run);
	return err;
}

/* A job's is the aggregate of its ranks. */
static int build_aggregate(struct sb_worker_task *task, const char *path, int state)
{
	struct sb_aggregate *a = NULL;
	int err = sb_job_read(path, &a);

	if (err || !a)
		return err ? err : build_report(task, path);
	sb_aggregate_json(a, &task->body);
	task->aggregate = true;
	task->state = state;
	sb_aggregate_free(a);
	return 0;
}

static int build_listed(struct sb_worker_task *task, const struct sb_listed *run)
{
	if (!run->rank_count && !run->brief.several_ranks)
		return build_report(task, run->path);
	return build_aggregate(task, run->path,
		run->brief.live     ? SB_RUN_LIVE
		: run->brief.closed ? SB_RUN_ENDED
				    : SB_RUN_KILLED);
}

static void do_report(
	struct sb_worker_task *task, const struct sb_listing *listing, struct sb_worker_link *link)
{
	const struct sb_listed *run = sb_listing_find(listing, task->id);
	char attempt[4096];
	bool rank = false;
	int err = 0;

	if (!run && !sb_listing_find_attempt(listing, task->id, attempt, sizeof attempt, &rank))
		refuse(task, 404, "there is no such run here");
	else if (may_read(task, link, run ? run->path : attempt))
		err = run    ? build_listed(task, run)
		      : rank ? build_report(task, attempt)
			     : build_aggregate(task, attempt, SB_RUN_ENDED);
	if (err)
		refuse(task, 500, sb_error_message());
}

/* ---- diffs ---- */

static int facts_of(const char *path, struct sb_facts **out_facts)
{
	struct sb_aggregate *a = NULL;
	int err = sb_job_read(path, &a);

	if (!err)
		err = a ? sb_facts_of_job(a, path, out_facts) : sb_rank_facts(path, out_facts);
	if (!err)
		(*out_facts)->label = sb_facts_text(*out_facts, sb_filename_of(path));
	sb_aggregate_free(a);
	return err;
}

static int compare(struct sb_worker_task *task, struct sb_facts *base, struct sb_facts *now)
{
	struct sb_comparison *comparison = NULL;
	int err = sb_compare((const struct sb_facts *const *)&base, 1, (const struct sb_facts *const *)&now,
		1, &(struct sb_compare_options){ 0 }, &comparison);

	if (!err)
		sb_diff_json(comparison, &task->body);
	sb_comparison_free(comparison);
	return err;
}

static void do_diff(
	struct sb_worker_task *task, const struct sb_listing *listing, struct sb_worker_link *link)
{
	const struct sb_listed *base = sb_listing_find(listing, task->id);
	const struct sb_listed *now = sb_listing_find(listing, task->other);
	struct sb_facts *facts[2] = { NULL, NULL };
	int err = 0;

	if (!base || !now) {
		refuse(task, 404, "there is no such run here: /diff?base=ID&new=ID");
		return;
	}
	if (may_read(task, link, base->path) && !(err = facts_of(base->path, &facts[0])) &&
		may_read(task, link, now->path) && !(err = facts_of(now->path, &facts[1])))
		err = compare(task, facts[0], facts[1]);
	if (err)
		refuse(task, 500, sb_error_message());
	sb_facts_free(facts[0]);
	sb_facts_free(facts[1]);
}

/* ---- the worker's loop calls this ---- */

static void work(void *self, struct sb_worker_task *task, struct sb_worker_link *link)
{
	struct sb_fleet *fleet = self;
	struct sb_listing listing = { 0 };

	if (sb_listing_scan(task->target, &listing)) {
		refuse(task, 500, sb_error_message());
		return;
	}
	switch (task->kind) {
	case SB_TASK_LISTING: sb_listing_json(&listing, &task->body); break;
	case SB_TASK_REPORT: do_report(task, &listing, link); break;
	case SB_TASK_DIFF: do_diff(task, &listing, link); break;
	case SB_TASK_METRICS:
	case SB_TASK_OPENMETRICS:
		if (sb_fleet_metrics(fleet, &listing, link, task->kind == SB_TASK_OPENMETRICS, &task->body))
			refuse(task, 500, sb_error_message());
		break;
	case SB_TASK_KINDS: break;
	}
	if (sb_buf_failed(&task->body) || sb_buf_failed(&task->timeline))
		refuse(task, 500, "no memory for the answer");
	sb_listing_done(&listing);
	if (task->kind == SB_TASK_REPORT || task->kind == SB_TASK_DIFF)
		malloc_trim(0); /* a report's memory goes back at once */
}

int sb_tasks_serve(void)
{
	struct sb_fleet fleet = { 0 };
	int err = sb_worker_serve(work, &fleet);

	sb_fleet_done(&fleet);
	return err;
}
