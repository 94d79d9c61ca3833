/* What a prediction is asked for: "3b.iters=8" becomes a stage of the run and its knob. */
#ifndef SB_COMPARE_WHATIF_SETTING_H
#define SB_COMPARE_WHATIF_SETTING_H

#include "base/knob.h"
#include "compare/facts.h"

struct sb_whatif_setting {
	char stage[256];
	const struct sb_knob *knob;
	double value;
};

int sb_whatif_parse(const char *text, struct sb_whatif_setting *out);
/* The stage it is about; -1: none, and the failure is set. */
int64_t sb_whatif_find_stage(const struct sb_facts *run, const struct sb_whatif_setting *asked);
/* The knob in one call of the stage; NAN: it does not carry it. Steps that are zones count by block or video,
 * iterations and calls by the call of the stage around them. */
double sb_whatif_knob_of(
	const struct sb_facts *run, const struct sb_fact_stage *s, const struct sb_knob *knob);
/* The knob is not carried but is the number of the stage's own calls, each timed. */
bool sb_whatif_is_counted(const struct sb_fact_stage *s, const struct sb_knob *knob);

static inline bool sb_whatif_has_time(const struct sb_fact_stage *s)
{
	return (s->state == SB_STAGE_NORMAL || s->state == SB_STAGE_OPEN) && s->total_s > 0;
}

#endif
