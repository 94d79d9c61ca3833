/* Named variants of one computation, compared with the first of them. */
#include "analyze/video/precision.h"

#include "base/error.h"
#include "base/vec.h"
#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define VARIANTS_MOST 64
#define VALUES_MOST 100000

const char *sb_precision_reading(double speedup, bool on_gpu)
{
	if (speedup < 1) /* then more than a bound is in the way: it has no fast path there */
		return "slower, no gain on this device";
	if (speedup < 1.5)
		return "CPU- or memory-bound";
	if (!on_gpu)
		return speedup <= 2 ? "a good gain" : "a large gain";
	return speedup <= 2 ? "good GPU use" : "excellent tensor-core use";
}

struct variant {
	char name[64];
	int64_t warmups;
	struct sb_vec values_s; /* double */
	struct sb_stats reported; /* count 0: not reported as an event */
};

struct variants {
	struct sb_run *run;
	struct variant *all;
	size_t count;
	bool failed;
};

static struct variant *variant_of(struct variants *v, const struct sb_run_attr *attrs, uint32_t attr_count)
{
	const struct sb_run_attr *name = sb_attr_find(attrs, attr_count, "variant");

	if (!name || name->type != STROBE_TYPE_STRING || !name->s)
		return NULL;
	for (size_t i = 0; i < v->count; i++) {
		if (strncmp(v->all[i].name, name->s, sizeof v->all[i].name - 1) == 0)
			return &v->all[i];
	}
	if (v->count == VARIANTS_MOST)
		return NULL;
	strncpy(v->all[v->count].name, name->s, sizeof v->all[v->count].name - 1);
	return &v->all[v->count++];
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct variants *v = self;
	struct variant *variant = z->attr_count ? variant_of(v, z->attrs, z->attr_count) : NULL;
	double *value;

	if (!variant)
		return;
	if (z->role == STROBE_ROLE_WARMUP || sb_attr_number(z->attrs, z->attr_count, "warmup") > 0) {
		variant->warmups++;
		return;
	}
	if (variant->values_s.count == VALUES_MOST)
		return;
	value = sb_vec_push(&variant->values_s, sizeof *value);
	if (value)
		*value = (double)(z->end_ns - z->begin_ns) / 1e9;
	else
		v->failed = true;
}

static void see_event(void *self, const struct sb_event *e)
{
	struct variants *v = self;
	struct variant *variant;
	double count, warmups;

	if (strcmp(v->run->names[e->name].text, "strobe.variant") != 0)
		return;
	variant = variant_of(v, e->attrs, e->attr_count);
	if (!variant)
		return;
	if (sb_stats_of(NULL, 0, &variant->reported) != 0)
		v->failed = true;
	count = sb_attr_number(e->attrs, e->attr_count, "count");
	warmups = sb_attr_number(e->attrs, e->attr_count, "warmup_count");
	variant->warmups = warmups > 0 && warmups < 1e15 ? (int64_t)warmups : 0;
	variant->reported.count = count >= 1 && count < 1e15 ? (int64_t)count : 1;
	variant->reported.mean = sb_attr_number(e->attrs, e->attr_count, "mean_ms") / 1e3;
	variant->reported.std = sb_attr_number(e->attrs, e->attr_count, "std_ms") / 1e3;
	variant->reported.min = sb_attr_number(e->attrs, e->attr_count, "min_ms") / 1e3;
	variant->reported.max = sb_attr_number(e->attrs, e->attr_count, "max_ms") / 1e3;
	variant->reported.median = sb_attr_number(e->attrs, e->attr_count, "median_ms") / 1e3;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *visitor)
{
	struct variants *v = calloc(1, sizeof *v);

	if (!v)
		return sb_fail(STROBE_ENOMEM, "no memory to compare variants");
	visitor->self = v;
	v->run = run;
	v->all = calloc(VARIANTS_MOST, sizeof *v->all);
	if (!v->all)
		return sb_fail(STROBE_ENOMEM, "no memory to compare variants");
	visitor->kinds = 1u << SB_EVENT_EVENT;
	visitor->roles = 1u << STROBE_ROLE_ITERATION | 1u << STROBE_ROLE_WARMUP;
	visitor->zone = see_zone;
	visitor->event = see_event;
	return 0;
}

static int fill(const struct variant *from, struct sb_model *model, struct sb_variant *to)
{
	int err = sb_stats_of(from->values_s.items, from->values_s.count, &to->time);

	if (err)
		return err;
	if (!from->values_s.count)
		to->time = from->reported;
	to->name = sb_model_text(model, from->name);
	to->warmup_count = from->warmups;
	to->speedup = NAN;
	return to->name ? 0 : sb_fail(STROBE_ENOMEM, "no memory to compare variants");
}

/* A word about the GPU needs one that did something. What was printed elsewhere is taken at
 * its word: precisions are compared on a GPU, unless it names another device. */
static bool used_gpu(const struct sb_run *run, const struct sb_model *model)
{
	const struct sb_run_meta *device = sb_run_meta_find(run, SB_META_RUN, SB_RUN_DEVICE);

	if (sb_run_meta_find(run, SB_META_RUN, SB_RUN_IMPORTED_FROM))
		return !device || device->attr.type != STROBE_TYPE_STRING ||
		       strncmp(device->attr.s, "cpu", 3);
	for (size_t i = 0; i < model->series_count; i++) {
		const struct sb_series_column *c = strcmp(model->series[i].source, "gpu")
							   ? NULL
							   : sb_series_column_find(&model->series[i],
								     "utilization_percent");

		if (c && c->stats.max > 0)
			return true;
	}
	return model->gpu.present;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct variants *v = self;
	struct sb_model_panel *panel = &model->models;

	if (v->failed)
		return sb_fail(STROBE_ENOMEM, "no memory to compare variants");
	if (!v->count)
		return 0;
	panel->variants = sb_model_alloc(model, v->count * sizeof *panel->variants);
	if (!panel->variants)
		return sb_fail(STROBE_ENOMEM, "no memory to compare variants");
	for (size_t i = 0; i < v->count; i++) {
		struct sb_variant *to = &panel->variants[panel->variant_count];
		int err;

		if (!v->all[i].values_s.count &&
			isnan(v->all[i].reported.count ? v->all[i].reported.mean : NAN))
			continue;
		err = fill(&v->all[i], model, to);
		if (err)
			return err;
		if (panel->variant_count++ && to->time.mean > 0) {
			to->speedup = panel->variants[0].time.mean / to->time.mean;
			to->reading = sb_precision_reading(to->speedup, used_gpu(run, model));
		}
	}
	panel->present |= panel->variant_count > 0;
	return 0;
}

static void done(void *self)
{
	struct variants *v = self;

	if (!v)
		return;
	for (size_t i = 0; v->all && i < v->count; i++)
		sb_vec_done(&v->all[i].values_s);
	free(v->all);
	free(v);
}

const struct sb_analysis sb_analysis_precision = {
	.name = "precision",
	.begin = begin,
	.finish = finish,
	.done = done,
};
