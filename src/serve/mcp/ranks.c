/* Jobs of several ranks: the tool ranks, and what the other tools say of a job. */
#include "serve/mcp/state.h"

#include "base/error.h"
#include "base/filename.h"
#include "compare/aggregate.h"
#include "report/ranks/ranks.h"
#include "report/ranks/read.h"

#include <stdlib.h>
#include <string.h>

static void keep_name(char *path)
{
	const char *name = path ? sb_filename_of(path) : NULL;

	if (name && name != path)
		memmove(path, name, strlen(name) + 1);
}

/* Host names, the launcher's job id, command lines, tags, and where files lie. */
static void mask(struct sb_aggregate *a)
{
	for (size_t i = 0; i < a->rank_count; i++) {
		if (a->ranks[i].host)
			*a->ranks[i].host = 0;
		keep_name(a->ranks[i].label);
	}
	for (size_t i = 0; i < a->attempt_count; i++)
		keep_name(a->attempts[i].label);
	for (size_t i = 0; i < a->problem_count; i++) {
		keep_name(a->problems[i].label);
		if (strchr(a->problems[i].what, '/'))
			*a->problems[i].what = 0;
	}
	if (a->job)
		*a->job = 0;
	a->pair_count = 0;
}

int sb_mcp_job(struct sb_mcp *m, const char *id, struct sb_aggregate **out_job)
{
	const struct sb_listed *listed;
	struct sb_aggregate *job = NULL;
	int err = sb_mcp_find(m, id, &listed);

	if (!err && (listed->rank_count || listed->brief.several_ranks)) {
		err = sb_job_read(listed->path, &job);
		if (err)
			err = sb_mcp_fail_as(err, listed->path, listed->id);
	}
	if (err)
		return err;
	if (job)
		mask(job);
	*out_job = job;
	return 0;
}

int sb_mcp_job_report(const struct sb_aggregate *job, struct sb_json *j)
{
	struct sb_buf text = { 0 };

	sb_buf_puts(&text, "```text\n");
	sb_aggregate_text(job, &(struct sb_aggregate_options){ .top = 15 }, &text);
	sb_buf_puts(&text, "```\n");
	sb_json_string(j, "markdown", sb_buf_text(&text));
	sb_buf_done(&text);
	return 0;
}

/* ---- the tool ---- */

/* Those that hold the others up, then those with the most work. */
static int by_work(const void *a, const void *b)
{
	const struct sb_aggregate_rank *x = a, *y = b;

	if (x->straggler != y->straggler)
		return x->straggler ? -1 : 1;
	if (x->work_s != y->work_s)
		return x->work_s > y->work_s ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void put_ranks(const struct sb_aggregate *job, size_t limit, struct sb_json *j)
{
	static const char *const without[] = { "report_index", "session_id", "run", "host", NULL };
	const struct sb_fields *table = sb_mcp_table(&sb_aggregate_fields, "reports_summary");

	sb_json_array_begin(j, "ranks");
	for (size_t i = 0; i < job->rank_count && i < limit; i++) {
		sb_json_object_begin(j, NULL);
		sb_mcp_write_but(table, &job->ranks[i], without, j);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
	if (job->rank_count > limit)
		sb_json_uint(j, "left_out_count", job->rank_count - limit);
}

static size_t at_most(size_t count, size_t limit)
{
	return count < limit ? count : limit;
}

static void put_job(const struct sb_aggregate *job, size_t limit, struct sb_json *j)
{
	static const char *const without[] = { "schema", "job", "reports_summary", "aggregated_metrics",
		"heat_map", "rank_lanes", NULL };
	struct sb_aggregate shown = *job;

	put_ranks(job, limit, j);
	shown.stage_count = at_most(job->stage_count, limit);
	shown.communication_count = at_most(job->communication_count, limit);
	shown.late_group_count = at_most(job->late_group_count, limit);
	shown.problem_count = at_most(job->problem_count, limit);
	shown.missing_count = at_most(job->missing_count, limit);
	sb_mcp_write_but(&sb_aggregate_fields, &shown, without, j);
}

static int ranks(struct sb_mcp *m, const struct sb_mcp_call *call, struct sb_json *j)
{
	const char *id = sb_mcp_text(call, "run");
	struct sb_aggregate *job = NULL;
	int err = sb_mcp_job(m, id, &job);

	if (err)
		return err;
	if (!job)
		return sb_fail(
			STROBE_EINVAL, "'%.100s' is one run, not a job of several ranks", id ? id : "last");
	if (job->rank_count)
		qsort(job->ranks, job->rank_count, sizeof *job->ranks, by_work);
	put_job(job, call->limit, j);
	sb_aggregate_free(job);
	return 0;
}

const struct sb_mcp_tool sb_mcp_tool_ranks = {
	.name = "ranks",
	.title = "Ranks of a job",
	.description =
		"A job of several ranks: which rank the others wait for and in which stage, work and "
		"waiting of each, load imbalance per stage, communication by group and operation, late "
		"groups, clocks, ranks that are missing.",
	.arguments = { SB_MCP_RUN },
	.limit_default = 16,
	.limit_most = 200,
	.answer = ranks,
};
