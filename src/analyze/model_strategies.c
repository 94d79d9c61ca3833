/* Strategies, key by key. */
#include "analyze/model_strategies.h"

static const char *const bases[] = { "estimated", "bounded", SB_NAMES_END };

static const struct sb_field sb_strategy_fields_rows[] = {
	SB_FIELD(sb_strategy, stage_name, "stage", SB_ALWAYS, "the stage it is about"),
	SB_FIELD(sb_strategy, code, "code", SB_KNOWN, "its code"),
	SB_FIELD(sb_strategy, stage, "stage_index", SB_KNOWN,
		"index of the stage in stage_analysis.stages, from 0"),
	SB_FIELD(sb_strategy, what, "what", SB_ALWAYS, "what to change, with its numbers"),
	SB_FIELD(sb_strategy, knob, "knob", SB_KNOWN, "the attribute to change: \"iters\""),
	SB_FIELD(sb_strategy, now, "now_value", SB_KNOWN, "what it is in this run"),
	SB_FIELD(sb_strategy, proposed, "proposed_value", SB_KNOWN, "what to try"),
	SB_FIELD(sb_strategy, unit, "unit", SB_KNOWN, "of both values: \"iterations\""),
	SB_FIELD(sb_strategy, each_s, "each_s", SB_KNOWN, "time of one unit"),
	SB_FIELD(sb_strategy, gain_s, "gain_s", SB_KNOWN, "seconds of this run it could save"),
	SB_FIELD_NAMED(sb_strategy, gain_basis, "gain_basis", SB_KNOWN, bases,
		"estimated: in proportion to the value; bounded: it cannot be more"),
	SB_FIELD(sb_strategy, effort, "effort", SB_ALWAYS, "how much work it is"),
	SB_FIELD(sb_strategy, trade_off, "trade_off", SB_ALWAYS, "what it costs"),
	SB_FIELD(sb_strategy, try_it, "whatif", SB_KNOWN, "the argument of strobe whatif that predicts it"),
};
SB_FIELDS(sb_strategy_fields, sb_strategy, "Strategy",
	"What could be turned at a stage, and what that trades.");
