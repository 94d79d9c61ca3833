/* Tools that show a part of the report, by the tables that write profiling_report.json: the keys
 * are the same. Lists are cut to the limit, with how many were left out. */
#include "serve/mcp/state.h"

#include "base/error.h"
#include "compare/aggregate.h"
#include "report/markdown/markdown.h"

#include <string.h>

void sb_mcp_write_but(
	const struct sb_fields *fields, const void *object, const char *const *without, struct sb_json *j)
{
	for (size_t i = 0; i < fields->count; i++) {
		const char *const *w = without;

		while (*w && strcmp(*w, fields->all[i].key))
			w++;
		if (!*w)
			sb_fields_write_key(fields, object, fields->all[i].key, j);
	}
}

const struct sb_fields *sb_mcp_table(const struct sb_fields *fields, const char *key)
{
	for (size_t i = 0; i < fields->count; i++)
		if (!strcmp(fields->all[i].key, key))
			return fields->all[i].of;
	return NULL;
}

/* Shortens a list to the limit; returns how many are left out. */
static size_t cut(size_t *count, size_t limit)
{
	size_t left = *count > limit ? *count - limit : 0;

	*count -= left;
	return left;
}

static void put_left(struct sb_json *j, const char *key, size_t left)
{
	if (left)
		sb_json_uint(j, key, left);
}

/* ---- report ---- */

static int report(struct sb_mcp *m, const struct sb_mcp_call *call, struct sb_json *j)
{
	const char *id = sb_mcp_text(call, "run");
	const struct sb_model *model;
	struct sb_aggregate *job = NULL;
	struct sb_buf text = { 0 };
	int err = sb_mcp_job(m, id, &job);

	if (!err && job) {
		err = sb_mcp_job_report(job, j);
		sb_aggregate_free(job);
		return err;
	}
	if (!err)
		err = sb_mcp_model(m, id, &model);
	if (!err)
		err = sb_report_markdown(model, &text);
	if (!err)
		sb_json_string(j, "markdown", sb_buf_text(&text));
	sb_buf_done(&text);
	return err;
}

const struct sb_mcp_tool sb_mcp_tool_report = {
	.name = "report",
	.title = "Report of a run",
	.description =
		"The whole account of a run in Markdown, at most 200 lines: what ran, where the time went, "
		"findings with evidence and places, what was not recorded. Read this first.",
	.arguments = { SB_MCP_RUN },
	.answer = report,
};

/* ---- findings ---- */

static int findings(struct sb_mcp *m, const struct sb_mcp_call *call, struct sb_json *j)
{
	const struct sb_model *model;
	struct sb_model part;
	size_t left;
	int err = sb_mcp_model(m, sb_mcp_text(call, "run"), &model);

	if (err)
		return err;
	part = *model;
	left = cut(&part.advice.count, call->limit);
	cut(&part.missing.count, call->limit);
	sb_fields_write_key(&sb_model_fields, &part, "recommendations", j);
	put_left(j, "left_out_count", left);
	sb_fields_write_key(&sb_model_fields, &part, "verdict", j);
	sb_fields_write_key(&sb_model_fields, &part, "not_recorded", j);
	return 0;
}

const struct sb_mcp_tool sb_mcp_tool_findings = {
	.name = "findings",
	.title = "Findings of a run",
	.description = "What makes a run slow, ranked by the seconds it could save: issue, cause, where "
		       "(stage, file and "
		       "line, kernel, time range), evidence, suggestion, gain_s with what it is based on, "
		       "confidence. "
		       "Also what bounds the run and what was not recorded.",
	.arguments = { SB_MCP_RUN },
	.limit_default = 10,
	.limit_most = 100,
	.answer = findings,
};

/* ---- stage ---- */

#define MEMBERS_SHOWN 10u

static void put_stage(struct sb_json *j, const struct sb_stage *stage)
{
	struct sb_stage copy = *stage;

	cut(&copy.member_count, MEMBERS_SHOWN);
	sb_fields_write(sb_mcp_table(&sb_stages_fields, "stages"), &copy, "stage", j);
}

static bool is_called(const struct sb_stage *s, const char *name)
{
	return !strcmp(s->name, name) || (s->code && !strcmp(s->code, name));
}

/* All stages of that name, each with those directly inside it. */
static int one_stage(const struct sb_model *model, const char *name, size_t limit, struct sb_json *j)
{
	const struct sb_stages_panel *p = &model->stages;
	size_t found = 0, shown = 0;

	sb_json_array_begin(j, "found");
	for (size_t i = 0; i < p->stage_count; i++) {
		if (!is_called(&p->stages[i], name) || found++ >= limit)
			continue;
		sb_json_object_begin(j, NULL);
		put_stage(j, &p->stages[i]);
		sb_json_array_begin(j, "inside");
		for (size_t k = i + 1; k < p->stage_count && shown < limit; k++) {
			if (p->stages[k].parent != (int64_t)i)
				continue;
			sb_json_object_begin(j, NULL);
			sb_json_string(j, "name", p->stages[k].name);
			sb_json_int(j, "count", p->stages[k].count);
			sb_json_double(j, "total_s", p->stages[k].total_s);
			sb_json_double(j, "self_s", p->stages[k].self_s);
			sb_json_object_end(j);
			shown++;
		}
		sb_json_array_end(j);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
	put_left(j, "left_out_count", found > limit ? found - limit : 0);
	if (!found)
		return sb_fail(STROBE_EINVAL,
			"the run has no stage '%.100s': the tool 'stage' without a name lists them", name);
	return 0;
}

static void all_stages(const struct sb_model *model, size_t limit, struct sb_json *j)
{
	const struct sb_stages_panel *p = &model->stages;
	struct sb_stages_panel parts = *p;

	sb_json_double(j, "wall_s", p->wall_s);
	sb_json_double(j, "unattributed_s", p->unattributed_s);
	sb_json_array_begin(j, "stages");
	for (size_t i = 0; i < p->stage_count && i < limit; i++) {
		const struct sb_stage *s = &p->stages[p->by_total ? p->by_total[i] : i];

		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", s->name);
		if (s->code)
			sb_json_string(j, "code", s->code);
		if (s->parent_name)
			sb_json_string(j, "parent", s->parent_name);
		sb_json_int(j, "count", s->count);
		sb_json_double(j, "total_s", s->total_s);
		sb_json_double(j, "self_s", s->self_s);
		sb_json_double(j, "wall_ratio", s->wall_ratio);
		if (s->bottleneck)
			sb_json_bool(j, "bottleneck", true);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
	put_left(j, "left_out_count", p->stage_count > limit ? p->stage_count - limit : 0);
	cut(&parts.part_count, limit);
	sb_fields_write_key(&sb_stages_fields, &parts, "parts", j);
}

static int stage(struct sb_mcp *m, const struct sb_mcp_call *call, struct sb_json *j)
{
	const char *name = sb_mcp_text(call, "name");
	const struct sb_model *model;
	int err = sb_mcp_model(m, sb_mcp_text(call, "run"), &model);

	if (err)
		return err;
	if (name)
		return one_stage(model, name, call->limit, j);
	all_stages(model, call->limit, j);
	return 0;
}

const struct sb_mcp_tool sb_mcp_tool_stage = {
	.name = "stage",
	.title = "Stages",
	.description = "Where the time went. Without a name: every stage with calls, total and self time, "
		       "largest first, "
		       "and what the wall time is made of. With a name (or a code such as 4c): all that is "
		       "known of that "
		       "stage, its percentiles, GPU time, kernels, attributes, and the stages inside it.",
	.arguments = { SB_MCP_RUN, { "name", SB_MCP_TEXT, "name or code of a stage", false, 0, 0 } },
	.limit_default = 30,
	.limit_most = 200,
	.answer = stage,
};

/* ---- steps ---- */

static void put_iterations(const struct sb_iterations *it, struct sb_json *j)
{
	static const char *const without[] = { "series_s", "distribution", NULL };

	if (sb_iterations_fields.present && !sb_iterations_fields.present(it))
		return;
	sb_json_object_begin(j, NULL);
	sb_mcp_write_but(&sb_iterations_fields, it, without, j);
	sb_json_object_end(j);
}

static int steps(struct sb_mcp *m, const struct sb_mcp_call *call, struct sb_json *j)
{
	static const char *const without[] = { "series", "distribution", NULL };
	const struct sb_model *model;
	struct sb_diffusion_panel d;
	int err = sb_mcp_model(m, sb_mcp_text(call, "run"), &model);

	if (err)
		return err;
	sb_json_array_begin(j, "iterations");
	for (size_t i = 0; i < model->iterations.count && i < call->limit; i++)
		put_iterations(&model->iterations.all[i], j);
	sb_json_array_end(j);
	put_left(j, "left_out_count",
		model->iterations.count > call->limit ? model->iterations.count - call->limit : 0);
	if (!model->diffusion.present)
		return 0;
	d = model->diffusion;
	cut(&d.by_block_size_count, call->limit);
	cut(&d.slow_step_count, call->limit);
	cut(&d.offload_count, call->limit);
	sb_json_object_begin(j, "diffusion_analysis");
	sb_mcp_write_but(&sb_diffusion_fields, &d, without, j);
	sb_json_object_end(j);
	return 0;
}

const struct sb_mcp_tool sb_mcp_tool_steps = {
	.name = "steps",
	.title = "Steps and iterations",
	.description =
		"How long steps and other iterations took: count, mean, median, percentiles, warm-up, slow "
		"ones "
		"with their time; frames per second, what the generations' time was spent on, cached steps.",
	.arguments = { SB_MCP_RUN },
	.limit_default = 20,
	.limit_most = 100,
	.answer = steps,
};

/* ---- kernels ---- */

static void cut_gpu(struct sb_gpu_panel *g, size_t limit)
{
	size_t *const lists[] = { &g->top_kernel_count, &g->top_zone_count, &g->attention_count,
		&g->collective_count, &g->offload_count, &g->idle_zone_count, &g->gap_count, &g->family_count,
		&g->copy_count, &g->device_count, &g->trace_count };

	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
		cut(lists[i], limit);
}

static int kernels(struct sb_mcp *m, const struct sb_mcp_call *call, struct sb_json *j)
{
	const struct sb_model *model;
	struct sb_model part;
	int err = sb_mcp_model(m, sb_mcp_text(call, "run"), &model);

	if (err)
		return err;
	if (!model->gpu.present) {
		sb_json_string(j, "not_recorded",
			"this run has no GPU trace: record one with `strobe run --gpu-trace=steps:3 -- "
			"COMMAND`");
		return 0;
	}
	part = *model;
	put_left(j, "left_out_count",
		part.gpu.top_kernel_count > call->limit ? part.gpu.top_kernel_count - call->limit : 0);
	cut_gpu(&part.gpu, call->limit);
	sb_fields_write_key(&sb_model_fields, &part, "gpu_trace", j);
	return 0;
}

const struct sb_mcp_tool sb_mcp_tool_kernels = {
	.name = "kernels",
	.title = "GPU trace",
	.description = "What the GPU did in a traced run: busy and idle time, kernels by time and by family, "
		       "copies with "
		       "GB/s, attention kind, the longest gaps and where the CPU was in them.",
	.arguments = { SB_MCP_RUN },
	.limit_default = 15,
	.limit_most = 100,
	.answer = kernels,
};

/* ---- memory ---- */

static int memory(struct sb_mcp *m, const struct sb_mcp_call *call, struct sb_json *j)
{
	static const char *const without[] = { "timeline", NULL };
	const struct sb_model *model;
	struct sb_memory_panel part;
	int err = sb_mcp_model(m, sb_mcp_text(call, "run"), &model);

	if (err)
		return err;
	if (!model->memory.present) {
		sb_json_string(j, "not_recorded", "nothing of this run's memory was recorded");
		return 0;
	}
	part = model->memory;
	put_left(j, "left_out_count", cut(&part.snapshot_count, call->limit));
	cut(&part.stage_count, call->limit);
	cut(&part.allocator_count, call->limit);
	sb_json_object_begin(j, "memory");
	sb_mcp_write_but(&sb_memory_fields, &part, without, j);
	sb_json_object_end(j);
	return 0;
}

const struct sb_mcp_tool sb_mcp_tool_memory = {
	.name = "memory",
	.title = "Memory",
	.description = "GPU and host memory of a run: peaks and the stage they are in, what stages keep "
		       "after their end, "
		       "snapshots, fragmentation. MB are of 2^20 bytes. Values over time: the tool series.",
	.arguments = { SB_MCP_RUN },
	.limit_default = 20,
	.limit_most = 200,
	.answer = memory,
};
