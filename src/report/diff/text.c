/* A diff for a terminal: the total first, then why, then where. */
#include "report/diff/diff.h"
#include "report/panels/panel.h"

#include "report/label.h"

#include <stdio.h>
#include <string.h>

static void colour(struct sb_buf *out, const struct sb_diff_options *o, enum sb_tone tone)
{
	static const char *const colours[] = {
		[SB_TONE_NONE] = "\033[2m",
		[SB_TONE_WORSE] = "\033[31m",
		[SB_TONE_BETTER] = "\033[32m",
	};

	if (o->colour)
		sb_buf_puts(out, colours[tone]);
}

static void plain(struct sb_buf *out, const struct sb_diff_options *o)
{
	if (o->colour)
		sb_buf_puts(out, "\033[0m");
}

static void put_total(struct sb_buf *out, const struct sb_comparison *c, const struct sb_diff_options *o)
{
	const struct sb_metric_change *t = &c->total;
	struct sb_diff_words words;

	if (t->base == 0 && t->now == 0) {
		sb_buf_puts(out, "Neither has a total time: what they have is compared below\n");
		return;
	}
	sb_diff_words(t, &words);
	sb_buf_printf(out, "%s %s -> %s  (%s, %s)  ", c->per_generation ? "One generation" : "Total",
		words.base, words.now, words.delta, words.percent);
	colour(out, o, t->tone);
	sb_buf_puts(out, c->output_verdict && t->verdict == SB_VERDICT_BETTER ? c->output_verdict : t->words);
	plain(out, o);
	sb_buf_puts(out, "\n  ");
	sb_diff_basis(&t->judgement, &c->tolerance, out);
	sb_buf_putc(out, '\n');
	if (c->unlike_generations)
		sb_buf_puts(
			out, "  the runs made different numbers of generations: their totals say nothing\n");
}

/* Breaks at blanks; continuation lines are indented under the first. */
static void put_wrapped(struct sb_buf *out, const char *text, int columns)
{
	int used = 4;

	sb_buf_puts(out, "  - ");
	for (bool first = true; *text; first = false) {
		size_t word = sb_text_word(text);

		if (!first && used + 1 + (int)word > columns) {
			sb_buf_puts(out, "\n    ");
			used = 4;
		} else if (!first) {
			sb_buf_putc(out, ' ');
			used++;
		}
		sb_buf_add(out, text, word);
		used += (int)word;
		text += word + (text[word] == ' ');
	}
	sb_buf_putc(out, '\n');
}

static void put_number(struct sb_buf *out, double seconds, int width)
{
	char text[32] = "-";

	if (!isnan(seconds))
		sb_metric_text(SB_METRIC_WALL, seconds, text, sizeof text);
	sb_buf_printf(out, "%*s", width, text);
}

static void put_stage(
	struct sb_buf *out, const struct sb_stage_change *s, const struct sb_diff_options *o, size_t name)
{
	char label[300], delta[40], percent[24];

	sb_stage_label(s->code, s->name, label, sizeof label);
	sb_diff_delta(SB_METRIC_WALL, s->base_s, s->now_s, delta, sizeof delta);
	sb_diff_percent(s->base_s, s->now_s, percent, sizeof percent);
	sb_buf_puts(out, "  ");
	sb_label_put(out, label, (int)name);
	put_number(out, s->base_s, 11);
	put_number(out, s->now_s, 11);
	sb_buf_printf(
		out, "%12s%10s  ", *delta ? delta : "-", isnan(s->base_s) && isnan(s->now_s) ? "-" : percent);
	colour(out, o, s->tone);
	sb_buf_puts(out, s->words);
	plain(out, o);
	if ((s->per_call || s->per_rank) && s->verdict != SB_VERDICT_SAME && !sb_stage_calls_changed(s) &&
		s->judgement.basis == SB_BASIS_RANK_TEST)
		sb_buf_printf(out, s->judgement.p < 0.001 ? " p<0.001" : " p=%.3f", s->judgement.p);
	sb_buf_putc(out, '\n');
}

static size_t name_columns(const struct sb_comparison *c, size_t shown, int columns)
{
	size_t widest = 23, room = (size_t)columns - 64;

	for (size_t i = 0; i < shown; i++) {
		size_t size = strlen(c->stages[i].name) +
			      (c->stages[i].code ? strlen(c->stages[i].code) + 3 : 0);

		widest = size > widest ? size : widest;
	}
	return widest < room ? widest : room;
}

static void put_unattributed(struct sb_buf *out, const struct sb_comparison *c, size_t name)
{
	for (size_t i = 0; i < c->metric_count; i++) {
		const struct sb_metric_change *m = &c->metrics[i];
		char delta[40], percent[24];

		if (m->metric != SB_METRIC_UNATTRIBUTED)
			continue;
		sb_diff_delta(m->metric, m->base, m->now, delta, sizeof delta);
		sb_diff_percent(m->base, m->now, percent, sizeof percent);
		sb_buf_printf(out, "  %-*s", (int)name, "unattributed");
		put_number(out, m->base, 11);
		put_number(out, m->now, 11);
		sb_buf_printf(out, "%12s%10s  %s\n", delta, percent, m->words);
	}
}

#define OVERLAP_WORTH_A_LINE 0.005 /* of the total */

static bool put_closing(struct sb_buf *out, const struct sb_comparison *c, size_t name, const char *label,
	double base, double now)
{
	char delta[40];

	if (!(fabs(base) > OVERLAP_WORTH_A_LINE * c->total.base ||
		    fabs(now) > OVERLAP_WORTH_A_LINE * c->total.now))
		return false;
	sb_diff_delta(SB_METRIC_UNATTRIBUTED, base, now, delta, sizeof delta);
	sb_buf_printf(out, "  %-*s", (int)name, label);
	put_number(out, base, 11);
	put_number(out, now, 11);
	sb_buf_printf(out, "%12s\n", delta);
	return true;
}

/* Closes the sum of the self times: what ran at the same time is in it twice, and a median is no sum. */
static void put_overlap(struct sb_buf *out, const struct sb_comparison *c, size_t name)
{
	put_closing(out, c, name, "overlap", 0 - c->base_at_once_s, 0 - c->now_at_once_s); /* 0 stays 0 */
	if (put_closing(out, c, name, "median less sum", c->base_at_once_s - c->base_overlap_s,
		    c->now_at_once_s - c->now_overlap_s))
		sb_buf_printf(out,
			"  median less sum: %s above is a median, which is not the sum of its parts\n",
			c->per_generation ? "one generation" : "the total");
}

static void put_stages(
	struct sb_buf *out, const struct sb_comparison *c, const struct sb_diff_options *o, int columns)
{
	size_t top = o->top ? o->top : 20, shown = c->stage_count < top ? c->stage_count : top;
	size_t name = name_columns(c, shown, columns), same = 0;

	if (!c->stage_count)
		return;
	sb_buf_printf(out, "\n  %-*s%11s%11s%12s%10s  verdict\n", (int)name,
		c->jobs.base_rank_count ? "Stage (median rank)"
		: c->per_generation     ? "Stage (generation mean)"
					: "Stage (by contribution)",
		"base", "new", "delta", "%");
	for (size_t i = 0; i < shown; i++)
		put_stage(out, &c->stages[i], o, name);
	for (size_t i = shown; i < c->stage_count; i++)
		same += c->stages[i].verdict == SB_VERDICT_SAME;
	put_unattributed(out, c, name);
	put_overlap(out, c, name);
	if (shown < c->stage_count)
		sb_buf_printf(out, "  … %zu more stages, %zu of them the same (--top N)\n",
			c->stage_count - shown, same);
}

static void put_metrics(struct sb_buf *out, const struct sb_comparison *c, const struct sb_diff_options *o)
{
	size_t written = 0;

	for (size_t i = 0; i < c->metric_count; i++) {
		const struct sb_metric_change *m = &c->metrics[i];
		char base[32], now[32], percent[24];

		if (m->metric == SB_METRIC_UNATTRIBUTED || (m->base == 0 && m->now == 0))
			continue;
		if (!written++)
			sb_buf_printf(out, "\n  %-26s%16s%16s%10s  verdict\n", "Metric", "base", "new", "%");
		sb_metric_text(m->metric, m->base, base, sizeof base);
		sb_metric_text(m->metric, m->now, now, sizeof now);
		sb_diff_percent(m->base, m->now, percent, sizeof percent);
		/* "°C" is a byte longer than it is wide */
		sb_buf_printf(out, "  %-26s%*s%*s %9s  ", sb_metric_infos[m->metric].words,
			16 + (strstr(base, "°") != NULL), base, 16 + (strstr(now, "°") != NULL), now,
			percent);
		colour(out, o, m->tone);
		sb_buf_puts(out, m->words);
		plain(out, o);
		if (m->per_generation)
			sb_buf_puts(out, ", per generation");
		if (m->metric == SB_METRIC_WALL && m->verdict == SB_VERDICT_CHANGED)
			sb_buf_puts(out, ", start-up included");
		if (sb_change_from_little(m->metric, m->base, m->now))
			sb_buf_puts(out, ", from almost nothing");
		sb_buf_putc(out, '\n');
	}
}

static void put_outputs(struct sb_buf *out, const struct sb_comparison *c, const struct sb_diff_options *o)
{
	for (size_t i = 0; i < c->output_count; i++) {
		colour(out, o, sb_output_changed(&c->outputs[i]) ? SB_TONE_WORSE : SB_TONE_NONE);
		sb_label_printf(out, "  Output %s: %s\n", c->outputs[i].name, c->outputs[i].words);
		plain(out, o);
	}
}

/* What is gone is good news, what is new is bad; of what stays, what is worth a line. */
static void put_findings(struct sb_buf *out, const struct sb_comparison *c, const struct sb_diff_options *o)
{
	struct sb_buf line = { 0 };
	bool any = false;

	for (size_t i = 0; i < c->finding_count; i++) {
		const struct sb_finding_change *f = &c->findings[i];

		if (!sb_diff_shows_finding(f))
			continue;
		sb_buf_puts(out, any ? "" : "\n  Findings\n");
		any = true;
		sb_buf_clear(&line);
		sb_diff_finding(f, &line);
		sb_buf_puts(out, "    ");
		colour(out, o, f->tone);
		sb_buf_printf(out, "%-6s", f->change);
		plain(out, o);
		sb_label_printf(out, "%s\n", sb_buf_text(&line));
	}
	sb_buf_done(&line);
	if (any && c->findings_unlike)
		sb_buf_printf(out, "    %s\n", SB_DIFF_FINDINGS_UNLIKE);
}

static void put_settings(struct sb_buf *out, const struct sb_comparison *c)
{
	/* command and commit say themselves what they are */
	static const char *const scopes[] = { "tag ", "setting ", "environment ", "" };

	if (!c->setting_count)
		return;
	sb_buf_puts(out, "\n  Configuration and environment\n");
	for (size_t i = 0; i < c->setting_count; i++) {
		const struct sb_setting_change *s = &c->settings[i];

		sb_label_printf(out, "    %s%s%s: %s -> %s\n", *s->where ? s->where : scopes[s->scope],
			*s->where ? ", " : "", s->key, s->base ? s->base : sb_setting_absent(s),
			s->now ? s->now : sb_setting_absent(s));
	}
}

static void put_gate(struct sb_buf *out, const struct sb_comparison *c, const struct sb_diff_options *o)
{
	if (!c->gate_count)
		return;
	sb_buf_putc(out, '\n');
	if (!c->failure_count) {
		sb_buf_puts(out, "PASS: nothing past the allowed change\n");
		return;
	}
	for (size_t i = 0; i < c->failure_count; i++) {
		colour(out, o, SB_TONE_WORSE);
		sb_buf_puts(out, "FAIL");
		plain(out, o);
		sb_label_printf(out, ": %s\n", c->failures[i]);
	}
}

void sb_diff_text(const struct sb_comparison *c, const struct sb_diff_options *o, struct sb_buf *out)
{
	int columns = o->columns > 0 ? o->columns : 100;

	columns = columns < 80 ? 80 : columns > 140 ? 140 : columns;
	sb_buf_puts(out, "== strobe diff: ");
	sb_diff_side(c->base, c->base_count, out);
	sb_buf_puts(out, " -> ");
	sb_diff_side(c->now, c->now_count, out);
	sb_buf_putc(out, '\n');
	put_total(out, c, o);
	put_outputs(out, c, o);
	for (size_t i = 0; i < c->explanation_count; i++)
		put_wrapped(out, c->explanations[i], columns);
	put_stages(out, c, o, columns);
	sb_diff_jobs_text(c, o->top ? o->top : 20, name_columns(c, c->stage_count, columns), out);
	put_findings(out, c, o);
	put_metrics(out, c, o);
	put_settings(out, c);
	put_gate(out, c, o);
}
