/* A diff for a pull request. */
#include "report/diff/diff.h"
#include "report/markdown/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *mark_of(enum sb_tone tone)
{
	return tone == SB_TONE_WORSE ? "🔴 " : tone == SB_TONE_BETTER ? "🟢 " : "";
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
		sb_markdown_put(out, label);
		sb_buf_printf(out, " | %s | %s | %s | %s | %s%s |\n", base, now, delta, percent,
			mark_of(s->tone), s->words);
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
		sb_buf_printf(out, "| %s | %s | %s | %s | %s%s%s%s |\n", sb_metric_infos[m->metric].words,
			base, now, percent, mark_of(m->tone), m->words,
			m->per_generation ? ", per generation" : "",
			sb_change_from_little(m->metric, m->base, m->now) ? ", from almost nothing" : "");
	}
	for (size_t i = 0; i < c->setting_count; i++) {
		const struct sb_setting_change *s = &c->settings[i];

		sb_buf_puts(out, i ? "- " : "\n- ");
		sb_markdown_put(out, *s->where ? s->where : "");
		sb_buf_puts(out, *s->where ? ", " : "");
		sb_markdown_put(out, s->key);
		sb_buf_puts(out, ": ");
		sb_markdown_put(out, s->base ? s->base : sb_setting_absent(s));
		sb_buf_puts(out, " → ");
		sb_markdown_put(out, s->now ? s->now : sb_setting_absent(s));
		sb_buf_putc(out, '\n');
	}
	sb_buf_puts(out, "\n</details>\n");
}

static void put_findings(const struct sb_comparison *c, struct sb_buf *out)
{
	struct sb_buf line = { 0 };

	for (size_t i = 0; i < c->finding_count; i++) {
		if (!sb_diff_shows_finding(&c->findings[i]))
			continue;
		sb_buf_clear(&line);
		sb_diff_finding(&c->findings[i], &line);
		sb_buf_printf(out, "- finding, %s: ", c->findings[i].change);
		sb_markdown_put(out, sb_buf_text(&line));
		sb_buf_putc(out, '\n');
	}
	sb_buf_done(&line);
}

void sb_diff_markdown(const struct sb_comparison *c, const struct sb_diff_options *o, struct sb_buf *out)
{
	const struct sb_metric_change *t = &c->total;
	struct sb_diff_words words;

	sb_diff_words(t, &words);
	if (t->base == 0 && t->now == 0)
		sb_buf_puts(out, "### No total time to compare\n\n");
	else
		sb_buf_printf(out, "### %s%s: %s → %s (%s, %s), %s\n\n", mark_of(t->tone),
			c->per_generation ? "One generation" : "Total", words.base, words.now, words.delta,
			words.percent,
			c->output_verdict && t->verdict == SB_VERDICT_BETTER ? c->output_verdict : t->words);
	for (size_t i = 0; i < c->failure_count; i++) {
		sb_buf_puts(out, "- **FAIL** ");
		sb_markdown_put(out, c->failures[i]);
		sb_buf_putc(out, '\n');
	}
	if (c->gate_count && !c->failure_count)
		sb_buf_puts(out, "- **PASS** nothing past the allowed change\n");
	for (size_t i = 0; i < c->output_count; i++) {
		sb_buf_puts(out, sb_output_changed(&c->outputs[i]) ? "- ⚠️ output " : "- output ");
		sb_markdown_put(out, c->outputs[i].name);
		sb_buf_puts(out, ": ");
		sb_markdown_put(out, c->outputs[i].words);
		sb_buf_putc(out, '\n');
	}
	for (size_t i = 0; i < c->explanation_count; i++) {
		sb_buf_puts(out, "- ");
		sb_markdown_put(out, c->explanations[i]);
		sb_buf_putc(out, '\n');
	}
	put_findings(c, out);
	if (c->stage_count)
		put_stages(c, o->top ? o->top : 20, out);
	sb_diff_jobs_markdown(c, o->top ? o->top : 20, out);
	put_metrics(c, out);
	sb_buf_puts(out, "\nBase: ");
	sb_diff_side(c->base, c->base_count, out);
	sb_buf_puts(out, "; new: ");
	sb_diff_side(c->now, c->now_count, out);
	sb_buf_puts(out, ". ");
	sb_diff_basis(&t->judgement, &c->tolerance, out);
	sb_buf_puts(out, ".\n");
}
