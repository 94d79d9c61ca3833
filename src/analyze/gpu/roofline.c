/* roofline: rates of the stages beside what this GPU can do. Reads what the stages, the counters and the monitors have found. */
#include "analyze/analysis.h"
#include "analyze/gpu/peak_rates.h"
#include "analyze/gpu/stage_bound.h"
#include "analyze/models_on_cpu.h"
#include "base/error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Where tensors or kernels of the run are, it computes; else where its zones are. One of which it has a context alone does nothing. */
static bool computes(const struct sb_model *model, const struct sb_device *d)
{
	const struct sb_touched_devices *t = &model->devices.touched;
	uint64_t devices = t->work ? t->work : t->zones;

	return devices ? d->index >= 0 && d->index < 64 && devices >> d->index & 1 : d->used;
}

/* The GPU that the run used; several of one model count as one here. other: one of another model, NULL: there is none. */
static const struct sb_device *device_of(const struct sb_model *model, const struct sb_device **out_other)
{
	const struct sb_device *first = NULL;

	*out_other = NULL;
	for (size_t i = 0; i < model->devices.count; i++) {
		const struct sb_device *d = &model->devices.all[i];

		if (!computes(model, d))
			continue;
		first = first ? first : d;
		if (first->name && d->name && strcmp(first->name, d->name) != 0)
			*out_other = d;
	}
	return first || !model->devices.count ? first : &model->devices.all[0];
}

static void fill_ceilings(const struct sb_peak_rates *p, struct sb_model *model)
{
	static const char *const precisions[] = { "fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8",
		"fp4" };
	struct sb_roofline_panel *r = &model->roofline;

	r->ceilings = sb_model_alloc(model, sizeof precisions / sizeof *precisions * sizeof *r->ceilings);
	for (size_t i = 0; r->ceilings && i < sizeof precisions / sizeof *precisions; i++) {
		double rate = sb_peak_rate(p, precisions[i]);

		if (!isnan(rate) && (p->fp16 != p->bf16 || strcmp(precisions[i], "fp16") != 0))
			r->ceilings[r->ceiling_count++] = (struct sb_ceiling){ precisions[i], rate };
	}
	r->source = p->source;
	r->gb_per_s = p->gb_per_s;
}

/* Of the stage's time, to speak for all of it: readings a second long blur its edges, samples do not. */
static double least_covered(const struct sb_gpu_counters *c)
{
	return c->source == sb_counter_source_names[SB_COUNTED_PM] ? 0.02 : 0.5;
}

/* As it was measured, else by the data sheet; NAN: neither. */
static double dram_gb_per_s(const struct sb_gpu_counters *c, const struct sb_peak_rates *p)
{
	if (c->beside[SB_BESIDE_DRAM] > 0)
		return c->beside[SB_BESIDE_DRAM];
	return p && c->percent[SB_COUNTER_DRAM] > 0 ? c->percent[SB_COUNTER_DRAM] / 100 * p->gb_per_s : NAN;
}

#define MFU_MOST 1.05 /* a GPU's clock may be a little above that of its data sheet */

/* No stage can do more than the peak: then what was counted is not what was done in this time. */
static void fill_mfu(struct sb_model *model, const struct sb_peak_rates *p, struct sb_stage_work *w)
{
	double work_s = w->time_s - w->moves_s;

	w->peak_tflops = sb_peak_rate(p, w->precision);
	if (p && w->precision && isnan(w->peak_tflops))
		w->mfu_why = sb_model_printf(model, "this GPU has no peak rate for %s", w->precision);
	w->mfu_ratio = w->tflops / w->peak_tflops;
	w->floor_s = w->rate_flops > 0 ? w->rate_flops / (w->peak_tflops * 1e12) : NAN;
	if (w->mfu_ratio > MFU_MOST) {
		w->mfu_why = sb_model_printf(model,
			"more operations were counted than one such GPU can do in that time (%.4g TFLOP/s, "
			"its %s peak is %.4g)",
			w->tflops, w->precision, w->peak_tflops);
		w->tflops = w->mfu_ratio = w->floor_s = NAN;
	}
	if (w->moves_s > 0 && work_s > 0 && w->mfu_ratio * w->time_s / work_s <= MFU_MOST)
		w->work_mfu_ratio = w->mfu_ratio * w->time_s / work_s;
}

/* Of the calls that are judged: a warm-up says nothing of what the GPU can do. */
static void fill_rate(struct sb_model *model, const struct sb_peak_rates *p, struct sb_stage *s)
{
	const struct sb_judged_calls *of = &s->judged;
	const struct sb_gpu_counters *c = sb_stage_judged_counters(s);
	struct sb_stage_work *w = &s->work;
	bool whole; /* all that was done in these calls was counted */

	if (isnan(w->flops))
		return;
	w->calls = of->warm ? SB_CALLS_WARM : SB_CALLS_COLD;
	w->call_count = of->count;
	w->rate_flops = sb_stage_work_on_cpu(w) ? of->flops : of->flops - of->cpu_flops;
	if (sb_stage_work_on_cpu(w) && p) {
		p = NULL;
		w->mfu_why = "its models ran on the CPU";
	}
	w->time_s = of->time_s;
	w->moves_s = fmin(of->moves_s, of->time_s);
	whole = w->uncounted_count == w->cached_count && !of->cached_count;
	w->tflops = w->time_s > 0 && whole ? w->rate_flops / w->time_s / 1e12 : NAN;
	if (w->precision && !strcmp(w->precision, "fp32") && w->tflops > sb_peak_rate(p, "fp32") &&
		p->tf32 > 0)
		w->precision = "tf32"; /* no other way is as fast */
	else if (w->precision && !strcmp(w->precision, "tf32") && p && !(p->tf32 > 0))
		w->precision = "fp32"; /* allowed, and the GPU has none */
	fill_mfu(model, p, w);
	if (!(c->covered_ratio > least_covered(c)))
		c = sb_stage_samples(s);
	if (!sb_stage_work_on_cpu(w) && c)
		w->bytes = dram_gb_per_s(c, p) * 1e9 * w->time_s;
	w->intensity = w->bytes > 0 && !isnan(w->tflops) ? w->rate_flops / w->bytes : NAN;
}

/* The largest bound in small letters; "tensor and DRAM" is for people. */
static const char *largest_bound(struct sb_model *model, const struct sb_stage_work *w)
{
	const char *bound = w->bound_count ? w->bounds[0].bound : w->bound;
	char name[24];
	size_t i = 0;

	if (!bound)
		return NULL;
	for (; bound[i] && i < sizeof name - 1; i++)
		name[i] = (char)tolower((unsigned char)bound[i]);
	name[i] = 0;
	return sb_model_text(model, name);
}

static bool list_efficiency(struct sb_model *model)
{
	struct sb_efficiency_panel *to = &model->efficiency;

	to->all = sb_model_alloc(model, (model->stages.stage_count + 1) * sizeof *to->all);
	for (size_t i = 0; to->all && i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];
		const struct sb_stage_work *w = &s->work;

		if (!isnan(w->flops) || w->bound || w->bound_why)
			to->all[to->count++] = (struct sb_efficiency){ s->name, w->flops, w->tflops,
				100 * w->mfu_ratio, w->bytes, largest_bound(model, w), w->bound_why,
				w->floor_s, w->calls, w->moves_s, 100 * w->work_mfu_ratio };
	}
	return to->all;
}

static const char *why_no_mfu(
	struct sb_model *model, const struct sb_device *device, const struct sb_device *other, bool known)
{
	const char *why = NULL; /* of the first stage that says it */
	bool counted = false;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage_work *w = &model->stages.stages[i].work;

		if (!isnan(w->mfu_ratio))
			return NULL;
		counted |= !isnan(w->flops);
		why = why ? why : w->mfu_why;
	}
	if (model->roofline.on_cpu)
		return counted ? "the models ran on the CPU" : NULL;
	if (!counted && model->session.host && !strcmp(model->session.host, "imported"))
		return "imported traces lack the shapes of model calls";
	if (!counted || known)
		return why;
	if (other)
		return sb_model_printf(
			model, "the run used GPUs of several kinds (%s, %s)", device->name, other->name);
	return device ? sb_model_printf(model, "%s is not in the table of peak rates",
				device->name ? device->name : "the GPU")
		      : "no GPU was seen";
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	bool on_cpu = sb_models_on_cpu(model);
	const struct sb_device *other = NULL, *device = on_cpu ? NULL : device_of(model, &other);
	const struct sb_peak_rates *peak =
		device && !other ? sb_peak_rates_find(device->name, device->memory_total_mb / 1024) : NULL;

	(void)self;
	(void)run;
	model->roofline.on_cpu = on_cpu;
	for (size_t i = 0; i < model->stages.stage_count; i++) {
		struct sb_stage *s = &model->stages.stages[i];

		fill_rate(model, peak, s);
		sb_stage_bound_fill(model, s);
		model->roofline.present |= !isnan(s->work.flops) || s->work.bound || s->work.bound_why;
	}
	for (size_t i = 0; i < model->stages.same_name_count; i++) {
		struct sb_stage *s = &model->stages.same_name[i].all;

		fill_rate(model, peak, s);
		sb_stage_bound_fill(model, s);
	}
	model->roofline.gpu = device && !other ? device->name : NULL;
	model->roofline.gb_per_s = NAN;
	if (peak)
		fill_ceilings(peak, model);
	if (model->roofline.present)
		model->roofline.mfu_why = why_no_mfu(model, device, other, peak != NULL);
	if (!list_efficiency(model))
		return sb_fail(STROBE_ENOMEM, "no memory for the stages' rates");
	return 0;
}

const struct sb_analysis sb_analysis_roofline = { .name = "roofline", .finish = finish };
