/* Many ranks for a terminal. The first lines keep the form that people already
 * grep for. */
#include "report/ranks/ranks.h"

#include "report/label.h"
#include "report/ranks/endings.h"
#include "report/ranks/screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB 1048576.0

static void put_ranks_list(struct sb_buf *out, const int64_t *ranks, size_t count)
{
	size_t listed = 0;

	for (size_t i = 0; i < count; listed++) {
		size_t end = i;

		if (listed == 20) {
			sb_buf_printf(out, ", … (%zu in all)", count);
			return;
		}
		while (end + 1 < count && ranks[end + 1] == ranks[end] + 1)
			end++;
		sb_buf_printf(out, "%s%" PRId64, listed ? ", " : "", ranks[i]);
		if (end > i)
			sb_buf_printf(out, "%s%" PRId64, end > i + 1 ? "-" : ", ", ranks[end]);
		i = end + 1;
	}
}

static void put_summary(const struct sb_aggregate *a, struct sb_buf *out)
{
	sb_buf_printf(out, "=== Aggregation Summary ===\nTotal reports processed: %zu\n", a->report_count);
	if (a->unranked)
		sb_buf_printf(out,
			"Runs: %zu, none of which says its rank: numbered as they came, none is late\n",
			a->rank_count);
	else
		sb_buf_printf(out, "Ranks: %zu\n", a->rank_count);
	if (a->world_size > 0)
		sb_buf_printf(out, "World size: %" PRId64 "%s\n", a->world_size,
			a->missing_count ? "" : ", all there");
	if (a->missing_count) {
		sb_buf_puts(out, "Missing: rank ");
		put_ranks_list(out, a->missing, a->missing_count);
		sb_buf_putc(out, '\n');
	}
	for (size_t i = 0; i < a->problem_count && i < 20; i++)
		sb_label_printf(out, "Left out: %s: %s\n", a->problems[i].label, a->problems[i].what);
	if (a->problem_count > 20)
		sb_buf_printf(out, "Left out: %zu more\n", a->problem_count - 20);
	sb_ranks_put_broken(a, out);
	if (a->job && *a->job)
		sb_label_printf(out, "Job: %s\n", a->job);
	if (a->host_count)
		sb_buf_printf(out, "Hosts: %zu\n", a->host_count);
	sb_ranks_put_made(a, out);
	sb_ranks_put_attempts(a, out);
}

/* One decimal, or two digits of what is less than a tenth: 40 ms are not 0.0 s. */
static void put_value(struct sb_buf *out, const char *word, double value, const char *unit)
{
	int decimals = value == 0 ? 0 : 1;

	for (double least = 0.0995; decimals && fabs(value) < least && decimals < 9; least /= 10)
		decimals += decimals == 1 ? 2 : 1;
	sb_buf_printf(out, "%s: %.*f%s", word, decimals, value, unit);
}

/* "GPU Memory - Min: 7200.0MB, Max: 9800.0MB, Avg: 8420.0MB" */
static void put_extent(
	struct sb_buf *out, const char *name, const struct sb_across_ranks *e, double scale, const char *unit)
{
	if (!e->count)
		return;
	sb_buf_puts(out, name);
	put_value(out, " - Min", e->min / scale, unit);
	put_value(out, ", Max", e->max / scale, unit);
	put_value(out, ", Avg", e->avg / scale, unit);
	if (e->adds)
		put_value(out, ", Sum", e->sum / scale, unit);
	if (e->count > 1 && e->min != e->max)
		sb_buf_printf(
			out, "  (min rank %" PRId64 ", max rank %" PRId64 ")", e->min_rank, e->max_rank);
	sb_buf_putc(out, '\n');
}

struct row {
	enum sb_metric metric;
	const char *name;
	double scale;
	const char *unit;
};

static void put_metrics(const struct sb_aggregate *a, const char *title, const struct row *rows, size_t count,
	struct sb_buf *out)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		if (!a->metrics[rows[i].metric].count)
			continue;
		if (!any)
			sb_buf_printf(out, "\n=== %s (Aggregated) ===\n", title);
		any = true;
		put_extent(out, rows[i].name, &a->metrics[rows[i].metric], rows[i].scale, rows[i].unit);
	}
}

static const struct row gpu_rows[] = {
	{ SB_METRIC_GPU_MEMORY_PEAK, "GPU Memory", MB, "MB" },
	{ SB_METRIC_GPU_UTILIZATION, "GPU Utilization", 1, "%" },
	{ SB_METRIC_GPU_TEMPERATURE, "GPU Temperature", 1, "°C" },
	{ SB_METRIC_GPU_POWER, "GPU Power", 1, "W" },
	{ SB_METRIC_GPU_CLOCK, "GPU Clock", 1, "MHz" },
	{ SB_METRIC_GPU_BUSY, "GPU Busy", 1, "s" },
	{ SB_METRIC_GPU_IDLE, "GPU Idle", 1, "s" },
	{ SB_METRIC_ENERGY, "Energy", 1, "Wh" },
};
static const struct row cpu_rows[] = {
	{ SB_METRIC_CPU, "CPU", 1, "%" },
	{ SB_METRIC_PROCESS_CPU, "Process CPU", 1, "%" },
	{ SB_METRIC_RAM_PEAK, "RAM", MB, "MB" },
	{ SB_METRIC_RSS_PEAK, "Process Memory", MB, "MB" },
	{ SB_METRIC_DISK_READ, "Disk Read", 1e6, "MB/s" },
	{ SB_METRIC_DISK_WRITE, "Disk Write", 1e6, "MB/s" },
};
static const struct row time_rows[] = {
	{ SB_METRIC_WALL, "Wall", 1, "s" },
	{ SB_METRIC_GENERATION, "Generation", 1, "s" },
	{ SB_METRIC_STEP, "Step", 1e-3, "ms" },
	{ SB_METRIC_FPS, "Frames/s", 1, "" },
	{ SB_METRIC_COLLECTIVE, "Waiting at collectives", 1, "s" },
	{ SB_METRIC_COMMUNICATION, "Communication", 1, "s" },
	{ SB_METRIC_UNATTRIBUTED, "Unattributed", 1, "s" },
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- ranks -------------------------------------------------------------- */

static int by_work(const void *a, const void *b)
{
	const struct sb_aggregate_rank *x = *(const struct sb_aggregate_rank *const *)a;
	const struct sb_aggregate_rank *y = *(const struct sb_aggregate_rank *const *)b;

	if (x->work_s != y->work_s)
		return x->work_s < y->work_s ? 1 : -1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void put_cell(struct sb_buf *out, enum sb_metric metric, double value, int width)
{
	char text[32] = "-";

	if (!isnan(value))
		sb_metric_text(metric, value, text, sizeof text);
	sb_buf_printf(out, "%*s", width, text);
}

static void put_rank(const struct sb_aggregate *a, const struct sb_aggregate_rank *r, struct sb_buf *out)
{
	sb_buf_printf(out, "  %6" PRId64 "  ", r->rank);
	sb_label_put(out, *r->host ? r->host : "-", 16);
	put_cell(out, SB_METRIC_WALL, r->metrics[SB_METRIC_WALL], 11);
	put_cell(out, SB_METRIC_WALL, r->work_s, 11);
	put_cell(out, SB_METRIC_WALL, r->metrics[SB_METRIC_COLLECTIVE], 11);
	put_cell(out, SB_METRIC_GPU_MEMORY_PEAK,
		isnan(r->metrics[SB_METRIC_GPU_MEMORY_PEAK]) ? r->metrics[SB_METRIC_RSS_PEAK]
							     : r->metrics[SB_METRIC_GPU_MEMORY_PEAK],
		12);
	sb_buf_printf(out, "%s\n", r->straggler ? "  <- STRAGGLER" : "");
}

static void put_ranks(const struct sb_aggregate *a, size_t top, struct sb_buf *out)
{
	const struct sb_aggregate_rank **order = malloc((a->rank_count + 1) * sizeof *order);

	if (!order) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < a->rank_count; i++)
		order[i] = &a->ranks[i];
	qsort(order, a->rank_count, sizeof *order, by_work);
	sb_buf_printf(out, "\n=== Rank Comparison ===\n  %6s  %-16s%11s%11s%11s%12s\n", "rank", "host",
		"wall", "work", "waiting", "peak memory");
	for (size_t i = 0; i < a->rank_count; i++) {
		if (a->rank_count > top + 3 && i == top) {
			sb_buf_printf(out, "  … %zu more\n", a->rank_count - top - 3);
			i = a->rank_count - 3;
		}
		put_rank(a, order[i], out);
	}
	free(order);
}

/* Uneven shares of the video are no fault of the rank. */
static void put_frames(const struct sb_aggregate *a, const struct sb_aggregate_rank *r, struct sb_buf *out)
{
	double frames = r->metrics[SB_METRIC_FRAMES], median = a->metrics[SB_METRIC_FRAMES].median;

	if (frames > median * 1.05)
		sb_buf_printf(out, "; it made %.0f frames, the median rank %.0f", frames, median);
}

static void put_stragglers(const struct sb_aggregate *a, size_t top, struct sb_buf *out)
{
	sb_buf_puts(out, "\n=== Stragglers ===\n");
	if (!a->straggler_count)
		sb_buf_printf(out, "%s\n",
			a->unranked ? "not judged: these runs do not say which ranks of a job they are"
			: a->straggler_rule ? a->straggler_rule
					    : "none");
	for (size_t i = 0; i < a->straggler_count && i < top; i++) {
		const struct sb_aggregate_rank *r = &a->ranks[a->stragglers[i]];

		sb_label_printf(out, "rank %" PRId64 "%s%s: %.2f s of work, %.2f s (%.0f %%) more than %s",
			r->rank, *r->host ? " on " : "", r->host, r->work_s, r->behind_s,
			100 * r->behind_s / (r->work_s - r->behind_s), sb_rank_compared(a->rank_count));
		if (r->slow_stage)
			sb_label_printf(out, "; %s took %.2f s, %s %.2f s", r->slow_stage, r->slow_stage_s,
				sb_rank_compared(a->rank_count), r->slow_stage_median_s);
		if (r->last_count && a->collective_count)
			sb_buf_printf(out,
				"; last at %zu of %zu collectives, the others waited %.2f s for it",
				r->last_count, a->collective_count, r->caused_wait_s);
		put_frames(a, r, out);
		sb_buf_putc(out, '\n');
	}
}

/* ---- stages ------------------------------------------------------------- */

static void put_stage(const struct sb_aggregate_stage *s, uint32_t depth, struct sb_buf *out)
{
	int indent = (int)(depth < 8 ? 2 * depth : 16);
	char label[300], rank[32];

	snprintf(label, sizeof label, "%s%s%s%s", s->code ? "[" : "", s->code ? s->code : "",
		s->code ? "] " : "", s->name);
	sb_buf_printf(out, "  %*s", indent, "");
	sb_label_put(out, label, 28 - indent);
	put_cell(out, SB_METRIC_WALL, s->total_s.avg, 10);
	put_cell(out, SB_METRIC_WALL, s->total_s.min, 10);
	snprintf(rank, sizeof rank, "(%" PRId64 ")", s->total_s.min_rank);
	sb_buf_printf(out, " %-9s", rank);
	put_cell(out, SB_METRIC_WALL, s->total_s.max, 10);
	snprintf(rank, sizeof rank, "(%" PRId64 ")", s->total_s.max_rank);
	sb_buf_printf(out, " %-9s", rank);
	sb_buf_printf(out, "%+8.1f %%", 100 * s->imbalance_ratio);
	put_cell(out, SB_METRIC_WALL, s->p95_s, 10);
	sb_buf_putc(out, '\n');
}

/* A stage below the one that it is in; those of one parent in the order of the table. */
static void put_stages_in(
	const struct sb_aggregate *a, int64_t parent, uint32_t depth, const bool *shown, struct sb_buf *out)
{
	for (size_t i = 0; i < a->stage_count; i++) {
		if (!shown[i] || a->stages[i].parent != parent)
			continue;
		put_stage(&a->stages[i], depth, out);
		put_stages_in(a, (int64_t)i, depth + 1, shown, out);
	}
}

/* The most uneven, and what they are in. NULL: no memory. */
static bool *stages_to_show(const struct sb_aggregate *a, size_t top, size_t *out_count)
{
	bool *shown = calloc(a->stage_count + 1, sizeof *shown);

	for (size_t i = 0; shown && i < a->stage_count && i < top; i++)
		for (int64_t at = (int64_t)i; at >= 0 && !shown[at]; at = a->stages[at].parent)
			shown[at] = true;
	*out_count = 0;
	for (size_t i = 0; shown && i < a->stage_count; i++)
		*out_count += shown[i];
	return shown;
}

static void put_stages(const struct sb_aggregate *a, size_t top, struct sb_buf *out)
{
	size_t count;
	bool *shown = stages_to_show(a, top, &count);

	if (!count) {
		free(shown);
		return;
	}
	sb_buf_printf(out, "\n=== Load Imbalance (by stage) ===\n  %-28s%10s%10s %-9s%10s %-9s%10s%10s\n",
		"stage", "avg", "min", "(rank)", "max", "(rank)", "max/avg", "p95/call");
	put_stages_in(a, -1, 0, shown, out);
	free(shown);
	if (count < a->stage_count)
		sb_buf_printf(out, "  … %zu more stage%s, more even than these (--top N)\n",
			a->stage_count - count, a->stage_count - count == 1 ? "" : "s");
	if (a->left_out_count)
		sb_buf_puts(out, "  some stages were left out: there are more than 4096 different ones\n");
}

/* Calls in which only some wait for others are split in their rows alone. */
static void put_one_sided(const struct sb_aggregate *a, struct sb_buf *out)
{
	double other_s = a->wait_s - a->late_wait_s - a->transfer_s;

	if (other_s >= 0.01 * a->wait_s && other_s >= 0.005)
		sb_buf_printf(out, ", %.2f s in calls with a root, between pairs or not matched", other_s);
}

/* Where a rank had more collectives than are kept: how many there were. */
static void put_kept(const struct sb_aggregate *a, struct sb_buf *out)
{
	const struct sb_aggregate_rank *most = NULL;

	for (size_t i = 0; i < a->rank_count; i++) {
		const struct sb_aggregate_rank *r = &a->ranks[i];

		if (r->collective_total > (int64_t)r->collective_count &&
			(!most || r->collective_total > most->collective_total))
			most = r;
	}
	if (most)
		sb_buf_printf(out,
			"looked at %zu of the %" PRId64 " collectives of rank %" PRId64 ", the same ones on "
			"every rank: times above stand for all, numbers of collectives for those looked at\n",
			most->collective_count, most->collective_total, most->rank);
}

static void put_waiting(const struct sb_aggregate *a, struct sb_buf *out)
{
	const struct sb_across_ranks *e = &a->metrics[SB_METRIC_COLLECTIVE];

	if (!e->count)
		return;
	sb_buf_printf(out,
		"\n=== Waiting at Collectives ===\n%.2f s over all ranks, %.1f %% of their time; least rank "
		"%" PRId64 " (%.2f s), most rank %" PRId64 " (%.2f s)\n",
		a->wait_s, 100 * a->wait_ratio, e->min_rank, e->min, e->max_rank, e->max);
	if (!isnan(a->late_wait_s) && a->late_wait_s + a->transfer_s > 0)
		sb_buf_printf(out, "%.2f s of it until the last rank came", a->late_wait_s);
	if (a->startup_wait_s >= 0.005)
		sb_buf_printf(
			out, " (%.2f s at the first collective, which ends the start-up)", a->startup_wait_s);
	if (!isnan(a->late_wait_s) && a->late_wait_s + a->transfer_s > 0) {
		sb_buf_printf(out, ", %.2f s for the transfer itself", a->transfer_s);
		put_one_sided(a, out);
	}
	if (!isnan(a->hidden_s) && a->hidden_s > 0)
		sb_buf_printf(out, "; %.2f s more hidden behind other work", a->hidden_s);
	if (!isnan(a->late_wait_s) && a->late_wait_s + a->transfer_s > 0)
		sb_buf_putc(out, '\n');
	put_kept(a, out);
}

/* In the unit in which it has two digits. */
static void put_rate(double bytes_per_s, struct sb_buf *out)
{
	if (bytes_per_s >= 1e7)
		sb_buf_printf(out, "%9.2f GB/s", bytes_per_s * 1e-9);
	else if (bytes_per_s >= 1e4)
		sb_buf_printf(out, "%9.2f MB/s", bytes_per_s * 1e-6);
	else
		sb_buf_printf(out, "%9.2f kB/s", bytes_per_s * 1e-3);
}

/* Which group and operation, when there is something to tell of it. */
static void put_communication(const struct sb_aggregate *a, struct sb_buf *out)
{
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < a->communication_count; i++) {
		const struct sb_communication *c = &a->communication[i];

		if (!c->group)
			continue;
		if (shown >= 8) {
			more++;
			continue;
		}
		if (!shown++)
			sb_buf_printf(out, "  %-24s%-22s%8s%10s%10s%10s%14s  %s\n", "operation", "group",
				"times", "waiting", "transfer", "hidden", "bus bandwidth", "last");
		sb_buf_puts(out, "  ");
		sb_label_put(out, c->operation, 23);
		sb_buf_putc(out, ' ');
		sb_label_put(out, c->group, 21);
		sb_buf_printf(out, " %8zu%8.2f s%8.2f s%8.2f s", c->collective_count, c->late_wait_s,
			c->transfer_s, c->hidden_s);
		if (isnan(c->bus_bytes_per_s))
			sb_buf_printf(out, "%14s", "-");
		else
			put_rate(c->bus_bytes_per_s, out);
		if (c->last_rank >= 0)
			sb_buf_printf(out, "  rank %" PRId64 " at %zu", c->last_rank, c->last_count);
		sb_buf_putc(out, '\n');
	}
	if (more)
		sb_buf_printf(out, "  … %zu more, with less time: --format json has all\n", more);
}

static void put_late_groups(const struct sb_aggregate *a, struct sb_buf *out)
{
	for (size_t i = 0; i < a->late_group_count && i < 5; i++)
		sb_label_printf(out,
			"group %s comes late as a whole: after all others at %zu of %zu collectives, which "
			"waited "
			"%.2f s for it\n",
			a->late_groups[i].group, a->late_groups[i].late_count, a->late_groups[i].shared_count,
			a->late_groups[i].wait_s);
}

static void put_scaling(const struct sb_aggregate *a, struct sb_buf *out)
{
	if (!a->scale_count)
		return;
	sb_buf_printf(out, "\n=== Scaling ===\n  %10s%8s%12s%12s%11s%16s%18s\n", "world size", "ranks",
		"wall", "generation", "speed-up", "work split", "work per rank");
	for (size_t i = 0; i < a->scale_count; i++) {
		const struct sb_scale *s = &a->scales[i];

		sb_buf_printf(out, "  %10" PRId64 "%8zu", s->world_size, s->ranks);
		put_cell(out, SB_METRIC_WALL, s->wall_s, 12);
		put_cell(out, SB_METRIC_WALL, s->generation_s, 12);
		sb_buf_printf(out, "%10.2fx%14.1f %%%16.1f %%\n", s->speedup, 100 * s->efficiency_split_ratio,
			100 * s->efficiency_kept_ratio);
	}
	sb_buf_puts(out,
		"  efficiency, if the same work was split, or if each rank did the same work as before\n");
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static void put_clocks(const struct sb_aggregate *a, struct sb_buf *out)
{
	double largest = 0;
	size_t corrected = 0, unknown = 0;

	if (a->host_count < 2 && isnan(a->residual_s))
		return;
	for (size_t i = 0; i < a->rank_count; i++) {
		corrected += a->ranks[i].align.method == SB_ALIGN_COLLECTIVES;
		unknown += a->ranks[i].align.method == SB_ALIGN_REAL_TIME;
		largest = fmax(largest, fabs(a->ranks[i].align.offset_s));
	}
	if (!corrected && !unknown)
		return;
	sb_buf_puts(out, "\n=== Clocks ===\n");
	if (a->unclear_count)
		sb_buf_printf(out, "%zu of %zu collectives: the clocks cannot tell which rank came last\n",
			a->unclear_count, a->collective_count);
	if (corrected)
		sb_buf_printf(out,
			"%zu rank%s corrected by common collectives, by up to %.3f ms, to within %.3f ms; "
			"ranks "
			"leave a collective up to %.3f ms apart (95 %% of them)\n",
			corrected, plural(corrected), largest * 1e3, a->uncertainty_s * 1e3,
			a->residual_s * 1e3);
	if (unknown)
		sb_buf_printf(out,
			"%zu rank%s taken at the time of day of the host: the error is not known (no "
			"collectives that tell)\n",
			unknown, plural(unknown));
}

void sb_aggregate_text(
	const struct sb_aggregate *a, const struct sb_aggregate_options *options, struct sb_buf *out)
{
	size_t top = options->top ? options->top : 15;

	put_summary(a, out);
	put_metrics(a, "GPU Metrics", gpu_rows, COUNT(gpu_rows), out);
	put_metrics(a, "CPU Metrics", cpu_rows, COUNT(cpu_rows), out);
	put_metrics(a, "Time", time_rows, COUNT(time_rows), out);
	put_ranks(a, top, out);
	put_stragglers(a, top, out);
	put_stages(a, top, out);
	put_waiting(a, out);
	put_communication(a, out);
	put_late_groups(a, out);
	put_scaling(a, out);
	put_clocks(a, out);
}
