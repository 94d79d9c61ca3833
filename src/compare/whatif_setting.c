/* Settings as they are typed, and the stage each is about: by code, by name, by a part of it. */
#include "compare/whatif_setting.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- what was asked for ---------------------------------------------------- */

int sb_whatif_parse(const char *text, struct sb_whatif_setting *out)
{
	const char *equals = strchr(text, '='), *dot = equals;
	char key[64];
	char *end;

	while (dot && dot > text && *dot != '.')
		dot--;
	if (!equals || dot == text || *dot != '.' || (size_t)(dot - text) >= sizeof out->stage ||
		(size_t)(equals - dot) >= sizeof key)
		return sb_fail(STROBE_EINVAL, "'%s' is not STAGE.SETTING=NUMBER, as in 3b.iters=8", text);
	snprintf(out->stage, sizeof out->stage, "%.*s", (int)(dot - text), text);
	snprintf(key, sizeof key, "%.*s", (int)(equals - dot - 1), dot + 1);
	out->knob = sb_knob_find(key);
	if (!out->knob)
		return sb_fail(STROBE_EINVAL,
			"'%s' in '%s' is not a setting that changes the time: iters, steps, frames, tokens, "
			"batch, width, "
			"height",
			key, text);
	if (out->knob->law == SB_KNOB_OTHER)
		return sb_fail(STROBE_EINVAL,
			"one run does not show how '%s' changes the time: measure it with 'strobe bench "
			"--sweep "
			"%s=...'",
			key, key);
	out->value = strtod(equals + 1, &end);
	if (end == equals + 1 || *end || !(out->value > 0) || !isfinite(out->value))
		return sb_fail(STROBE_EINVAL, "'%s' needs a number above 0 after '='", text);
	return 0;
}

/* ---- the stage ------------------------------------------------------------- */

static double attr(const struct sb_fact_stage *s, const char *key)
{
	for (size_t i = 0; i < s->attr_count; i++) {
		const struct sb_pair *p = &s->attrs[i];

		if (strcmp(p->key, key))
			continue;
		if (p->type == STROBE_TYPE_FLOAT)
			return p->f;
		return p->type == STROBE_TYPE_INT ? (double)p->i : NAN;
	}
	return NAN;
}

static double generations(const struct sb_facts *run)
{
	double n = run->metrics[SB_METRIC_GENERATIONS];

	return n >= 1 ? n : 1;
}

/* How often the loop ran: once in a block, else once in a video; of calls and iterations, once in a call of
 * the stage around them. */
static double chains(const struct sb_facts *run, const struct sb_fact_stage *steps)
{
	if (steps->role != STROBE_ROLE_STEP && steps->parent >= 0 && run->stages[steps->parent].count > 0)
		return (double)run->stages[steps->parent].count;
	for (int64_t i = steps->parent; i >= 0; i = run->stages[i].parent)
		if (run->stages[i].role == STROBE_ROLE_BLOCK && run->stages[i].count > 0)
			return (double)run->stages[i].count;
	return generations(run);
}

/* The recording's end cut its last loop off. */
static bool is_cut(const struct sb_facts *run, const struct sb_fact_stage *s)
{
	bool open = s->state == SB_STAGE_OPEN;

	for (int64_t i = s->parent; i >= 0 && !open; i = run->stages[i].parent)
		open = run->stages[i].state == SB_STAGE_OPEN;
	return open;
}

/* A knob that says how often something is repeated. */
static bool counts_turns(const struct sb_knob *knob)
{
	return !strcmp(knob->key, "steps") || !strcmp(knob->key, "iters");
}

static bool is_turn(const struct sb_fact_stage *s)
{
	return s->role == STROBE_ROLE_STEP || s->role == STROBE_ROLE_ITERATION;
}

bool sb_whatif_is_counted(const struct sb_fact_stage *s, const struct sb_knob *knob)
{
	if (!counts_turns(knob) || (attr(s, knob->key) > 0 && s->role != STROBE_ROLE_STEP))
		return false;
	return is_turn(s) || (s->count > 1 && !s->is_mean);
}

double sb_whatif_knob_of(
	const struct sb_facts *run, const struct sb_fact_stage *s, const struct sb_knob *knob)
{
	double value = attr(s, knob->key);

	if (value > 0)
		return value;
	if (!sb_whatif_is_counted(s, knob))
		return NAN;
	if (s->role == STROBE_ROLE_STEP && is_cut(run, s) && run->steps_per_chain > 0)
		return (double)run->steps_per_chain;
	return (double)s->count / chains(run, s);
}

/* How well the name fits: 3 the code, 2 the name, 1 a part of it. */
static int fit_of(const struct sb_fact_stage *s, const char *name)
{
	if (s->code && !strcasecmp(s->code, name))
		return 3;
	return !strcasecmp(s->name, name) ? 2 : strcasestr(s->name, name) ? 1 : 0;
}

/* The steps or iterations inside a stage that does not count them itself. */
static int64_t turns_inside(const struct sb_facts *run, int64_t outer)
{
	for (size_t i = (size_t)outer + 1;
		i < run->stage_count && run->stages[i].depth > run->stages[outer].depth; i++)
		if (is_turn(&run->stages[i]))
			return (int64_t)i;
	return -1;
}

static void not_found(const struct sb_facts *run, const struct sb_whatif_setting *asked, bool named)
{
	if (named && run->of_means)
		sb_fail(STROBE_EINVAL,
			"the benchmark of '%s' does not say its '%s': print 'Clip: batch=1, frames=16, "
			"256x256' below "
			"its times",
			run->label, asked->knob->key);
	else if (named)
		sb_fail(STROBE_EINVAL,
			"no stage '%s' of '%s' carries '%s': record it as an attribute "
			"(strobe.section(..., %s=N)) or in its label",
			asked->stage, run->label, asked->knob->key, asked->knob->key);
	else
		sb_fail(STROBE_EINVAL, "'%s' has no stage '%s': give a code or a part of a name", run->label,
			asked->stage);
}

/* The stage that the setting is about: itself, or the turns inside. What is only called several times comes
 * last: out_fit is then the smaller. -1: none. */
static int64_t carrier(
	const struct sb_facts *run, int64_t named, const struct sb_whatif_setting *asked, int *out_fit)
{
	const struct sb_fact_stage *s = &run->stages[named];
	bool counts = counts_turns(asked->knob);
	int64_t inside = counts && !is_turn(s) ? turns_inside(run, named) : -1;

	*out_fit = 2 * fit_of(s, asked->stage) + 1;
	if (attr(s, asked->knob->key) > 0 || (counts && is_turn(s)))
		return named;
	if (inside >= 0 && sb_whatif_has_time(&run->stages[inside]))
		return inside;
	*out_fit -= 1;
	return sb_whatif_is_counted(s, asked->knob) ? named : -1;
}

int64_t sb_whatif_find_stage(const struct sb_facts *run, const struct sb_whatif_setting *asked)
{
	int64_t best = -1;
	int best_fit = 0;
	bool named = false;

	for (size_t i = 0; i < run->stage_count; i++) {
		const struct sb_fact_stage *s = &run->stages[i];
		int fit = fit_of(s, asked->stage);
		int64_t found;

		named |= fit > 0;
		if (!fit || !sb_whatif_has_time(s))
			continue;
		found = carrier(run, (int64_t)i, asked, &fit);
		if (found < 0 || !(sb_whatif_knob_of(run, &run->stages[found], asked->knob) > 0))
			continue;
		if (fit > best_fit ||
			(fit == best_fit && run->stages[found].total_s > run->stages[best].total_s)) {
			best = found;
			best_fit = fit;
		}
	}
	if (best < 0)
		not_found(run, asked, named);
	return best;
}
