/* What ids stand for: runs found by looking, never by what a request says. */
#include "serve/mcp/state.h"

#include "base/error.h"
#include "report/build.h"

#include <stdlib.h>
#include <string.h>

static int look(struct sb_mcp *m)
{
	struct sb_listing found;
	int err = sb_listing_scan(m->root, &found);

	if (err)
		return sb_mcp_fail_as(err, m->root, "the folder of runs");
	sb_listing_done(&m->listing);
	m->listing = found;
	return 0;
}

/* "last", "last~3": counted back from the newest. -1: it is neither. */
static long counted_back(const char *id)
{
	char *end;
	long back;

	if (!strcmp(id, "last"))
		return 0;
	if (strncmp(id, "last~", 5) || id[5] < '0' || id[5] > '9')
		return -1;
	back = strtol(id + 5, &end, 10);
	return *end ? -1 : back;
}

/* Jobs count once, whatever their ranks. */
static const struct sb_listed *nth(const struct sb_listing *l, long back)
{
	for (size_t i = 0; i < l->count; i++)
		if (!l->runs[i].job && !back--)
			return &l->runs[i];
	return NULL;
}

int sb_mcp_find(struct sb_mcp *m, const char *id, const struct sb_listed **out_run)
{
	int err = look(m);
	long back;

	if (err)
		return err;
	id = id ? id : "last";
	*out_run = sb_listing_find(&m->listing, id);
	back = counted_back(id);
	if (!*out_run && back >= 0)
		*out_run = nth(&m->listing, back);
	if (!*out_run && !m->listing.count)
		return sb_fail(STROBE_EINVAL, "there are no runs here yet");
	if (!*out_run)
		return sb_fail(
			STROBE_EINVAL, "there is no run '%.100s': the tool 'runs' lists their ids", id);
	return 0;
}

/* What is asked of one run cannot be said of many: the ranks of a job are not merged. */
static int open_listed(const struct sb_listed *listed, const struct sb_cut *cut, struct sb_run **out_run)
{
	int err;

	if (listed->rank_count)
		return sb_fail(STROBE_EINVAL,
			"'%.100s' is a job of %zu ranks: the tools ranks, report and diff take a job, the "
			"others one rank (%.100s.rank_0...)",
			listed->id, listed->rank_count, listed->id);
	err = sb_run_open(listed->path, cut, out_run);
	return err ? sb_mcp_fail_as(err, listed->path, listed->id) : 0;
}

int sb_mcp_run(struct sb_mcp *m, const char *id, const struct sb_cut *cut, struct sb_run **out_run)
{
	const struct sb_listed *listed;
	int err = sb_mcp_find(m, id, &listed);

	return err ? err : open_listed(listed, cut, out_run);
}

static int build(const struct sb_listed *listed, struct sb_model **out_model)
{
	struct sb_run *run = NULL;
	struct sb_model *model = NULL;
	int err = open_listed(listed, NULL, &run);

	if (err)
		return err;
	err = sb_report_build(run, NULL, &model);
	sb_run_close(run);
	if (err)
		return sb_mcp_fail_as(err, listed->path, listed->id);
	sb_mcp_mask(model);
	*out_model = model;
	return 0;
}

int sb_mcp_model_new(struct sb_mcp *m, const char *id, struct sb_model **out_model)
{
	const struct sb_listed *listed;
	int err = sb_mcp_find(m, id, &listed);

	return err ? err : build(listed, out_model);
}

static bool is_kept(const struct sb_mcp *m, const struct sb_listed *listed)
{
	return m->kept && !listed->brief.live && !strcmp(m->kept_id, listed->id) &&
	       m->kept_bytes == listed->brief.bytes && m->kept_start_ns == listed->brief.start_real_ns;
}

int sb_mcp_model(struct sb_mcp *m, const char *id, const struct sb_model **out_model)
{
	const struct sb_listed *listed;
	struct sb_model *model;
	int err = sb_mcp_find(m, id, &listed);

	if (err)
		return err;
	if (!is_kept(m, listed)) {
		err = build(listed, &model);
		if (err)
			return err;
		sb_model_free(m->kept);
		free(m->kept_id);
		m->kept = model;
		m->kept_id = strdup(listed->id);
		m->kept_bytes = listed->brief.bytes;
		m->kept_start_ns = listed->brief.start_real_ns;
		if (!m->kept_id) {
			sb_model_free(m->kept);
			m->kept = NULL;
			return sb_fail(STROBE_ENOMEM, "no memory");
		}
	}
	*out_model = m->kept;
	return 0;
}

/* ---- the tool ---- */

static void put_run(const struct sb_listed *r, const struct sb_fields *table, struct sb_json *j)
{
	static const char *const without[] = { "host", "pid", NULL };

	sb_json_object_begin(j, NULL);
	sb_mcp_write_but(table, r, without, j);
	sb_json_object_end(j);
}

static int answer(struct sb_mcp *m, const struct sb_mcp_call *call, struct sb_json *j)
{
	const struct sb_fields *table = sb_mcp_table(&sb_listing_fields, "runs");
	const char *name = sb_mcp_text(call, "name");
	size_t shown = 0, left = 0;
	int err = look(m);

	if (err)
		return err;
	sb_json_array_begin(j, "runs");
	for (size_t i = 0; i < m->listing.count; i++) {
		const struct sb_listed *r = &m->listing.runs[i];

		if (name && !strstr(r->brief.name, name) && !strstr(r->id, name))
			continue;
		if (shown < call->limit)
			put_run(r, table, j);
		else
			left++;
		shown += shown < call->limit;
	}
	sb_json_array_end(j);
	if (left)
		sb_json_uint(j, "left_out_count", left);
	return 0;
}

const struct sb_mcp_tool sb_mcp_tool_runs = {
	.name = "runs",
	.title = "Runs",
	.description = "The recorded runs, newest first: id, name, start, state (live, ended, killed), bytes "
		       "on disk, "
		       "rank. The other tools take these ids.",
	.arguments = { { "name", SB_MCP_TEXT, "only runs whose name or id contains this", false, 0, 0 } },
	.limit_default = 20,
	.limit_most = 200,
	.answer = answer,
};
