/* A benchmark's table for people. */
#include "report/bench/bench.h"
#include "base/memory_units.h"
#include "report/label.h"
#include "stats/seconds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LABEL_COLUMNS_MIN 9
#define LABEL_COLUMNS_MAX 26

/* Four significant digits, in a column of its own: 1234, 123.4, 12.34, 1.234. */
static void put_number(struct sb_buf *out, double value, int width)
{
	int decimals = value >= 999.95 ? 0 : value >= 99.995 ? 1 : value >= 9.9995 ? 2 : 3;

	if (isnan(value))
		sb_buf_printf(out, "%*s", width, "-");
	else
		sb_buf_printf(out, "%*.*f", width, decimals, value);
}

static const char *label_of(const struct sb_bench *b, const struct sb_bench_row *row)
{
	return b->key_count || b->ladder ? row->name : b->marks ? "marks" : "runs";
}

static int label_columns(const struct sb_bench *b)
{
	int widest = LABEL_COLUMNS_MIN;

	for (size_t i = 0; i < b->row_count; i++) {
		int columns = sb_label_columns(label_of(b, &b->rows[i]));

		widest = columns > widest ? columns : widest;
	}
	return widest < LABEL_COLUMNS_MAX ? widest : LABEL_COLUMNS_MAX;
}

/* One unit for the whole table, so that columns compare. */
static double unit_of(const struct sb_bench *b, const char **out_name)
{
	double largest = 0;

	for (size_t i = 0; i < b->row_count; i++)
		if (b->rows[i].count)
			largest = fmax(largest, b->rows[i].stats.max);
	*out_name = largest < 1 ? "ms" : "s";
	return largest < 1 ? 1000 : 1;
}

static void put_interval(struct sb_buf *out, const struct sb_bench_row *row)
{
	char text[24] = "-";
	double half = (row->median_interval.high - row->median_interval.low) / 2 / row->stats.median;

	if (!isnan(half))
		sb_text_share(text, sizeof text, half, "");
	sb_buf_printf(out, "%8s", text);
}

static void put_speedup(struct sb_buf *out, double ratio, int width)
{
	char text[24] = "-";

	if (!isnan(ratio))
		snprintf(text, sizeof text, "%.2fx", ratio);
	sb_buf_printf(out, "%*s", width, text);
}

static void put_measured_row(
	struct sb_buf *out, const struct sb_bench *b, const struct sb_bench_row *row, double unit)
{
	sb_buf_printf(out, "%5zu", row->count);
	put_number(out, row->stats.mean * unit, 8);
	put_number(out, row->stats.median * unit, 8);
	put_interval(out, row);
	put_number(out, row->stats.std * unit, 8);
	put_number(out, row->stats.min * unit, 8);
	put_number(out, row->stats.max * unit, 8);
	put_number(out, row->stats.p95 * unit, 8);
	put_number(out, row->per_s, 9);
	put_number(out, row->frames_per_s, 10);
	if (b->ladder)
		put_speedup(out, row->step_speedup, 7);
	if (b->ladder || b->row_count > 1)
		put_speedup(out, row->total_speedup, 7);
	if (row->total_speedup > 0 && row->against_first.verdict == SB_VERDICT_UNCERTAIN)
		sb_buf_puts(out, " ?");
}

static void put_row(
	struct sb_buf *out, const struct sb_bench *b, const struct sb_bench_row *row, int label, double unit)
{
	sb_buf_puts(out, "  ");
	sb_label_put(out, label_of(b, row), label);
	if (row->state == SB_BENCH_OK && row->count)
		put_measured_row(out, b, row, unit);
	else
		sb_buf_printf(out, "  %s%s%s",
			row->state == SB_BENCH_OOM  ? "OOM"
			: row->state == SB_BENCH_OK ? "not measured"
						    : sb_bench_state_name(row->state),
			row->reason ? ": " : "", row->reason ? row->reason : "");
	sb_buf_putc(out, '\n');
	if (row->held)
		sb_buf_printf(out, "  %*s  %s\n", label, "", row->held);
}

/* "clips/s"; "steps/s" where every row measured steps. */
static void put_rate_heading(struct sb_buf *out, const struct sb_bench *b)
{
	const char *counted = b->row_count ? b->rows[0].counted : NULL;

	sb_buf_printf(out, "%7s/s", counted ? counted : "clips");
}

static void put_target(struct sb_buf *out, const struct sb_bench *b)
{
	size_t met = 0, measured = 0, judged = 0;

	for (size_t i = 0; i < b->row_count; i++) {
		met += b->rows[i].target_met;
		measured += b->rows[i].state == SB_BENCH_OK;
		judged += b->rows[i].state == SB_BENCH_OK && b->rows[i].has_target;
	}
	if (measured && !judged) {
		sb_buf_printf(
			out, "target %g frames/s: not judged, as frames/s are unknown\n", b->target_fps);
		return;
	}
	if (b->row_count == 1 && measured) {
		sb_buf_printf(out, "target %g frames/s: %s (%.2f frames/s)\n", b->target_fps,
			met ? "PASS" : "FAIL", b->rows[0].frames_per_s);
		return;
	}
	sb_buf_printf(out, "target %g frames/s: %s, met by %zu of %zu%s", b->target_fps,
		met && met == measured ? "PASS" : "FAIL", met, measured,
		measured < b->row_count ? " that ran" : "");
	for (size_t i = 0, n = 0; i < b->row_count; i++)
		if (b->rows[i].target_met)
			sb_buf_printf(out, "%s%s", n++ ? "; " : ": ", b->rows[i].name);
	sb_buf_putc(out, '\n');
}

static void put_memory(struct sb_buf *out, const struct sb_bench *b)
{
	const struct sb_bench_row *largest = NULL;

	for (size_t i = 0; i < b->row_count; i++)
		if (b->rows[i].peak_memory_bytes > 0 &&
			(!largest || b->rows[i].peak_memory_bytes > largest->peak_memory_bytes))
			largest = &b->rows[i];
	if (largest)
		sb_buf_printf(out, "peak RAM %.1f MB%s%s\n", largest->peak_memory_bytes / SB_MB,
			b->row_count > 1 ? " in " : "", b->row_count > 1 ? largest->name : "");
}

/* On one line: the newlines of "python -c '...'" are blanks. */
static void put_command(struct sb_buf *out, const char *command)
{
	bool harmless;

	for (size_t n; *command; command += n) {
		n = sb_label_character(command, &harmless);
		sb_label_add(out, command, n, harmless);
	}
}

void sb_bench_text(const struct sb_bench *b, struct sb_buf *out)
{
	int label = label_columns(b);
	const char *unit_name;
	double unit = unit_of(b, &unit_name);
	bool frames = true, uncertain = false;

	sb_buf_puts(out, "== strobe bench: ");
	put_command(out, b->command);
	sb_buf_printf(out,
		"\n%d %s%s after %d warm-up%s%s; times in %s; ± is half the 95 %% interval of the median\n",
		b->iterations, b->marks ? "recorded run" : "run", b->iterations == 1 ? "" : "s", b->warmup,
		b->marks ? " mark" : "",
		!b->marks        ? ""
		: b->warmup == 1 ? " in each"
				 : "s in each",
		unit_name);
	/* "±" is two bytes in one column */
	sb_buf_printf(out, "  %*s%5s%8s%8s%9s%8s%8s%8s%8s", -label, "", "n", "mean", "median", "±", "std",
		"min", "max", "p95");
	put_rate_heading(out, b);
	sb_buf_printf(out, "%10s", "frames/s");
	sb_buf_puts(out, b->ladder ? "   step  total\n" : b->row_count > 1 ? "   vs 1\n" : "\n");
	for (size_t i = 0; i < b->row_count; i++) {
		put_row(out, b, &b->rows[i], label, unit);
		frames &= b->rows[i].state != SB_BENCH_OK || !isnan(b->rows[i].frames_per_clip);
		uncertain |= b->rows[i].total_speedup > 0 &&
			     b->rows[i].against_first.verdict == SB_VERDICT_UNCERTAIN;
	}
	put_memory(out, b);
	if (!frames)
		sb_buf_printf(out, "frames/s unknown: give --frames N, or record frames (%s)\n",
			!b->marks            ? "a clip is one run"
			: b->rows[0].counted ? "of one mark, as its attribute 'frames'"
					     : "a clip is one mark");
	if (uncertain)
		sb_buf_puts(out, "? past 2 %, but inside the noise: more iterations would tell\n");
	if (!isnan(b->target_fps))
		put_target(out, b);
	if (b->interrupted)
		sb_buf_puts(out, "interrupted: rows hold what was measured before\n");
}
