/* Ranks on one screen: how many, who is late, and where to read on. */
#include "report/ranks/screen.h"

#include "report/label.h"
#include "report/panels/panel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8 };

static void put_head(const struct sb_aggregate *a, struct sb_buf *out)
{
	const struct sb_across_ranks *wall = &a->metrics[SB_METRIC_WALL];
	char slow[32], fast[32];

	if (a->world_size > (int64_t)a->rank_count)
		sb_buf_printf(out, "%zu of %" PRId64 " ranks", a->rank_count, a->world_size);
	else
		sb_buf_printf(out, "%zu rank%s", a->rank_count, a->rank_count == 1 ? "" : "s");
	sb_buf_printf(out, " on %zu host%s", a->host_count, a->host_count == 1 ? "" : "s");
	if (a->job && *a->job) {
		sb_buf_puts(out, ", job ");
		sb_text_name(out, a->job, 24);
	}
	if (wall->count) {
		sb_metric_text(SB_METRIC_WALL, wall->max, slow, sizeof slow);
		sb_metric_text(SB_METRIC_WALL, wall->min, fast, sizeof fast);
		sb_buf_printf(out, ": %s (rank %" PRId64 ") to %s (rank %" PRId64 ")", fast, wall->min_rank,
			slow, wall->max_rank);
	}
	sb_buf_putc(out, '\n');
}

/* Where the job was started more than once: which start this is, and how the others ended. */
static void put_attempts(const struct sb_aggregate *a, struct sb_buf *out)
{
	for (size_t i = 0; i < a->attempt_count && a->attempt_count > 1; i++)
		if (a->attempts[i].taken)
			sb_buf_printf(
				out, "Attempt %" PRId64 " of %zu", a->attempts[i].number, a->attempt_count);
	for (size_t i = 0; i < a->attempt_count && a->attempt_count > 1; i++)
		if (!a->attempts[i].taken && i + 4 > a->attempt_count)
			sb_label_printf(
				out, "; attempt %" PRId64 ": %s", a->attempts[i].number, a->attempts[i].what);
	if (a->attempt_count > 1)
		sb_buf_putc(out, '\n');
}

static void put_cell(struct sb_buf *out, const struct sb_aggregate_rank *r, enum sb_metric metric, int width)
{
	char text[32] = "-";

	if (!isnan(r->metrics[metric]))
		sb_metric_text(metric, r->metrics[metric], text, sizeof text);
	sb_buf_printf(out, "%*s", width, text);
}

/* Those with the most work: the others wait for them. */
static int by_work(const void *a, const void *b)
{
	const struct sb_aggregate_rank *x = *(const struct sb_aggregate_rank *const *)a;
	const struct sb_aggregate_rank *y = *(const struct sb_aggregate_rank *const *)b;

	if (x->work_s != y->work_s && !isnan(x->work_s) && !isnan(y->work_s))
		return x->work_s > y->work_s ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void put_row(const struct sb_aggregate_rank *r, struct sb_buf *out)
{
	char work[32] = "-";

	if (!isnan(r->work_s))
		sb_metric_text(SB_METRIC_WALL, r->work_s, work, sizeof work);
	sb_buf_printf(out, "%6" PRId64, r->rank);
	put_cell(out, r, SB_METRIC_WALL, 10);
	sb_buf_printf(out, "%10s", work);
	put_cell(out, r, SB_METRIC_COLLECTIVE, 10);
	put_cell(out, r, SB_METRIC_PROCESS_CPU, 9);
	put_cell(out, r, SB_METRIC_RSS_PEAK, 10);
	put_cell(out, r, SB_METRIC_GPU_MEMORY_PEAK, 10);
	sb_buf_printf(out, "  %s\n",
		r->failure     ? "failed"
		: r->straggler ? "late"
		: r->live      ? "running"
		: !r->complete ? "unfinished"
			       : "");
}

static void put_table(const struct sb_aggregate *a, struct sb_buf *out)
{
	const struct sb_aggregate_rank **sorted = malloc((a->rank_count + 1) * sizeof *sorted);

	if (!sorted)
		return;
	for (size_t i = 0; i < a->rank_count; i++)
		sorted[i] = &a->ranks[i];
	qsort(sorted, a->rank_count, sizeof *sorted, by_work);
	sb_buf_printf(out, "%6s%10s%10s%10s%9s%10s%10s\n", "rank", "wall", "work", "waiting", "CPU", "memory",
		"VRAM");
	for (size_t i = 0; i < a->rank_count && i < ROWS; i++)
		put_row(sorted[i], out);
	if (a->rank_count > ROWS)
		sb_buf_printf(out, "%6s %zu more, with less work\n", "…", a->rank_count - ROWS);
	free(sorted);
}

static void put_failed(const struct sb_aggregate *a, struct sb_buf *out)
{
	size_t failed = 0;

	for (size_t i = 0; i < a->rank_count; i++)
		if (a->ranks[i].failure && failed++ < 3)
			sb_label_printf(
				out, "Rank %" PRId64 " failed: %s\n", a->ranks[i].rank, a->ranks[i].failure);
	if (failed > 3)
		sb_buf_printf(out, "%zu more ranks failed\n", failed - 3);
}

static void put_late(const struct sb_aggregate *a, struct sb_buf *out)
{
	if (a->straggler_rule && a->world_size > (int64_t)a->rank_count) /* what it saw is not all */
		sb_buf_printf(out, "Late ranks: %s\n", a->straggler_rule);
	for (size_t i = 0; i < a->straggler_count && i < 3; i++) {
		const struct sb_aggregate_rank *r = &a->ranks[a->stragglers[i]];

		/* without collectives none waits for another, as far as is known */
		sb_buf_printf(out, "%s rank %" PRId64 ": %.2f s more work than %s",
			a->metrics[SB_METRIC_COLLECTIVE].count ? "The others wait for" : "Slowest is",
			r->rank, r->behind_s, sb_rank_compared(a->rank_count));
		if (r->slow_stage) {
			sb_buf_puts(out, ", in ");
			sb_text_name(out, r->slow_stage, 24);
		}
		sb_buf_putc(out, '\n');
	}
	for (size_t i = 0; i < a->late_group_count && i < 3; i++)
		sb_label_printf(out,
			"The others wait for group %s: last at %zu of %zu collectives, %.2f s over all "
			"ranks\n",
			a->late_groups[i].group, a->late_groups[i].late_count, a->late_groups[i].shared_count,
			a->late_groups[i].wait_s);
}

void sb_ranks_screen(const struct sb_aggregate *a, const char *folder, struct sb_buf *out)
{
	put_head(a, out);
	sb_ranks_put_made(a, out);
	put_attempts(a, out);
	put_table(a, out);
	put_failed(a, out);
	put_late(a, out);
	if (a->metrics[SB_METRIC_COLLECTIVE].count)
		sb_buf_printf(out, "Waiting at collectives: %.2f s over all ranks, %.1f %% of their time\n",
			a->wait_s, 100 * a->wait_ratio);
	if (a->world_size > (int64_t)a->rank_count)
		sb_buf_puts(out, "Other nodes: put their runs into one folder with this one, 'strobe report "
				 "FOLDER' is on all\n");
	sb_buf_printf(out, "All ranks:  strobe aggregate %s\nOne rank:   strobe report %s/rank_%" PRId64 "\n",
		folder, folder, a->ranks[0].rank);
}
