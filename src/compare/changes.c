/* What every form of a diff says of a change: words, differences, ratios. */
#include "compare/compare.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "slower", "faster", "same"… of a metric, by its sense. */
static const char *verdict_words(enum sb_verdict verdict, enum sb_metric metric)
{
	bool time = !strcmp(sb_metric_infos[metric].unit, "s");

	switch (verdict) {
	case SB_VERDICT_WORSE: return time ? "slower" : "worse";
	case SB_VERDICT_BETTER: return time ? "faster" : "better";
	case SB_VERDICT_VANISHED: return "no longer measured";
	case SB_VERDICT_APPEARED: return "not measured before";
	case SB_VERDICT_UNCERTAIN: return "noise?";
	case SB_VERDICT_CHANGED: return "changed";
	case SB_VERDICT_TOO_FEW: return "too few to judge";
	default: return "same";
	}
}

/* "vanished", "appeared", "no longer timed", "skipped now"… */
static const char *stage_words(const struct sb_stage_change *s)
{
	if (s->counterpart)
		return s->in_now ? "renamed? (new name)" : "renamed? (old name)";
	if (s->verdict == SB_VERDICT_APPEARED)
		return s->base_state == SB_STAGE_SKIPPED && s->in_base ? "was skipped"
		       : s->in_base                                    ? "timed now"
								       : "appeared";
	if (s->verdict == SB_VERDICT_VANISHED)
		return !s->in_now                         ? "vanished"
		       : s->now_state == SB_STAGE_SKIPPED ? "skipped now"
							  : "no longer timed";
	if (s->in_now && s->now_state == SB_STAGE_SKIPPED)
		return "skipped";
	if (isnan(s->now_s))
		return "untimed";
	if (sb_stage_calls_changed(s))
		return s->now_count > s->base_count ? "more calls" : "fewer calls";
	return verdict_words(s->verdict, SB_METRIC_WALL);
}

const char *const sb_tone_names[] = { "none", "worse", "better", SB_NAMES_END };

static enum sb_tone tone_of(enum sb_verdict verdict)
{
	return verdict == SB_VERDICT_WORSE    ? SB_TONE_WORSE
	       : verdict == SB_VERDICT_BETTER ? SB_TONE_BETTER
					      : SB_TONE_NONE;
}

/* A stage that was only renamed, skipped or not timed took no more and no less time. */
static enum sb_tone stage_tone(const struct sb_stage_change *s)
{
	if (s->counterpart || (s->in_base && s->in_now))
		return tone_of(s->verdict);
	return s->verdict == SB_VERDICT_APPEARED   ? SB_TONE_WORSE
	       : s->verdict == SB_VERDICT_VANISHED ? SB_TONE_BETTER
						   : tone_of(s->verdict);
}

/* Why it is the same although the number beside it is past the tolerance. */
static const char *why_same(const struct sb_comparison *c, const struct sb_judgement *j, double base,
	double now, const char *words)
{
	if (strcmp(words, "same") || !(base > 0) || !(fabs(now / base - 1) > c->tolerance.ratio))
		return words;
	if (j->verdict == SB_VERDICT_SAME && fabs(j->ratio - 1) <= c->tolerance.ratio)
		return "same per call"; /* the number is of all calls */
	return j->basis == SB_BASIS_RANK_TEST   ? "same over all pairs"
	       : j->basis == SB_BASIS_TOLERANCE ? "same: below the floor"
						: words;
}

static void describe_stage(const struct sb_comparison *c, struct sb_stage_change *s)
{
	s->words = s->negligible ? "same: under 0.1 % of the total"
				 : why_same(c, &s->judgement, s->base_s, s->now_s, stage_words(s));
	s->tone = stage_tone(s);
	s->judged = !isnan(s->base_s) && !isnan(s->now_s);
	s->judged_on = s->per_rank         ? "ranks"
		       : s->per_call       ? "single_calls"
		       : s->per_generation ? "one_generation"
					   : "totals";
	s->delta_s = s->judged ? s->now_s - s->base_s : NAN;
	s->change_ratio = s->judged && s->base_s > 0 ? s->now_s / s->base_s - 1 : NAN;
}

static void describe_metric(const struct sb_comparison *c, struct sb_metric_change *m)
{
	m->key = sb_metric_infos[m->metric].key;
	m->label = sb_metric_infos[m->metric].words;
	m->unit = sb_metric_infos[m->metric].unit;
	m->words = why_same(c, &m->judgement, m->base, m->now, verdict_words(m->verdict, m->metric));
	m->tone = tone_of(m->verdict);
	m->judged = !isnan(m->base) && !isnan(m->now);
	m->delta = m->judged ? m->now - m->base : NAN;
	m->change_ratio = m->judged && m->base > 0 ? m->now / m->base - 1 : NAN;
}

static void describe_setting(struct sb_setting_change *s)
{
	static const char *const scopes[] = { [SB_FACT_TAG] = "tag",
		[SB_FACT_SETTING] = "setting",
		[SB_FACT_SYSTEM] = "system",
		[SB_FACT_COMMAND] = "command" };

	s->scope_name = *s->where ? "stage" : scopes[s->scope];
	s->stage = *s->where ? s->where : NULL;
}

static const char **labels_of(const struct sb_facts *const *runs, size_t count)
{
	const char **labels = calloc(count + 1, sizeof *labels);

	for (size_t i = 0; labels && i < count; i++)
		labels[i] = runs[i]->label;
	return labels;
}

int sb_changes_describe(struct sb_comparison *c)
{
	c->base_labels = labels_of(c->base, c->base_count);
	c->now_labels = labels_of(c->now, c->now_count);
	if (!c->base_labels || !c->now_labels)
		return sb_fail(STROBE_ENOMEM, "no memory to compare");
	describe_metric(c, &c->total);
	for (size_t i = 0; i < c->metric_count; i++)
		describe_metric(c, &c->metrics[i]);
	for (size_t i = 0; i < c->stage_count; i++)
		describe_stage(c, &c->stages[i]);
	for (size_t i = 0; i < c->setting_count; i++)
		describe_setting(&c->settings[i]);
	c->passed = !c->failure_count;
	return 0;
}
