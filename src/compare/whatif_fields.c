/* A prediction key by key: the tables of whatif.h. */
#include "compare/whatif.h"

const char *const sb_whatif_basis_names[] = { [SB_WHATIF_PROPORTIONAL] = "proportional",
	[SB_WHATIF_STEPS] = "steps",
	[SB_WHATIF_FITTED] = "fitted",
	[SB_WHATIF_RANGE] = "range",
	SB_NAMES_END };

static const struct sb_field change_rows[] = {
	SB_FIELD(sb_whatif_change, stage, "stage", SB_ALWAYS, "its name"),
	SB_FIELD(sb_whatif_change, code, "code", SB_KNOWN, "its code"),
	SB_FIELD(sb_whatif_change, key, "knob", SB_ALWAYS, "the attribute that changes"),
	SB_FIELD(sb_whatif_change, now, "now_value", SB_ALWAYS, "in this run"),
	SB_FIELD(sb_whatif_change, then, "then_value", SB_ALWAYS, "what was asked for"),
	SB_FIELD(sb_whatif_change, base_s, "now_s", SB_ALWAYS, "the stage's time in this run"),
	SB_FIELD(sb_whatif_change, predicted_s, "predicted_s", SB_ALWAYS, "its time then"),
	SB_FIELD(sb_whatif_change, low_s, "low_s", SB_ALWAYS, "it takes this at least"),
	SB_FIELD(sb_whatif_change, high_s, "high_s", SB_ALWAYS, "it takes this at most"),
	SB_FIELD_NAMED(sb_whatif_change, basis, "basis", SB_ALWAYS, sb_whatif_basis_names,
		"proportional: from one value; steps: single steps were timed; fitted: over several runs; "
		"range: "
		"only the limits are known"),
	SB_FIELD(sb_whatif_change, fixed_s, "fixed_s", SB_KNOWN,
		"of one call, fitted: what does not depend on it"),
	SB_FIELD(sb_whatif_change, each_s, "each_s", SB_KNOWN, "time of one unit"),
	SB_FIELD(sb_whatif_change, point_count, "run_count", SB_ALWAYS, "runs it rests on"),
	SB_FIELD(sb_whatif_change, extrapolates, "extrapolates", SB_ALWAYS,
		"the value lies outside of those that were seen"),
	SB_FIELD(sb_whatif_change, note, "note", SB_KNOWN, "what to know before trusting it"),
};
static SB_FIELDS(change, sb_whatif_change, "WhatifChange", "A stage with another setting.");

static const struct sb_field sb_whatif_fields_rows[] = {
	SB_FIELD_SCHEMA("strobe.whatif/1"),
	SB_FIELD(sb_whatif, label, "run", SB_ALWAYS, "the run it starts from"),
	SB_FIELD(sb_whatif, wall_s, "now_s", SB_ALWAYS, "its total"),
	SB_FIELD(sb_whatif, predicted_s, "predicted_s", SB_ALWAYS, "the predicted total"),
	SB_FIELD(sb_whatif, low_s, "low_s", SB_ALWAYS, "low end of the range"),
	SB_FIELD(sb_whatif, high_s, "high_s", SB_ALWAYS, "high end of the range"),
	SB_FIELD(sb_whatif, digit_s, "time_digit_s", SB_KNOWN,
		"the value of the last digit of the run's times; it is in low_s and high_s"),
	SB_FIELD(sb_whatif, noise_s, "noise_s", SB_ALWAYS,
		"how far two runs of the same settings may be apart; low_s and high_s hold it"),
	SB_FIELD(sb_whatif, noise_ratio, "noise_ratio", SB_ALWAYS, "the same, of the time"),
	SB_FIELD(sb_whatif, others_cpu_ratio, "others_cpu_ratio", SB_SET,
		"what other programs took of a CPU that was full: runs differ more there"),
	SB_FIELD(sb_whatif, noise_run_count, "noise_run_count", SB_SET,
		"runs of equal settings that tell it; absent: what runs differ by usually is taken"),
	SB_FIELD(sb_whatif, noise_generation_count, "noise_generation_count", SB_SET,
		"generations of the run that tell a part of it"),
	SB_FIELD(sb_whatif, saved_s, "saved_s", SB_ALWAYS, "now_s - predicted_s", .range = SB_SIGNED),
	SB_FIELD(sb_whatif, change_ratio, "change_ratio", SB_ALWAYS, "predicted_s / now_s - 1",
		.range = SB_SIGNED),
	SB_FIELD(sb_whatif, fps, "fps", SB_KNOWN, "frames per second end to end, now"),
	SB_FIELD(sb_whatif, predicted_fps, "predicted_fps", SB_KNOWN, "the same, predicted"),
	SB_FIELD(sb_whatif, extrapolates, "extrapolates", SB_ALWAYS,
		"some change asks for a value outside those that were seen"),
	SB_FIELD_LIST(sb_whatif, changes, change_count, "changes", SB_ALWAYS, change, "stage by stage"),
};
SB_FIELDS(sb_whatif_fields, sb_whatif, "Whatif", "What a run would take with other settings.");
