/* Findings with their cause, evidence and place; what was not recorded, and what was lost. */
#include "report/markdown/markdown.h"

#include "report/markdown/words.h"
#include "report/panels/panel.h"

#include <string.h>

#define FINDINGS_WHOLE 8u /* with all they say */
#define FINDINGS_SHORT 6u /* a line each, after those */
#define MISSING_SHOWN 12u
#define WARNINGS_SHOWN 4u
#define WORDS_MOST 500 /* columns */

static const char *priority_word(const char *priority)
{
	return !strcmp(priority, "high") ? "HIGH" : !strcmp(priority, "medium") ? "MEDIUM" : "LOW";
}

static void point(struct sb_buf *out, const char *label, const char *words)
{
	if (!words || !*words)
		return;
	sb_buf_printf(out, "- %s", label);
	sb_markdown_name(out, words, WORDS_MOST);
	sb_buf_putc(out, '\n');
}

static void named(struct sb_buf *out, const char *what, const char *name, bool *any)
{
	if (!name)
		return;
	sb_buf_printf(out, "%s%s ", *any ? ", " : "- Where: ", what);
	sb_markdown_name(out, name, 160);
	*any = true;
}

static void place(const struct sb_advice_where *w, struct sb_buf *out)
{
	bool any = false;

	named(out, "stage", w->stage, &any);
	named(out, "file", w->file, &any);
	if (w->file && w->line)
		sb_buf_printf(out, ":%u", w->line);
	named(out, "module", w->module, &any);
	named(out, "kernel", w->kernel_short_name ? w->kernel_short_name : w->kernel, &any);
	if (w->to_s > 0)
		sb_buf_printf(
			out, "%s%.2f s to %.2f s", any ? ", from " : "- Where: from ", w->from_s, w->to_s);
	if (any || w->to_s > 0)
		sb_buf_putc(out, '\n');
}

static void gain(const struct sb_advice *f, struct sb_buf *out)
{
	char saved[32];

	sb_text_seconds(saved, sizeof saved, f->saves_s);
	if (!isnan(f->saves_s))
		sb_buf_printf(out, "- Could save %s (%s, %s); effort %s", saved,
			f->basis ? f->basis : "bounded", f->confidence ? f->confidence : "likely", f->effort);
	else
		sb_buf_printf(out, "- Effort %s", f->effort);
	for (size_t i = 0; i < f->explain_count; i++)
		sb_buf_printf(out, "%s%s", i ? ", " : "; explains ", f->explains[i]);
	sb_buf_putc(out, '\n');
}

static void whole(const struct sb_advice *f, size_t number, struct sb_buf *out)
{
	sb_buf_printf(out, "%s### %zu. %s `%s`: ", number > 1 ? "\n" : "", number, priority_word(f->priority),
		f->id);
	sb_markdown_name(out, f->issue, WORDS_MOST);
	sb_buf_puts(out, f->startup ? " (at the start)\n" : "\n");
	if (f->cause && !f->cause_open)
		point(out, strncmp(f->cause, "cause not found", 15) ? "Cause: " : "", f->cause);
	point(out, "Evidence: ", f->evidence);
	place(&f->where, out);
	point(out, "Do: ", f->suggestion);
	gain(f, out);
}

static void in_short(const struct sb_advice *f, size_t number, struct sb_buf *out)
{
	sb_buf_printf(out, "%s- %s `%s`: ", number == FINDINGS_WHOLE + 1 ? "\n" : "",
		priority_word(f->priority), f->id);
	sb_markdown_name(out, f->issue, WORDS_MOST);
	sb_buf_putc(out, '\n');
}

static void leave_alone(const struct sb_summary_panel *s, struct sb_buf *out)
{
	char share[32];

	for (size_t i = 0; i < s->leave_alone_count && i < 8; i++) {
		sb_buf_puts(out, i ? ", " : "\nNot worth tuning: ");
		sb_markdown_name(out, s->leave_alone[i].name, 40);
	}
	sb_text_share(share, sizeof share, s->leave_alone_ratio, " ");
	if (s->leave_alone_count)
		sb_buf_printf(out, "%s (together %s of the wall time).\n",
			s->leave_alone_count > 8 ? ", …" : "", share);
}

static void next(const struct sb_summary_panel *s, struct sb_buf *out)
{
	if (!s->next_command)
		return;
	sb_buf_puts(out, "\nNext: ");
	sb_markdown_name(out, s->next_command, WORDS_MOST);
	sb_buf_puts(out, " (");
	sb_markdown_name(out, s->next_reason, WORDS_MOST);
	sb_buf_puts(out, ")\n");
}

void sb_markdown_findings(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_advice_panel *a = &model->advice;

	sb_markdown_heading(out, "Findings");
	if (!a->count)
		sb_buf_puts(out, "Nothing stands out in what was recorded.\n");
	for (size_t i = 0; i < a->count && i < FINDINGS_WHOLE + FINDINGS_SHORT; i++) {
		if (i < FINDINGS_WHOLE)
			whole(&a->all[i], i + 1, out);
		else
			in_short(&a->all[i], i + 1, out);
	}
	if (a->count > FINDINGS_WHOLE + FINDINGS_SHORT)
		sb_buf_printf(
			out, "- %zu more in the JSON report\n", a->count - FINDINGS_WHOLE - FINDINGS_SHORT);
	next(&model->summary, out);
	leave_alone(&model->summary, out);
}

/* ---- what is not there ---- */

static void lost(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_recording_panel *r = &model->recording;
	char bytes[32];

	sb_text_bytes(bytes, sizeof bytes, r->bytes);
	sb_buf_printf(out, "- Recording: %lld zones in %s, ", (long long)r->zones, bytes);
	sb_text_dropped(out, model, "events dropped");
	sb_buf_printf(out, ", %s", sb_text_completeness(model));
	if (!isnan(r->overhead_ratio)) {
		sb_buf_puts(out, "; recording cost ");
		sb_text_percent(out, r->overhead_ratio);
	}
	sb_buf_putc(out, '\n');
	if (r->folded_zones)
		sb_buf_printf(out, "- Only totals are kept of %lld zones before %.3f s\n",
			(long long)r->folded_zones, r->folded_until_s);
	for (size_t i = 0; i < r->drop_count && i < WARNINGS_SHOWN; i++)
		sb_buf_printf(out, "- Lost %lld: %s\n", (long long)r->drops[i].count, r->drops[i].text);
	for (size_t i = 0; i < r->warning_count && i < WARNINGS_SHOWN; i++)
		point(out, "Warning: ", r->warnings[i]);
	if (r->warning_count > WARNINGS_SHOWN)
		sb_buf_printf(out, "- %zu more warnings\n", r->warning_count - WARNINGS_SHOWN);
}

void sb_markdown_missing(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_missing_panel *m = &model->missing;

	sb_markdown_heading(out, "What was not recorded");
	for (size_t i = 0; i < m->count && i < MISSING_SHOWN; i++) {
		sb_buf_puts(out, "- ");
		sb_markdown_name(out, m->all[i].what, 120);
		if (m->all[i].why && *m->all[i].why) {
			sb_buf_puts(out, ": ");
			sb_markdown_name(out, m->all[i].why, 200);
		}
		if (m->all[i].how && *m->all[i].how) {
			sb_buf_puts(out, " (");
			sb_markdown_name(out, m->all[i].how, 200);
			sb_buf_putc(out, ')');
		}
		sb_buf_putc(out, '\n');
	}
	if (m->count > MISSING_SHOWN)
		sb_buf_printf(out, "- %zu more\n", m->count - MISSING_SHOWN);
	lost(model, out);
}
