/* Facts of made-up runs, and their comparison: what the tests of compare share. */
#ifndef TESTS_UNIT_COMPARE_RUNS_H
#define TESTS_UNIT_COMPARE_RUNS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compare/compare.h"
#include "base/memory_units.h"
#include "analyze/memory/memory.h"
#include "report/diff/diff.h"

#include <stdlib.h>
#include <string.h>

static inline struct sb_fact_stage *stage(
	struct sb_facts *f, const char *code, const char *name, int64_t parent, double total, double self)
{
	struct sb_fact_stage *s;

	f->stages = realloc(f->stages, (f->stage_count + 1) * sizeof *f->stages);
	s = &f->stages[f->stage_count++];
	*s = (struct sb_fact_stage){ .name = sb_facts_text(f, name),
		.code = sb_facts_text(f, code),
		.parent = parent,
		.depth = parent >= 0,
		.count = 1,
		.total_s = total,
		.self_s = self,
		.gpu_span_s = NAN,
		.gpu_busy_s = NAN };
	s->state = isnan(total) ? SB_STAGE_UNTIMED : SB_STAGE_NORMAL;
	return s;
}

static inline struct sb_facts *run_of(const char *label, double wall)
{
	struct sb_facts *f = sb_facts_new(label);

	assert_non_null(f);
	f->metrics[SB_METRIC_WALL] = wall;
	return f;
}

static inline struct sb_comparison *compare(
	const struct sb_facts *base, const struct sb_facts *now, const char *gates)
{
	/* the comparison borrows the arrays: they must outlive this call */
	static const struct sb_facts *bases[1], *news[1];
	struct sb_compare_options o = { 0 };
	struct sb_gate *parsed = NULL;
	struct sb_comparison *c;

	if (gates)
		assert_int_equal(sb_gates_parse(gates, &parsed, &o.gate_count), 0);
	o.gates = parsed;
	bases[0] = base;
	news[0] = now;
	assert_int_equal(sb_compare(bases, 1, news, 1, &o, &c), 0);
	sb_gates_free(parsed, o.gate_count);
	return c;
}

/* What the comparison fails with. */
static inline int refuses(const struct sb_facts *base, const struct sb_facts *now, const char *gates)
{
	struct sb_compare_options o = { 0 };
	struct sb_gate *parsed = NULL;
	struct sb_comparison *c = NULL;
	int err;

	assert_int_equal(sb_gates_parse(gates, &parsed, &o.gate_count), 0);
	o.gates = parsed;
	err = sb_compare(&base, 1, &now, 1, &o, &c);
	sb_gates_free(parsed, o.gate_count);
	sb_comparison_free(c);
	return err;
}

static inline bool explains(const struct sb_comparison *c, const char *words)
{
	for (size_t i = 0; i < c->explanation_count; i++)
		if (strstr(c->explanations[i], words))
			return true;
	return false;
}

static inline bool fails(const struct sb_comparison *c, const char *words)
{
	for (size_t i = 0; i < c->failure_count; i++)
		if (strstr(c->failures[i], words))
			return true;
	return false;
}

static inline const struct sb_stage_change *change_of(const struct sb_comparison *c, const char *name)
{
	for (size_t i = 0; i < c->stage_count; i++)
		if (!strcmp(c->stages[i].name, name))
			return &c->stages[i];
	fail_msg("no stage '%s'", name);
	return NULL;
}

static inline const struct sb_metric_change *metric_of(const struct sb_comparison *c, enum sb_metric metric)
{
	for (size_t i = 0; i < c->metric_count; i++)
		if (c->metrics[i].metric == metric)
			return &c->metrics[i];
	fail_msg("no metric %d", (int)metric);
	return NULL;
}

#endif
