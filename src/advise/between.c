/* What the program does between two generations: saving, logging, reading prompts, arrays. The generations themselves do
 * not show it. */
#include "advise/between.h"

#include "advise/hot.h"
#include "advise/weigh.h"
#include "base/python_file.h"
#include "base/role.h"

#include <string.h>

#define SAMPLES_LEAST 3
#define CROWDING_MOST 8
#define CLOCK_LEAST_S 0.03 /* of time between the generations: a sample of less is chance */
#define OTHERS 2 /* functions that are named beside the largest */

/* ---- whose time it is ------------------------------------------------------ */

/* The main thread hands the generations to the one that makes them. */
static bool are_handed_over(const struct sb_model *model)
{
	bool made = false;

	for (size_t i = 0; i < model->lines.count; i++) {
		if (model->lines.all[i].maker && model->lines.all[i].main)
			return false;
		made |= model->lines.all[i].maker;
	}
	return made;
}

static bool is_strobe(const struct sb_line *l)
{
	return sb_python_is_strobe(l->inner_file ? l->inner_file : l->file);
}

/* Loading and compiling have their own rules, and so has what goes out and comes in. */
static bool is_other_work(const struct sb_model *model, const struct sb_line *l)
{
	const struct sb_stage *s = l->stage ? sb_model_stage(model, l->stage) : NULL;
	enum strobe_role work = s ? sb_role_work(s->name, s->role) : STROBE_ROLE_STAGE;

	return s && (s->setup || work == STROBE_ROLE_IMPORT || work == STROBE_ROLE_LOAD ||
			    work == STROBE_ROLE_COMPILE || work == STROBE_ROLE_PROFILER ||
			    work == STROBE_ROLE_EXPORT || work == STROBE_ROLE_DATA);
}

static bool is_outside(const struct sb_model *model, const struct sb_line *l)
{
	return l->outside_s > 0 && !l->library && !is_strobe(l) && !is_other_work(model, l) &&
	       !sb_hot_waits(l) && (l->maker || (l->main && are_handed_over(model)));
}

/* What writes is for slow_export. */
static bool is_between_generations(const struct sb_model *model, const struct sb_line *l)
{
	return is_outside(model, l) && sb_hot_doing(l) != SB_DOES_WRITE;
}

/* From the first generation's begin to the last one's end; 0 and 0: there are no two. */
static void find_loop(const struct sb_model *model, double *out_from_s, double *out_to_s)
{
	const struct sb_generations_panel *g = &model->generations;
	double from_s = INFINITY, to_s = 0;

	for (size_t i = 0; i < g->count; i++) {
		from_s = fmin(from_s, g->all[i].begin_s);
		to_s = fmax(to_s, g->all[i].end_s);
	}
	if (g->whole_run || g->count < 2 || g->count != (size_t)g->total || !(to_s > from_s))
		from_s = to_s = 0;
	*out_from_s = from_s;
	*out_to_s = to_s;
}

/* Of stages that stand beside the generations, from the first to the last. */
static double staged_s(const struct sb_model *model, double from_s, double to_s)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (s->parent < 0 && s->role != STROBE_ROLE_GENERATION && s->outside_s > 0 &&
			s->end_s > from_s && s->first_s < to_s)
			sum_s += s->outside_s;
	}
	return sum_s;
}

/* Of a line's time outside, the part before that moment, if it was there evenly. */
static double until_s(const struct sb_line *l, double to_s)
{
	double all_s = l->outside_to_s - l->outside_from_s;

	return all_s > 0 ? l->outside_s * fmin(1, (to_s - l->outside_from_s) / all_s) : l->outside_s;
}

/* What the thread that makes them waits for is no loss, unless the main thread works meanwhile on what comes next. */
static double waited_s(const struct sb_model *model, double to_s)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->lines.count; i++) {
		const struct sb_line *l = &model->lines.all[i];

		if (l->outside_from_s >= to_s)
			continue;
		if (l->maker && !l->stage && (sb_hot_waits(l) || is_strobe(l)))
			sum_s += until_s(l, to_s);
		if (!l->maker && is_outside(model, l))
			sum_s -= l->outside_s;
	}
	return fmax(0, sum_s);
}

/* How long the GPU was still at generations that the CPU had left: who waits for it then loses nothing. */
static double finished_later_s(const struct sb_model *model)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (s->role == STROBE_ROLE_GENERATION && s->gpu_span_count && s->gpu_span_count == s->count)
			sum_s += fmax(0, s->gpu_span_s - s->total_s);
	}
	return sum_s;
}

double sb_between_s(const struct sb_model *model)
{
	double from_s, to_s, later_s;

	find_loop(model, &from_s, &to_s);
	if (!(to_s > from_s))
		return 0;
	/* the last one is followed by nothing */
	later_s = finished_later_s(model) * (1 - 1 / (double)model->generations.count);
	return fmax(0, to_s - from_s - model->generations.union_s - staged_s(model, from_s, to_s) -
			       fmax(waited_s(model, to_s), later_s));
}

double sb_between_of_s(const struct sb_model *model)
{
	double from_s, to_s;

	find_loop(model, &from_s, &to_s);
	return to_s - from_s;
}

/* ---- the function that takes most of it -------------------------------------- */

/* The function that makes the generations does many things between them: each of its lines stands for itself. */
static bool is_the_loop(const struct sb_model *model, const struct sb_line *line)
{
	for (size_t i = 0; i < model->lines.count; i++) {
		const struct sb_line *l = &model->lines.all[i];

		if (l->generation_s > 0 && !strcmp(l->function, line->function) &&
			!strcmp(l->file, line->file))
			return true;
	}
	return false;
}

static bool is_same(const struct sb_line *a, const struct sb_line *b, bool by_line)
{
	return !strcmp(a->function, b->function) && !strcmp(a->file, b->file) &&
	       (!by_line || a->line == b->line);
}

struct spent { /* between the generations */
	const struct sb_line *line; /* the largest; NULL: none */
	double total_s, from_s, to_s;
	uint64_t sample_count;
};

static bool waits_for_gpu(const struct sb_line *l)
{
	return sb_hot_doing(l) == SB_DOES_WAIT_GPU || sb_hot_doing(l) == SB_DOES_COPY;
}

/* Of the time of lines that wait for the GPU, the share in which it is not still at a generation. */
static double share_lost(const struct sb_model *model)
{
	double all_s = 0;

	for (size_t i = 0; i < model->lines.count; i++)
		if (is_between_generations(model, &model->lines.all[i]) &&
			waits_for_gpu(&model->lines.all[i]))
			all_s += model->lines.all[i].outside_s;
	return all_s > 0 ? fmax(0, 1 - finished_later_s(model) / all_s) : 1;
}

static struct spent add_up(const struct sb_model *model, const struct sb_line *largest)
{
	struct spent sum = { .line = largest, .from_s = INFINITY };
	bool by_line = is_the_loop(model, largest);

	for (size_t i = 0; i < model->lines.count; i++) {
		const struct sb_line *l = &model->lines.all[i];

		if (!is_between_generations(model, l) || !is_same(l, largest, by_line))
			continue;
		if (l->line && l->outside_s > sum.line->outside_s)
			sum.line = l;
		sum.total_s += waits_for_gpu(l) ? l->outside_s * share_lost(model) : l->outside_s;
		sum.sample_count += l->outside_count;
		sum.from_s = fmin(sum.from_s, l->outside_from_s);
		sum.to_s = fmax(sum.to_s, l->outside_to_s);
	}
	return sum;
}

/* The largest that is none of those before it. */
static struct spent next_largest(const struct sb_model *model, const struct spent *before, size_t count)
{
	struct spent best = { 0 };

	for (size_t i = 0; i < model->lines.count; i++) {
		const struct sb_line *l = &model->lines.all[i];
		bool known = !l->line || !is_between_generations(model, l);
		struct spent sum;

		for (size_t k = 0; k < count; k++)
			known |= is_same(l, before[k].line, is_the_loop(model, l));
		if (known)
			continue;
		sum = add_up(model, l);
		if (sum.total_s > best.total_s)
			best = sum;
	}
	return best;
}

const struct sb_line *sb_between_line(const struct sb_model *model)
{
	return next_largest(model, NULL, 0).line;
}

/* ---- the rule ------------------------------------------------------------------ */

/* True if the clock tells how much time lies between the generations, and all samples there are of this one function, which
 * does not sleep. */
static bool is_all_there_is(const struct sb_model *model, const struct spent *spent)
{
	double all_s = 0;

	if (!(sb_between_s(model) > CLOCK_LEAST_S) || !spent->line ||
		sb_hot_doing(spent->line) == SB_DOES_SLEEP || is_strobe(spent->line))
		return false;
	for (size_t i = 0; i < model->lines.count; i++)
		if (model->lines.all[i].maker && !is_strobe(&model->lines.all[i]) &&
			!model->lines.all[i].stage)
			all_s += model->lines.all[i].outside_s;
	return spent->total_s > 0.99 * all_s;
}

/* Where others want the cores, a line that computes needs as many more samples before it is blamed; but not where the
 * clock says how much lies between the generations. */
static bool is_sampled_enough(const struct sb_model *model, const struct spent *spent)
{
	double least = is_all_there_is(model, spent) ? 1 : SAMPLES_LEAST;

	if (spent->line && !(sb_between_of_s(model) > 0) && sb_hot_doing(spent->line) == SB_DOES_COMPUTE)
		least *= fmin(sb_weigh_crowding(model), CROWDING_MOST);
	return spent->line && (double)spent->sample_count >= least;
}

/* The last generation may be followed by as much as each of the others. */
static double at_most_s(const struct sb_model *model)
{
	double count = (double)model->generations.count;

	return sb_between_of_s(model) > 0 ? sb_between_s(model) * count / (count - 1) : INFINITY;
}

/* "; also grade (app.py:12), 0.40 s" */
static const char *others(struct sb_advisor *a, const struct spent *first)
{
	struct spent all[1 + OTHERS] = { *first };
	const char *words = "";

	for (size_t i = 1; i <= OTHERS; i++) {
		all[i] = next_largest(a->model, all, i);
		if (!all[i].line || all[i].sample_count < SAMPLES_LEAST)
			break;
		words = sb_say(a, "%s; also %s in %s", words, sb_say_seconds(a, all[i].total_s),
			sb_hot_words(a, all[i].line));
	}
	return words;
}

static bool is_after_all(const struct sb_model *model, const struct spent *spent)
{
	const struct sb_generations_panel *g = &model->generations;

	return g->count && spent->from_s >= g->all[g->count - 1].begin_s;
}

static const char *what_to_do(const struct sb_line *line)
{
	switch (sb_hot_doing(line)) {
	case SB_DOES_SLEEP:
		return "If the program has nothing to do meanwhile, nothing is lost. Else take the sleep "
		       "out; wait for what it waits for (an event, a queue), not for time.";
	case SB_DOES_COLLECT: return "Take gc.collect() out; reference counting frees tensors without it.";
	case SB_DOES_ALLOCATE:
		return "Take empty_cache() out: the next generation asks for the same memory again.";
	default: return NULL;
	}
}

void sb_rule_between_generations(struct sb_advisor *a)
{
	struct spent spent = next_largest(a->model, NULL, 0);
	bool last = is_after_all(a->model, &spent);
	bool sleeps = spent.line && sb_hot_doing(spent.line) == SB_DOES_SLEEP;
	double cost_s = last ? spent.total_s : fmin(spent.total_s, at_most_s(a->model));
	double percent = cost_s / sb_weigh_work_s(a->model) * 100;
	const char *todo;
	struct sb_advice *f;

	if (a->model->generations.whole_run || !is_sampled_enough(a->model, &spent) || !(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, cost_s,
		sb_say(a, "the program spends %s %s, beside %s of generations", sb_say_seconds(a, cost_s),
			last ? "after the last generation" : "between the generations",
			sb_say_seconds(a, sb_weigh_work_s(a->model))),
		sb_say(a, "%s in %llu samples outside of all generations, after the first began%s",
			sb_say_seconds(a, spent.total_s), (unsigned long long)spent.sample_count,
			others(a, &spent)));
	sb_finding_cause(f, sb_hot_words(a, spent.line), sleeps ? SB_GAIN_BOUNDED : SB_GAIN_ESTIMATED,
		sleeps ? SB_POSSIBLE : SB_LIKELY);
	if (!f)
		return;
	sb_finding_line(f, spent.line->file, spent.line->line);
	f->where.stage = spent.line->stage;
	f->where.from_s = spent.from_s;
	f->where.to_s = spent.to_s;
	todo = what_to_do(spent.line);
	f->suggestion = todo ? todo : f->suggestion;
	sb_weigh_priority(a, f);
	sb_hot_doubt(a, f, spent.line);
	if (sleeps) /* a service that polls for its next request sleeps too */
		f->priority = sb_priority_name(SB_PRIORITY_LOW);
}
