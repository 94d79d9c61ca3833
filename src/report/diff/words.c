/* Words and numbers that every form of a diff shares. */
#include "report/diff/diff.h"

#include "report/label.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool have_one_label(const struct sb_facts *const *runs, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (strcmp(runs[i]->label, runs[0]->label))
			return false;
	return true;
}

void sb_diff_side(const struct sb_facts *const *runs, size_t count, struct sb_buf *out)
{
	size_t named = have_one_label(runs, count) ? 1 : count < 5 ? count : 5;

	if (count > 1)
		sb_buf_printf(out, "%zu runs (", count);
	for (size_t i = 0; i < named; i++)
		sb_label_printf(out, "%s%s", i ? ", " : "", runs[i]->label);
	if (named > 1 && count > named)
		sb_buf_puts(out, ", …");
	if (count > 1)
		sb_buf_putc(out, ')');
}

void sb_diff_delta(enum sb_metric metric, double base, double now, char *out, size_t size)
{
	char text[32];

	*out = 0;
	if (isnan(base) || isnan(now))
		return;
	if (fabs(now - base) < 1e-9 * fabs(base)) /* sums of the same parts in another order */
		now = base;
	/* in the unit of what it is a part of */
	if (!strcmp(sb_metric_infos[metric].unit, "s") && fmax(base, now) >= 1 && fabs(now - base) >= 0.005)
		snprintf(text, sizeof text, "%.2f s", fabs(now - base));
	else
		sb_metric_text(metric, fabs(now - base), text, sizeof text);
	snprintf(out, size, "%s%s", now < base ? "-" : now > base ? "+" : "", text);
}

void sb_diff_percent(double base, double now, char *out, size_t size)
{
	if (isnan(base) && isnan(now))
		snprintf(out, size, "-"); /* skipped on both sides is not new */
	else if (isnan(base) || isnan(now) || !(base > 0))
		snprintf(out, size, "%s", isnan(base) ? "new" : isnan(now) ? "gone" : "-");
	else
		sb_change_text(base, now, out, size);
}

void sb_diff_words(const struct sb_metric_change *t, struct sb_diff_words *out)
{
	sb_metric_text(t->metric, t->base, out->base, sizeof out->base);
	sb_metric_text(t->metric, t->now, out->now, sizeof out->now);
	sb_diff_delta(t->metric, t->base, t->now, out->delta, sizeof out->delta);
	if (!*out->delta)
		snprintf(out->delta, sizeof out->delta, "n/a");
	sb_diff_percent(t->base, t->now, out->percent, sizeof out->percent);
}

/* What is printed as 0.0 has no minus. */
static double tenths(double percent)
{
	return fabs(percent) < 0.05 ? 0 : percent;
}

static void put_interval(double low, double high, struct sb_buf *out)
{
	double from = tenths(100 * (low - 1)), to = tenths(100 * (high - 1));

	if (from == 0 && to == 0)
		sb_buf_puts(out, ", 95 % interval within 0.1 %");
	else
		sb_buf_printf(out, ", 95 %% interval %+.1f to %+.1f %%", from, to);
}

void sb_diff_basis(const struct sb_judgement *j, const struct sb_tolerance *tolerance, struct sb_buf *out)
{
	if (j->basis == SB_BASIS_TOLERANCE && tolerance->absolute > 0)
		sb_buf_printf(out, "one value a side, judged by tolerance (%g %% and %g ms)",
			100 * tolerance->ratio, 1e3 * tolerance->absolute);
	else if (j->basis == SB_BASIS_TOLERANCE)
		sb_buf_printf(out, "means that a benchmark printed, judged by tolerance (%g %%)",
			100 * tolerance->ratio);
	else if (j->basis == SB_BASIS_TOO_FEW)
		sb_buf_printf(out,
			"%" PRIu64 " and %" PRIu64 " repetitions are too few to judge: %zu a side are needed",
			j->base_count, j->now_count, sb_judge_count_needed(tolerance->alpha));
	else if (j->p < 0.001)
		sb_buf_printf(out, "%" PRIu64 " and %" PRIu64 " repetitions, rank test p < 0.001",
			j->base_count, j->now_count);
	else
		sb_buf_printf(out, "%" PRIu64 " and %" PRIu64 " repetitions, rank test p = %.3f",
			j->base_count, j->now_count, j->p);
	if (!isnan(j->interval.low))
		put_interval(j->interval.low, j->interval.high, out);
	if (j->basis == SB_BASIS_RANK_TEST && j->inflation > 1)
		sb_buf_puts(out, ", widened for drift");
}

bool sb_diff_shows_finding(const struct sb_finding_change *f)
{
	return f->tone != SB_TONE_NONE || strcmp(f->priority, "low") != 0;
}

static void put_gain(const struct sb_finding_change *f, struct sb_buf *out)
{
	char base[32], now[32];

	sb_metric_text(SB_METRIC_WALL, f->base_saves_s, base, sizeof base);
	sb_metric_text(SB_METRIC_WALL, f->now_saves_s, now, sizeof now);
	if (!isnan(f->base_saves_s) && !isnan(f->now_saves_s))
		sb_buf_printf(out, " (could save %s, now %s)", base, now);
	else if (!isnan(f->now_saves_s))
		sb_buf_printf(out, " (could save %s)", now);
	else if (!isnan(f->base_saves_s))
		sb_buf_printf(out, " (could save %s)", base);
}

void sb_diff_finding(const struct sb_finding_change *f, struct sb_buf *out)
{
	sb_buf_printf(out, "%s %s%s%s: %s",
		!strcmp(f->priority, "high")     ? "HIGH"
		: !strcmp(f->priority, "medium") ? "MEDIUM"
						 : "LOW",
		f->id, f->place ? ", " : "", f->place ? f->place : "", f->issue);
	put_gain(f, out);
	if (f->startup)
		sb_buf_puts(out, ", at the start");
}

const char *sb_setting_absent(const struct sb_setting_change *s)
{
	return s->scope == SB_FACT_COMMAND ? "not recorded" : "(none)";
}
