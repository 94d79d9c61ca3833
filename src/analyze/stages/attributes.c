/* A stage's attributes as a report shows them: one value each, and the time per frame,
 * step and iteration where a count is known. */
#include "analyze/stages/stages.h"
#include "format/run_keys.h"

#include <string.h>

bool sb_stage_attr_is_count(const char *key)
{
	static const char *const keys[] = { "frames", "steps", "iters", "bytes", "tiles", "tokens",
		"forwards", "flops", "latent_frames", "frames_dropped", "samples", "count", "padded_frames" };

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

double sb_stage_attr_total(const struct sb_stage *s, const char *key)
{
	for (size_t i = 0; i < s->attr_count; i++)
		if (!strcmp(s->attrs[i].key, key) && !s->attrs[i].text)
			return s->attrs[i].sum;
	return NAN;
}

/* An attribute that is a field of its own: the coarsest of its lines, of a sum of others the run's. */
static void take_digit(const struct sb_model *model, struct sb_stage *s)
{
	s->digit_s = model->session.digit_s > 0 ? model->session.digit_s : NAN;
	for (size_t i = 0; i < s->attr_count; i++) {
		if (strcmp(s->attrs[i].key, SB_ATTR_TIME_DIGIT_S) || s->attrs[i].text)
			continue;
		if (s->attrs[i].max > 0 && s->attrs[i].max < 1e6)
			s->digit_s = s->attrs[i].max;
		memmove(&s->attrs[i], &s->attrs[i + 1], (s->attr_count - i - 1) * sizeof *s->attrs);
		s->attr_count--;
		return;
	}
}

static double per(const struct sb_stage *s, const char *attr)
{
	double n = sb_stage_attr_total(s, attr);

	return n > 0 && sb_stage_has_rate(s) ? s->total_s / n : NAN;
}

/* A value that was always the same, or the sum. */
static void list_attributes(struct sb_model *model, struct sb_stage *s)
{
	s->attributes = s->attr_count ? sb_model_alloc(model, s->attr_count * sizeof *s->attributes) : NULL;
	for (size_t i = 0; s->attributes && i < s->attr_count; i++) {
		const struct sb_stage_attr *a = &s->attrs[i];
		double value = sb_stage_attr_is_count(a->key) ? a->sum : a->last;

		if (a->text)
			s->attributes[s->attribute_count++] =
				(struct sb_pair){ .key = a->key, .type = STROBE_TYPE_STRING, .s = a->text };
		else if (isfinite(value))
			s->attributes[s->attribute_count++] =
				(struct sb_pair){ .key = a->key, .type = STROBE_TYPE_FLOAT, .f = value };
	}
}

void sb_stage_attributes_fill(struct sb_model *model)
{
	struct sb_stages_panel *stages = &model->stages;

	for (size_t i = 0; i < stages->stage_count; i++) {
		struct sb_stage *s = &stages->stages[i];

		take_digit(model, s);
		list_attributes(model, s);
		s->per_frame_s = per(s, "frames");
		s->per_step_s = per(s, "steps");
		s->per_iteration_s = per(s, "iters");
	}
}
