/* Leaves out symptoms (what the GPU or a stage shows) that a cause explains, and names them in its finding. Two tables: the
 * symptoms with what to record to learn more, and the symptoms that each cause can explain. */
#include "advise/symptoms.h"

#include "advise/idle.h"
#include "advise/out_of_memory.h"
#include "advise/weigh.h"

#include <string.h>

#define ENOUGH 0.4 /* of a symptom's time: causes that cost this much account for it */
#define NEARLY_ALL 0.9 /* of it: it is the reason, and not a part of it */
#define PART_LEAST 0.1 /* of it: a cause of so much is named */
#define EXPLAINED_MOST 8

/* ---- tables ------------------------------------------------------------- */

#define IDLE "gpu_gaps", "gpu_utilization"

static const char *const symptoms[] = { "gpu_gaps", "gpu_utilization", "small_kernels", "unattributed",
	"slow_steps" };

/* They only say where the time goes. Beside a finding that says why, they are left out. */
static const char *const directions[] = { "stage_dominates", "layer_dominates", "attention", "copies",
	"step_slow", "fps_low", "block_variance", "data_loading", "cache_useless", "cache_strict", "offload",
	"attention_math", "pageable_copies" };

static const char *const idle[] = { IDLE };

static const char *const startup[] = { "compile_time", "model_load" };

/* What happens in every step makes none of them slower than the others, and what stops Python makes no kernel short. */
static const struct explanation {
	const char *cause;
	const char *explains[EXPLAINED_MOST];
} explanations[] = {
	{ "recompiles", { IDLE, "slow_steps", "stage_dominates" } },
	{ "graph_breaks", { "small_kernels" } },
	{ "data_loading", { IDLE, "stage_dominates" } },
	{ "offload", { IDLE, "copies", "stage_dominates" } },
	{ "swap", { IDLE, "slow_steps" } },
	{ "throttling", { "slow_steps" } },
	{ "gpu_shared", { "slow_steps" } },
	{ "attention_math", { "attention", "stage_dominates" } },
	{ "disk_collapse", { IDLE, "slow_steps" } },
	{ "hidden_sync", { IDLE, "unattributed", "stage_dominates", "copies" } },
	{ "allocator_thrash", { IDLE, "unattributed" } },
	{ "allocator_retries", { IDLE } },
	{ "python_between_steps", { IDLE, "unattributed", "stage_dominates" } },
	{ "python_in_forward", { IDLE, "stage_dominates", "step_slow" } },
	{ "between_generations", { "unattributed" } },
	{ "slow_export", { IDLE, "unattributed", "stage_dominates" } },
	{ "input_starved", { IDLE, "unattributed", "stage_dominates", "data_loading" } },
	{ "repeated_work", { IDLE, "stage_dominates", "copies", "unattributed" } },
	{ "cfg_wasted", { "stage_dominates" } },
	{ "padding", { "stage_dominates" } },
	{ "cache_idle", { "cache_useless", "cache_strict" } },
	{ "gil_contention", { IDLE, "slow_steps", "unattributed", "stage_dominates" } },
	{ "thread_oversubscription", { "slow_steps", "stage_dominates", "unattributed" } },
	{ "slow_trend", { "slow_steps" } },
	{ "fallback_attention", { "attention_math", "attention", "stage_dominates", "small_kernels" } },
	{ "debug_mode", { IDLE, "small_kernels", "stage_dominates" } },
	{ "fallback_conv", { "stage_dominates", "small_kernels" } },
	{ "precision_mismatch", { "stage_dominates", "small_kernels" } },
	{ "quantised_not_used", { "stage_dominates", "small_kernels" } },
	{ "layout_conversion", { "stage_dominates" } },
	{ "kernels_unfused", { "step_slow", "fps_low" } },
	{ "tiny_tiles", { IDLE, "small_kernels", "stage_dominates" } },
	{ "overswap", { IDLE, "offload", "copies", "pageable_copies", "stage_dominates", "unattributed" } },
	{ "offload_serial", { IDLE, "offload", "copies", "stage_dominates", "unattributed" } },
	{ "garbage_collection", { IDLE, "unattributed", "slow_steps" } },
};

bool sb_rule_is_one_of(const char *const *ids, size_t count, const char *id)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(ids[i], id) == 0)
			return true;
	return false;
}

bool sb_rule_is_symptom(const char *id)
{
	return sb_rule_is_one_of(symptoms, sizeof symptoms / sizeof *symptoms, id);
}

bool sb_rule_is_direction(const char *id)
{
	return sb_rule_is_one_of(directions, sizeof directions / sizeof *directions, id);
}

static bool can_be_explained(const char *id)
{
	return sb_rule_is_symptom(id) || sb_rule_is_direction(id);
}

bool sb_rule_is_startup(const char *id)
{
	return sb_rule_is_one_of(startup, sizeof startup / sizeof *startup, id);
}

static bool can_explain(const char *cause, const char *symptom)
{
	for (size_t i = 0; i < sizeof explanations / sizeof *explanations; i++) {
		const struct explanation *e = &explanations[i];

		for (size_t k = 0; strcmp(e->cause, cause) == 0 && k < EXPLAINED_MOST && e->explains[k]; k++)
			if (strcmp(e->explains[k], symptom) == 0)
				return true;
	}
	return false;
}

/* ---- explaining --------------------------------------------------------- */

static bool is_of_another_cache(const struct sb_advice *cause, const struct sb_advice *symptom)
{
	return !strncmp(symptom->id, "cache_", 6) && symptom->stage && cause->stage &&
	       strcmp(symptom->stage, cause->stage) != 0;
}

static bool is_inside(const struct sb_model *model, const char *inner, const char *outer)
{
	const struct sb_stage *all = model->stages.stages;

	for (size_t i = 0; i < model->stages.stage_count; i++)
		for (int64_t up = strcmp(all[i].name, inner) ? -1 : (int64_t)i; up >= 0; up = all[up].parent)
			if (!strcmp(all[up].name, outer))
				return true;
	return false;
}

/* The steps themselves, what is in them, or what is around them. */
static bool is_of_steps(const struct sb_model *model, const char *stage)
{
	const struct sb_stage *all = model->stages.stages;

	for (size_t i = 0; i < model->stages.stage_count; i++)
		if (all[i].role == STROBE_ROLE_STEP &&
			(is_inside(model, stage, all[i].name) || is_inside(model, all[i].name, stage)))
			return true;
	return false;
}

static bool is_less_urgent(const struct sb_advice *cause, const struct sb_advice *symptom)
{
	return strcmp(symptom->priority, "low") && !strcmp(cause->priority, "low");
}

/* A cause explains only symptoms of its own stage. */
static bool accounts_for(
	const struct sb_model *model, const struct sb_advice *cause, const struct sb_advice *symptom)
{
	bool of_steps = !strcmp(symptom->id, "slow_steps") || !strcmp(symptom->id, "step_slow");

	if (of_steps && cause->stage && !is_of_steps(model, cause->stage))
		return false;
	if (!strcmp(cause->id, "kernels_unfused") && is_less_urgent(cause, symptom))
		return false; /* a stream is too slow, and a part of the reason does not take the place of that */
	if (cause->startup || !(cause->rank_s > 0) || !can_explain(cause->id, symptom->id) ||
		is_of_another_cache(cause, symptom))
		return false;
	return !symptom->stage || !cause->stage || strcmp(symptom->stage, cause->stage) == 0 ||
	       strcmp(symptom->id, "stage_dominates") != 0;
}

static double explained_s(const struct sb_advisor *a, const struct sb_advice *symptom)
{
	const struct sb_advice *all = a->found.items;
	double sum_s = 0;

	for (size_t i = 0; i < a->found.count; i++)
		sum_s += accounts_for(a->model, &all[i], symptom) ? all[i].rank_s : 0;
	return sum_s;
}

/* A line in one stage does not make another one long: the finding takes its place without a word of it. */
static bool is_of_another_stage(
	const struct sb_model *model, const struct sb_advice *cause, const struct sb_advice *symptom)
{
	const char *stage = cause->stage ? cause->stage : cause->where.stage;

	return !strcmp(symptom->id, "stage_dominates") && symptom->stage &&
	       (!stage || !is_inside(model, stage, symptom->stage));
}

bool sb_symptoms_name(struct sb_advisor *a, struct sb_advice *cause, const char *id)
{
	const char **ids = sb_model_alloc(a->model, (cause->explain_count + 1) * sizeof *ids);

	for (size_t i = 0; ids && i < cause->explain_count; i++)
		ids[i] = cause->explains[i];
	if (!ids)
		return false;
	ids[cause->explain_count++] = id;
	cause->explains = ids;
	return true;
}

static void name_symptom(struct sb_advisor *a, struct sb_advice *cause, const struct sb_advice *symptom)
{
	double part, whole_s = symptom->whole_s > 0 ? symptom->whole_s : symptom->rank_s;

	if (!sb_symptoms_name(a, cause, symptom->id))
		return;
	if (!strcmp(symptom->id, "offload")) /* it has this movement already, as a share of another time */
		return;
	if (!(whole_s > 0)) /* a rate, or what a step takes: it says where all of the time goes */
		whole_s = sb_weigh_work_s(a->model);
	part = cause->rank_s / whole_s;
	if (!strcmp(symptom->id, "slow_steps")) { /* whether it was there in these very steps is not known */
		cause->evidence = sb_say(a, "%s; it may be why %s", cause->evidence, symptom->issue);
		return;
	}
	cause->evidence = part >= NEARLY_ALL ? sb_say(a, "%s; it is why %s", cause->evidence, symptom->issue)
					     : sb_say(a, "%s; it is %.*f %% of this: %s", cause->evidence,
						       part < 0.0995 ? 1 : 0, 100 * part, symptom->issue);
}

/* Of the causes that explain the symptom, the one that costs most; NULL: there is none. */
static struct sb_advice *largest_cause(const struct sb_advisor *a, const struct sb_advice *symptom)
{
	struct sb_advice *all = a->found.items, *most = NULL;

	for (size_t i = 0; i < a->found.count; i++)
		if (accounts_for(a->model, &all[i], symptom) && (!most || all[i].rank_s > most->rank_s))
			most = &all[i];
	return most;
}

static void name_under_cause(struct sb_advisor *a, const struct sb_advice *symptom)
{
	struct sb_advice *cause = largest_cause(a, symptom);

	if (cause && !is_of_another_stage(a->model, cause, symptom))
		name_symptom(a, cause, symptom);
}

/* ---- what is left ------------------------------------------------------- */

static bool was_sampled(const struct sb_model *model)
{
	for (size_t i = 0; i < model->system.setting_count; i++) {
		const struct sb_pair *p = &model->system.settings[i];

		if (!strcmp(p->key, "sample_hz"))
			return p->type == STROBE_TYPE_FLOAT ? p->f > 0 : p->i > 0;
	}
	return false;
}

static const char *next_recording(const struct sb_model *model, const char *id)
{
	if (!strcmp(id, "unattributed"))
		return model->functions.sample_count ? "put sections around the functions listed"
		       : was_sampled(model)          ? "put sections around what runs there"
						     : "record with --sample=100";
	if (!strcmp(id, "slow_steps") && model->devices.count) /* a trace of the first steps misses them */
		return model->slow_moments.count ? "look at the slow moments in the report"
						 : "record with --gpu-trace=slow:1.5, which keeps the "
						   "kernels around slow steps";
	if (!model->gpu.present && (model->devices.count || strcmp(id, "gpu_utilization") == 0))
		return "record with --gpu-trace=steps:3";
	if (!model->functions.sample_count && was_sampled(model))
		return "put sections around its parts: no Python stack was seen there";
	if (!model->functions.sample_count)
		return "record with --sample=100, which names the Python lines";
	if (model->functions.sample_count < 100)
		return "record it longer: so few samples name no line";
	return model->gpu.present ? "open the timeline at that place: the kernels and the stages beside them"
				  : "open the timeline at that place";
}

static const char *what_was_asked(const struct sb_model *model)
{
	if (model->gpu.present && model->functions.sample_count)
		return "neither the kernels nor the sampled functions single one out";
	if (model->gpu.present)
		return "the kernels alone do not tell";
	return model->functions.sample_count ? "the sampled functions single none out"
					     : "neither kernels nor Python functions were recorded";
}

const char *sb_symptoms_not_found(struct sb_model *model, const char *id)
{
	return sb_model_printf(
		model, "cause not found: %s, next: %s", what_was_asked(model), next_recording(model, id));
}

static void say_not_found(struct sb_advisor *a, struct sb_advice *f)
{
	const struct sb_advice *part = f->cause ? NULL : largest_cause(a, f);
	double all_s = f->whole_s > 0 ? f->whole_s : f->rank_s;

	if (f->cause)
		return;
	if (part && part->rank_s >= PART_LEAST * all_s) {
		f->cause = sb_say(a, "%.0f %% of it is %s: %s; the cause of the rest was not found, next: %s",
			100 * part->rank_s / all_s, part->id, part->cause, next_recording(a->model, f->id));
		f->confidence = "possible";
		return;
	}
	f->cause = sb_symptoms_not_found(a->model, f->id);
	f->confidence = "possible";
	if (sb_rule_is_one_of(idle, sizeof idle / sizeof *idle, f->id) && sb_idle_is_launching(a->model))
		f->priority = sb_priority_name(SB_PRIORITY_LOW); /* so is a program of small models */
}

void sb_symptoms_leave_out(struct sb_advisor *a, const struct sb_advice *f)
{
	struct sb_advice *all = a->found.items;
	size_t i = (size_t)(f - all);

	memmove(&all[i], &all[i + 1], (a->found.count - i - 1) * sizeof *all);
	a->found.count--;
}

struct sb_advice *sb_symptoms_found(const struct sb_advisor *a, const char *id)
{
	struct sb_advice *all = a->found.items;

	for (size_t i = 0; i < a->found.count; i++)
		if (strcmp(all[i].id, id) == 0)
			return &all[i];
	return NULL;
}

/* Keeps one of two findings about the same idle time: sampled and traced, or gaps and short kernels. gaps: they
 * were found, and may be left out by now. */
static bool is_repeated(const struct sb_advice *f, bool gaps)
{
	return gaps && (strcmp(f->id, "gpu_utilization") == 0 || strcmp(f->id, "small_kernels") == 0);
}

/* Waiting for input at the line, or writing there. */
static struct sb_advice *other_of_line(const struct sb_advisor *a, const struct sb_advice *between)
{
	struct sb_advice *all = a->found.items;

	for (size_t i = 0; between->where.file && i < a->found.count; i++)
		if ((!strcmp(all[i].id, "input_starved") || !strcmp(all[i].id, "slow_export")) &&
			all[i].where.file && all[i].where.line == between->where.line &&
			strcmp(all[i].where.file, between->where.file) == 0)
			return &all[i];
	return NULL;
}

/* A line is reported once: what it does between the generations beside that costs as well. */
static void merge_lines(struct sb_advisor *a)
{
	struct sb_advice *all = a->found.items, *other;

	for (size_t i = 0; i < a->found.count; i++) {
		other = strcmp(all[i].id, "between_generations") ? NULL : other_of_line(a, &all[i]);
		if (!other)
			continue;
		other->saves_s += all[i].saves_s;
		other->rank_s += all[i].rank_s;
		other->evidence = sb_say(a, "%s; and %s", other->evidence, all[i].evidence);
		sb_weigh_priority(a, other);
		sb_symptoms_leave_out(a, &all[i]);
		return;
	}
}

/* The line makes a model again for each generation. */
static bool makes_models(const struct sb_advice *f)
{
	static const char *const words[] = { "deepcopy", "from_pretrained", "from_single_file" };

	if (!f->where.file || !f->cause ||
		(strcmp(f->id, "between_generations") && strcmp(f->id, "repeated_work") &&
			strcmp(f->id, "model_load")))
		return false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(f->cause, words[i]))
			return true;
	return false;
}

/* Memory that grows without a place beside a line that makes a model for each generation: that is what grows. Its modules refer to
 * each other, and stay until Python looks for such cycles. */
static void fold_leak(struct sb_advisor *a)
{
	struct sb_advice *all = a->found.items, *line = NULL;

	for (size_t i = 0; i < a->found.count; i++)
		if (makes_models(&all[i]) && (!line || all[i].rank_s > line->rank_s))
			line = &all[i];
	for (size_t i = 0; line && i < a->found.count; i++) {
		if (strcmp(all[i].id, "memory_leak") || all[i].where.file)
			continue;
		if (!sb_symptoms_name(a, line, all[i].id))
			return;
		line->evidence = sb_say(
			a, "%s; what it makes stays for a while: %s", line->evidence, all[i].issue);
		line->priority = strcmp(all[i].priority, "high") ? line->priority : all[i].priority;
		sb_symptoms_leave_out(a, &all[i]);
		return;
	}
}

/* A line that makes so many objects that Python collects by itself: taking it out takes both away. */
static void fold_collections(struct sb_advisor *a)
{
	static const char *const lines[] = { "python_between_steps", "python_in_forward" };
	struct sb_advice *f = sb_symptoms_found(a, "garbage_collection"), *line;

	for (size_t i = 0; f && f->where.file && i < sizeof lines / sizeof *lines; i++) {
		line = sb_symptoms_found(a, lines[i]);
		if (!line || !line->where.file || strcmp(line->where.file, f->where.file) != 0 ||
			line->where.line != f->where.line || !(line->rank_s > f->rank_s) ||
			!sb_symptoms_name(a, line, f->id))
			continue;
		line->saves_s += f->saves_s;
		line->rank_s += f->rank_s;
		line->evidence = sb_say(a, "%s; what it makes sets off %s", line->evidence, f->evidence);
		sb_weigh_priority(a, line);
		sb_symptoms_leave_out(a, f);
		return;
	}
}

/* The line asks for GPU memory. */
static bool asks_for_memory(const struct sb_advice *f)
{
	static const char *const words[] = { "torch.empty", "torch.zeros", "torch.ones", "torch.full",
		"torch.rand" };

	for (size_t i = 0; f->cause && i < sizeof words / sizeof *words; i++)
		if (strstr(f->cause, words[i]))
			return true;
	return false;
}

/* What was given back has to be asked for again, at the line that makes tensors in the same stage. */
static void fold_allocations(struct sb_advisor *a)
{
	struct sb_advice *thrash = sb_symptoms_found(a, "allocator_thrash"),
			 *line = sb_symptoms_found(a, "python_between_steps");

	if (!thrash || !line || !asks_for_memory(line) || !thrash->where.stage || !line->where.stage ||
		strcmp(thrash->where.stage, line->where.stage) != 0 || !sb_symptoms_name(a, thrash, line->id))
		return;
	thrash->saves_s = fmin(thrash->saves_s + line->saves_s, sb_weigh_idle_s(a->model));
	thrash->rank_s = fmin(thrash->rank_s + line->rank_s, sb_weigh_idle_s(a->model));
	thrash->evidence = sb_say(a, "%s; the memory is asked for again in %s: %s", thrash->evidence,
		line->cause, line->evidence);
	sb_weigh_priority(a, thrash);
	sb_symptoms_leave_out(a, line);
}

#define FAR_LESS 0.25

/* Where another thread has the GIL nearly all the time, every line is found waiting for it. */
static void fold_waits_for_the_gil(struct sb_advisor *a)
{
	struct sb_advice *gil = sb_symptoms_found(a, "gil_contention"),
			 *line = sb_symptoms_found(a, "python_between_steps");

	if (gil && line && line->rank_s < FAR_LESS * gil->rank_s && sb_symptoms_name(a, gil, line->id))
		sb_symptoms_leave_out(a, line);
}

void sb_symptoms_explain(struct sb_advisor *a)
{
	struct sb_advice *all = a->found.items;
	bool gaps = sb_symptoms_found(a, "gpu_gaps") != NULL;

	merge_lines(a);
	sb_out_of_memory_explain(a);
	fold_leak(a);
	fold_collections(a);
	fold_allocations(a);
	fold_waits_for_the_gil(a);
	for (size_t i = 0; i < a->found.count;) {
		struct sb_advice f = all[i];
		double covered_s = can_be_explained(f.id) ? explained_s(a, &f) : 0;
		double all_s = sb_rule_is_symptom(f.id) && f.whole_s > 0 ? f.whole_s : f.rank_s;
		bool repeated = is_repeated(&f, gaps);

		if (!repeated && !(covered_s > 0 && covered_s >= ENOUGH * all_s)) {
			if (sb_rule_is_symptom(f.id))
				say_not_found(a, &all[i]);
			i++;
			continue;
		}
		memmove(&all[i], &all[i + 1], (a->found.count - i - 1) * sizeof *all);
		a->found.count--;
		if (!repeated)
			name_under_cause(a, &f);
	}
}
