/* The rule about switches for finding errors that were left on: they were set when a model was called (the event "torch.asked"). */
#include "advise/asked.h"
#include "advise/weigh.h"

#include <string.h>

#define COSTS 0.3 /* of the model's time, to rank by */

static const struct debug_switch {
	const char *fact, *name, *cause, *suggestion;
} switches[] = {
	{ "anomaly", "anomaly detection",
		"torch.autograd.set_detect_anomaly(True) is on while gradients are recorded: each operation "
		"keeps the "
		"Python stack that called it",
		"Take set_detect_anomaly(True) out; without a backward pass also call the model under "
		"torch.inference_mode()." },
	{ "tracemalloc", "tracemalloc",
		"tracemalloc.start() (or PYTHONTRACEMALLOC) is on: each object that Python makes keeps the "
		"stack that "
		"made it",
		"Take tracemalloc.start() out, or unset PYTHONTRACEMALLOC; 'strobe run "
		"--memory-history=host' says which "
		"lines hold memory." },
	{ "launch_blocking", "CUDA_LAUNCH_BLOCKING",
		"CUDA_LAUNCH_BLOCKING=1 in the environment: after each launch the CPU waits until the kernel "
		"has run",
		"Unset CUDA_LAUNCH_BLOCKING." },
	{ "no_memory_caching", "PYTORCH_NO_CUDA_MEMORY_CACHING",
		"PYTORCH_NO_CUDA_MEMORY_CACHING=1 in the environment: each tensor asks the driver for its "
		"memory, which "
		"waits for the GPU",
		"Unset PYTORCH_NO_CUDA_MEMORY_CACHING." },
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
	double cost_s = stage ? fmin(COSTS * sb_weigh_gpu_s(stage), sb_weigh_work_s(a->model)) : 0,
	       percent = sb_weigh_percent(a->model, cost_s);
	struct sb_advice *f;

	if (!stage || !(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, NAN, sb_say(a, "'%s' runs with %s on", stage->name, s->name),
		sb_say(a, "read from torch and the environment when it was called; its %lld calls take %s",
			(long long)sb_stage_calls(stage), sb_say_seconds(a, sb_weigh_gpu_s(stage))));
	sb_finding_cause(f, s->cause, SB_GAIN_ESTIMATED, SB_CERTAIN);
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
