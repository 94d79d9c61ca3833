/* The GPU's hardware: what its counters say of each stage, operations and rates, what bounds a stage. */
#include "report/panels/panel.h"

#include "report/label.h"
#include "report/panels/counter_tables.h"
#include "report/panels/stages.h"
#include "report/panels/work_words.h"

#include <stdio.h>
#include <string.h>

#define ELEMENT_WISE_LEAST 0.1
#define STAGES_SHOWN 10u
#define NAME_MOST 32u
#define WHYS_SHOWN 3u

/* The name of a stage at the begin of a line of text. */
static void put_name(struct sb_buf *out, const struct sb_model *model, const struct sb_stage *s)
{
	struct sb_buf name = { 0 };

	sb_stage_path(model, s, NAME_MOST, &name);
	sb_text_name(out, sb_buf_text(&name), NAME_MOST);
	sb_buf_done(&name);
}

static void put_more(struct sb_buf *out, size_t count, size_t shown, const char *of)
{
	if (count > shown)
		sb_buf_printf(out, "    … and %zu more%s\n", count - shown, of);
}

/* ---- operations ---- */

enum { EXA, TERA = 2 };

/* "14.96 PFLOP", "12.4 TFLOP", "805.3 MFLOP"; largest: the first unit, as rates are in TFLOP/s at most */
static void put_flops(struct sb_buf *out, double flops, size_t largest)
{
	static const char *const units[] = { "EFLOP", "PFLOP", "TFLOP", "GFLOP", "MFLOP", "kFLOP", "FLOP" };
	double unit = largest == TERA ? 1e12 : 1e18;
	size_t i = largest;

	for (; i + 1 < sizeof units / sizeof *units && flops < unit; i++)
		unit /= 1000;
	sb_buf_printf(out, "%.4g %s", flops / unit, units[i]);
}

/* "; 9 warm calls: 405 TFLOP/s, MFU 41.0 % of the bf16 rate, floor 1.71 s of 4.15 s; weights move in 1.20 s of it, 57.7 % without".
 * why: no stage has an MFU, as is said below. */
static void put_rate(struct sb_buf *line, const struct sb_stage_work *w, const char *why)
{
	bool warm = !sb_work_is_cold(w->calls);
	char text[24];

	if (isnan(w->tflops)) {
		if (w->mfu_why && !isnan(w->peak_tflops))
			sb_buf_printf(line, "; rate n/a: %s", w->mfu_why);
		return;
	}
	sb_buf_printf(line, "; %lld%s call%s%s%s: ", (long long)w->call_count, warm ? " warm" : "",
		w->call_count == 1 ? "" : "s", warm ? "" : ", cold",
		w->cached_count ? " that no cache served" : "");
	put_flops(line, w->tflops * 1e12, TERA);
	sb_buf_puts(line, "/s");
	if (w->mfu_why && (!why || strcmp(why, w->mfu_why) != 0))
		sb_buf_printf(line, ", MFU n/a: %s", w->mfu_why);
	if (!isnan(w->mfu_ratio)) {
		sb_text_seconds(text, sizeof text, w->floor_s);
		sb_buf_puts(line, ", ");
		sb_work_mfu_words(line, w);
		sb_buf_printf(line, ", floor %s", text);
		sb_text_seconds(text, sizeof text, w->time_s);
		sb_buf_printf(line, " of %s", text);
	}
	if (w->moves_s > 0) {
		sb_text_seconds(text, sizeof text, w->moves_s);
		sb_buf_printf(line, "; weights move in %s of it", text);
	}
	if (!isnan(w->work_mfu_ratio))
		sb_buf_printf(line, ", %.1f %% without", w->work_mfu_ratio * 100);
}

/* Of its kernels' time, in element-wise kernels that no compiler has made; NAN: not traced. */
static double element_wise_ratio(const struct sb_stage *s)
{
	double seen_s = 0;

	for (size_t i = 0; i < s->kernel_share_count; i++) {
		const struct sb_kernel_share *k = &s->kernels[i];

		if (k->kind && !strcmp(k->kind, "Triton"))
			return NAN;
		seen_s += strcmp(k->family, "element-wise") ? 0 : k->total_s;
	}
	return seen_s / s->kernel_s;
}

/* "denoise: 12.4 TFLOP; 9 warm calls: 405 TFLOP/s...; 30 % of its kernels' time is element-wise...; 8.1 TB of DRAM, 315 FLOP per byte;
 * bound by tensor" */
static void work_line(const struct sb_model *model, const struct sb_stage *s, bool why_known,
	const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_stage_work *w = &s->work;
	struct sb_buf line = { 0 };
	char text[24];

	put_name(&line, model, s);
	sb_buf_puts(&line, isnan(w->flops) ? ": operations n/a" : ": ");
	if (!isnan(w->flops)) {
		put_flops(&line, w->flops, EXA);
		sb_buf_puts(&line, w->uncounted_count ? " in the calls that were counted" : "");
	}
	put_rate(&line, w, model->roofline.mfu_why);
	if (!model->gpu.slow_only && element_wise_ratio(s) >= ELEMENT_WISE_LEAST)
		sb_buf_printf(&line, "; %.0f %% of its kernels' time is element-wise, which a compiler fuses",
			element_wise_ratio(s) * 100);
	if (!isnan(w->intensity)) {
		sb_text_bytes(text, sizeof text, w->bytes);
		sb_buf_printf(&line, "; %s to and from DRAM, %.4g FLOP per byte", text, w->intensity);
	}
	if (w->bound) {
		sb_buf_puts(&line, "; ");
		sb_work_bound_words(&line, w, sb_work_is_cold(w->calls) && !isnan(w->tflops));
	}
	sb_text_wrap(out, sb_buf_text(&line), 4, sb_text_columns(options));
	if (w->uncounted_count) {
		sb_buf_clear(&line);
		sb_buf_printf(&line, "without %lld model call%s: %s", (long long)w->uncounted_count,
			w->uncounted_count > 1 ? "s" : "", why_known ? "as above" : w->why);
		sb_text_wrap(out, sb_buf_text(&line), 6, sb_text_columns(options));
	}
	sb_buf_done(&line);
}

static void work_text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_stages_panel *s = &model->stages;
	const struct sb_roofline_panel *r = &model->roofline;
	const char *why = NULL; /* the last that was said */
	size_t shown = 0;

	for (size_t i = 0; i < s->stage_count; i++) {
		const struct sb_stage *stage = &s->stages[s->by_total ? s->by_total[i] : i];
		const struct sb_stage_work *w = &stage->work;

		if ((isnan(w->flops) && !w->why) || shown++ >= STAGES_SHOWN)
			continue;
		if (shown == 1)
			sb_buf_puts(out, "  Operations of model calls\n");
		work_line(model, stage, why && w->why && !strcmp(why, w->why), options, out);
		why = w->why ? w->why : why;
	}
	put_more(out, shown, STAGES_SHOWN, "");
	if (r->mfu_why)
		sb_label_printf(out, "    %s n/a: %s\n", shown ? "MFU" : "FLOPs and MFU", r->mfu_why);
	else if (shown && r->source)
		sb_buf_printf(out, "    peak rates: %s\n", r->source);
}

static const struct sb_stage *nth_by_total(const struct sb_model *model, size_t i)
{
	const struct sb_stages_panel *s = &model->stages;

	return &s->stages[s->by_total ? s->by_total[i] : i];
}

/* Stages without operations and without readings that their kernels speak for. */
static void traced_bounds_text(const struct sb_model *model, struct sb_buf *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < model->stages.stage_count && shown < STAGES_SHOWN; i++) {
		const struct sb_stage *s = nth_by_total(model, i);

		if (!s->work.bound || sb_work_bound_is_read(&s->work) || !isnan(s->work.flops) || s->work.why)
			continue;
		shown++;
		sb_buf_puts(out, "    ");
		put_name(out, model, s);
		sb_buf_puts(out, ": ");
		sb_work_bound_words(out, &s->work, false);
		sb_buf_putc(out, '\n');
	}
}

static bool same_why(const struct sb_stage *a, const struct sb_stage *b)
{
	return a->work.bound_why && b->work.bound_why && !strcmp(a->work.bound_why, b->work.bound_why);
}

/* "What bounds denoise and 2 other stages is n/a: ...": the nth largest, and those after it of which the same is true. */
static void unbound_line(
	const struct sb_model *model, size_t nth, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_stage *first = nth_by_total(model, nth);
	struct sb_buf line = { 0 };
	size_t others = 0;

	for (size_t i = nth + 1; i < model->stages.stage_count; i++)
		others += same_why(first, nth_by_total(model, i));
	sb_buf_puts(&line, "What bounds ");
	put_name(&line, model, first);
	if (others)
		sb_buf_printf(&line, " and %zu other stage%s", others, others > 1 ? "s" : "");
	sb_buf_printf(&line, " is n/a: %s", first->work.bound_why);
	sb_text_wrap(out, sb_buf_text(&line), 4, sb_text_columns(options));
	sb_buf_done(&line);
}

/* Why some have no bound: a sentence for those of which it is true, the largest stage first. */
static void unbound_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	size_t shown = 0, last = 0, more = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = nth_by_total(model, i);
		size_t first = 0;

		if (!s->work.bound_why)
			continue;
		while (!same_why(s, nth_by_total(model, first)))
			first++;
		if (first == i && shown < WHYS_SHOWN) {
			unbound_line(model, i, options, out);
			shown++;
			last = i;
		}
		more += first > last;
	}
	put_more(out, shown + more, shown, more > 1 ? " stages" : " stage");
}

/* The one bound whose name says nothing. */
static void sm_text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	bool any = false, by_readings = false;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage_work *w = &model->stages.stages[i].work;

		if (!w->bound || !strstr(w->bound, sb_gpu_bound_names[SB_BOUND_SM]))
			continue;
		any = true;
		by_readings = by_readings || !strcmp(w->bound_basis, "counters");
	}
	if (!any)
		return;
	sb_text_wrap(out,
		by_readings ? "(bound by SM: its processors work, and neither tensor cores, FP32 pipes nor "
			      "DRAM is near its peak: element-wise and layout kernels, or small ones, which "
			      "a compiler fuses; or these and large products in one reading of the counters, "
			      "of which --gpu-counters takes 2 000 a second)"
			    : "(bound by SM: its processors work, and neither tensor cores, FP32 pipes nor "
			      "DRAM is near its peak: element-wise and layout kernels, or small ones; a "
			      "compiler fuses them)",
		2, sb_text_columns(options));
}

static void hardware_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	if (!model->gpu_counters.source && !model->roofline.present && !model->pm_samples.present)
		return;
	sb_text_heading(out, options, "Hardware");
	if (model->gpu_counters.source)
		sb_counter_tables(model, options, out);
	if (model->pm_samples.present)
		sb_counter_samples(model, options, out);
	if (model->gpu_counters.source || model->pm_samples.present)
		sb_buf_puts(out,
			"  (covered: the part of the time of the run, the generation, the stage or the "
			"family that has readings)\n");
	work_text(model, options, out);
	traced_bounds_text(model, out);
	unbound_text(model, options, out);
	sm_text(model, options, out);
}

const struct sb_panel sb_panel_hardware = {
	.name = "hardware",
	.text = hardware_text,
};
