/* Advice: a table of rules over the model, each with the number it looked at.
 * docs/advice.md is the same table in words. A rule says nothing if its data is missing. */
#ifndef SB_ADVISE_ADVISE_H
#define SB_ADVISE_ADVISE_H

#include "analyze/model.h"

/* Fills model->advice, and the summary's bound and leave_alone. After sb_analyze(). */
int sb_advise(struct sb_model *model);

enum sb_priority { SB_PRIORITY_HIGH = 1, SB_PRIORITY_MEDIUM = 2, SB_PRIORITY_LOW = 3 };
enum sb_effort { SB_EFFORT_HOURS = 1, SB_EFFORT_DAYS = 2, SB_EFFORT_WEEKS = 3 };

enum sb_gain_basis { SB_GAIN_MEASURED = 1, SB_GAIN_BOUNDED, SB_GAIN_ESTIMATED };
enum sb_confidence { SB_CERTAIN = 1, SB_LIKELY, SB_POSSIBLE };

const char *sb_priority_name(enum sb_priority priority); /* "high"… */
const char *sb_effort_name(enum sb_effort effort); /* "< 1 day"… */

/* What the table says about a rule; docs/advice.md shows all of it. */
struct sb_rule_info {
	const char *id, *category;
	enum sb_priority priority;
	enum sb_effort effort;
	bool absolute; /* low unless streaming or target_fps is set */
	const char *threshold_key, *unit; /* NULL: nothing to set */
	double threshold;
	const char *needs, *fires, *suggestion;
};
size_t sb_rule_count(void); /* of the table */
const struct sb_rule_info *sb_rule_info(size_t i); /* NULL past the end */

#endif
