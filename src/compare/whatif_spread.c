/* The spread of runs: from runs of equal settings, from the generations of one, and from a floor that was measured. */
#include "compare/whatif_spread.h"

#include "base/knob.h"

#include <math.h>
#include <string.h>

#define USUAL 0.03 /* deviation of a run, of its time: docs/whatif.md says where it was measured */
#define USUAL_FREEDOM 3 /* what that counts for beside runs of the program itself */
#define FULL_PERCENT 95 /* of the CPU: from here on programs wait for one another */
#define COMPUTES_PERCENT 5 /* of a core: a program that takes less waits for a device, not for the CPU */
#define BUSY 0.75 /* deviation of a run whose machine is full, times what others take of it */
#define GENERATIONS_LEAST 3 /* that tell how far they differ */

/* ---- runs of equal settings ------------------------------------------------ */

static bool is_same_number(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool is_same_value(const struct sb_pair *a, const struct sb_pair *b)
{
	if (strcmp(a->key, b->key) || a->type != b->type)
		return false;
	if (a->type == STROBE_TYPE_FLOAT)
		return is_same_number(a->f, b->f);
	return a->s && b->s ? !strcmp(a->s, b->s) : a->i == b->i;
}

/* Every knob that a carries has the same value in b. */
static bool has_knobs_of(const struct sb_fact_stage *a, const struct sb_fact_stage *b)
{
	for (size_t i = 0; i < a->attr_count; i++) {
		bool found = !sb_knob_find(a->attrs[i].key);

		for (size_t k = 0; k < b->attr_count && !found; k++)
			found = is_same_value(&a->attrs[i], &b->attrs[k]);
		if (!found)
			return false;
	}
	return true;
}

static bool is_same_stage(const struct sb_fact_stage *a, const struct sb_fact_stage *b)
{
	return !strcmp(a->key, b->key) && a->count == b->count && has_knobs_of(a, b) && has_knobs_of(b, a);
}

static bool has_stage(const struct sb_facts *run, size_t expected_at, const struct sb_fact_stage *s)
{
	if (is_same_stage(&run->stages[expected_at], s))
		return true;
	for (size_t i = 0; i < run->stage_count; i++)
		if (is_same_stage(&run->stages[i], s))
			return true;
	return false;
}

static bool is_same_setting(const struct sb_facts *a, const struct sb_facts *b)
{
	if (a->stage_count != b->stage_count || strcmp(a->host, b->host) ||
		!(b->metrics[SB_METRIC_WALL] > 0) ||
		!is_same_number(a->metrics[SB_METRIC_GENERATIONS], b->metrics[SB_METRIC_GENERATIONS]) ||
		!is_same_number(a->metrics[SB_METRIC_FRAMES], b->metrics[SB_METRIC_FRAMES]))
		return false;
	for (size_t i = 0; i < a->stage_count; i++)
		if (!has_stage(b, i, &a->stages[i]))
			return false;
	return true;
}

struct repeats {
	double squares, freedom; /* of times, of their mean */
	int64_t run_count;
};

/* Adds the group of all[first]; a run that an earlier one is like was in that one's. */
static void add_group(const struct sb_facts *const *all, size_t count, size_t first, struct repeats *r)
{
	double mean_s = 0, squares = 0;
	size_t like = 0;

	for (size_t i = 0; i < first; i++)
		if (is_same_setting(all[i], all[first]))
			return;
	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = first; i < count; i++) {
			double s = all[i]->metrics[SB_METRIC_WALL];

			if (!is_same_setting(all[first], all[i]))
				continue;
			if (pass)
				squares += (s / mean_s - 1) * (s / mean_s - 1);
			else
				mean_s += s, like++;
		}
		mean_s = pass ? mean_s : mean_s / (double)like;
	}
	if (like < 2)
		return;
	r->squares += squares;
	r->freedom += (double)(like - 1);
	r->run_count += (int64_t)like;
}

/* ---- inside one run --------------------------------------------------------- */

/* Totals of n generations differ by the square root of n of what single ones do. The first one is warm-up and says
 * nothing about the others. */
static double of_generations(const struct sb_facts *run, int64_t *out_count)
{
	size_t first = run->generation_count > GENERATIONS_LEAST ? 1 : 0,
	       count = run->generation_count - first;
	double mean_s = 0, squares = 0;

	if (count < GENERATIONS_LEAST)
		return 0;
	for (size_t i = first; i < run->generation_count; i++)
		mean_s += run->generation_s[i] / (double)count;
	for (size_t i = first; i < run->generation_count; i++)
		squares += (run->generation_s[i] - mean_s) * (run->generation_s[i] - mean_s);
	*out_count = (int64_t)count;
	return sqrt(squares / (double)(count - 1) / (double)run->generation_count) / mean_s;
}

/* Where the CPU is full, a run takes as long as the others let it. */
static double of_others(const struct sb_facts *run)
{
	bool waits = run->metrics[SB_METRIC_CPU] >= FULL_PERCENT &&
		     run->metrics[SB_METRIC_PROCESS_CPU] >= COMPUTES_PERCENT;

	return waits && run->others_cpu_ratio > 0 ? run->others_cpu_ratio : 0;
}

/* ---- both -------------------------------------------------------------------- */

struct sb_whatif_spread sb_whatif_spread_join(struct sb_whatif_spread s, double squares, double freedom)
{
	s.ratio = sqrt((s.ratio * s.ratio * s.freedom + squares) / (s.freedom + freedom));
	s.freedom += freedom;
	return s;
}

struct sb_whatif_spread sb_whatif_spread_of(
	const struct sb_facts *run, const struct sb_facts *const *others, size_t other_count)
{
	struct sb_whatif_spread s = { .freedom = USUAL_FREEDOM };
	const struct sb_facts *all[SB_WHATIF_RUNS_MAX] = { run };
	struct repeats repeats = { 0 };
	size_t count = 1;

	for (size_t i = 0; i < other_count && count < SB_WHATIF_RUNS_MAX; i++)
		all[count++] = others[i];
	for (size_t i = 0; i < count; i++)
		add_group(all, count, i, &repeats);
	s.others_ratio = of_others(run);
	s.ratio = hypot(hypot(USUAL, BUSY * s.others_ratio), of_generations(run, &s.generation_count));
	s.run_count = repeats.run_count;
	return sb_whatif_spread_join(s, repeats.squares, repeats.freedom);
}

double sb_whatif_apart(const struct sb_whatif_spread *s)
{
	return sb_student_t(s->freedom) * sqrt(2) * s->ratio;
}
