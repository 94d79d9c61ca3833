/* Zones of the main thread, and the rows that became of them. */
#ifndef TESTS_STAGE_ROWS_H
#define TESTS_STAGE_ROWS_H

#include "synthetic.h"

#define CS 10000000ull /* a hundredth of a second: stage logs have two decimals */

static inline void near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 + fabs(expected) * 1e-12))
		fail_msg("%.12g is not %.12g", value, expected);
}

static inline void zone(struct synthetic *s, uint64_t from, uint64_t to, const char *name, const char *code)
{
	sb_builder_begin(s->main, from, sb_builder_name(s->b, name, code));
	sb_builder_end(s->main, to, 0);
}

static inline const struct sb_stage *stage(const struct sb_model *m, const char *name)
{
	const struct sb_stage *s = sb_model_stage(m, name);

	if (!s)
		fail_msg("no stage '%s'", name);
	return s;
}

#endif
