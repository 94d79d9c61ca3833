/* A diff for programs. Absent data is absent. */
#include "report/diff/diff.h"

#include "base/json.h"

/* To the nanosecond: what lies below is the rounding of sums. */
static void put(struct sb_json *j, const char *key, double value)
{
	if (!isnan(value))
		sb_json_fixed(j, key, value, 9);
}

static void put_judgement(struct sb_json *j, const struct sb_judgement *judgement)
{
	sb_json_string(j, "basis", sb_basis_name(judgement->basis));
	put(j, "p_ratio", judgement->p);
	if (judgement->basis == SB_BASIS_RANK_TEST)
		put(j, "effect_ratio", judgement->effect);
	put(j, "change_low_ratio", judgement->interval.low);
	put(j, "change_high_ratio", judgement->interval.high);
}

static void put_metric(struct sb_json *j, const char *key, const struct sb_metric_change *m)
{
	bool both = !isnan(m->base) && !isnan(m->now);

	sb_json_object_begin(j, key);
	sb_json_string(j, "metric", sb_metric_infos[m->metric].key);
	sb_json_string(j, "unit", sb_metric_infos[m->metric].unit);
	put(j, "base_value", m->base);
	put(j, "new_value", m->now);
	if (both)
		put(j, "delta_value", m->now - m->base);
	if (both && m->base > 0)
		put(j, "change_ratio", m->now / m->base - 1);
	sb_json_string(j, "verdict", sb_verdict_name(m->verdict));
	if (both)
		put_judgement(j, &m->judgement);
	sb_json_object_end(j);
}

static void put_stage(struct sb_json *j, const struct sb_stage_change *s)
{
	bool both = !isnan(s->base_s) && !isnan(s->now_s);

	sb_json_object_begin(j, NULL);
	sb_json_string(j, "name", s->name);
	if (s->code)
		sb_json_string(j, "code", s->code);
	if (s->old_name)
		sb_json_string(j, "old_name", s->old_name);
	put(j, "base_s", s->base_s);
	put(j, "new_s", s->now_s);
	if (both)
		put(j, "delta_s", s->now_s - s->base_s);
	if (both && s->base_s > 0)
		put(j, "change_ratio", s->now_s / s->base_s - 1);
	put(j, "base_self_s", s->base_self_s);
	put(j, "new_self_s", s->now_self_s);
	put(j, "contribution_s", s->contribution_s);
	put(j, "base_count", s->base_count);
	put(j, "new_count", s->now_count);
	sb_json_string(j, "verdict", sb_verdict_name(s->verdict));
	sb_json_string(j, "words", sb_diff_stage_word(s));
	if (s->reason)
		sb_json_string(j, "reason", s->reason);
	if (both) {
		sb_json_string(j, "judged", s->per_call ? "single_calls" : "totals");
		put_judgement(j, &s->judgement);
	}
	sb_json_object_end(j);
}

static void put_settings(struct sb_json *j, const struct sb_comparison *c)
{
	static const char *const scopes[] = { "tag", "setting", "system", "command" };

	sb_json_array_begin(j, "configuration");
	for (size_t i = 0; i < c->setting_count; i++) {
		const struct sb_setting_change *s = &c->settings[i];

		sb_json_object_begin(j, NULL);
		sb_json_string(j, "scope", *s->where ? "stage" : scopes[s->scope]);
		if (*s->where)
			sb_json_string(j, "stage", s->where);
		sb_json_string(j, "key", s->key);
		if (s->base)
			sb_json_string(j, "base", s->base);
		if (s->now)
			sb_json_string(j, "new", s->now);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void put_texts(struct sb_json *j, const char *key, char *const *texts, size_t count)
{
	sb_json_array_begin(j, key);
	for (size_t i = 0; i < count; i++)
		sb_json_string(j, NULL, texts[i]);
	sb_json_array_end(j);
}

static void put_runs(struct sb_json *j, const char *key, const struct sb_facts *const *runs, size_t count)
{
	sb_json_array_begin(j, key);
	for (size_t i = 0; i < count; i++)
		sb_json_string(j, NULL, runs[i]->label);
	sb_json_array_end(j);
}

void sb_diff_json(const struct sb_comparison *c, struct sb_buf *out)
{
	struct sb_json j;

	sb_json_init(&j, out, true);
	sb_json_object_begin(&j, NULL);
	sb_json_string(&j, "schema", "strobe.diff/1");
	put_runs(&j, "base", c->base, c->base_count);
	put_runs(&j, "new", c->now, c->now_count);
	put_metric(&j, "total", &c->total);
	sb_json_bool(&j, "per_generation", c->per_generation);
	put_texts(&j, "explanations", c->explanations, c->explanation_count);
	sb_json_array_begin(&j, "stages");
	for (size_t i = 0; i < c->stage_count; i++)
		put_stage(&j, &c->stages[i]);
	sb_json_array_end(&j);
	sb_json_array_begin(&j, "metrics");
	for (size_t i = 0; i < c->metric_count; i++)
		put_metric(&j, NULL, &c->metrics[i]);
	sb_json_array_end(&j);
	put_settings(&j, c);
	if (c->gate_count) {
		sb_json_bool(&j, "passed", !c->failure_count);
		put_texts(&j, "failures", c->failures, c->failure_count);
	}
	sb_json_object_end(&j);
	sb_buf_putc(out, '\n');
}
