/* stage_analysis in JSON. */
#include "report/sections/stages.h"

#include <stdio.h>
#include <string.h>

static const char *const role_names[] = { NULL, "generation", "iteration", "step", "block", "layer", "import",
	"load", "compile", "offload", "warmup", "forward", "collective" };

const char *sb_role_name(uint32_t role)
{
	return role < sizeof role_names / sizeof role_names[0] ? role_names[role] : NULL;
}

double sb_stage_attr_total(const struct sb_stage *s, const char *key)
{
	for (size_t i = 0; i < s->attr_count; i++)
		if (!strcmp(s->attrs[i].key, key) && !s->attrs[i].text)
			return s->attrs[i].sum;
	return NAN;
}

/* Seconds per frame, step, iteration: where a count is known. */
static void write_rates(const struct sb_stage *s, struct sb_json *j)
{
	static const struct {
		const char *attr, *key;
	} rates[] = { { "frames", "per_frame_s" }, { "steps", "per_step_s" },
		{ "iters", "per_iteration_s" } };

	for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
		double n = sb_stage_attr_total(s, rates[i].attr);

		if (n > 0 && sb_stage_has_rate(s))
			sb_json_opt(j, rates[i].key, s->total_s / n);
	}
}

/* The user's own names: a value that was always the same, or the sum. */
static void write_attrs(const struct sb_stage *s, struct sb_json *j)
{
	if (!s->attr_count)
		return;
	sb_json_object_begin(j, "attributes");
	for (size_t i = 0; i < s->attr_count; i++) {
		const struct sb_stage_attr *a = &s->attrs[i];

		if (a->text)
			sb_json_string(j, a->key, a->text);
		else
			sb_json_opt(j, a->key, sb_stage_attr_is_count(a->key) ? a->sum : a->last);
	}
	sb_json_object_end(j);
}

static void write_members(const struct sb_stage *s, struct sb_json *j)
{
	if (!s->member_count)
		return;
	sb_json_int(j, "member_count", (int64_t)s->member_total);
	sb_json_array_begin(j, "members");
	for (size_t i = 0; i < s->member_count; i++) {
		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", s->members[i].name);
		sb_json_int(j, "count", s->members[i].count);
		sb_json_double(j, "total_s", s->members[i].total_s);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void write_times(const struct sb_stage *s, struct sb_json *j)
{
	sb_json_double(j, "total_s", s->total_s);
	sb_json_double(j, "self_s", s->self_s);
	if (s->open_count || s->cut_count)
		sb_json_double(j, "unfinished_s", s->unfinished_s);
	sb_json_opt(j, "mean_s", s->time.mean);
	sb_json_opt(j, "min_s", s->time.min);
	sb_json_opt(j, "max_s", s->time.max);
	sb_json_opt(j, "p50_s", s->time.p50);
	sb_json_opt(j, "p95_s", s->time.p95);
	sb_json_opt(j, "p99_s", s->time.p99);
	sb_json_opt(j, "last_s", s->time.last);
	sb_json_opt(j, "std_s", s->time.std);
	if (s->time.percentile_error_ratio > 0)
		sb_json_double(j, "percentile_error_ratio", s->time.percentile_error_ratio);
	sb_json_opt(j, "gpu_span_s", s->gpu_span_s);
	if (s->gpu_span_count)
		sb_json_int(j, "gpu_span_count", s->gpu_span_count);
	sb_json_opt(j, "gpu_busy_s", s->gpu_busy_s);
	sb_json_double(j, "wall_ratio", s->wall_ratio);
	sb_json_double(j, "self_ratio", s->self_ratio);
	if (sb_stage_overlaps(s))
		sb_json_double(j, "covered_s", s->covered_s);
	sb_json_opt(j, "at_once_mean_count", s->at_once_mean);
	sb_json_opt(j, "unattributed_s", s->unattributed_s);
	sb_json_double(j, "first_s", s->first_s);
	sb_json_double(j, "end_s", s->end_s);
	write_rates(s, j);
}

static void write_stage(const struct sb_model *m, const struct sb_stage *s, struct sb_json *j)
{
	static const char *const states[] = { NULL, "open", "skipped", "untimed" };

	sb_json_object_begin(j, NULL);
	sb_json_string(j, "name", s->name);
	sb_json_opt_string(j, "code", s->code);
	if (s->parent >= 0) {
		sb_json_string(j, "parent", m->stages.stages[s->parent].name);
		sb_json_int(j, "parent_index", s->parent);
	}
	sb_json_opt_string(j, "role", sb_role_name(s->role));
	sb_json_int(j, "depth", s->depth);
	sb_json_int(j, "count", s->count);
	if (s->recursive_count)
		sb_json_int(j, "recursive_count", s->recursive_count);
	if (s->open_count)
		sb_json_int(j, "open_count", s->open_count);
	if (s->cut_count)
		sb_json_int(j, "cut_count", s->cut_count);
	if (s->folded_count)
		sb_json_int(j, "folded_count", s->folded_count);
	if (s->thread_count > 1)
		sb_json_int(j, "thread_count", s->thread_count);
	if (m->stages.on_main && !s->main_thread) /* no part of the wall time's split */
		sb_json_bool(j, "other_thread", true);
	if (s->state != SB_STAGE_SKIPPED && s->state != SB_STAGE_UNTIMED)
		write_times(s, j);
	sb_json_opt_string(j, "state", states[s->state]);
	sb_json_opt_string(j, "reason", s->skip_reason);
	if (s->bottleneck)
		sb_json_bool(j, "bottleneck", true);
	if (s->span)
		sb_json_bool(j, "span", true);
	write_attrs(s, j);
	write_members(s, j);
	sb_json_object_end(j);
}

void sb_stages_json(const struct sb_model *m, struct sb_json *j)
{
	const struct sb_stages_section *s = &m->stages;

	sb_json_object_begin(j, "stage_analysis");
	sb_json_double(j, "wall_s", s->wall_s);
	sb_json_double(j, "unattributed_s", s->unattributed_s);
	if (s->combined)
		sb_json_bool(j, "combined", true);
	sb_json_array_begin(j, "stages");
	for (size_t i = 0; i < s->stage_count; i++)
		write_stage(m, &s->stages[i], j);
	sb_json_array_end(j);
	sb_json_array_begin(j, "bottlenecks");
	for (size_t i = 0; i < s->bottleneck_count; i++)
		sb_json_string(j, NULL, s->bottlenecks[i]);
	sb_json_array_end(j);
	sb_json_object_end(j);
}
