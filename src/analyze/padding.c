/* padding: what stages compute beyond what is wanted, by their attributes (frames and padded_frames, width and height
 * and padded_width and padded_height, mask_ratio), and the model calls that guidance adds to a step. */
#include "analyze/analysis.h"

#include "base/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define PADDED_MOST 100
#define WORTH_A_ROW 0.001

static const struct sb_stage_attr *attr_of(const struct sb_stage *s, const char *key)
{
	for (size_t i = 0; i < s->attr_count; i++)
		if (!strcmp(s->attrs[i].key, key) && !s->attrs[i].text && s->attrs[i].count)
			return &s->attrs[i];
	return NULL;
}

static double sum_of(const struct sb_stage *s, const char *key)
{
	const struct sb_stage_attr *a = attr_of(s, key);

	return a && a->sum > 0 ? a->sum : NAN;
}

static double mean_of(const struct sb_stage *s, const char *key)
{
	const struct sb_stage_attr *a = attr_of(s, key);

	return a ? a->sum / (double)a->count : NAN;
}

/* Frames of a generation may be counted where they leave it instead of given when it begins. */
static void take_frames(const struct sb_model *m, const struct sb_stage *s, struct sb_padding *p)
{
	double wanted = sum_of(s, "frames"), computed = sum_of(s, "padded_frames");

	if (isnan(wanted) && s->role == STROBE_ROLE_GENERATION && m->summary.frames > 0)
		wanted = (double)m->summary.frames;
	if (!(computed > wanted))
		return;
	p->frames = wanted;
	p->padded_frames = computed;
}

static void take_pixels(const struct sb_stage *s, struct sb_padding *p)
{
	double width = mean_of(s, "width"), height = mean_of(s, "height");
	double padded_width = mean_of(s, "padded_width"), padded_height = mean_of(s, "padded_height");

	padded_width = isnan(padded_width) ? width : padded_width;
	padded_height = isnan(padded_height) ? height : padded_height;
	if (!(width > 0) || !(height > 0) || !(padded_width * padded_height > width * height))
		return;
	p->pixels = width * height;
	p->padded_pixels = padded_width * padded_height;
}

static const char *comma(const struct sb_buf *text)
{
	return text->size ? ", " : "";
}

static const char *words_of(struct sb_model *m, const struct sb_padding *p)
{
	struct sb_buf text = { 0 };
	const char *words;

	if (!isnan(p->padded_frames))
		sb_buf_printf(&text, "%.0f frames for %.0f", p->padded_frames, p->frames);
	if (!isnan(p->padded_pixels))
		sb_buf_printf(
			&text, "%s%.0f pixels a frame for %.0f", comma(&text), p->padded_pixels, p->pixels);
	if (!isnan(p->mask_ratio))
		sb_buf_printf(&text, "%sa mask that keeps %.1f %%", comma(&text), 100 * p->mask_ratio);
	if (!isnan(p->passes))
		sb_buf_printf(&text, "%s%.1f model calls a step", comma(&text), p->passes);
	sb_buf_printf(&text, ": %.1f %% of it is never seen", 100 * p->unseen_ratio);
	if (!isnan(p->passes))
		sb_buf_puts(&text, " as such (guidance)");
	words = sb_model_text(m, sb_buf_text(&text));
	sb_buf_done(&text);
	return words;
}

static struct sb_padding row_of(const struct sb_stage *s, const char *kind)
{
	return (struct sb_padding){ .stage = s->name,
		.code = s->code,
		.kind = kind,
		.frames = NAN,
		.padded_frames = NAN,
		.pixels = NAN,
		.padded_pixels = NAN,
		.mask_ratio = NAN,
		.passes = NAN,
		.total_s = sb_stage_real_s(s) };
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_number(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* The row of a stage of that name at another place, in the warm-up perhaps, that pads alike; NULL: none. */
static struct sb_padding *row_like(struct sb_model *m, const struct sb_padding *p)
{
	for (size_t i = 0; i < m->padding.count; i++) {
		struct sb_padding *q = &m->padding.all[i];

		if (same_text(q->stage, p->stage) && same_text(q->code, p->code) &&
			same_text(q->kind, p->kind) && same_number(q->pixels, p->pixels) &&
			same_number(q->padded_pixels, p->padded_pixels) &&
			same_number(q->mask_ratio, p->mask_ratio) && isnan(q->frames) == isnan(p->frames))
			return q;
	}
	return NULL;
}

static void add(struct sb_model *m, struct sb_padding p)
{
	struct sb_padding *to = row_like(m, &p);

	if ((!to && m->padding.count == PADDED_MOST) || !(p.unseen_ratio >= WORTH_A_ROW) || !(p.total_s >= 0))
		return;
	p.unseen_s = p.total_s * p.unseen_ratio;
	if (!to) {
		to = &m->padding.all[m->padding.count++];
	} else {
		p.frames += to->frames;
		p.padded_frames += to->padded_frames;
		p.total_s += to->total_s;
		p.unseen_s += to->unseen_s;
		p.unseen_ratio = p.total_s > 0 ? p.unseen_s / p.total_s : p.unseen_ratio;
		if (!isnan(p.passes))
			p.passes = 1 / (1 - p.unseen_ratio);
	}
	p.words = words_of(m, &p);
	*to = p;
}

static void look_at(struct sb_model *m, const struct sb_stage *s)
{
	struct sb_padding p = row_of(s, "padding");
	double seen = 1, mask = mean_of(s, "mask_ratio");

	take_frames(m, s, &p);
	take_pixels(s, &p);
	if (mask >= 0 && mask < 1)
		p.mask_ratio = mask;
	if (!isnan(p.padded_frames))
		seen *= p.frames / p.padded_frames;
	if (!isnan(p.padded_pixels))
		seen *= p.pixels / p.padded_pixels;
	if (!isnan(p.mask_ratio))
		seen *= p.mask_ratio;
	p.unseen_ratio = 1 - seen;
	add(m, p);
}

/* Model calls in one call of a stage; NAN: none is recorded below it. */
static double passes_in(const struct sb_model *m, size_t at)
{
	int64_t calls = 0;

	for (size_t i = at + 1; i < m->stages.stage_count; i++)
		if (m->stages.stages[i].parent == (int64_t)at &&
			m->stages.stages[i].role == STROBE_ROLE_FORWARD)
			calls += sb_stage_calls(&m->stages.stages[i]);
	return calls ? (double)calls / (double)sb_stage_calls(&m->stages.stages[at]) : NAN;
}

/* The calls of a step that only steer the other one: of each pipeline's steps, as one may guide and another not. */
static void look_at_guidance(struct sb_model *m)
{
	for (size_t i = 0; i < m->stages.stage_count; i++) {
		const struct sb_stage *s = &m->stages.stages[i];
		struct sb_padding p = row_of(s, "guidance");

		if (s->role != STROBE_ROLE_STEP || !attr_of(s, "guidance_scale") || !sb_stage_calls(s))
			continue;
		p.passes = passes_in(m, i);
		if (isnan(p.passes))
			p.passes = m->diffusion.forwards_per_step;
		if (!(p.passes >= 1.5))
			continue;
		p.unseen_ratio = 1 - 1 / p.passes;
		add(m, p);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct sb_padding *x = a, *y = b;

	return x->unseen_s > y->unseen_s ? -1 : x->unseen_s < y->unseen_s;
}

static int finish(void *self, struct sb_run *run, struct sb_model *m)
{
	m->padding.all = sb_model_alloc(m, PADDED_MOST * sizeof *m->padding.all);
	if (!m->padding.all)
		return sb_fail(STROBE_ENOMEM, "no memory for the padding of '%s'", run->path);
	for (size_t i = 0; i < m->stages.stage_count; i++)
		look_at(m, &m->stages.stages[i]);
	look_at_guidance(m);
	if (m->padding.count)
		qsort(m->padding.all, m->padding.count, sizeof *m->padding.all, by_time);
	return 0;
}

const struct sb_analysis sb_analysis_padding = { .name = "padding", .finish = finish };
