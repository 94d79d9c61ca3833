/* Slow moments that were caught, each beside a normal one. */
#include "report/panels/slow_moments.h"

#include "report/panels/panel.h"

#include "analyze/gpu/short_names.h"

#include <string.h>

static void put_seconds(struct sb_buf *out, double s)
{
	char text[32];

	sb_text_seconds(text, sizeof text, s);
	sb_buf_puts(out, text);
}

void sb_slow_moment_title(struct sb_buf *out, const struct sb_slow_moment *s)
{
	if (!strcmp(s->what, "out_of_memory")) {
		sb_buf_puts(out, "when memory ran out");
	} else if (!strcmp(s->what, "asked")) {
		sb_buf_puts(out, "asked for (");
		sb_text_name(out, s->why ? s->why : "no reason given", 60);
		sb_buf_putc(out, ')');
	} else if (s->row.count > 1) {
		sb_buf_puts(out, "slow: ");
		sb_text_name(out, s->row.words, 80);
		sb_buf_puts(out, ", the slowest");
	} else {
		sb_buf_puts(out, "slow ");
		sb_text_name(out, s->what, 20);
	}
	if (s->step >= 0)
		sb_buf_printf(out, ", step_index %lld", (long long)s->step);
	if (s->generation > 0)
		sb_buf_printf(
			out, "%s generation %lld", s->step >= 0 ? " of" : ",", (long long)s->generation);
	sb_buf_printf(out, ": at %.2f s, ", s->t_s);
	put_seconds(out, s->duration_s);
	if (s->judged_by && !strcmp(s->judged_by, "pause"))
		sb_buf_puts(out, " with the pause after it");
	if (!isnan(s->normal_s)) {
		sb_buf_puts(out, "; a normal one ");
		put_seconds(out, s->normal_s);
	}
}

static void put_work(struct sb_buf *out, const struct sb_slow_moment *s)
{
	if (isnan(s->work_s))
		return;
	sb_buf_puts(out, "    GPU worked ");
	put_seconds(out, s->work_s);
	if (!isnan(s->normal_work_s)) {
		sb_buf_puts(out, " (normal ");
		put_seconds(out, s->normal_work_s);
		sb_buf_putc(out, ')');
	}
	if (s->idle_s > 0 || s->normal_idle_s > 0) {
		sb_buf_puts(out, ", idle between ");
		put_seconds(out, s->idle_s);
		if (!isnan(s->normal_idle_s)) {
			sb_buf_puts(out, " (normal ");
			put_seconds(out, s->normal_idle_s);
			sb_buf_putc(out, ')');
		}
	}
	sb_buf_putc(out, '\n');
}

/* The three that say most; the JSON report has all. */
static void put_counters(struct sb_buf *out, const struct sb_slow_moment *s)
{
	static const struct {
		const char *counter, *word;
	} shown[] = { { "sm_active_percent", "SM active" }, { "tensor_active_percent", "tensor" },
		{ "dram_active_percent", "DRAM" } };
	bool first = true;

	for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
		for (size_t i = 0; i < s->counter_count; i++) {
			const struct sb_slow_counter *c = &s->counters[i];

			if (strcmp(c->counter, shown[k].counter))
				continue;
			sb_buf_printf(out, "%s%s %.1f %%", first ? "    " : ", ", shown[k].word, c->percent);
			if (!isnan(c->normal_percent))
				sb_buf_printf(out, " (normal %.1f %%)", c->normal_percent);
			first = false;
		}
	if (!first)
		sb_buf_putc(out, '\n');
}

/* ", 20 instead of 2"; where there is no normal one, how often. */
static void put_counts(struct sb_buf *out, const struct sb_slow_part *p, bool beside)
{
	long long count = p->count, normal = p->normal_count;

	if (!beside)
		sb_buf_printf(out, ", %lld %s%s\n", count, strcmp(p->kind, "function") ? "time" : "sample",
			count == 1 ? "" : "s");
	else if (count == normal)
		sb_buf_printf(out, ", %lld in both\n", count);
	else
		sb_buf_printf(out, ", %lld instead of %lld\n", count, normal);
}

/* beside: there is a normal one, and this is what it took longer. */
static void put_part(
	struct sb_buf *out, const struct sb_text_options *options, const struct sb_slow_part *p, bool beside)
{
	size_t most = (size_t)sb_text_columns(options) - 44; /* file and line come before what it was in */
	char more[32], short_name[SB_SHORT_NAME_SIZE];
	struct sb_buf name = { 0 };
	bool kernel = !strcmp(p->kind, "kernel") && sb_kernel_short_name(p->name, false, short_name);

	sb_buf_puts(&name, kernel ? short_name : p->place ? p->place : p->name);
	if (p->inside && strlen(sb_buf_text(&name)) + strlen(", in ") + strlen(p->inside) <= most)
		sb_buf_printf(&name, ", in %s", p->inside);
	sb_text_seconds(more, sizeof more, p->more_s);
	sb_buf_printf(out, "    %s%-8s %-8s ", beside ? "+ " : "", more, p->kind);
	sb_text_name(out, sb_buf_text(&name), most);
	sb_buf_done(&name);
	put_counts(out, p, beside);
}

static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	if (!model->slow_moments.count && !model->slow_moments.watch.words)
		return;
	sb_text_heading(
		out, options, model->slow_moments.count ? "Slow moments that were caught" : "Slow moments");
	for (size_t i = 0; i < model->slow_moments.count; i++) {
		const struct sb_slow_moment *s = &model->slow_moments.all[i];

		sb_buf_puts(out, "  ");
		sb_slow_moment_title(out, s);
		sb_buf_putc(out, '\n');
		if (s->words)
			sb_text_wrap(out, s->words, 4, sb_text_columns(options));
		put_work(out, s);
		put_counters(out, s);
		for (size_t p = 0; p < s->part_count; p++)
			put_part(out, options, &s->parts[p], !isnan(s->normal_s));
	}
	if (model->slow_moments.watch.words)
		sb_text_wrap(out, model->slow_moments.watch.words, 2, sb_text_columns(options));
}

const struct sb_panel sb_panel_slow_moments = { "slow_moments", text };
