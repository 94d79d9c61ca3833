/* Model parameters: the last word on each model counts. */
#include "analyze/video/parameters.h"

#include "base/error.h"
#include "base/vec.h"
#include "format/run_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODELS_MOST 1024

void sb_parameters_text(int64_t count, char out_text[16])
{
	static const struct {
		double unit;
		char letter;
	} units[] = { { 1e12, 'T' }, { 1e9, 'B' }, { 1e6, 'M' }, { 1e3, 'K' } };

	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if ((double)count < units[i].unit)
			continue;
		snprintf(out_text, 16, "%.1f%c", (double)count / units[i].unit, units[i].letter);
		return;
	}
	snprintf(out_text, 16, "%lld", (long long)count);
}

struct seen_model {
	uint32_t name, type;
	int64_t parameters, bytes;
};

struct models {
	struct sb_run *run;
	struct sb_vec seen; /* struct seen_model */
	double flops; /* of steps, or of model calls */
	bool failed;
};

static void see_event(void *self, const struct sb_event *e)
{
	struct models *m = self;
	struct seen_model *all = m->seen.items, *n = NULL;

	for (size_t i = 0; i < m->seen.count && !n; i++) {
		if (all[i].name == e->name)
			n = &all[i];
	}
	if (!n && m->seen.count < MODELS_MOST) {
		n = sb_vec_push(&m->seen, sizeof *n);
		m->failed |= !n;
	}
	if (!n)
		return;
	n->name = e->name;
	n->type = e->model.type;
	n->parameters = e->model.parameter_count;
	n->bytes = e->model.bytes;
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct models *m = self;
	double flops = sb_attr_number(z->attrs, z->attr_count, "flops");

	if (flops > 0)
		m->flops += flops;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct models *m = calloc(1, sizeof *m);

	if (!m)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse models");
	m->run = run;
	v->self = m;
	v->kinds = 1u << SB_EVENT_MODEL;
	v->roles = 1u << STROBE_ROLE_STEP | 1u << STROBE_ROLE_FORWARD;
	v->event = see_event;
	v->zone = see_zone;
	return 0;
}

/* What an imported benchmark says before its numbers. */
static void take_device(const struct sb_run *run, struct sb_model *model)
{
	const struct sb_run_meta *device = sb_run_meta_find(run, SB_META_RUN, SB_RUN_DEVICE);
	const struct sb_run_meta *gpu = device ? sb_run_meta_find(run, SB_META_SYSTEM, "gpu0.name") : NULL;
	struct sb_model_panel *panel = &model->models;

	if (device && device->attr.type == STROBE_TYPE_STRING)
		panel->device = sb_model_text(model, device->attr.s);
	if (gpu && gpu->attr.type == STROBE_TYPE_STRING)
		panel->gpu = sb_model_text(model, gpu->attr.s);
	panel->present |= panel->gpu != NULL;
}

static int by_size(const void *a, const void *b)
{
	const struct sb_model_entry *x = a, *y = b;

	return x->parameters > y->parameters ? -1 : x->parameters < y->parameters;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct models *m = self;
	const struct seen_model *all = m->seen.items;
	struct sb_model_panel *panel = &model->models;
	const struct sb_diffusion_panel *d = &model->diffusion;
	char size[16];
	bool flops = m->flops > 0 && d->step.count > 0 && d->step.total > 0;

	take_device(run, model);
	panel->models = sb_model_alloc(model, m->seen.count * sizeof *panel->models);
	if (m->failed || (m->seen.count && !panel->models))
		return sb_fail(STROBE_ENOMEM, "no memory to analyse models");
	for (size_t i = 0; i < m->seen.count; i++) {
		struct sb_model_entry *entry = &panel->models[i];

		entry->name = sb_model_text(model, run->names[all[i].name].text);
		entry->type = all[i].type ? sb_model_text(model, run->names[all[i].type].text) : NULL;
		entry->parameters = all[i].parameters;
		sb_parameters_text(entry->parameters, size);
		entry->parameters_text = sb_model_text(model, size);
		entry->bytes = all[i].bytes >= 0 ? (double)all[i].bytes : NAN;
		entry->flops_per_step = entry->tflops_reached = NAN;
		panel->total_parameters += all[i].parameters > 0 ? all[i].parameters : 0;
	}
	panel->model_count = m->seen.count;
	if (panel->model_count) {
		panel->present = true;
		qsort(panel->models, panel->model_count, sizeof *panel->models, by_size);
		if (flops) { /* the largest model is the one that steps */
			panel->models[0].flops_per_step = m->flops / (double)d->step.count;
			panel->models[0].tflops_reached = m->flops / d->step.total / 1e12;
		}
	}
	return 0;
}

static void done(void *self)
{
	struct models *m = self;

	if (!m)
		return;
	sb_vec_done(&m->seen);
	free(m);
}

const struct sb_analysis sb_analysis_parameters = {
	.name = "parameters",
	.begin = begin,
	.finish = finish,
	.done = done,
};
