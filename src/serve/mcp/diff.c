/* The tool diff: what changed between two runs, as `strobe diff --format json` has it. */
#include "serve/mcp/tool.h"

#include "compare/aggregate.h"
#include "compare/compare.h"

#include <string.h>

static int facts_of(struct sb_mcp *m, const char *id, struct sb_facts **out_facts)
{
	struct sb_aggregate *job = NULL;
	struct sb_model *model = NULL;
	int err = sb_mcp_job(m, id, &job);

	if (!err && job) {
		err = sb_facts_of_job(job, id, out_facts);
		sb_aggregate_free(job);
		return err;
	}
	if (!err)
		err = sb_mcp_model_new(m, id, &model);
	if (!err)
		err = sb_facts_of_model(model, id, out_facts);
	sb_model_free(model);
	return err;
}

static void put_comparison(const struct sb_comparison *whole, size_t limit, struct sb_json *j)
{
	static const char *const without[] = { "schema", "runs", NULL };
	struct sb_comparison c = *whole;
	size_t left = c.stage_count > limit ? c.stage_count - limit : 0;

	c.stage_count -= left;
	c.setting_count = c.setting_count > limit ? limit : c.setting_count;
	c.finding_count = c.finding_count > limit ? limit : c.finding_count;
	c.explanation_count = c.explanation_count > limit ? limit : c.explanation_count;
	sb_mcp_write_but(&sb_comparison_fields, &c, without, j);
	if (left)
		sb_json_uint(j, "left_out_count", left);
}

static int diff(struct sb_mcp *m, const struct sb_mcp_call *call, struct sb_json *j)
{
	struct sb_facts *base = NULL, *now = NULL;
	struct sb_compare_options options = { .tolerance = sb_tolerance_default };
	struct sb_comparison *c = NULL;
	const char *new_id = sb_mcp_text(call, "new");
	int err = facts_of(m, sb_mcp_text(call, "base"), &base);

	if (!err)
		err = facts_of(m, new_id ? new_id : "last", &now);
	if (!err)
		err = sb_compare((const struct sb_facts *const *)&base, 1,
			(const struct sb_facts *const *)&now, 1, &options, &c);
	if (!err)
		put_comparison(c, call->limit, j);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
	return err;
}

const struct sb_mcp_tool sb_mcp_tool_diff = {
	.name = "diff",
	.title = "Compare two runs",
	.description =
		"What changed from one run to another and whether it is real: the total, stages by their "
		"contribution, memory, throughput, settings, and the likely explanation first.",
	.arguments = { { "base", SB_MCP_TEXT, "id of the run before, or last~1...", true, 0, 0 },
		{ "new", SB_MCP_TEXT, "id of the run now (last)", false, 0, 0 } },
	.limit_default = 20,
	.limit_most = 100,
	.answer = diff,
};
