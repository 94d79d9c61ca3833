/* Predictions: find the stage and its knob, read or fit what one unit costs, sum up. */
#include "compare/whatif.h"

#include "base/error.h"
#include "compare/whatif_setting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOISE_LEAST 3 /* generations that tell how far they differ */

#define FIXED_MOST 0.5 /* of a stage, where one run does not tell its fixed part: RAFT had 0.43 */
#define DEVIATIONS 2
#define CURVE_NOISE 0.02 /* of a prediction beside the line: what a benchmark's mean differs by at least */
#define POINTS_MAX 256
#define AT_ONCE 0.01 /* beyond the time that is covered: several calls ran at the same time */

/* ---- fixed and per-unit parts ---------------------------------------------- */

struct point {
	double x, call_s; /* units; time of one call */
	double digit_s; /* to which the time was printed; 0: it was measured */
};

struct line {
	double fixed_s, each_s, deviation_s;
	double digit_s; /* the coarsest of the points; 0: they were measured */
	double least, most; /* x seen */
	size_t count, values; /* points; different x */
};

/* A larger batch makes fewer calls of the same work. A benchmark is one call: there it makes more work. */
static bool saves_calls(const struct sb_facts *run, const struct sb_knob *knob)
{
	return knob->law == SB_KNOB_BATCH && !run->of_means;
}

/* Where the number of calls matters, the inverse. */
static double unit_of(const struct sb_facts *run, const struct sb_knob *knob, double value)
{
	return saves_calls(run, knob) ? 1 / value : value;
}

static double per_call(const struct sb_fact_stage *s)
{
	return s->total_s / (s->count > 0 ? (double)s->count : 1);
}

/* Of the run's time: calls at the same time count once, and of requests at the same time only what the run
 * waits for. */
static double waited_s(const struct sb_facts *run, const struct sb_fact_stage *s)
{
	double s_all = s->in_turn_s > 0 ? fmin(s->in_turn_s, s->total_s) : s->total_s;

	return fmin(s_all, run->metrics[SB_METRIC_WALL]);
}

static double covered_s(const struct sb_facts *run, const struct sb_fact_stage *s)
{
	double s_all = s->covered_s > 0 ? fmin(s->covered_s, s->total_s) : s->total_s;

	return fmin(s_all, run->metrics[SB_METRIC_WALL]);
}

/* Other work goes on beside it: its own other calls, or another thread's. */
static bool is_at_once(const struct sb_facts *run, const struct sb_fact_stage *s)
{
	if (s->role == STROBE_ROLE_ITERATION && isnan(s->time.p95)) /* a sum, beside what it holds */
		return false;
	return !s->aside && (s->other_thread || s->total_s > waited_s(run, s) * (1 + AT_ONCE));
}

static double digit_of(const struct sb_facts *run)
{
	return run->digit_s > 0 ? run->digit_s : 0;
}

static void add_point(const struct sb_facts *run, const char *key, const struct sb_knob *knob,
	struct point *points, size_t *count)
{
	for (size_t i = 0; i < run->stage_count && *count < POINTS_MAX; i++) {
		const struct sb_fact_stage *s = &run->stages[i];
		double value;

		if (strcmp(s->key, key) || !sb_whatif_has_time(s) || sb_whatif_is_counted(s, knob))
			continue;
		value = sb_whatif_knob_of(run, s, knob);
		if (value > 0)
			points[(*count)++] = (struct point){ unit_of(run, knob, value), per_call(s),
				digit_of(run) };
		return;
	}
}

static struct line fit_line(const struct point *p, size_t count)
{
	struct line l = { .count = count, .least = INFINITY, .most = -INFINITY };
	double mean_x = 0, mean_s = 0, xx = 0, xs = 0, rest = 0;

	for (size_t i = 0; i < count; i++) {
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= p[k].x == p[i].x;
		l.values += !seen;
		l.least = fmin(l.least, p[i].x);
		l.most = fmax(l.most, p[i].x);
		l.digit_s = fmax(l.digit_s, p[i].digit_s);
		mean_x += p[i].x / (double)count;
		mean_s += p[i].call_s / (double)count;
	}
	if (l.values < 2)
		return l;
	for (size_t i = 0; i < count; i++) {
		xx += (p[i].x - mean_x) * (p[i].x - mean_x);
		xs += (p[i].x - mean_x) * (p[i].call_s - mean_s);
	}
	l.each_s = fmax(0, xs / xx);
	l.fixed_s = mean_s - l.each_s * mean_x;
	if (l.fixed_s < 0) { /* through nothing: no stage takes less */
		l.fixed_s = 0;
		l.each_s = mean_s / mean_x;
	}
	for (size_t i = 0; i < count; i++) {
		double off = p[i].call_s - l.fixed_s - l.each_s * p[i].x;

		rest += off * off;
	}
	l.deviation_s = count > 2 ? sqrt(rest / (double)(count - 2)) : 0;
	return l;
}

/* ---- one change ------------------------------------------------------------ */

/* What half a digit at the ends of a line makes at x: as much between them, more beyond. */
static double lever(const struct line *l, double x)
{
	double beyond = fmax(fmax(l->least - x, x - l->most), 0);

	return 1 + 2 * beyond / (l->most - l->least);
}

/* Two values fit a square as well as a line: what lies between the two is possible. */
static void allow_for_a_curve(
	struct sb_whatif_change *c, struct point *p, size_t count, double calls, double x)
{
	struct line square;
	double s;

	for (size_t i = 0; i < count; i++)
		p[i].x *= p[i].x;
	square = fit_line(p, count);
	s = (square.fixed_s + square.each_s * x * x) * calls;
	c->low_s = fmin(c->low_s, s * (1 - CURVE_NOISE));
	c->high_s = fmax(c->high_s, s * (1 + CURVE_NOISE));
	if (!c->note)
		c->note = "two values do not tell a line from a curve: the error allows for time that grows "
			  "with the square";
}

static void predict_fitted(struct sb_whatif_change *c, const struct line *l, double calls, double x)
{
	double s = (l->fixed_s + l->each_s * x) * calls, off = DEVIATIONS * l->deviation_s * calls;

	c->basis = SB_WHATIF_FITTED;
	c->fixed_s = l->fixed_s;
	c->each_s = l->each_s;
	c->point_count = (int64_t)l->count;
	c->extrapolates = x < l->least || x > l->most;
	c->predicted_s = s;
	off += l->digit_s / 2 * lever(l, x);
	if (l->count < 3) /* two points fit any line */
		off = fmax(off, fabs(s - c->base_s) * 0.1);
	c->low_s = fmax(0, s - off);
	c->high_s = s + off;
	if (c->extrapolates)
		c->note = "outside of the values that were measured";
}

/* Of one call. A table may have the extremes alone: no deviation is more than half of what is between them. */
static double deviation_of(const struct sb_stats *t)
{
	double most = (t->max - t->min) / 2;

	return !isnan(t->std) ? t->std : isnan(most) ? 0 : most;
}

/* Every step, iteration or call was timed on its own. */
static void predict_steps(struct sb_whatif_change *c, const struct sb_fact_stage *s, double digit_s)
{
	double ratio = c->then / c->now, count = (double)s->count * ratio;
	double off = DEVIATIONS * deviation_of(&s->time) * sqrt(count) * c->base_s / s->total_s +
		     digit_s / 2 * fmax(1, ratio);

	c->basis = SB_WHATIF_STEPS;
	c->each_s = s->time.mean;
	c->predicted_s = c->base_s * ratio;
	c->low_s = fmax(0, c->predicted_s - off);
	c->high_s = c->predicted_s + off;
}

/* One value: all of the stage scales, or all but a fixed part. */
static void predict_proportional(struct sb_whatif_change *c, double digit_s)
{
	double ratio = c->then / c->now, with_fixed = c->base_s * (FIXED_MOST + (1 - FIXED_MOST) * ratio);

	c->basis = SB_WHATIF_PROPORTIONAL;
	c->each_s = c->base_s / c->now;
	c->predicted_s = c->base_s * ratio;
	c->low_s = fmin(c->predicted_s, with_fixed);
	c->high_s = fmax(c->predicted_s, with_fixed);
	c->low_s = fmax(0, c->low_s - digit_s / 2 * ratio);
	c->high_s += digit_s / 2 * fmax(1, ratio);
	c->extrapolates = true;
	c->note = "one run does not show how much of the stage is fixed: the error allows for up to half";
}

/* Fewer calls save between nothing and their share. */
static void predict_range(struct sb_whatif_change *c)
{
	double scaled = c->base_s * c->now / c->then;

	c->basis = SB_WHATIF_RANGE;
	c->low_s = fmin(scaled, c->base_s);
	c->high_s = fmax(scaled, c->base_s);
	c->predicted_s = (c->low_s + c->high_s) / 2;
	c->extrapolates = true;
	c->note = "one run does not show what a call costs beside its items: predicted is the middle of the "
		  "limits";
}

/* What goes on beside it may be what the run waits for: then nothing changes. */
static void widen_at_once(struct sb_whatif_change *c)
{
	c->low_s = fmin(c->low_s, c->base_s);
	c->high_s = fmax(c->high_s, c->base_s);
	c->extrapolates = true;
	if (!c->note)
		c->note = "other work runs at the same time: where the run waits for that, nothing changes";
}

static void predict(const struct sb_facts *run, const struct sb_facts *const *others, size_t other_count,
	const struct sb_knob *knob, struct sb_whatif_change *c)
{
	const struct sb_fact_stage *s = &run->stages[c->stage_index];
	struct point points[POINTS_MAX];
	struct line line;
	size_t count = 0;

	add_point(run, s->key, knob, points, &count);
	for (size_t i = 0; i < other_count; i++)
		add_point(others[i], s->key, knob, points, &count);
	line = fit_line(points, count);
	if (sb_whatif_is_counted(s, knob)) {
		predict_steps(c, s, digit_of(run));
	} else if (line.values > 1) {
		double calls = (s->count > 0 ? (double)s->count : 1) * c->base_s / s->total_s;

		predict_fitted(c, &line, calls, unit_of(run, knob, c->then));
		if (line.values < 3 && knob->curved)
			allow_for_a_curve(c, points, count, calls, c->then);
	} else if (saves_calls(run, knob)) {
		predict_range(c);
	} else {
		predict_proportional(c, digit_of(run));
	}
	if (is_at_once(run, s))
		widen_at_once(c);
	if (s->state == SB_STAGE_OPEN)
		c->note = "it was still running when the recording ended: what it had left to do is in no "
			  "number";
}

/* ---- all of them ----------------------------------------------------------- */

static bool is_inside(const struct sb_facts *run, int64_t inner, int64_t outer)
{
	while (inner > outer)
		inner = run->stages[inner].parent;
	return inner == outer;
}

/* The same stage again scales what is left of it; the effect of a stage inside another one cannot be separated. */
static int combine(const struct sb_facts *run, struct sb_whatif *w, struct sb_whatif_change *c)
{
	for (size_t i = 0; i < w->change_count; i++) {
		const struct sb_whatif_change *before = &w->changes[i];

		if (before->stage_index == c->stage_index && before->key == c->key)
			return sb_fail(STROBE_EINVAL, "'%s' of '%s' is set twice", c->key, c->stage);
		if (before->stage_index == c->stage_index)
			c->base_s = before->predicted_s;
		else if (is_inside(run, c->stage_index, before->stage_index) ||
			 is_inside(run, before->stage_index, c->stage_index))
			return sb_fail(STROBE_EINVAL,
				"one of '%s' and '%s' is inside the other: change only one of them",
				before->stage, c->stage);
	}
	return 0;
}

static int add_change(const struct sb_facts *run, const struct sb_facts *const *others, size_t other_count,
	const char *text, struct sb_whatif *w)
{
	struct sb_whatif_change *c = &w->changes[w->change_count];
	const struct sb_fact_stage *s;
	struct sb_whatif_setting asked;
	double before_s;
	int err = sb_whatif_parse(text, &asked);

	if (err)
		return err;
	*c = (struct sb_whatif_change){ .stage_index = sb_whatif_find_stage(run, &asked),
		.key = asked.knob->key,
		.then = asked.value,
		.fixed_s = NAN,
		.each_s = NAN,
		.point_count = 1 };
	if (c->stage_index < 0)
		return STROBE_EINVAL;
	s = &run->stages[c->stage_index];
	c->stage = s->name;
	c->code = s->code;
	c->now = sb_whatif_knob_of(run, s, asked.knob);
	c->base_s = waited_s(run, s);
	before_s = c->base_s;
	err = combine(run, w, c);
	if (err)
		return err;
	if (c->base_s == before_s) {
		predict(run, others, other_count, asked.knob, c);
	} else { /* the second setting of one stage */
		predict_proportional(c, digit_of(run));
	}
	w->change_count++;
	return 0;
}

static bool is_in_generation(const struct sb_facts *run, int64_t stage)
{
	for (; stage >= 0; stage = run->stages[stage].parent)
		if (run->stages[stage].role == STROBE_ROLE_GENERATION)
			return true;
	return false;
}

/* The time of the run in which generations ran; 0: none. */
static double in_generations_s(const struct sb_facts *run)
{
	double sum_s = 0;

	for (size_t i = 0; i < run->stage_count; i++)
		if (run->stages[i].role == STROBE_ROLE_GENERATION && run->stages[i].total_s > 0 &&
			!is_in_generation(run, run->stages[i].parent))
			sum_s += covered_s(run, &run->stages[i]);
	return fmin(sum_s, run->metrics[SB_METRIC_WALL]);
}

/* Totals of two runs of n generations each differ by the square root of 2 n of what single ones do; twice
 * that is rarely exceeded. The first generation is warm-up and says nothing about the others. */
static void find_noise(const struct sb_facts *run, struct sb_whatif *w)
{
	size_t first = run->generation_count > NOISE_LEAST ? 1 : 0, count = run->generation_count - first;
	double mean_s = 0, squares = 0, sum_s = 0;

	w->noise_s = NAN;
	if (count < NOISE_LEAST)
		return;
	for (size_t i = first; i < run->generation_count; i++)
		mean_s += run->generation_s[i] / (double)count;
	for (size_t i = first; i < run->generation_count; i++)
		squares += (run->generation_s[i] - mean_s) * (run->generation_s[i] - mean_s);
	w->noise_s = 2 * sqrt(2 * (double)run->generation_count * squares / (double)(count - 1));
	for (size_t i = 0; i < run->generation_count; i++)
		sum_s += run->generation_s[i];
	if (in_generations_s(run) > 0 && in_generations_s(run) * (1 + AT_ONCE) < sum_s)
		w->noise_s *= in_generations_s(run) / sum_s; /* of those at the same time one counts */
	w->noise_count = (int64_t)count;
}

/* Frames come out of generations: what happens outside changes no rate. Without any, the whole run counts. */
static void find_rate(const struct sb_facts *run, struct sb_whatif *w)
{
	double now_s = in_generations_s(run), then_s, least_s = 0;
	bool has_generations = now_s > 0;

	w->fps = run->metrics[SB_METRIC_FPS];
	then_s = now_s = has_generations ? now_s : w->wall_s;
	for (size_t i = 0; i < w->change_count; i++) {
		const struct sb_whatif_change *c = &w->changes[i];

		if (has_generations && !is_in_generation(run, c->stage_index))
			continue;
		then_s += c->predicted_s - c->base_s;
		least_s = fmax(least_s, c->predicted_s);
	}
	then_s = fmax(then_s, least_s);
	w->predicted_fps = then_s > 0 ? w->fps * now_s / then_s : NAN;
}

static void sum_up(const struct sb_facts *run, struct sb_whatif *w)
{
	double least_s = 0; /* a run takes no less than any stage in it */
	bool frames_change = false;

	w->predicted_s = w->low_s = w->high_s = w->wall_s;
	for (size_t i = 0; i < w->change_count; i++) {
		const struct sb_whatif_change *c = &w->changes[i];

		w->predicted_s += c->predicted_s - c->base_s;
		w->low_s += c->low_s - c->base_s;
		w->high_s += c->high_s - c->base_s;
		w->extrapolates |= c->extrapolates;
		frames_change |= !strcmp(c->key, "frames") || (!strcmp(c->key, "batch") && run->of_means);
		least_s = fmax(least_s, c->predicted_s);
	}
	w->predicted_s = fmax(w->predicted_s, least_s);
	w->low_s = fmin(w->low_s, w->predicted_s);
	w->high_s = fmax(w->high_s, w->predicted_s);
	find_noise(run, w);
	if (w->noise_s > 0) {
		w->low_s -= w->noise_s;
		w->high_s += w->noise_s;
	}
	w->digit_s = run->digit_s;
	w->low_s -= digit_of(run); /* half of this total's, half of the other run's */
	w->high_s += digit_of(run);
	w->low_s = fmax(0, w->low_s);
	w->saved_s = w->wall_s - w->predicted_s;
	w->change_ratio = w->predicted_s / w->wall_s - 1;
	find_rate(run, w);
	if (frames_change)
		w->predicted_fps = NAN;
}

int sb_whatif(const struct sb_facts *run, const struct sb_facts *const *others, size_t other_count,
	const char *const *settings, size_t setting_count, struct sb_whatif **out_whatif)
{
	struct sb_whatif *w = calloc(1, sizeof *w);
	int err = 0;

	if (w)
		w->changes = calloc(setting_count + 1, sizeof *w->changes);
	if (!w || !w->changes) {
		sb_whatif_free(w);
		return sb_fail(STROBE_ENOMEM, "no memory for a prediction");
	}
	w->label = run->label;
	w->wall_s = run->metrics[SB_METRIC_WALL];
	if (!(w->wall_s > 0))
		err = sb_fail(STROBE_EINVAL, "'%s' has no total time to predict from", run->label);
	for (size_t i = 0; i < setting_count && !err; i++)
		err = add_change(run, others, other_count, settings[i], w);
	if (err) {
		sb_whatif_free(w);
		return err;
	}
	sum_up(run, w);
	*out_whatif = w;
	return 0;
}

void sb_whatif_free(struct sb_whatif *w)
{
	if (!w)
		return;
	free(w->changes);
	free(w);
}
