/* Rules that blame a line of the program: sampled stacks say where the time of the generations went. */
#include "advise/blame.h"
#include "advise/forward.h"
#include "advise/hot.h"
#include "advise/model_calls.h"
#include "advise/weigh.h"

#include "base/python_file.h"
#include "base/role.h"

#include <string.h>

#define SAMPLES_LEAST 3 /* fewer samples may be chance */

/* ---- waiting for the GPU ------------------------------------------------- */

static bool moves_weights(const struct sb_line *l)
{
	return l->stage && (strncmp(l->stage, "offload:", 8) == 0 || strncmp(l->stage, "load:", 5) == 0);
}

static bool waits_in_a_step(const struct sb_model *model, const struct sb_line *l)
{
	return sb_blame_counts(l) && l->step_s > 0 && sb_hot_doing(l) == SB_DOES_WAIT_GPU &&
	       sb_weigh_has_gpu(model) && !moves_weights(l);
}

#define LAUNCH_MOST_S 100e-6 /* what takes longer did not only launch */
#define READ_LAUNCHES 3 /* what makes a value that is read: a comparison, a reduction, the copy */

/* Without the reads the CPU runs ahead, and a step takes the longer of the GPU's work and the CPU's: no more is
 * saved than Python spends on them, and no more than the GPU idles. */
static double reads_cost_s(const struct sb_model *model, const struct sb_weigh_step *step)
{
	double launch_s = fmin(
		LAUNCH_MOST_S, model->gpu.launch_interval_s > 0 ? model->gpu.launch_interval_s : 0);
	double step_s = step->read_s + step->read_count * READ_LAUNCHES * launch_s;

	return step->read_count >= 1 ? fmin(step_s * step->warm_count, sb_weigh_idle_s(model)) : 0;
}

/* A wait that keeps the GIL hides from the sampler: its samples fall on the lines after it. The trace
 * knows how long each value was waited for, and the few samples that did hit it tell the line. */
static bool find_reads(struct sb_advisor *a, const struct sb_hot *hot, const struct sb_weigh_step *step)
{
	double gain_s = reads_cost_s(a->model, step), percent = sb_weigh_percent(a->model, gain_s);
	struct sb_advice *f;

	if (!(percent > a->limit))
		return false;
	f = sb_advisor_find(a, percent, gain_s,
		sb_say(a, "each step reads %.0f values back from the GPU and waits for them",
			step->read_count),
		sb_say(a,
			"%.0f copies of single values to the host a step, %s of waiting for them; a step "
			"takes %s",
			step->read_count, sb_say_seconds(a, step->read_s), sb_say_seconds(a, step->took_s)));
	sb_finding_cause(f,
		hot->line ? sb_hot_words(a, hot->line)
			  : ".item(), bool() or print() of a tensor inside the steps; no sample hit the line",
		SB_GAIN_BOUNDED, hot->line ? SB_LIKELY : SB_POSSIBLE);
	sb_hot_place(f, hot);
	sb_weigh_priority(a, f);
	return true;
}

#define GAPS_SHARE \
	0.2 /* of the time at a synchronize(), taken for the gaps that each leaves: to rank by, no gain is claimed */

static bool synchronizes(const struct sb_line *l)
{
	return (l->text && strstr(l->text, "synchronize(")) || (l->inner && strstr(l->inner, "synchronize"));
}

/* The driver's utilisation does not see the gaps that a synchronize() in every step leaves: a GPU that runs dry a thousand times a
 * second is "100 % busy". The line is a cause all the same; what it costs, a trace tells. */
static bool find_synchronize(struct sb_advisor *a, const struct sb_hot *hot)
{
	double percent = sb_weigh_percent(a->model, hot->step_s);
	struct sb_advice *f;

	if (sb_weigh_traced(a->model) || !hot->line || !synchronizes(hot->line) ||
		!sb_blame_is_seen_enough(a->model, hot) || !(percent > a->limit))
		return false;
	f = sb_advisor_find(a, percent, NAN,
		sb_say(a, "a line inside the steps waits until the GPU has run dry: %.0f %% of %s", percent,
			sb_weigh_words(a->model)),
		sb_say(a,
			"%s; the utilisation that is sampled does not show the gaps after each wait: what it "
			"costs, --gpu-trace=steps:3 tells",
			sb_blame_seen(a, hot)));
	sb_finding_cause(f, sb_hot_words(a, hot->line), SB_GAIN_ESTIMATED, SB_LIKELY);
	sb_hot_place(f, hot);
	if (f)
		f->rank_s = fmax(GAPS_SHARE * hot->step_s, fmin(hot->step_s, sb_weigh_idle_s(a->model)));
	sb_weigh_priority(a, f);
	return true;
}

static bool waits_between_steps(const struct sb_model *model, const struct sb_line *l)
{
	return sb_blame_counts(l) && !(l->step_s > 0) && l->among_s > 0 &&
	       sb_hot_doing(l) == SB_DOES_WAIT_GPU && sb_weigh_has_gpu(model) && !moves_weights(l);
}

#define REGULAR 1.5 /* times the median pause: a few long ones wait for what was launched there */

/* The most that waits in every pause take. Where the pauses are no stages, the line must have been seen over half of the
 * generations' time. */
static double regular_pauses_s(const struct sb_model *model, const struct sb_hot *hot)
{
	const struct sb_stage *s = sb_model_stage(model, "between_steps");

	if (s)
		return (double)sb_stage_calls(s) * REGULAR * s->time.p50;
	return hot->to_s - hot->from_s > sb_weigh_work_s(model) / 2 ? INFINITY : 0;
}

/* A wait in every pause keeps the CPU from launching the next step while the GPU works. */
static void find_waits_between(struct sb_advisor *a)
{
	struct sb_hot hot = sb_hot_find(a->model, waits_between_steps);
	double idle_s = fmin(sb_weigh_idle_s(a->model), sb_weigh_uncovered_s(a->model));

	sb_blame_find(a, &hot, fmin(fmin(hot.among_s, regular_pauses_s(a->model, &hot)), idle_s), SB_LIKELY,
		sb_say(a, "a line between the steps waits for the GPU: %.0f %% of %s",
			sb_weigh_percent(a->model, hot.among_s), sb_weigh_words(a->model)));
}

void sb_rule_hidden_sync(struct sb_advisor *a)
{
	struct sb_hot hot = sb_hot_find(a->model, waits_in_a_step), loop = sb_forward_find_reads(a->model);
	double idle_s = sb_weigh_idle_s(a->model);
	double sampled_s = hot.sample_count >= SAMPLES_LEAST ? fmin(hot.step_s, idle_s) : 0;
	struct sb_weigh_step step;
	bool found;

	if (sb_weigh_step(a->model, &step) && reads_cost_s(a->model, &step) > sampled_s)
		found = find_reads(a, loop.step_s > hot.step_s ? &loop : &hot, &step);
	else if (hot.line && synchronizes(hot.line) && !sb_weigh_traced(a->model))
		found = find_synchronize(a, &hot);
	else
		found = sb_blame_find(a, &hot, sampled_s, SB_LIKELY,
			sb_say(a, "a line inside the steps waits for the GPU: %.0f %% of %s",
				sb_weigh_percent(a->model, hot.step_s), sb_weigh_words(a->model)));
	if (!found)
		find_waits_between(a);
}

static bool empties_the_cache(const struct sb_model *model, const struct sb_line *l)
{
	return sb_blame_counts(l) && l->generation_s > 0 && sb_hot_doing(l) == SB_DOES_ALLOCATE;
}

void sb_rule_allocator_thrash(struct sb_advisor *a)
{
	struct sb_hot hot = sb_hot_find(a->model, empties_the_cache);
	/* it also waits for work that the GPU has to do anyway */
	double idle_s = fmin(sb_weigh_idle_s(a->model), sb_weigh_uncovered_s(a->model));
	struct sb_advice *f = sb_blame_find(a, &hot, fmin(hot.generation_s, idle_s), SB_CERTAIN,
		sb_say(a, "GPU memory is freed and allocated again: %.0f %% of %s",
			sb_weigh_percent(a->model, hot.generation_s), sb_weigh_words(a->model)));

	if (!f || sb_weigh_traced(a->model))
		return;
	f->saves_s = NAN; /* neither those calls nor the gaps are seen without a trace */
	f->basis = NULL;
	f->evidence = sb_say(a,
		"%s; the allocations that follow stand at other lines: what it costs, --gpu-trace=steps:3 "
		"tells",
		f->evidence);
}

/* ---- Python between the steps -------------------------------------------- */

/* In a step without parts a line that computes may be the model itself; a trace of steps tells how long the GPU waited for it. */
static bool tells_calls_in_steps(const struct sb_model *model)
{
	for (size_t i = 0; i < model->stages.stage_count; i++)
		if (model->stages.stages[i].role == STROBE_ROLE_STEP && model->stages.stages[i].child_count)
			return true;
	return !isnan(sb_weigh_step_busy(model));
}

/* A scheduler of the program's own: what it computes between two of the model's calls. */
static bool is_in_scheduler(const struct sb_line *l)
{
	return l->stage && !strcmp(l->stage, "scheduler_step") && !l->library &&
	       !sb_python_is_package(l->file) &&
	       !(l->inner_file && sb_python_is_package(l->inner_file) &&
		       !sb_python_is_library(l->inner_file));
}

/* The line stands around the model's calls, too; also where no sample fell into one. */
static bool asks_for_the_calls(const struct sb_model *model, const struct sb_line *line)
{
	bool seen = false;

	for (size_t i = 0; i < model->lines.count; i++) {
		const struct sb_line *l = &model->lines.all[i];

		if (l->between || !(l->generation_s > 0))
			continue;
		if (l->line == line->line && !strcmp(l->file, line->file))
			return true;
		seen = true;
	}
	return !seen;
}

/* A language model's calls have stages of their own, and are no steps: what the framework does between them is its own
 * where the program's line is the one that asked for all of them, and not one that the framework calls (a stopping
 * criterion). */
static bool is_of_the_framework(const struct sb_model *model, const struct sb_line *l)
{
	return !tells_calls_in_steps(model) && l->inner_file && strstr(l->inner_file, "/transformers/") &&
	       asks_for_the_calls(model, l);
}

static bool is_between(const struct sb_model *model, const struct sb_line *l)
{
	enum sb_doing doing = sb_hot_doing(l);
	bool between = l->between || is_in_scheduler(l);

	if (sb_hot_only_waits(model, l))
		return false;
	if (l->step_s > 0 && doing != SB_DOES_SLEEP && doing != SB_DOES_WRITE && !tells_calls_in_steps(model))
		return false;
	if (!between || !(l->generation_s > 0 || l->step_s > 0) || doing == SB_DOES_COLLECT ||
		doing == SB_DOES_ALLOCATE || doing == SB_DOES_COPY)
		return false;
	if (doing == SB_DOES_WRITE && !(l->step_s > 0) && !(l->among_s > 0))
		return false;
	return (doing != SB_DOES_WAIT_GPU || !sb_weigh_has_gpu(model)) && !is_of_the_framework(model, l);
}

#define PARTS_LEAST 0.1 /* of the generations: what has a stage in them */

/* Stages of the program's own inside its generations: in place of steps, and all. */
struct parts {
	double generations_s, work_s, all_s;
};

static struct parts parts_of(const struct sb_model *model)
{
	struct parts p = { 0 };

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];
		enum strobe_role work = sb_role_work(s->name, s->role);

		p.generations_s += s->role == STROBE_ROLE_GENERATION && !s->span ? s->covered_s : 0;
		if (s->parent < 0 || s->span || s->setup ||
			model->stages.stages[s->parent].role != STROBE_ROLE_GENERATION)
			continue;
		p.all_s += s->covered_s;
		p.work_s += work == STROBE_ROLE_STAGE || work == STROBE_ROLE_DENOISE ? s->covered_s : 0;
	}
	return p;
}

static bool knows_parts(const struct sb_model *model)
{
	struct parts p = parts_of(model);

	return p.generations_s > 0 && p.work_s > PARTS_LEAST * p.generations_s;
}

/* Where several generations run at a time, one waits while a stage of another one runs: nothing is lost then. */
static double beside_parts_s(const struct sb_model *model)
{
	struct parts p = parts_of(model);

	return fmax(0, p.generations_s - p.all_s) * sb_weigh_warm_share(model);
}

/* Python alone: what torch or numpy compute beside the stages may be the model itself. */
static bool is_between_parts(const struct sb_model *model, const struct sb_line *l)
{
	double looks = (double)(l->stood_count + l->ran_count + l->without_count);

	return is_between(model, l) && !(l->inner_file && strstr(l->inner_file, "/torch/")) &&
	       !(l->text && strstr(l->text, "torch.")) && !(looks > 0 && (double)l->ran_count > looks / 2);
}

/* Steps or forwards that were recorded as they ran: what ran in durations handed in afterwards is not known. */
static bool knows_calls(const struct sb_model *model)
{
	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if ((s->role == STROBE_ROLE_STEP || s->role == STROBE_ROLE_FORWARD ||
			    !strcmp(s->name, "between_steps")) &&
			!s->span)
			return true;
	}
	return false;
}

#define CLOCK_LEAST 10 /* percent of the generations between the steps, by the clock */

/* In a short run the samples are few; the clock tells how long the pauses between the steps are, and where all that was seen
 * in them is one function of the program's, that is what they are for. */
static struct sb_advice *find_by_the_clock(struct sb_advisor *a, const struct sb_hot *hot, double idle_s)
{
	const struct sb_stage *s = sb_model_stage(a->model, "between_steps");
	double spent_s = s ? (s->covered_s - s->gpu_behind_s) * sb_weigh_warm_share(a->model) : 0;
	double others_s = 0, percent;
	const struct sb_line *l = hot->line;
	struct sb_advice *f;

	percent = sb_weigh_percent(a->model, fmin(spent_s, idle_s));
	if (!l || !hot->warm_count || l->library || sb_python_is_package(l->file) || !l->stage ||
		strcmp(l->stage, "between_steps") != 0 || !(percent > CLOCK_LEAST))
		return NULL;
	for (size_t i = 0; i < a->model->lines.count; i++)
		if (a->model->lines.all[i].stage && !strcmp(a->model->lines.all[i].stage, l->stage))
			others_s += a->model->lines.all[i].generation_s;
	if (others_s > hot->generation_s * 1.01)
		return NULL;
	f = sb_advisor_find(a, percent, fmin(spent_s, idle_s),
		sb_say(a, "Python between the model's calls takes %.0f %% of %s", percent,
			sb_weigh_words(a->model)),
		sb_say(a,
			"the pauses between the steps last %s by the clock; %s in them, and no other "
			"function",
			sb_say_seconds(a, spent_s),
			hot->warm_count == 1 ? "one sample found this line"
					     : sb_say(a, "%llu samples found this function",
						       (unsigned long long)hot->warm_count)));
	sb_finding_cause(f, sb_hot_words(a, l), SB_GAIN_BOUNDED, SB_POSSIBLE);
	sb_hot_place(f, hot);
	sb_weigh_priority(a, f);
	return f;
}

void sb_rule_python_between_steps(struct sb_advisor *a)
{
	bool calls = knows_calls(a->model);
	struct sb_hot hot = sb_hot_find(a->model, calls ? is_between : is_between_parts);
	/* where the CPU runs ahead, a line between the calls may wait for what the GPU has to do anyway */
	double ahead = sb_hot_ahead_ratio(a->model, hot.line), spent_s = hot.generation_s * (1 - ahead),
	       left_s, idle_s = fmin(sb_weigh_idle_s(a->model), sb_weigh_uncovered_s(a->model));
	struct sb_advice *f;

	if (a->model->generations.whole_run)
		sb_model_calls_advise(a);
	if (!(calls || knows_parts(a->model)) || a->model->generations.whole_run)
		return;
	/* a collection keeps the GIL: the sampler comes after it, and finds the line that follows */
	left_s = fmax(0, sb_weigh_work_s(a->model) - a->model->garbage.warm_s);
	if (a->model->garbage.warm_s > hot.generation_s)
		return; /* all of its samples may be theirs */
	if (!calls)
		spent_s = fmin(spent_s, beside_parts_s(a->model));
	f = sb_blame_find(a, &hot, fmin(fmin(spent_s, left_s), idle_s), SB_LIKELY,
		sb_say(a, "Python %s takes %.0f %% of %s",
			calls ? "between the model's calls" : "in no stage of the generations",
			sb_weigh_percent(a->model, spent_s), sb_weigh_words(a->model)));

	sb_hot_say_ahead(a, f, &hot);
	f = f ? f : find_by_the_clock(a, &hot, fmin(left_s, idle_s));
	if (f && hot.line->text && strstr(hot.line->text, "fsync("))
		f->suggestion =
			"Leave fsync() to the end of the run: it waits for the disk each time, and the "
			"step waits for it.";
	else if (f && sb_hot_doing(hot.line) == SB_DOES_WRITE)
		f->suggestion = "Write in a thread of its own, after the generation, or not at all: a step "
				"waits for it.";
	if (f && sb_hot_doing(hot.line) == SB_DOES_ASK)
		f->suggestion =
			"Ask in a thread of its own, or once after the generation: the answer is waited "
			"for each time.";
	if (f && sb_hot_doing(hot.line) == SB_DOES_SLEEP)
		f->suggestion =
			"Take the sleep out; wait for what it waits for (an event, a queue), not for time.";
}

/* ---- garbage collection --------------------------------------------------- */

static bool collects(const struct sb_model *model, const struct sb_line *l)
{
	(void)model;
	return sb_blame_counts(l) && (l->generation_s > 0 || l->loop_s > 0) &&
	       sb_hot_doing(l) == SB_DOES_COLLECT;
}

/* Until something is due: "time.sleep(due - time.monotonic())". What ran before makes it shorter, not the round longer. */
static bool sleeps_until_due(const struct sb_model *model, const struct sb_line *l)
{
	const char *sleep = l->text ? strstr(l->text, "sleep(") : NULL;

	(void)model;
	return sleep && sb_blame_counts(l) && l->loop_s > 0 && strchr(sleep, '-');
}

static bool has_no_text(const struct sb_model *model, const struct sb_line *l)
{
	(void)model;
	return sb_blame_counts(l) && !l->text && !l->library && l->line &&
	       (l->generation_s > 0 || l->loop_s > 0);
}

static bool is_busy_in_a_step(const struct sb_model *model, const struct sb_line *l)
{
	(void)model;
	return sb_blame_counts(l) && l->between && l->among_s > 0 && !l->library &&
	       !sb_python_is_package(l->file);
}

/* Where Python makes most objects, between the model's calls or inside them. */
static struct sb_hot find_busy(const struct sb_model *model)
{
	struct sb_hot between = sb_hot_find(model, is_busy_in_a_step), inside = sb_forward_find(model);

	return inside.module_s > between.among_s ? inside : between;
}

#define MUCH 20 /* percent: less has no cause of its own, other than the objects that are made */

static enum sb_confidence how_sure(bool called, double percent)
{
	return called ? SB_CERTAIN : percent >= MUCH ? SB_LIKELY : SB_POSSIBLE;
}

static const char *who_collects(struct sb_advisor *a, const struct sb_hot *called, const struct sb_hot *busy)
{
	if (called->line)
		return sb_hot_words(a, called->line);
	if (!busy->line && sb_hot_find(a->model, has_no_text).line)
		return "Python collects by itself, over a large heap, or a line calls gc.collect(): not "
		       "known, the program's source is not at hand";
	return sb_say(a, "Python collects by itself, over a large heap%s%s",
		busy->line ? "; most is made in " : "", busy->line ? sb_hot_words(a, busy->line) : "");
}

static void say_idle(struct sb_advisor *a, struct sb_advice *f, const struct sb_hot *idle)
{
	if (!f)
		return;
	f->evidence = sb_say(a, "%s; the program sleeps for %s until its next work is due: %s", f->evidence,
		sb_say_seconds(a, idle->loop_s), sb_hot_words(a, idle->line));
	f->suggestion = "Nothing, as long as what is due is on time: what a collection takes is slept less.";
	f->priority = sb_priority_name(SB_PRIORITY_LOW);
}

void sb_rule_garbage_collection(struct sb_advisor *a)
{
	struct sb_hot called = sb_hot_find(a->model, collects), busy = find_busy(a->model),
		      idle = sb_hot_find(a->model, sleeps_until_due);
	const struct sb_hot *place = called.line ? &called : &busy;
	int64_t count = a->model->garbage.warm_count;
	double sum_s = a->model->garbage.warm_s, percent = sb_weigh_percent(a->model, sum_s);
	bool in_idle_time = called.line && idle.loop_s >= sum_s;
	struct sb_advice *f;

	if (!count || !(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, in_idle_time ? 0 : sum_s,
		sb_say(a, "garbage collection takes %.0f %% of %s", percent, sb_weigh_words(a->model)),
		sb_say(a, "%lld collections of %s on average, %s in all", (long long)count,
			sb_say_seconds(a, sum_s / (double)count), sb_say_seconds(a, sum_s)));
	sb_finding_cause(
		f, who_collects(a, &called, &busy), SB_GAIN_MEASURED, how_sure(called.line, percent));
	if (f && called.line)
		f->suggestion = sb_say(a,
			"Take gc.collect() out of the %s; reference counting frees tensors without it.",
			a->model->generations.whole_run ? "loop" : "generation");
	sb_hot_place(f, place);
	sb_weigh_priority(a, f);
	if (in_idle_time)
		say_idle(a, f, &idle);
}
