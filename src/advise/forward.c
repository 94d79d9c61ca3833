/* Python inside a model's call: a hook, a loop over values, a log. What a line calls
 * separates it from what the model itself computes. */
#include "advise/forward.h"

#include "advise/python_calls.h"
#include "advise/weigh.h"
#include "base/python_file.h"
#include "base/role.h"

#include <string.h>

#define SAMPLES_LEAST 3
#define CROWDING_MOST 4
#define GENERATIONS_LEAST 5 /* percent of them: a stage may be short */
#define MOSTLY 0.6

/* ---- which lines --------------------------------------------------------- */

static bool has(const char *text, const char *word)
{
	return text && strstr(text, word);
}

/* Where a program's line stood in a library: of Python's own, of arrays and pictures, or where torch goes through a tensor value by
 * value. Elsewhere in torch the model computes. */
static bool is_inside_python(const struct sb_line *l)
{
	static const char *const files[] = { "/numpy/", "/PIL/" };
	static const char *const functions[] = { "Tensor.__iter__", "_tensor_str.", "serialization." };

	if (has(l->inner_file, "/lib/python") && !sb_python_is_package(l->inner_file))
		return true;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (has(l->inner_file, files[i]))
			return true;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strstr(l->inner, functions[i]))
			return true;
	return false;
}

/* It computes without the GIL: "parts.append(x @ weight)". */
static bool runs_without_the_gil(const struct sb_line *l)
{
	double looks = (double)(l->stood_count + l->ran_count + l->without_count);

	return looks > 0 && (double)l->ran_count >= MOSTLY * looks;
}

static bool is_loop(const char *text)
{
	return strncmp(text, "for ", 4) == 0 || strncmp(text, "while ", 6) == 0;
}

/* A conversion may wait for a GPU, and lets go of the GIL for it. A line that calls nothing may add tensors in a model, but a hook
 * is none. */
static bool is_python(const struct sb_line *l)
{
	bool hook = l->hook_s >= MOSTLY * l->module_s;

	if (hook && l->hook) /* whatever it computes, the model does not ask for it */
		return true;
	if (l->inner)
		return is_inside_python(l);
	if (!l->text)
		return hook;
	switch (sb_python_calls(l->text)) {
	case SB_CALLS_PYTHON: return sb_python_conversions(l->text) || !runs_without_the_gil(l);
	case SB_CALLS_NOTHING: return hook || is_loop(l->text);
	default: return false;
	}
}

/* Moving weights, reading and writing have rules of their own. */
static bool is_model_stage(const struct sb_model *model, const char *name)
{
	const struct sb_stage *s = sb_model_stage(model, name);
	enum strobe_role work = s ? sb_role_work(s->name, s->role) : STROBE_ROLE_PROFILER;

	return work == STROBE_ROLE_STAGE || work == STROBE_ROLE_DENOISE || work == STROBE_ROLE_TEXT_ENCODE ||
	       work == STROBE_ROLE_VAE_DECODE || work == STROBE_ROLE_VAE_ENCODE;
}

static bool has_its_own_rule(const struct sb_model *model, const struct sb_line *l)
{
	enum sb_doing doing = sb_hot_doing(l);

	return doing == SB_DOES_COLLECT || doing == SB_DOES_ALLOCATE || doing == SB_DOES_COPY ||
	       sb_hot_waits(l) || (doing == SB_DOES_WAIT_GPU && l->step_s > 0 && sb_weigh_has_gpu(model));
}

static bool is_in_forward(const struct sb_model *model, const struct sb_line *l)
{
	return l->module_s > 0 && !l->between && !l->library && !sb_python_is_package(l->file) && l->stage &&
	       is_python(l) && is_model_stage(model, l->stage) && !has_its_own_rule(model, l);
}

struct sb_hot sb_forward_find(const struct sb_model *model)
{
	return sb_hot_find(model, is_in_forward);
}

static bool reads_in_forward(const struct sb_model *model, const struct sb_line *l)
{
	return l->text && sb_python_conversions(l->text) && is_in_forward(model, l);
}

struct sb_hot sb_forward_find_reads(const struct sb_model *model)
{
	return sb_hot_find(model, reads_in_forward);
}

/* ---- the rule ------------------------------------------------------------- */

/* Of all stages of the name, warm. */
static double stage_s(const struct sb_model *model, const char *name)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (!strcmp(s->name, name))
			sum_s += s->covered_s * (s->in_generation ? sb_weigh_warm_share(model) : 1);
	}
	return sum_s;
}

static bool is_sampled_enough(const struct sb_model *model, const struct sb_hot *hot)
{
	return hot->line &&
	       (double)hot->sample_count >= SAMPLES_LEAST * fmin(sb_weigh_crowding(model), CROWDING_MOST);
}

static bool is_at(const struct sb_line *l, const struct sb_advice *f)
{
	return f->where.file && f->where.line == l->line && !strcmp(f->where.file, l->file);
}

/* The loop's waits for the GPU have been found before. */
static bool is_named(const struct sb_advisor *a, const struct sb_line *l)
{
	const struct sb_line *reads = sb_forward_find_reads(a->model).line;
	const struct sb_advice *all = a->found.items;

	for (size_t i = 0; i < a->found.count; i++)
		if (!strcmp(all[i].id, "hidden_sync") &&
			(is_at(l, &all[i]) || (reads && is_at(reads, &all[i]))))
			return true;
	return false;
}

void sb_rule_python_in_forward(struct sb_advisor *a)
{
	struct sb_hot hot = sb_forward_find(a->model);
	double all_s = hot.line ? stage_s(a->model, hot.line->stage) : 0, percent, gain_s;
	struct sb_advice *f;

	if (!is_sampled_enough(a->model, &hot) || !(all_s > 0) || is_named(a, hot.line))
		return;
	percent = fmin(100, 100 * hot.module_s / all_s);
	gain_s = fmin(fmin(hot.module_s, all_s), sb_weigh_idle_s(a->model));
	if (!(percent > a->limit) || !(sb_weigh_percent(a->model, gain_s) > GENERATIONS_LEAST))
		return;
	f = sb_advisor_find(a, percent, gain_s,
		sb_say(a, "Python inside '%s' takes %.0f %% of it", hot.line->stage, percent),
		sb_say(a, "%s in %llu samples of this function, of %s of '%s'%s",
			sb_say_seconds(a, hot.module_s), (unsigned long long)hot.sample_count,
			sb_say_seconds(a, all_s), hot.line->stage,
			sb_weigh_leaves_first_out(a->model) ? " after the first generation" : ""));
	sb_finding_cause(f, sb_hot_words(a, hot.line), SB_GAIN_ESTIMATED, SB_LIKELY);
	sb_hot_place(f, &hot);
	if (f)
		f->stage = hot.line->stage;
	if (f && sb_hot_doing(hot.line) == SB_DOES_SLEEP)
		f->suggestion = "Take the sleep out of the model's call.";
	sb_weigh_priority(a, f);
}
