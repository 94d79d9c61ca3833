/* Rules about switches that were left on, as they were when a model was called (the event "torch.asked"): those for finding errors,
 * the recording of gradients, and cuDNN's search for kernels. */
#include "advise/debug.h"

#include "advise/asked.h"
#include "advise/weigh.h"

#include <string.h>

#define COSTS 0.3 /* of the model's time, to rank by */

/* ---- what a switch costs; seconds of the time that counts, NAN: not known ---- */

/* Each operation formats its stack in Python: samples find it there. */
static double formats_stacks(const struct sb_model *model, const struct sb_stage *s)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->lines.count; i++) {
		const struct sb_line *l = &model->lines.all[i];
		bool formats = l->inner && (!strncmp(l->inner, "traceback.", strlen("traceback.")) ||
						   !strncmp(l->inner, "linecache.", strlen("linecache.")));

		if (formats && l->stage && !strcmp(l->stage, s->name))
			sum_s += model->generations.whole_run ? l->total_s : l->generation_s;
	}
	return sum_s > 0 ? sum_s : NAN;
}

static double gpu_s(const struct sb_model *model, const struct sb_stage *s)
{
	return sb_weigh_gpu_s(s) * (s->in_generation ? sb_weigh_warm_share(model) : 1);
}

/* The CPU and the GPU take turns: without it the shorter one's time is hidden by the other's. */
static double takes_turns(const struct sb_model *model, const struct sb_stage *s)
{
	double used = sb_weigh_utilization(model);

	return gpu_s(model, s) * fmin(used, 1 - used);
}

/* At most all the time that the GPU idles. */
static double idles(const struct sb_model *model, const struct sb_stage *s)
{
	return gpu_s(model, s) * (1 - sb_weigh_utilization(model));
}

static const struct debug_switch {
	const char *fact, *name, *cause, *suggestion;
	double (*cost)(const struct sb_model *model, const struct sb_stage *s); /* NULL: it is not known */
	enum sb_gain_basis basis;
} switches[] = {
	{ "anomaly", "anomaly detection",
		"torch.autograd.set_detect_anomaly(True) is on while gradients are recorded: each operation "
		"keeps the Python stack that called it",
		"Take set_detect_anomaly(True) out; without a backward pass also call the model under "
		"torch.inference_mode().",
		formats_stacks, SB_GAIN_ESTIMATED },
	{ "tracemalloc", "tracemalloc",
		"tracemalloc.start() (or PYTHONTRACEMALLOC) is on: each object that Python makes keeps the "
		"stack that made it",
		"Take tracemalloc.start() out, or unset PYTHONTRACEMALLOC; 'strobe run "
		"--memory-history=host' says which "
		"lines hold memory.",
		NULL, SB_GAIN_ESTIMATED },
	{ "launch_blocking", "CUDA_LAUNCH_BLOCKING",
		"CUDA_LAUNCH_BLOCKING=1 in the environment: after each launch the CPU waits until the kernel "
		"has run",
		"Unset CUDA_LAUNCH_BLOCKING.", takes_turns, SB_GAIN_ESTIMATED },
	{ "no_memory_caching", "PYTORCH_NO_CUDA_MEMORY_CACHING",
		"PYTORCH_NO_CUDA_MEMORY_CACHING=1 in the environment: each tensor asks the driver for its "
		"memory, which waits for the GPU",
		"Unset PYTORCH_NO_CUDA_MEMORY_CACHING.", idles, SB_GAIN_BOUNDED },
};

/* The stage of the model that runs longest with it; NULL: none does. */
static const struct sb_stage *longest_with(const struct sb_model *model, const char *fact)
{
	const struct sb_stage *most = NULL;

	for (size_t i = 0; i < model->events.count; i++) {
		const struct sb_event_row *e = &model->events.rows[i];
		const char *component = strcmp(e->name, "torch.asked") ? NULL : sb_asked_text(e, "component");
		const struct sb_stage *s = component && sb_asked_number(e, fact) > 0
						   ? sb_model_stage(model, component)
						   : NULL;

		if (s && (!most || sb_weigh_gpu_s(s) > sb_weigh_gpu_s(most)))
			most = s;
	}
	return most;
}

static void find_switch(struct sb_advisor *a, const struct debug_switch *s)
{
	const struct sb_stage *stage = longest_with(a->model, s->fact);
	double saves_s = stage && s->cost ? s->cost(a->model, stage) : NAN,
	       cost_s = stage ? fmin(fmax(saves_s, COSTS * sb_weigh_gpu_s(stage)), sb_weigh_work_s(a->model))
			      : 0,
	       percent = sb_weigh_percent(a->model, cost_s);
	struct sb_advice *f;

	if (!stage || !(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, saves_s, sb_say(a, "'%s' runs with %s on", stage->name, s->name),
		sb_say(a, "read from torch and the environment when it was called; its %lld calls take %s",
			(long long)sb_stage_calls(stage), sb_say_seconds(a, sb_weigh_gpu_s(stage))));
	sb_finding_cause(f, s->cause, s->basis, SB_CERTAIN);
	if (!f)
		return;
	f->stage = stage->name;
	f->rank_s = cost_s;
	f->suggestion = s->suggestion;
	sb_weigh_priority(a, f);
}

void sb_rule_debug_mode(struct sb_advisor *a)
{
	for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
		find_switch(a, &switches[i]);
}

/* ---- gradients ---- */

#define RECORDING_COSTS 0.1 /* of the model's time, to rank by; what the graph keeps of memory comes on top */

static bool goes_back(const struct sb_model *model)
{
	return sb_model_stage(model, "backward") || sb_model_stage(model, "optimizer");
}

const char *sb_debug_gradients(const struct sb_model *model, const char *name)
{
	const struct sb_stage *stage = goes_back(model) ? NULL : longest_with(model, "gradients");

	return stage && (!name || !strcmp(stage->name, name)) ? stage->name : NULL;
}

void sb_rule_gradients_unused(struct sb_advisor *a)
{
	const char *name = sb_debug_gradients(a->model, NULL);
	const struct sb_stage *stage = name ? sb_model_stage(a->model, name) : NULL;
	double took_s = stage ? fmin(sb_weigh_gpu_s(stage), sb_weigh_work_s(a->model)) : 0,
	       percent = sb_weigh_percent(a->model, took_s);
	struct sb_advice *f;

	if (!stage || !(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, NAN,
		sb_say(a, "gradients are recorded in '%s', and no backward pass follows", name),
		sb_say(a, "%lld call%s, %s; none of torch's backward passes ran",
			(long long)sb_stage_calls(stage), sb_stage_calls(stage) == 1 ? "" : "s",
			sb_say_seconds(a, took_s)));
	sb_finding_cause(f,
		sb_say(a,
			"'%s' is called without torch.inference_mode() or no_grad(): each operation "
			"keeps its inputs for a backward pass, and a result that is kept keeps all that made "
			"it",
			name),
		SB_GAIN_ESTIMATED, SB_CERTAIN);
	if (!f)
		return;
	f->stage = stage->name;
	f->rank_s = RECORDING_COSTS * took_s;
	sb_weigh_priority(a, f);
}

/* ---- kernels that are searched for ---- */

#define CALLS_LEAST 8
#define SEARCH_RATIO 5 /* a call that searches takes this many times as long as the others */

void sb_rule_benchmark_by_size(struct sb_advisor *a)
{
	const struct sb_stage *s = longest_with(a->model, "cudnn_benchmark");
	double cost_s, percent;
	struct sb_advice *f;

	if (!s || sb_stage_calls(s) < CALLS_LEAST || !(s->time.p95 > SEARCH_RATIO * s->time.p50))
		return;
	/* one search is due */
	cost_s = (s->time.mean - s->time.p50) * (double)sb_stage_calls(s) - (s->time.max - s->time.p50);
	cost_s = fmin(
		cost_s * (s->in_generation ? sb_weigh_warm_share(a->model) : 1), sb_weigh_work_s(a->model));
	percent = sb_weigh_percent(a->model, cost_s);
	if (!(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, cost_s,
		sb_say(a, "'%s' looks for the fastest convolution again and again", s->name),
		sb_say(a, "half of its %lld calls take less than %s, one in twenty more than %s",
			(long long)sb_stage_calls(s), sb_say_seconds(a, s->time.p50),
			sb_say_seconds(a, s->time.p95)));
	sb_finding_cause(f,
		sb_say(a,
			"torch.backends.cudnn.benchmark is on, and '%s' gets inputs of several sizes: "
			"cuDNN tries its kernels for each new one",
			s->name),
		SB_GAIN_ESTIMATED, SB_LIKELY);
	if (!f)
		return;
	f->stage = s->name;
	sb_weigh_priority(a, f);
}
