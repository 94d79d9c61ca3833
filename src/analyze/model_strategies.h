/* The report model, settings worth changing: known stages, their knobs, what changing one saves and
 * costs. */
#ifndef SB_ANALYZE_MODEL_STRATEGIES_H
#define SB_ANALYZE_MODEL_STRATEGIES_H

#include "stats/fields.h"

struct sb_strategies_panel {
	struct sb_strategy {
		int64_t stage; /* index of stages; -1: the whole run */
		const char *stage_name, *code; /* code NULL: none */
		const char *knob; /* attribute to change: "iters"; NULL: none carries it */
		double now, proposed; /* its value; NAN: no number */
		const char *unit; /* "iterations"; NULL: no number */
		double each_s; /* of one of them; NAN: not known */
		const char *what; /* "12 iterations of 7.94 s; 8 would save about 31.77 s" */
		double gain_s; /* NAN: a single run does not tell */
		const char *
			gain_basis; /* "estimated": proportional; "bounded": it cannot be more; NULL: no gain */
		const char *effort, *trade_off;
		const char *try_it; /* argument of strobe whatif: "3b.iters=8"; NULL: none */
	} * all; /* the least effort first, then the largest gain */
	size_t count;
};

extern const struct sb_fields sb_strategy_fields;

#endif
