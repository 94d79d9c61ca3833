/* Compares two sides: metrics here, stages in stage_changes.c, settings in setting_changes.c. Why they
 * differ is in explain.c, whether that fails a check in gate.c. */
#include "compare/compare.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sb_compare_no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory to compare the runs");
}

void sb_stage_label(const char *code, const char *name, char *out, size_t size)
{
	if (code && *code)
		snprintf(out, size, "[%s] %s", code, name);
	else
		snprintf(out, size, "%s", name);
}

int sb_comparison_say(char ***list, size_t *count, const char *format, ...)
{
	char **grown = realloc(*list, (*count + 1) * sizeof *grown);
	va_list args;
	int size;

	if (!grown)
		return sb_compare_no_memory();
	*list = grown;
	va_start(args, format);
	size = vasprintf(&grown[*count], format, args);
	va_end(args);
	if (size < 0)
		return sb_compare_no_memory();
	++*count;
	return 0;
}

double sb_compare_median(const double *values, size_t count)
{
	struct sb_stats s;

	return count && !sb_stats_of(values, count, &s) ? s.median : NAN;
}

/* ---- metrics ------------------------------------------------------------ */

/* What a run has in all of the generations' own: shared out where one generation is compared. */
static bool is_of_generations(enum sb_metric metric)
{
	return metric == SB_METRIC_UNATTRIBUTED || metric == SB_METRIC_ENERGY ||
	       metric == SB_METRIC_COLLECTIVE || metric == SB_METRIC_OFFLOAD;
}

/* What grows with the run, and start-up with it. */
static bool is_of_run(enum sb_metric metric)
{
	return metric == SB_METRIC_WALL || metric == SB_METRIC_GPU_IDLE || metric == SB_METRIC_COPIES ||
	       metric == SB_METRIC_COMMUNICATION;
}

static double metric_of_run(const struct sb_comparison *c, const struct sb_facts *run, enum sb_metric metric)
{
	double value = run->metrics[metric];

	if (!c->per_generation || !is_of_generations(metric))
		return value;
	if (metric == SB_METRIC_UNATTRIBUTED)
		value = run->generation_unattributed_s;
	return value / sb_facts_generations(run);
}

/* One value per run that has it; with one run a side, its repetitions. */
static size_t metric_values(const struct sb_comparison *c, const struct sb_facts *const *runs, size_t count,
	enum sb_metric metric, double *out, const double **out_values)
{
	bool alone = c->base_count == 1 && c->now_count == 1;
	size_t n = 0;

	*out_values = out;
	if (alone && metric == SB_METRIC_GENERATION && runs[0]->generation_count) {
		*out_values = runs[0]->generation_s;
		return runs[0]->generation_count;
	}
	if (alone && metric == SB_METRIC_STEP && runs[0]->step_count) {
		*out_values = runs[0]->step_s;
		return runs[0]->step_count;
	}
	for (size_t i = 0; i < count; i++)
		if (!isnan(metric_of_run(c, runs[i], metric)))
			out[n++] = metric_of_run(c, runs[i], metric);
	return n;
}

static bool is_rate(enum sb_metric metric)
{
	return metric == SB_METRIC_FPS || metric == SB_METRIC_FPS_COMPUTE || metric == SB_METRIC_BPS;
}

/* The same number of frames in each generation: the rate is the generation's time the other way
 * round, and its repetitions are that time's. */
static bool frames_are_alike(const struct sb_comparison *c)
{
	const struct sb_facts *b = c->base[0], *n = c->now[0];
	double base = b->metrics[SB_METRIC_FRAMES] / sb_facts_generations(b);
	double now = n->metrics[SB_METRIC_FRAMES] / sb_facts_generations(n);

	return base > 0 && fabs(now - base) < 1e-3 * base;
}

/* Frames/s of compute that moved as frames/s end to end did are one fact with them. */
static const struct sb_metric_change *same_rate(
	const struct sb_comparison *c, const struct sb_metric_change *m)
{
	for (size_t i = 0; i < c->metric_count; i++) {
		const struct sb_metric_change *fps = &c->metrics[i];

		if (fps->metric == SB_METRIC_FPS && fps->base > 0 && m->base > 0 &&
			fabs(m->now / m->base - fps->now / fps->base) < c->tolerance.ratio)
			return fps;
	}
	return NULL;
}

/* A rate is one number a side: where generations repeat, it is no better proved than they are. */
static void judge_rate(const struct sb_comparison *c, struct sb_metric_change *m)
{
	const struct sb_judgement *j = &c->total.judgement;
	const struct sb_metric_change *fps = same_rate(c, m);

	if (c->total.metric != SB_METRIC_GENERATION || j->basis != SB_BASIS_RANK_TEST ||
		isnan(c->total.base) || !frames_are_alike(c))
		return;
	if (m->metric == SB_METRIC_FPS) {
		m->judgement = *j;
		m->judgement.base = m->base;
		m->judgement.now = m->now;
		m->judgement.effect = 1 - j->effect;
		m->judgement.shift_ratio = 1 / j->shift_ratio;
		m->judgement.interval.low = 1 / j->interval.high;
		m->judgement.interval.high = 1 / j->interval.low;
		m->verdict = j->verdict;
		/* a few slow generations can turn the rate of all of them against their median */
		if (m->verdict != SB_VERDICT_SAME && (m->now < m->base) != (c->total.now > c->total.base))
			m->verdict = m->judgement.verdict = SB_VERDICT_UNCERTAIN;
	} else if (fps) {
		m->judgement = fps->judgement;
		m->judgement.base = m->base;
		m->judgement.now = m->now;
		m->verdict = fps->verdict;
	} else if (m->verdict != SB_VERDICT_SAME && j->verdict != m->verdict) {
		m->verdict = m->judgement.verdict = SB_VERDICT_UNCERTAIN;
	}
}

enum sb_few sb_compare_few_of_generations(const struct sb_comparison *c)
{
	bool of_generations = c->per_generation && c->base_count == 1 && c->now_count == 1;

	return of_generations && c->total.judgement.basis != SB_BASIS_TOO_FEW ? SB_FEW_BY_TOLERANCE
									      : c->tolerance.few;
}

void sb_compare_count_generations(const struct sb_comparison *c, struct sb_judgement *j)
{
	if (!c->per_generation || j->basis != SB_BASIS_TOO_FEW)
		return;
	j->base_count = c->total.judgement.base_count;
	j->now_count = c->total.judgement.now_count;
}

static bool is_neutral(const struct sb_comparison *c, const struct sb_metric_change *m)
{
	/* beside generations a total only adds start-up and what was between them */
	return sb_metric_infos[m->metric].sense == SB_NEUTRAL || m->unlike ||
	       (c->per_generation && is_of_run(m->metric));
}

/* Each run has many of them. */
static bool is_repeated(enum sb_metric metric)
{
	return metric == SB_METRIC_GENERATION || metric == SB_METRIC_STEP;
}

/* How many a median stands for where the single times were not kept, as of a run in the history. */
static double behind_median(const struct sb_facts *run, enum sb_metric metric)
{
	size_t kept = metric == SB_METRIC_STEP ? run->step_count : run->generation_count;

	return kept ? (double)kept
		    : run->metrics[metric == SB_METRIC_STEP ? SB_METRIC_STEPS : SB_METRIC_GENERATIONS];
}

static enum sb_few few_of_medians(const struct sb_comparison *c, enum sb_metric metric)
{
	double needed = (double)sb_judge_count_needed(c->tolerance.alpha);
	bool enough = c->base_count == 1 && c->now_count == 1 &&
		      behind_median(c->base[0], metric) >= needed &&
		      behind_median(c->now[0], metric) >= needed;

	return enough ? SB_FEW_BY_TOLERANCE : c->tolerance.few;
}

static int judge_metric(const struct sb_comparison *c, enum sb_metric metric, double *scratch,
	struct sb_metric_change *out_change)
{
	const struct sb_metric_info *info = &sb_metric_infos[metric];
	const double *base, *now;
	size_t base_count = metric_values(c, c->base, c->base_count, metric, scratch, &base);
	size_t now_count = metric_values(c, c->now, c->now_count, metric, scratch + c->base_count, &now);
	struct sb_metric_change m = { .metric = metric,
		.per_generation = c->per_generation && is_of_generations(metric),
		.unlike = c->unlike_generations && is_of_run(metric),
		.base = sb_compare_median(base, base_count),
		.now = sb_compare_median(now, now_count) };
	struct sb_tolerance t = c->tolerance;
	int err = 0;

	/* neutral ones are judged by nothing: they changed, or not */
	t.few = is_neutral(c, &m)     ? SB_FEW_BY_TOLERANCE
		: is_repeated(metric) ? few_of_medians(c, metric)
				      : sb_compare_few_of_generations(c);
	t.absolute = !strcmp(info->unit, "s") && metric != SB_METRIC_STEP ? c->tolerance.absolute
									  : info->least_change;
	if (base_count && now_count) {
		err = sb_judge(base, base_count, now, now_count, &t, info->sense != SB_HIGHER_IS_BETTER,
			&m.judgement);
		if (!is_repeated(metric))
			sb_compare_count_generations(c, &m.judgement);
		m.verdict = m.judgement.verdict;
		if (is_rate(metric))
			judge_rate(c, &m);
		if (is_neutral(c, &m) && (m.verdict == SB_VERDICT_WORSE || m.verdict == SB_VERDICT_BETTER))
			m.verdict = SB_VERDICT_CHANGED;
	} else if (base_count) {
		m.verdict = SB_VERDICT_VANISHED;
	} else {
		m.verdict = SB_VERDICT_APPEARED;
	}
	*out_change = m;
	return err;
}

double sb_facts_generations(const struct sb_facts *run)
{
	return run->metrics[SB_METRIC_GENERATIONS];
}

/* Whether every run made generations that can be timed, and whether all made as many. */
static bool have_generations(const struct sb_comparison *c, bool *out_unlike)
{
	double first = sb_facts_generations(c->base[0]);

	*out_unlike = false;
	for (size_t i = 0; i < c->base_count + c->now_count; i++) {
		const struct sb_facts *run = i < c->base_count ? c->base[i] : c->now[i - c->base_count];

		if (!(sb_facts_generations(run) > 0) || isnan(run->metrics[SB_METRIC_GENERATION]))
			return false;
		*out_unlike |= sb_facts_generations(run) != first;
	}
	return true;
}

/* One generation is what is compared where totals are of unlike runs, or where it is repeated,
 * in one run a side or by several: start-up then does not blur it. Two or three are too few to
 * judge, and said to be: a total would pass for one value. */
static void choose_headline(struct sb_comparison *c)
{
	bool alone = c->base_count == 1 && c->now_count == 1, unlike;
	size_t base = alone ? c->base[0]->generation_count : c->base_count;
	size_t now = alone ? c->now[0]->generation_count : c->now_count;

	if (!have_generations(c, &unlike))
		return;
	c->unlike_generations = unlike;
	c->per_generation = unlike || (base >= 2 && now >= 2);
}

/* Does anything that can be counted repeat? Then what is there only once proves nothing, in no row. */
static void choose_few(struct sb_comparison *c)
{
	bool repeated = c->per_generation || c->base_count > 1 || c->now_count > 1;

	c->tolerance.few = repeated ? SB_FEW_PROVE_NOTHING : SB_FEW_BY_TOLERANCE;
}

static int compare_metrics(struct sb_comparison *c)
{
	double *scratch = malloc((c->base_count + c->now_count + 1) * sizeof *scratch);
	enum sb_metric headline;
	int err = 0;

	if (!scratch)
		return sb_compare_no_memory();
	choose_headline(c);
	choose_few(c);
	headline = c->per_generation ? SB_METRIC_GENERATION : SB_METRIC_WALL;
	err = judge_metric(c, headline, scratch, &c->total); /* other rows rest on it */
	for (int i = 0; i < SB_METRIC_COUNT && !err; i++) {
		struct sb_metric_change m;

		if ((enum sb_metric)i == headline)
			continue;
		err = judge_metric(c, (enum sb_metric)i, scratch, &m);
		if (err || (isnan(m.base) && isnan(m.now)))
			continue;
		/* not kept of runs in the history: no metric of the program went missing */
		if (i == SB_METRIC_UNATTRIBUTED && m.per_generation && (isnan(m.base) || isnan(m.now)))
			continue;
		c->metrics[c->metric_count++] = m;
	}
	free(scratch);
	if (!err && isnan(c->total.base) && isnan(c->total.now))
		err = sb_fail(STROBE_EFORMAT, "neither '%s' nor '%s' has a total time", c->base[0]->label,
			c->now[0]->label);
	return err;
}

static bool all_of_means(const struct sb_facts *const *runs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!runs[i]->of_means)
			return false;
	return count > 0;
}

/* ---- the whole ---------------------------------------------------------- */

int sb_compare(const struct sb_facts *const *base, size_t base_count, const struct sb_facts *const *now,
	size_t now_count, const struct sb_compare_options *options, struct sb_comparison **out_comparison)
{
	struct sb_comparison *c = calloc(1, sizeof *c);
	int err;

	if (!c)
		return sb_compare_no_memory();
	c->base = base;
	c->now = now;
	c->base_count = base_count;
	c->now_count = now_count;
	c->tolerance = options->tolerance.alpha > 0 ? options->tolerance : sb_tolerance_default;
	if (all_of_means(base, base_count) && all_of_means(now, now_count))
		c->tolerance.absolute = 0;
	c->total.base = c->total.now = NAN;
	c->metrics = calloc(SB_METRIC_COUNT, sizeof *c->metrics);
	err = c->metrics ? compare_metrics(c) : sb_compare_no_memory();
	if (!err)
		err = sb_compare_stages(c);
	if (!err)
		err = sb_compare_jobs(c);
	if (!err)
		err = sb_compare_pairs(c);
	if (!err)
		err = sb_compare_attrs(c);
	if (!err)
		err = sb_compare_outputs(c, options);
	if (!err)
		err = sb_compare_findings(c);
	if (!err)
		err = sb_compare_overlap(c);
	if (!err)
		err = sb_compare_explain(c);
	if (!err)
		err = sb_compare_gate(c, options);
	if (!err)
		err = sb_compare_name_runs(c);
	if (!err)
		err = sb_changes_describe(c);
	if (err) {
		sb_comparison_free(c);
		return err;
	}
	*out_comparison = c;
	return 0;
}

void sb_comparison_free(struct sb_comparison *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->explanation_count; i++)
		free(c->explanations[i]);
	for (size_t i = 0; i < c->failure_count; i++)
		free(c->failures[i]);
	for (size_t i = 0; i < c->run_count; i++)
		free(c->runs[i].tags);
	free(c->runs);
	for (size_t i = 0; i < c->output_count; i++)
		sb_output_change_done(&c->outputs[i]);
	free(c->outputs);
	free(c->findings);
	free(c->metrics);
	free(c->base_labels);
	free(c->now_labels);
	free(c->explanations);
	free(c->failures);
	free(c->stages);
	free(c->settings);
	free(c->jobs.stragglers);
	sb_strings_done(&c->strings);
	free(c);
}
