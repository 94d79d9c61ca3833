/* Two jobs: how their stages spread over ranks, and which ranks the others wait for. */
#include "report/diff/diff.h"

#include "report/label.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A spread is worth a line where it changed by so much of the stage's time, and by a moment. */
#define SPREAD_RATIO 0.05
#define SPREAD_S 0.001

static double change_of(const struct sb_stage_change *s)
{
	return fabs(s->now_spread_s - s->base_spread_s);
}

static bool is_worth_a_line(const struct sb_stage_change *s)
{
	return change_of(s) > SPREAD_S && change_of(s) > SPREAD_RATIO * fmin(s->base_s, s->now_s);
}

static int by_change(const void *a, const void *b)
{
	const struct sb_stage_change *x = *(const struct sb_stage_change *const *)a;
	const struct sb_stage_change *y = *(const struct sb_stage_change *const *)b;

	if (change_of(x) != change_of(y))
		return change_of(x) > change_of(y) ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The stages whose spread changed, the largest change first. The caller frees them. */
static size_t spreads_of(const struct sb_comparison *c, const struct sb_stage_change ***out_stages)
{
	const struct sb_stage_change **all = malloc((c->stage_count + 1) * sizeof *all);
	size_t count = 0;

	for (size_t i = 0; all && i < c->stage_count; i++)
		if (is_worth_a_line(&c->stages[i]))
			all[count++] = &c->stages[i];
	if (count)
		qsort(all, count, sizeof *all, by_change);
	*out_stages = all;
	return count;
}

static void put_straggler(const struct sb_straggler_change *s, size_t rank_count, struct sb_buf *out)
{
	double late_s = s->change[0] == 'w' ? s->base_behind_s : s->now_behind_s;

	sb_buf_printf(out, "rank %" PRId64, s->rank);
	if (s->host)
		sb_label_printf(out, " on %s", s->host);
	sb_buf_printf(out, " %s: ", s->change);
	if (s->change[0] == 'w')
		sb_buf_puts(out, "was ");
	if (sb_shows_more_work(late_s))
		sb_buf_printf(out, "%.2f s behind %s", late_s, sb_rank_compared(rank_count));
	else
		sb_buf_printf(
			out, "last at collectives, with no more work than %s", sb_rank_compared(rank_count));
	if (s->stage)
		sb_label_printf(out, ", in %s", s->stage);
	sb_buf_putc(out, '\n');
}

static void put_slowest(const struct sb_stage_change *s, char *out, size_t size)
{
	if (s->base_slowest_rank == s->now_slowest_rank)
		snprintf(out, size, "rank %" PRId64, s->now_slowest_rank);
	else
		snprintf(out, size, "rank %" PRId64 ", was %" PRId64, s->now_slowest_rank,
			s->base_slowest_rank);
}

void sb_diff_jobs_text(const struct sb_comparison *c, size_t top, size_t name_columns, struct sb_buf *out)
{
	const struct sb_job_sides *j = &c->jobs;
	const struct sb_stage_change **stages;
	size_t count;

	if (!j->base_rank_count || !j->now_rank_count)
		return;
	sb_buf_printf(out, "\n  Ranks: %zu on %zu host%s -> %zu on %zu host%s\n", j->base_rank_count,
		j->base_host_count, j->base_host_count == 1 ? "" : "s", j->now_rank_count, j->now_host_count,
		j->now_host_count == 1 ? "" : "s");
	for (size_t i = 0; i < j->straggler_count && i < top; i++) {
		sb_buf_puts(out, "  Straggler ");
		put_straggler(&j->stragglers[i], j->now_rank_count, out);
	}
	if (j->straggler_count > top)
		sb_buf_printf(out, "  … %zu more stragglers (--top N)\n", j->straggler_count - top);
	if (!j->straggler_count)
		sb_buf_puts(out, "  No straggler in either.\n");
	count = spreads_of(c, &stages);
	if (count)
		sb_buf_printf(out, "\n  %-*s%11s%11s  slowest\n", (int)name_columns, "Slowest - fastest rank",
			"base", "new");
	for (size_t i = 0; i < count && i < top; i++) {
		const struct sb_stage_change *s = stages[i];
		char label[300], base[32], now[32], slowest[64];

		sb_stage_label(s->code, s->name, label, sizeof label);
		sb_metric_text(SB_METRIC_WALL, s->base_spread_s, base, sizeof base);
		sb_metric_text(SB_METRIC_WALL, s->now_spread_s, now, sizeof now);
		put_slowest(s, slowest, sizeof slowest);
		sb_buf_puts(out, "  ");
		sb_label_put(out, label, (int)name_columns);
		sb_buf_printf(out, "%11s%11s  %s\n", base, now, slowest);
	}
	free(stages);
}

void sb_diff_jobs_markdown(const struct sb_comparison *c, size_t top, struct sb_buf *out)
{
	const struct sb_job_sides *j = &c->jobs;

	if (!j->base_rank_count || !j->now_rank_count)
		return;
	sb_buf_printf(out, "\nRanks: %zu → %zu; stages are the median rank's.\n", j->base_rank_count,
		j->now_rank_count);
	for (size_t i = 0; i < j->straggler_count && i < top; i++) {
		sb_buf_puts(out, "- straggler ");
		put_straggler(&j->stragglers[i], j->now_rank_count, out);
	}
}
