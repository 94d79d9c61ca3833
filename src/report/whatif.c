/* A prediction as text and JSON: each change with what it rests on, then the total. */
#include "report/whatif.h"

#include "compare/compare.h"
#include "report/label.h"
#include "stats/seconds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NEARLY_ALL 0.9 /* of a run: its range is that of the stages */

static const char *const words[] = { [SB_WHATIF_PROPORTIONAL] = "in proportion",
	[SB_WHATIF_STEPS] = "single steps",
	[SB_WHATIF_FITTED] = "fitted",
	[SB_WHATIF_RANGE] = "limits only" };

static void put_change(const struct sb_whatif_change *c, int width, struct sb_buf *out)
{
	char label[300], now[32], then[32], basis[64];

	sb_stage_label(c->code, c->stage, label, sizeof label);
	sb_text_seconds(now, sizeof now, c->base_s);
	sb_text_seconds(then, sizeof then, c->predicted_s);
	snprintf(basis, sizeof basis, c->basis == SB_WHATIF_FITTED ? "%s over %lld runs" : "%s",
		words[c->basis], (long long)c->point_count);
	sb_buf_puts(out, "  ");
	sb_label_put(out, label, width);
	sb_buf_printf(out, " %-8s %8.6g -> %-8.6g %10s -> %-10s %s%s\n", c->key, c->now, c->then, now, then,
		basis, c->basis == SB_WHATIF_FITTED && c->extrapolates ? ", extrapolated" : "");
}

/* How far runs differ by themselves, and what tells it. */
static void put_noise(const struct sb_whatif *w, struct sb_buf *out)
{
	long long runs = w->noise_run_count, generations = w->noise_generation_count;
	double percent = 100 * w->noise_ratio;

	sb_buf_printf(out, "  the range holds that runs of the same settings differ, here by up to %.*f %%: ",
		percent < 10, percent);
	if (runs)
		sb_buf_printf(out, "from %lld runs", runs);
	if (generations)
		sb_buf_printf(out, "%s %lld generations", runs ? " and" : "from", generations);
	if (!runs && !generations)
		sb_buf_puts(out, w->others_cpu_ratio > 0 ? "as on a full CPU" : "as is usual");
	sb_buf_puts(out, runs ? "\n" : "; --with runs like it narrows it\n");
	if (w->others_cpu_ratio > 0)
		sb_buf_printf(out,
			"  other programs took %.0f %% of the CPU, which was full: record on an idle machine "
			"for a narrower range\n",
			100 * w->others_cpu_ratio);
}

static void put_parts(const struct sb_whatif_change *c, struct sb_buf *out)
{
	char fixed[32], each[32];

	if (c->basis != SB_WHATIF_FITTED)
		return;
	sb_text_seconds(fixed, sizeof fixed, c->fixed_s);
	sb_text_seconds(each, sizeof each, c->each_s);
	sb_label_printf(out, "  %s.%s: %s fixed, %s for each%s\n", c->code ? c->code : c->stage, c->key,
		fixed, each, c->key[0] == 'b' ? " call per item" : "");
}

/* Notes that say the same are said once. */
static void put_notes(const struct sb_whatif *w, struct sb_buf *out)
{
	for (size_t i = 0; i < w->change_count; i++) {
		const char *note = w->changes[i].note;
		bool said = !note;

		for (size_t k = 0; k < i && !said; k++)
			said = w->changes[k].note == note;
		if (!said)
			sb_buf_printf(out, "  %s\n", note);
	}
}

/* Runs differ by more than a small stage takes: what that one takes has a line of its own. */
static void put_changed(const struct sb_whatif *w, struct sb_buf *out)
{
	double now_s = 0, low_s = 0, high_s = 0;
	char now[32], low[32], high[32];

	for (size_t i = 0; i < w->change_count; i++) {
		const struct sb_whatif_change *c = &w->changes[i];

		for (size_t k = 0; k < i; k++)
			if (w->changes[k].stage_index == c->stage_index)
				return;
		now_s += c->base_s;
		low_s += c->low_s;
		high_s += c->high_s;
	}
	if (now_s > w->wall_s * NEARLY_ALL)
		return;
	sb_text_seconds(now, sizeof now, now_s);
	sb_text_seconds(low, sizeof low, low_s);
	sb_text_seconds(high, sizeof high, high_s);
	sb_buf_printf(out, "  of it what changes takes between %s and %s, now %s\n", low, high, now);
}

void sb_whatif_text(const struct sb_whatif *w, int columns, struct sb_buf *out)
{
	char now[32], then[32], low[32], high[32], saved[32], percent[32];
	int width = columns > 100 ? 40 : columns > 84 ? columns - 62 : 22;

	sb_text_seconds(now, sizeof now, w->wall_s);
	sb_text_seconds(then, sizeof then, w->predicted_s);
	sb_text_seconds(low, sizeof low, w->low_s);
	sb_text_seconds(high, sizeof high, w->high_s);
	sb_text_seconds(saved, sizeof saved, fabs(w->saved_s));
	sb_label_printf(out, "%s takes %s; with\n", w->label, now);
	for (size_t i = 0; i < w->change_count; i++)
		put_change(&w->changes[i], width, out);
	sb_percent_text(w->change_ratio, percent, sizeof percent);
	sb_buf_printf(out, "it would take about %s, %s %s (%s)\n", then, saved,
		w->saved_s >= 0 ? "less" : "more", percent);
	if (strcmp(low, high))
		sb_buf_printf(out, "  between %s and %s%s\n", low, high,
			w->extrapolates ? "; this extrapolates" : "");
	else if (w->extrapolates)
		sb_buf_puts(out, "  this extrapolates\n");
	put_changed(w, out);
	if (w->digit_s > 0) {
		sb_text_seconds(now, sizeof now, w->digit_s);
		sb_buf_printf(out, "  its times are printed to %s: that is in the error\n", now);
	}
	put_noise(w, out);
	for (size_t i = 0; i < w->change_count; i++)
		put_parts(&w->changes[i], out);
	put_notes(w, out);
	if (isfinite(w->predicted_fps))
		sb_buf_printf(out, "  %.2f -> %.2f frames/s end to end\n", w->fps, w->predicted_fps);
}

void sb_whatif_json(const struct sb_whatif *w, struct sb_buf *out)
{
	struct sb_json j;

	sb_json_init(&j, out, true);
	sb_fields_write(&sb_whatif_fields, w, NULL, &j);
	sb_buf_putc(out, '\n');
}
