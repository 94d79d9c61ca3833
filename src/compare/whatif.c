/* Predictions: find the stage and its knob, read or fit what one unit costs, sum up. */
#include "compare/whatif.h"

#include "base/error.h"
#include "compare/whatif_line.h"
#include "compare/whatif_setting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIXED_MOST 0.5 /* of a stage, where one run does not tell its fixed part: RAFT had 0.43 */
#define SQUARE_MOST 0.5 /* of a stage with attention, where one run does not tell how it grows */
#define POINTS_MAX SB_WHATIF_RUNS_MAX
#define AT_ONCE 0.01 /* beyond the time that is covered: several calls ran at the same time */

/* What a prediction is made from. */
struct known {
	const struct sb_facts *run;
	const struct sb_facts *const *others;
	size_t other_count;
	struct sb_whatif_spread spread;
	struct sb_whatif_spread rest; /* of what does not change: as much as a fit shows */
};

/* ---- fixed and per-unit parts ---------------------------------------------- */

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
	struct sb_whatif_point *points, size_t *count)
{
	for (size_t i = 0; i < run->stage_count && *count < POINTS_MAX; i++) {
		const struct sb_fact_stage *s = &run->stages[i];
		double value;

		if (strcmp(s->key, key) || !sb_whatif_has_time(s) || sb_whatif_is_counted(s, knob))
			continue;
		value = sb_whatif_knob_of(run, s, knob);
		if (value > 0)
			points[(*count)++] = (struct sb_whatif_point){ unit_of(run, knob, value), per_call(s),
				digit_of(run) };
		return;
	}
}

/* ---- one change ------------------------------------------------------------ */

/* As many times faster as slower: a range never reaches nothing. */
static double less_by(double s, double off_s)
{
	return s > 0 ? s * s / (s + off_s) : 0;
}

static void widen(struct sb_whatif_change *c, double ratio)
{
	c->low_s /= 1 + ratio;
	c->high_s *= 1 + ratio;
}

static void reach(struct sb_whatif_change *c, const struct sb_whatif_line *l,
	const struct sb_whatif_spread *spread, double calls, double x)
{
	double s = sb_whatif_line_at(l, x) * calls;
	double off_s = sb_whatif_line_off(l, spread, x) * calls + l->digit_s / 2 * sb_whatif_line_lever(l, x);

	c->low_s = fmin(c->low_s, less_by(s, off_s));
	c->high_s = fmax(c->high_s, s + off_s);
}

/* Two values fit a square as well as a line: what lies between the two is possible. */
static void allow_for_a_curve(struct sb_whatif_change *c, struct sb_whatif_point *p, size_t count,
	const struct sb_whatif_spread *spread, double calls, double x)
{
	struct sb_whatif_line square;

	for (size_t i = 0; i < count; i++)
		p[i].x *= p[i].x;
	square = sb_whatif_line_fit(p, count);
	reach(c, &square, spread, calls, x * x);
	if (!c->note)
		c->note = "two values do not tell a line from a curve: the error allows for time that grows "
			  "with the square";
}

static void predict_fitted(struct sb_whatif_change *c, const struct sb_whatif_line *l,
	const struct sb_whatif_spread *spread, double calls, double x)
{
	c->basis = SB_WHATIF_FITTED;
	c->fixed_s = l->fixed_s;
	c->each_s = l->each_s;
	c->point_count = (int64_t)l->count;
	c->extrapolates = x < l->least || x > l->most;
	c->predicted_s = c->low_s = c->high_s = sb_whatif_line_at(l, x) * calls;
	reach(c, l, spread, calls, x);
	if (c->extrapolates)
		c->note = "outside of the values that were measured";
}

/* Of one call. A table may have the extremes alone: no deviation is more than half of what is between them. */
static double deviation_of(const struct sb_stats *t)
{
	double most = (t->max - t->min) / 2;

	return !isnan(t->std) ? t->std : isnan(most) ? 0 : most;
}

/* Every step, iteration or call was timed on its own. Their mean is known from so many, and the same number or
 * another one is drawn again. */
static void predict_steps(struct sb_whatif_change *c, const struct sb_fact_stage *s,
	const struct sb_whatif_spread *spread, double digit_s)
{
	double ratio = c->then / c->now, n = (double)s->count, mean_s = s->total_s / n;
	double deviation = deviation_of(&s->time) / mean_s;
	struct sb_whatif_spread each = sb_whatif_spread_join(*spread, deviation * deviation * (n - 1), n - 1);
	double inside = sb_student_t(each.freedom) * each.ratio * sqrt(1 / (n * ratio) + 1 / n);

	c->basis = SB_WHATIF_STEPS;
	c->each_s = s->time.mean;
	c->predicted_s = c->low_s = c->high_s = c->base_s * ratio;
	widen(c, hypot(inside, sb_whatif_apart(spread)));
	c->low_s = fmax(0, c->low_s - digit_s / 2 * ratio);
	c->high_s += digit_s / 2 * fmax(1, ratio);
}

/* One value: all of the stage scales, or all but a fixed part; with attention in it, a part with the square. */
static void predict_proportional(struct sb_whatif_change *c, bool curved, double digit_s)
{
	double ratio = c->then / c->now, with_fixed = FIXED_MOST + (1 - FIXED_MOST) * ratio;
	double with_square = curved ? ratio * (1 - SQUARE_MOST + SQUARE_MOST * ratio) : ratio;

	c->basis = SB_WHATIF_PROPORTIONAL;
	c->each_s = c->base_s / c->now;
	c->predicted_s = c->base_s * ratio;
	c->low_s = c->base_s * fmin(with_fixed, with_square);
	c->high_s = c->base_s * fmax(with_fixed, with_square);
	c->low_s = fmax(0, c->low_s - digit_s / 2 * ratio);
	c->high_s += digit_s / 2 * fmax(1, ratio);
	c->extrapolates = true;
	c->note = curved ? "one run does not show how the stage grows: the error allows for half of it to be "
			   "fixed, "
			   "or to grow with the square"
			 : "one run does not show how much of the stage is fixed: the error allows for up to "
			   "half";
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
static void widen_at_once(struct sb_whatif_change *c, double apart)
{
	c->low_s = fmin(c->low_s, c->base_s / (1 + apart));
	c->high_s = fmax(c->high_s, c->base_s * (1 + apart));
	c->extrapolates = true;
	if (!c->note)
		c->note = "other work runs at the same time: where the run waits for that, nothing changes";
}

static void take_spread(struct known *k, struct sb_whatif_spread left)
{
	if (sb_whatif_apart(&left) > sb_whatif_apart(&k->rest))
		k->rest = left;
}

static void predict(struct known *k, const struct sb_knob *knob, struct sb_whatif_change *c)
{
	const struct sb_facts *run = k->run;
	const struct sb_fact_stage *s = &run->stages[c->stage_index];
	struct sb_whatif_point points[POINTS_MAX];
	struct sb_whatif_line line;
	size_t count = 0;

	add_point(run, s->key, knob, points, &count);
	for (size_t i = 0; i < k->other_count; i++)
		add_point(k->others[i], s->key, knob, points, &count);
	line = sb_whatif_line_fit(points, count);
	if (sb_whatif_is_counted(s, knob)) {
		predict_steps(c, s, &k->spread, digit_of(run));
	} else if (line.values > 1) {
		double calls = (s->count > 0 ? (double)s->count : 1) * c->base_s / s->total_s;

		predict_fitted(c, &line, &k->spread, calls, unit_of(run, knob, c->then));
		take_spread(k, sb_whatif_line_spread(&line, &k->spread, unit_of(run, knob, c->then)));
		if (line.values < 3 && knob->curved)
			allow_for_a_curve(c, points, count, &k->spread, calls, c->then);
	} else {
		if (saves_calls(run, knob))
			predict_range(c);
		else
			predict_proportional(c, knob->curved, digit_of(run));
		widen(c, sb_whatif_apart(&k->spread));
	}
	if (is_at_once(run, s))
		widen_at_once(c, sb_whatif_apart(&k->spread));
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

static int add_change(struct known *k, const char *text, struct sb_whatif *w)
{
	const struct sb_facts *run = k->run;
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
		predict(k, asked.knob, c);
	} else { /* the second setting of one stage, whose first one holds how far runs differ */
		predict_proportional(c, asked.knob->curved, digit_of(run));
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

/* The time of the stages that change; of two settings of one stage the first has it. */
static double changed_s(const struct sb_whatif *w)
{
	double sum_s = 0;

	for (size_t i = 0; i < w->change_count; i++) {
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again |= w->changes[k].stage_index == w->changes[i].stage_index;
		sum_s += again ? 0 : w->changes[i].base_s;
	}
	return sum_s;
}

/* Runs differ as a whole: what does not change differs with what does. */
static void add_noise(const struct known *k, struct sb_whatif *w)
{
	double apart = sb_whatif_apart(&k->rest), rest_s = fmax(0, w->wall_s - changed_s(w));

	w->low_s -= rest_s - rest_s / (1 + apart);
	w->high_s += rest_s * apart;
	w->noise_s = w->predicted_s * apart;
	w->noise_ratio = apart;
	w->others_cpu_ratio = k->rest.others_ratio;
	w->noise_run_count = k->rest.run_count;
	w->noise_generation_count = k->rest.generation_count;
}

static void sum_up(const struct known *k, struct sb_whatif *w)
{
	const struct sb_facts *run = k->run;
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
	add_noise(k, w);
	w->low_s = fmin(w->low_s, w->predicted_s);
	w->high_s = fmax(w->high_s, w->predicted_s);
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
	struct known known = { .run = run, .others = others, .other_count = other_count };
	struct sb_whatif *w = calloc(1, sizeof *w);
	int err = 0;

	if (w)
		w->changes = calloc(setting_count + 1, sizeof *w->changes);
	if (!w || !w->changes) {
		sb_whatif_free(w);
		return sb_fail(STROBE_ENOMEM, "no memory for a prediction");
	}
	known.spread = known.rest = sb_whatif_spread_of(run, others, other_count);
	w->label = run->label;
	w->wall_s = run->metrics[SB_METRIC_WALL];
	if (!(w->wall_s > 0))
		err = sb_fail(STROBE_EINVAL, "'%s' has no total time to predict from", run->label);
	for (size_t i = 0; i < setting_count && !err; i++)
		err = add_change(&known, settings[i], w);
	if (err) {
		sb_whatif_free(w);
		return err;
	}
	sum_up(&known, w);
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
