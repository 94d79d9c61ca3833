/* The findings of a diff: which are gone, which are new, which stay. */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

static bool fits(const struct sb_fact_finding *a, const struct sb_fact_finding *b, bool same_place)
{
	return !strcmp(a->id, b->id) && (!same_place || !strcmp(a->place, b->place));
}

static void pair_up(const struct sb_facts *base, const struct sb_facts *now, bool same_place,
	int64_t *partners, bool *taken)
{
	for (size_t i = 0; i < base->finding_count; i++)
		for (size_t k = 0; k < now->finding_count && partners[i] == NONE; k++)
			if (!taken[k] && fits(&base->findings[i], &now->findings[k], same_place)) {
				partners[i] = (int64_t)k;
				taken[k] = true;
			}
}

static void add(struct sb_comparison *c, const char *change, const struct sb_fact_finding *base,
	const struct sb_fact_finding *now, enum sb_tone tone)
{
	const struct sb_fact_finding *f = now ? now : base;

	c->findings[c->finding_count++] = (struct sb_finding_change){ .id = f->id,
		.change = change,
		.priority = f->priority,
		.issue = f->issue,
		.place = *f->place ? f->place : NULL,
		.base_saves_s = base ? base->saves_s : NAN,
		.now_saves_s = now ? now->saves_s : NAN,
		.startup = f->startup,
		.tone = tone };
}

static void add_all(struct sb_comparison *c, const struct sb_facts *base, const struct sb_facts *now,
	const int64_t *partners, const bool *taken)
{
	for (size_t i = 0; i < base->finding_count; i++)
		if (partners[i] == NONE)
			add(c, "gone", &base->findings[i], NULL, SB_TONE_BETTER);
	for (size_t i = 0; i < now->finding_count; i++)
		if (!taken[i])
			add(c, "new", NULL, &now->findings[i], SB_TONE_WORSE);
	for (size_t i = 0; i < base->finding_count; i++)
		if (partners[i] != NONE)
			add(c, "stays", &base->findings[i], &now->findings[partners[i]], SB_TONE_NONE);
}

int sb_compare_findings(struct sb_comparison *c)
{
	const struct sb_facts *base = c->base[0], *now = c->now[0]; /* of several runs the first speaks */
	int64_t *partners;
	bool *taken;

	if (!base->findings || !now->findings)
		return 0;
	c->findings_known = true;
	c->findings_unlike = isnan(base->metrics[SB_METRIC_GPU_BUSY]) !=
			     isnan(now->metrics[SB_METRIC_GPU_BUSY]);
	c->findings = calloc(base->finding_count + now->finding_count + 1, sizeof *c->findings);
	partners = calloc(base->finding_count + 1, sizeof *partners);
	taken = calloc(now->finding_count + 1, sizeof *taken);
	if (c->findings && partners && taken) {
		for (size_t i = 0; i < base->finding_count; i++)
			partners[i] = NONE;
		pair_up(base, now, true, partners, taken);
		pair_up(base, now, false, partners, taken); /* lines move when a file is edited */
		add_all(c, base, now, partners, taken);
	}
	free(partners);
	free(taken);
	return c->findings && partners && taken ? 0 : sb_compare_no_memory();
}
