/* What the program says of a model's weights: "torch.asked" when it was called, "torch.computed" from the counting of its
 * operations. */
#include "advise/narrow.h"

#include "advise/asked.h"
#include "advise/costs.h"

#include <string.h>

#define MOST 0.8 /* of a stage's kernels */

static bool is(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

/* A VAE's decoding is called by what it does. */
static bool is_called(const struct sb_stage *s, const char *component)
{
	return component &&
	       (!strcmp(s->name, component) || (!strcmp(component, "vae") && !strncmp(s->name, "vae_", 4)));
}

static const struct sb_event_row *last(
	const struct sb_model *model, const struct sb_stage *s, const char *name)
{
	for (size_t i = model->events.count; i-- > 0;) {
		const struct sb_event_row *e = &model->events.rows[i];

		if (is(e->name, name) && is_called(s, sb_asked_text(e, "component")))
			return e;
	}
	return NULL;
}

/* The model that the stage is in, the innermost one; else the one inside of it that launches most of its kernels. NULL:
 * the program says nothing of any. */
static const struct sb_stage *model_of(const struct sb_model *model, const struct sb_stage *s)
{
	const struct sb_stage *all = model->stages.stages, *end = all + model->stages.stage_count;

	for (const struct sb_stage *out = s; out; out = out->parent < 0 ? NULL : &all[out->parent])
		if (last(model, out, "torch.asked"))
			return out;
	for (const struct sb_stage *in = s + 1; in < end && in->depth > s->depth; in++)
		if (in->kernel_s >= MOST * s->kernel_s && last(model, in, "torch.asked"))
			return in;
	return NULL;
}

static const struct sb_event_row *said_of(
	const struct sb_model *model, const struct sb_stage *s, const char *name)
{
	const struct sb_stage *of = model_of(model, s);

	return of ? last(model, of, name) : NULL;
}

static bool is_narrow(const char *dtype)
{
	static const char *const begins[] = { "int8", "uint8", "int4", "uint4", "float8", "float4" };

	for (size_t i = 0; dtype && i < sizeof begins / sizeof *begins; i++)
		if (!strncmp(dtype, begins[i], strlen(begins[i])))
			return true;
	return false;
}

bool sb_narrow_weights(const struct sb_model *model, const struct sb_stage *s)
{
	const struct sb_event_row *asked = said_of(model, s, "torch.asked"),
				  *computed = said_of(model, s, "torch.computed");

	return sb_asked_text(asked, "quantised") || is_narrow(sb_asked_text(asked, "dtype")) ||
	       sb_asked_number(computed, "unpacked_ratio") > 0;
}

bool sb_narrow_half(const struct sb_model *model, const struct sb_stage *s)
{
	const char *dtype = sb_asked_text(said_of(model, s, "torch.asked"), "dtype");

	return (is(dtype, "bfloat16") || is(dtype, "float16")) && !sb_narrow_weights(model, s);
}

const struct sb_stage *sb_narrow_unpacking(
	const struct sb_model *model, const struct sb_stage *s, double *out_call_s)
{
	const struct sb_event_row *e = said_of(model, s, "torch.computed");
	double call_s = sb_costs_bytes_s(model, sb_asked_number(e, "unpacking_bytes"));

	if (!(call_s > 0))
		return NULL;
	*out_call_s = call_s;
	return model_of(model, s);
}
