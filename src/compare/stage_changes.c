/* The stages of two sides, matched by key, judged on single calls, one generation or totals. */
#include "compare/compare.h"

#include "base/error.h"
#include "base/map.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

/* The stages of one side under one key, over its runs; of one generation where the
 * comparison is of that. */
struct side {
	const struct sb_fact_stage *any;
	const struct sb_facts *run; /* whose it is */
	double *total_s, *self_s, *count; /* one per run; NaN: not there */
	bool inside; /* of generations */
};

struct row {
	uint32_t key;
	struct side base, now;
};

struct rows {
	struct row *all;
	size_t count, capacity;
	struct sb_map by_key;
	double *numbers;
};

static struct row *row_of(struct sb_comparison *c, struct rows *rows, const char *key)
{
	uint32_t number = sb_strings_add(&c->strings, key, strlen(key)), index;

	if (sb_map_get(&rows->by_key, number, &index))
		return &rows->all[index];
	if (!SB_MAKE_ROOM(rows->all, rows->count, rows->capacity))
		return NULL;
	if (!sb_map_put(&rows->by_key, number, (uint32_t)rows->count))
		return NULL;
	rows->all[rows->count] = (struct row){ .key = number };
	return &rows->all[rows->count++];
}

static void add_to(double *sum, double value)
{
	if (!isnan(value))
		*sum = (isnan(*sum) ? 0 : *sum) + value;
}

bool sb_compare_is_inside(const struct sb_facts *run, const struct sb_fact_stage *s)
{
	while (s->role != STROBE_ROLE_GENERATION && s->parent >= 0)
		s = &run->stages[s->parent];
	return s->role == STROBE_ROLE_GENERATION;
}

double sb_compare_share_of_run(
	const struct sb_comparison *c, const struct sb_facts *run, const struct sb_fact_stage *s)
{
	return c->per_generation && sb_compare_is_inside(run, s) ? 1 / sb_facts_generations(run) : 1;
}

static int collect(struct sb_comparison *c, struct rows *rows, const struct sb_facts *const *runs,
	size_t runs_count, bool is_base)
{
	for (size_t r = 0; r < runs_count; r++)
		for (size_t i = 0; i < runs[r]->stage_count; i++) {
			const struct sb_fact_stage *s = &runs[r]->stages[i];
			struct row *row = row_of(c, rows, s->key);
			struct side *side = !row ? NULL : is_base ? &row->base : &row->now;
			double share = sb_compare_share_of_run(c, runs[r], s);

			if (!row)
				return sb_compare_no_memory();
			if (!side->any) {
				side->total_s = malloc(3 * runs_count * sizeof *side->total_s);
				if (!side->total_s)
					return sb_compare_no_memory();
				side->self_s = side->total_s + runs_count;
				side->count = side->self_s + runs_count;
				for (size_t k = 0; k < 3 * runs_count; k++)
					side->total_s[k] = NAN;
			}
			if (!side->any || (isnan(side->any->total_s) && !isnan(s->total_s))) {
				side->any = s;
				side->run = runs[r];
			}
			side->inside = sb_compare_is_inside(runs[r], s);
			add_to(&side->total_s[r], s->total_s * share);
			add_to(&side->self_s[r], s->self_s * share);
			add_to(&side->count[r], (double)s->count * share);
		}
	return 0;
}

static size_t squeeze(const double *values, size_t count, double *out)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (!isnan(values[i]))
			out[n++] = values[i];
	return n;
}

static double side_median(const struct side *s, const double *values, size_t runs, double *scratch)
{
	return s->any ? sb_compare_median(scratch, squeeze(values, runs, scratch)) : NAN;
}

/* Calls that can be tested one by one: those of one run a side. */
static bool have_calls(const struct sb_comparison *c, const struct row *row)
{
	size_t needed = sb_judge_count_needed(c->tolerance.alpha);

	return c->base_count == 1 && c->now_count == 1 && !c->base[0]->ranks == !c->now[0]->ranks &&
	       row->base.any->value_count >= needed && row->now.any->value_count >= needed;
}

static size_t per_call(const struct side *side, size_t runs, double *out)
{
	size_t n = 0;

	for (size_t i = 0; i < runs; i++)
		if (!isnan(side->total_s[i]) && side->count[i] > 0)
			out[n++] = side->total_s[i] / side->count[i];
	return n;
}

static bool spread_known(const struct sb_stats *t, int64_t least)
{
	return t->count >= least && !isnan(t->std);
}

/* Of calls that were not kept only mean and spread are known. A few slow ones make a total, and prove
 * nothing: two standard errors must lie between the means. */
static bool inside_spread(const struct sb_stats *b, const struct sb_stats *n)
{
	if (!spread_known(b, 2) || !spread_known(n, 2))
		return false;
	return fabs(n->mean - b->mean) <
	       2 * sqrt(b->std * b->std / (double)b->count + n->std * n->std / (double)n->count);
}

/* The spread of as many calls as a test needs proves what the calls themselves would, milliseconds too. */
static bool spread_judges(const struct sb_comparison *c, const struct row *row)
{
	int64_t needed = (int64_t)sb_judge_count_needed(c->tolerance.alpha);

	return c->base_count == 1 && c->now_count == 1 && spread_known(&row->base.any->time, needed) &&
	       spread_known(&row->now.any->time, needed);
}

static bool has_other_calls(const struct sb_stage_change *s)
{
	return s->per_generation && s->base_count > 0 && s->now_count > 0 && s->base_count != s->now_count;
}

/* Each single call as often as a generation has it: twice as many of the same calls take twice as long. */
static int judge_all_calls(const struct sb_comparison *c, const struct row *row, struct sb_stage_change *s)
{
	const struct sb_fact_stage *b = row->base.any, *n = row->now.any;
	double *base = malloc((b->value_count + n->value_count) * sizeof *base), *now = base + b->value_count;
	int err;

	if (!base)
		return sb_fail(STROBE_ENOMEM, "no memory to compare stages");
	for (size_t i = 0; i < b->value_count; i++)
		base[i] = b->values[i] * s->base_count;
	for (size_t i = 0; i < n->value_count; i++)
		now[i] = n->values[i] * s->now_count;
	err = sb_judge(base, b->value_count, now, n->value_count, &c->tolerance, true, &s->judgement);
	free(base);
	return err;
}

/* Single calls tell whether a change is real where they were kept. Else the runs' totals
 * do, or what a call took on average where the numbers of calls differ and there are no generations. */
static int judge_stage(
	const struct sb_comparison *c, const struct row *row, double *scratch, struct sb_stage_change *s)
{
	const struct sb_fact_stage *b = row->base.any, *n = row->now.any;
	struct sb_tolerance t = c->tolerance;
	size_t base_count, now_count;
	int err;

	if (have_calls(c, row)) {
		s->per_rank = c->base[0]->ranks && c->now[0]->ranks;
		s->per_call = !s->per_rank && !has_other_calls(s);
		if (has_other_calls(s))
			return judge_all_calls(c, row, s);
		return sb_judge(
			b->values, b->value_count, n->values, n->value_count, &t, true, &s->judgement);
	}
	t.few = s->per_generation ? sb_compare_few_of_generations(c) : t.few;
	if ((b->is_mean && n->is_mean) || spread_judges(c, row)) {
		t.absolute = 0;
		t.few = SB_FEW_BY_TOLERANCE; /* each stands for as many calls as are needed */
	}
	s->per_call = !s->per_generation && s->base_count > 0 && s->now_count > 0 &&
		      s->base_count != s->now_count;
	if (s->per_call) {
		t.absolute /= s->now_count;
		base_count = per_call(&row->base, c->base_count, scratch);
		now_count = per_call(&row->now, c->now_count, scratch + base_count);
	} else {
		base_count = squeeze(row->base.total_s, c->base_count, scratch);
		now_count = squeeze(row->now.total_s, c->now_count, scratch + base_count);
	}
	err = sb_judge(scratch, base_count, scratch + base_count, now_count, &t, true, &s->judgement);
	if (err)
		return err;
	if (base_count == 1 && now_count == 1 && inside_spread(&b->time, &n->time) &&
		(s->judgement.verdict == SB_VERDICT_WORSE || s->judgement.verdict == SB_VERDICT_BETTER))
		s->judgement.verdict = SB_VERDICT_UNCERTAIN;
	if (s->per_generation)
		sb_compare_count_generations(c, &s->judgement);
	return 0;
}

static void name_change(const struct row *row, struct sb_stage_change *s)
{
	const struct sb_fact_stage *b = row->base.any, *n = row->now.any, *shown = n ? n : b;

	s->name = shown->name;
	s->code = shown->code;
	s->depth = shown->depth;
	s->in_base = b != NULL;
	s->in_now = n != NULL;
	s->old_name = b && n && strcmp(b->name, n->name) ? b->name : NULL;
	s->base_state = b ? b->state : SB_STAGE_NORMAL;
	s->now_state = n ? n->state : SB_STAGE_NORMAL;
	s->reason = n && n->reason ? n->reason : b ? b->reason : NULL;
}

/* Reports of other tools have generations without a stage of that role. */
static bool has_generation_stages(const struct sb_comparison *c)
{
	for (size_t i = 0; i < c->now[0]->stage_count; i++)
		if (c->now[0]->stages[i].role == STROBE_ROLE_GENERATION)
			return true;
	return false;
}

static void take_spread(const struct sb_comparison *c, const struct row *row, struct sb_stage_change *s)
{
	const struct sb_fact_stage *b = row->base.any, *n = row->now.any;

	s->base_spread_s = s->now_spread_s = NAN;
	s->base_slowest_rank = s->now_slowest_rank = -1;
	if (b && c->base_count == 1 && c->base[0]->ranks) {
		s->base_spread_s = b->spread.max_s - b->spread.min_s;
		s->base_slowest_rank = b->spread.max_rank;
	}
	if (n && c->now_count == 1 && c->now[0]->ranks) {
		s->now_spread_s = n->spread.max_s - n->spread.min_s;
		s->now_slowest_rank = n->spread.max_rank;
	}
}

static bool is_aside(const struct row *row)
{
	return row->now.any ? row->now.any->aside : row->base.any->aside;
}

#define NEGLIGIBLE 0.001 /* of the total */

/* Proved perhaps, but nothing that anyone waits for. A gate that names the stage goes by the judgement all the same. */
static bool is_negligible(const struct sb_comparison *c, const struct sb_stage_change *s)
{
	return (s->judgement.verdict == SB_VERDICT_WORSE || s->judgement.verdict == SB_VERDICT_BETTER) &&
	       fabs(s->now_s - s->base_s) < NEGLIGIBLE * fmax(c->total.base, c->total.now);
}

static int make_change(const struct sb_comparison *c, const struct row *row, double *scratch,
	struct sb_stage_change *out_change)
{
	struct sb_stage_change s = { 0 };
	int err = 0;

	name_change(row, &s);
	take_spread(c, row, &s);
	s.base_s = side_median(&row->base, row->base.total_s, c->base_count, scratch);
	s.now_s = side_median(&row->now, row->now.total_s, c->now_count, scratch);
	s.base_self_s = side_median(&row->base, row->base.self_s, c->base_count, scratch);
	s.now_self_s = side_median(&row->now, row->now.self_s, c->now_count, scratch);
	s.base_count = side_median(&row->base, row->base.count, c->base_count, scratch);
	s.now_count = side_median(&row->now, row->now.count, c->now_count, scratch);
	s.per_generation = c->per_generation && (row->base.any ? row->base.inside : row->now.inside);
	s.contribution_s = (isnan(s.now_self_s) ? 0 : s.now_self_s) -
			   (isnan(s.base_self_s) ? 0 : s.base_self_s);
	s.counted = (!c->per_generation || s.per_generation || !has_generation_stages(c)) && !is_aside(row) &&
		    !sb_compare_is_unattributed(c, row->now.any ? row->now.any : row->base.any);
	if (!s.counted)
		s.contribution_s = 0;
	s.judgement.p = s.judgement.interval.low = s.judgement.interval.high = NAN;
	if (!isnan(s.base_s) && !isnan(s.now_s)) {
		err = judge_stage(c, row, scratch, &s);
		s.negligible = is_negligible(c, &s);
		s.verdict = s.negligible ? SB_VERDICT_SAME : s.judgement.verdict;
	} else if (!isnan(s.now_s)) {
		s.verdict = SB_VERDICT_APPEARED;
	} else if (!isnan(s.base_s)) {
		s.verdict = SB_VERDICT_VANISHED;
	} else {
		s.verdict = s.in_base && s.in_now ? SB_VERDICT_SAME
			    : s.in_now            ? SB_VERDICT_APPEARED
						  : SB_VERDICT_VANISHED;
	}
	*out_change = s;
	return err;
}

/* Microseconds are enough: the last bits of a sum must not decide an order. */
static int64_t weight(double seconds)
{
	return isnan(seconds) ? 0 : llround(fabs(seconds) * 1e6);
}

static int by_contribution(const void *a, const void *b)
{
	const struct sb_stage_change *x = a, *y = b;

	if (weight(x->contribution_s) != weight(y->contribution_s))
		return weight(x->contribution_s) < weight(y->contribution_s) ? 1 : -1;
	if (weight(x->now_s) != weight(y->now_s))
		return weight(x->now_s) < weight(y->now_s) ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* ---- which is inside which ---- */

/* The row of the stage that a row's is inside; -1: none. */
static int64_t parent_row(struct sb_comparison *c, const struct rows *rows, const struct row *row)
{
	const struct side *shown = row->now.any ? &row->now : &row->base;
	const char *key = shown->any->parent < 0 ? NULL : shown->run->stages[shown->any->parent].key;
	uint32_t index;

	if (!key || !sb_map_get(&rows->by_key, sb_strings_add(&c->strings, key, strlen(key)), &index))
		return -1;
	return &rows->all[index] == row ? -1 : (int64_t)index;
}

/* The stages were sorted: parents are places in the new order. place: room for as many. */
static void follow_parents(struct sb_comparison *c, size_t *place)
{
	for (size_t i = 0; i < c->stage_count; i++)
		place[c->stages[i].row] = i;
	for (size_t i = 0; i < c->stage_count; i++)
		if (c->stages[i].parent >= 0)
			c->stages[i].parent = (int64_t)place[c->stages[i].parent];
}

/* ---- renamed stages ---- */

/* The length of a key without its last name. */
static size_t place_of(const char *key)
{
	const char *slash = strrchr(key, '/');

	return slash ? (size_t)(slash - key) : 0;
}

/* How alike two stages under one parent are: 1 the same calls and time, 0 no relation. */
static double likeness(const struct row *gone, const struct row *came, const char *gone_key,
	const char *came_key, const struct sb_stage_change *before, const struct sb_stage_change *after)
{
	size_t place = place_of(gone_key);
	double ratio;

	if (place != place_of(came_key) || strncmp(gone_key, came_key, place) ||
		gone->base.any->role != came->now.any->role || before->base_count != after->now_count ||
		!(before->base_s > 0) || !(after->now_s > 0))
		return 0;
	ratio = before->base_s < after->now_s ? before->base_s / after->now_s : after->now_s / before->base_s;
	return ratio > 0.7 ? ratio : 0;
}

/* A stage that vanished and one that appeared in its place, alike in calls and time. */
static void pair_renamed(struct sb_comparison *c, const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		const char *key = sb_strings_text(&c->strings, rows->all[i].key);
		double best = 0;
		size_t at = 0;

		if (c->stages[i].in_now || c->stages[i].code)
			continue;
		for (size_t k = 0; k < rows->count; k++) {
			double alike = c->stages[k].in_base || c->stages[k].counterpart
					       ? 0
					       : likeness(&rows->all[i], &rows->all[k], key,
							 sb_strings_text(&c->strings, rows->all[k].key),
							 &c->stages[i], &c->stages[k]);

			if (alike > best) {
				best = alike;
				at = k;
			}
		}
		if (best > 0) {
			c->stages[i].counterpart = c->stages[at].name;
			c->stages[at].counterpart = c->stages[i].name;
		}
	}
}

int sb_compare_stages(struct sb_comparison *c)
{
	struct rows rows = { 0 };
	double *scratch = malloc((c->base_count + c->now_count + 1) * sizeof *scratch);
	size_t *place = NULL;
	int err = scratch ? collect(c, &rows, c->base, c->base_count, true) : sb_compare_no_memory();

	if (!err)
		err = collect(c, &rows, c->now, c->now_count, false);
	if (!err && (!(c->stages = calloc(rows.count + 1, sizeof *c->stages)) ||
			    !(place = calloc(rows.count + 1, sizeof *place))))
		err = sb_compare_no_memory();
	for (size_t i = 0; i < rows.count && !err; i++) {
		err = make_change(c, &rows.all[i], scratch, &c->stages[c->stage_count++]);
		c->stages[i].row = i;
		c->stages[i].parent = parent_row(c, &rows, &rows.all[i]);
	}
	if (!err) {
		pair_renamed(c, &rows);
		qsort(c->stages, c->stage_count, sizeof *c->stages, by_contribution);
		follow_parents(c, place);
	}
	for (size_t i = 0; i < rows.count; i++) {
		free(rows.all[i].base.total_s);
		free(rows.all[i].now.total_s);
	}
	sb_map_done(&rows.by_key);
	free(rows.all);
	free(place);
	free(scratch);
	return err;
}
