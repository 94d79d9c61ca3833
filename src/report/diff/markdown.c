/* A diff for a pull request, and the tracking sheet people fill in by hand. */
#include "report/diff/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cell must not end its row or start markup. */
static void put_cell(struct sb_buf *out, const char *text)
{
	for (; *text; text++) {
		/* "[4f.2]" stays greppable: a bracket is markup only before "(" */
		if (strchr("|\\`*_<", *text) || (text[0] == ']' && text[1] == '('))
			sb_buf_putc(out, '\\');
		sb_buf_putc(out, *text == '\n' || *text == '\r' ? ' ' : *text);
	}
}

static const char *mark_of(enum sb_verdict verdict)
{
	return verdict == SB_VERDICT_WORSE ? "🔴 " : verdict == SB_VERDICT_BETTER ? "🟢 " : "";
}

static void put_stages(const struct sb_comparison *c, size_t top, struct sb_buf *out)
{
	sb_buf_puts(out, "\n| Stage | Base | New | Δ | Δ % | Verdict |\n|---|---:|---:|---:|---:|---|\n");
	for (size_t i = 0; i < c->stage_count && i < top; i++) {
		const struct sb_stage_change *s = &c->stages[i];
		char label[300], base[32] = "–", now[32] = "–", delta[40], percent[24];

		sb_stage_label(s->code, s->name, label, sizeof label);
		if (!isnan(s->base_s))
			sb_metric_text(SB_METRIC_WALL, s->base_s, base, sizeof base);
		if (!isnan(s->now_s))
			sb_metric_text(SB_METRIC_WALL, s->now_s, now, sizeof now);
		sb_diff_delta(SB_METRIC_WALL, s->base_s, s->now_s, delta, sizeof delta);
		sb_diff_percent(s->base_s, s->now_s, percent, sizeof percent);
		sb_buf_puts(out, "| ");
		put_cell(out, label);
		sb_buf_printf(out, " | %s | %s | %s | %s | %s%s |\n", base, now, delta, percent,
			mark_of(s->verdict), s->words);
	}
	if (c->stage_count > top)
		sb_buf_printf(out, "\n%zu more stages are not shown.\n", c->stage_count - top);
}

static void put_metrics(const struct sb_comparison *c, struct sb_buf *out)
{
	sb_buf_puts(out, "\n<details><summary>Memory, throughput and the rest</summary>\n\n"
			 "| Metric | Base | New | Δ % | Verdict |\n|---|---:|---:|---:|---|\n");
	for (size_t i = 0; i < c->metric_count; i++) {
		const struct sb_metric_change *m = &c->metrics[i];
		char base[32], now[32], percent[24];

		sb_metric_text(m->metric, m->base, base, sizeof base);
		sb_metric_text(m->metric, m->now, now, sizeof now);
		sb_diff_percent(m->base, m->now, percent, sizeof percent);
		sb_buf_printf(out, "| %s | %s | %s | %s | %s%s%s |\n", sb_metric_infos[m->metric].words, base,
			now, percent, mark_of(m->verdict), sb_verdict_words(m->verdict, m->metric),
			sb_change_from_little(m->metric, m->base, m->now) ? ", from almost nothing" : "");
	}
	for (size_t i = 0; i < c->setting_count; i++) {
		const struct sb_setting_change *s = &c->settings[i];

		sb_buf_puts(out, i ? "- " : "\n- ");
		put_cell(out, *s->where ? s->where : "");
		sb_buf_puts(out, *s->where ? ", " : "");
		put_cell(out, s->key);
		sb_buf_puts(out, ": ");
		put_cell(out, s->base ? s->base : "(none)");
		sb_buf_puts(out, " → ");
		put_cell(out, s->now ? s->now : "(none)");
		sb_buf_putc(out, '\n');
	}
	sb_buf_puts(out, "\n</details>\n");
}

void sb_diff_markdown(const struct sb_comparison *c, const struct sb_diff_options *o, struct sb_buf *out)
{
	const struct sb_metric_change *t = &c->total;
	char base[32], now[32], delta[40], percent[24];

	sb_metric_text(t->metric, t->base, base, sizeof base);
	sb_metric_text(t->metric, t->now, now, sizeof now);
	sb_diff_delta(t->metric, t->base, t->now, delta, sizeof delta);
	sb_diff_percent(t->base, t->now, percent, sizeof percent);
	sb_buf_printf(out, "### %s%s: %s → %s (%s, %s), %s\n\n", mark_of(t->verdict),
		c->per_generation ? "One generation" : "Total", base, now, *delta ? delta : "n/a", percent,
		sb_verdict_words(t->verdict, t->metric));
	for (size_t i = 0; i < c->failure_count; i++) {
		sb_buf_puts(out, "- **FAIL** ");
		put_cell(out, c->failures[i]);
		sb_buf_putc(out, '\n');
	}
	if (c->gate_count && !c->failure_count)
		sb_buf_puts(out, "- **PASS** nothing past the allowed change\n");
	for (size_t i = 0; i < c->explanation_count; i++) {
		sb_buf_puts(out, "- ");
		put_cell(out, c->explanations[i]);
		sb_buf_putc(out, '\n');
	}
	if (c->stage_count)
		put_stages(c, o->top ? o->top : 20, out);
	put_metrics(c, out);
	sb_buf_puts(out, "\nBase: ");
	sb_diff_side(c->base, c->base_count, out);
	sb_buf_puts(out, "; new: ");
	sb_diff_side(c->now, c->now_count, out);
	sb_buf_puts(out, ". ");
	sb_diff_basis(&t->judgement, &c->tolerance, out);
	sb_buf_puts(out, ".\n");
}

/* ---- the tracking sheet ------------------------------------------------- */

static int label_columns(const struct sb_comparison *c)
{
	int widest = 6;

	for (size_t i = 0; i < c->stage_count; i++) {
		char label[300];

		sb_stage_label(c->stages[i].code, c->stages[i].name, label, sizeof label);
		widest = (int)strlen(label) > widest ? (int)strlen(label) : widest;
	}
	return widest < 60 ? widest : 60;
}

struct line {
	const struct sb_stage_change *stage;
	double first_s;
	size_t place;
};

static double moment(const struct line *l)
{
	return isnan(l->first_s) ? INFINITY : l->first_s;
}

/* What begins together goes by code, labels without one (they hold the others) first. */
static int by_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	const char *code = x->stage->code ? x->stage->code : "";
	int order = strverscmp(code, y->stage->code ? y->stage->code : "");

	if (moment(x) != moment(y))
		return moment(x) < moment(y) ? -1 : 1;
	if (order)
		return order;
	return x->place < y->place ? -1 : 1;
}

static const struct sb_stage_change *change_of(
	const struct sb_comparison *c, const struct sb_fact_stage *f, bool base)
{
	for (size_t k = 0; k < c->stage_count; k++) {
		const struct sb_stage_change *s = &c->stages[k];
		const char *name = base && s->old_name ? s->old_name : s->name;

		if (!strcmp(name, f->name) && !strcmp(s->code ? s->code : "", f->code ? f->code : ""))
			return s;
	}
	return NULL;
}

/* "16.47s" as the sheets have it; "3.10 ms" where two decimals would say nothing.
 * The unit is that of the time it is, or is a part of. */
static void sheet_time(double value, double whole, char *out, size_t size)
{
	if (whole >= 0.0995 || whole == 0)
		snprintf(out, size, "%.2fs", value);
	else
		sb_metric_text(SB_METRIC_WALL, value, out, size);
}

static void put_time(double value, struct sb_buf *out)
{
	char text[32] = "-";

	if (!isnan(value))
		sheet_time(value, value, text, sizeof text);
	sb_buf_printf(out, "%8s", text);
}

static void put_change(double base, double now, struct sb_buf *out)
{
	char text[32];

	if (isnan(base) || isnan(now))
		return;
	sheet_time(fabs(now - base), fmax(base, now), text, sizeof text);
	sb_buf_printf(out, " (Δ: %s%s)", now < base ? "-" : "+", text);
}

static void put_line(const struct sb_stage_change *s, bool after, int width, struct sb_buf *out)
{
	char label[300];

	sb_stage_label(s->code, !after && s->old_name ? s->old_name : s->name, label, sizeof label);
	sb_buf_printf(
		out, "- %s:%*s ", label, width > (int)strlen(label) ? width - (int)strlen(label) : 0, "");
	put_time(after ? s->now_s : s->base_s, out);
	if (after)
		put_change(s->base_s, s->now_s, out);
	sb_buf_putc(out, '\n');
}

/* Labels in the order of the pipeline. */
static void put_sheet(const struct sb_comparison *c, bool after, int width, struct sb_buf *out)
{
	const struct sb_facts *f = after ? c->now[0] : c->base[0];
	struct line *lines = malloc((f->stage_count + 1) * sizeof *lines);
	size_t count = 0;

	if (!lines) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < f->stage_count; i++) {
		const struct sb_stage_change *s = change_of(c, &f->stages[i], !after);

		if (s)
			lines[count++] = (struct line){ s, f->stages[i].first_s, i };
	}
	qsort(lines, count, sizeof *lines, by_time);
	for (size_t i = 0; i < count; i++)
		put_line(lines[i].stage, after, width, out);
	free(lines);
}

static void put_total(double value, int width, struct sb_buf *out)
{
	sb_buf_printf(out, "- %-*s ", width + 1, "Total:");
	put_time(value, out);
}

void sb_diff_template(const struct sb_comparison *c, struct sb_buf *out)
{
	int width = label_columns(c);

	sb_buf_puts(out, "BASELINE: ");
	sb_diff_side(c->base, c->base_count, out);
	sb_buf_putc(out, '\n');
	put_sheet(c, false, width, out);
	put_total(c->total.base, width, out);
	sb_buf_puts(out, "\n\nAFTER: ");
	sb_diff_side(c->now, c->now_count, out);
	sb_buf_putc(out, '\n');
	put_sheet(c, true, width, out);
	put_total(c->total.now, width, out);
	put_change(c->total.base, c->total.now, out);
	sb_buf_putc(out, '\n');
}
