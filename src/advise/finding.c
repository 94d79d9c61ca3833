/* A finding as a rule makes it, with the words for what it says. advise.c decides which rules are asked
 * and in which order findings stand. */
#include "advise/advise.h"
#include "advise/rule.h"

#include <math.h>

const char *sb_priority_name(enum sb_priority priority)
{
	return priority == SB_PRIORITY_HIGH ? "high" : priority == SB_PRIORITY_MEDIUM ? "medium" : "low";
}

const char *sb_effort_name(enum sb_effort effort)
{
	return effort == SB_EFFORT_HOURS ? "< 1 day" : effort == SB_EFFORT_DAYS ? "2-3 days" : "1-2 weeks";
}

static const char *basis_name(enum sb_gain_basis basis)
{
	return basis == SB_GAIN_MEASURED ? "measured" : basis == SB_GAIN_BOUNDED ? "bounded" : "estimated";
}

static const char *confidence_name(enum sb_confidence confidence)
{
	return confidence == SB_CERTAIN ? "certain" : confidence == SB_LIKELY ? "likely" : "possible";
}

const char *sb_say_seconds(struct sb_advisor *a, double seconds)
{
	double size = fabs(seconds);

	if (size >= 0.09995 || size == 0 || isnan(size))
		return sb_say(a, "%.2f s", seconds);
	return size >= 0.9995e-3 ? sb_say(a, "%.1f ms", seconds * 1e3) : sb_say(a, "%.1f us", seconds * 1e6);
}

struct sb_advice *sb_advisor_find(
	struct sb_advisor *a, double value, double saves_s, const char *issue, const char *evidence)
{
	struct sb_advice *f = issue && evidence ? sb_vec_push(&a->found, sizeof *f) : NULL;
	const struct sb_rule_info *rule = a->rule;

	if (!f) {
		a->failed = true;
		return NULL;
	}
	f->id = rule->id;
	f->category = rule->category;
	f->priority = sb_priority_name(rule->absolute && !a->live ? SB_PRIORITY_LOW : rule->priority);
	f->effort = sb_effort_name(rule->effort);
	f->suggestion = rule->suggestion;
	f->issue = issue;
	f->evidence = evidence;
	if (saves_s > a->model->stages.wall_s) /* no saving is larger than the run */
		saves_s = a->model->stages.wall_s;
	f->saves_s = saves_s > 0 ? saves_s : NAN;
	f->rank_s = saves_s > 0 && !(rule->absolute && !a->live) ? saves_s : 0;
	f->value = value;
	f->threshold = rule->threshold_key ? a->limit : NAN;
	f->threshold_key = rule->threshold_key;
	f->basis = isnan(f->saves_s) ? NULL : basis_name(SB_GAIN_BOUNDED);
	f->confidence = confidence_name(SB_LIKELY);
	f->where.from_s = f->where.to_s = NAN;
	f->where.stage_index = -1;
	return f;
}

void sb_finding_cause(
	struct sb_advice *f, const char *cause, enum sb_gain_basis basis, enum sb_confidence confidence)
{
	if (!f)
		return;
	f->cause = cause;
	f->basis = isnan(f->saves_s) ? NULL : basis_name(basis);
	f->confidence = confidence_name(confidence);
}

void sb_finding_line(struct sb_advice *f, const char *file, uint32_t line)
{
	if (!f)
		return;
	f->where.file = file;
	f->where.line = line;
}
