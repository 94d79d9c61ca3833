/* gpu_trace: what the GPU did, kernel by kernel. */
#include "report/panels/family_rows.h"
#include "report/panels/panel.h"
#include "report/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_COLUMNS 10 /* after the count, where rows have bytes */
#define RATE_COLUMNS 13 /* after the bytes, where there is room */
#define ROWS_SHOWN 10
#define WAIT_WIDTH 21u
#define DEVICES_SHOWN 16
#define TRACES_SHOWN 4u
#define RATE_LEAST 0.05 /* GB/s: a smaller rate would read 0.0, and is that of a few bytes */
#define STAGES_SHOWN 8u
#define STAGE_LEAST 0.05 /* of the kernels' time: smaller stages are left to the JSON */
#define STAGE_FAMILIES_SHOWN 5u

/* ---- text ---- */

static void share_text(char *out, size_t size, double ratio)
{
	if (isnan(ratio))
		snprintf(out, size, "n/a");
	else
		sb_text_share(out, size, ratio, " ");
}

/* of: what the shares are of; "of all": of the kernels' time. */
static void rows_text(struct sb_buf *out, const struct sb_text_options *options, const char *title,
	const char *of, const char *counted, const struct sb_gpu_row *rows, size_t count)
{
	size_t width = (size_t)(sb_text_columns(options) - 34);
	bool with_rates = sb_text_columns(options) >= 80;

	if (!count)
		return;
	for (size_t i = 0; i < count; i++) {
		if (rows[i].bytes > 0) {
			width -= BYTES_COLUMNS + (with_rates ? RATE_COLUMNS : 0);
			break;
		}
	}
	sb_buf_printf(out, "  %-*s %10s %8s %9s\n", (int)width, title, "total", of, counted);
	for (size_t i = 0; i < count && i < ROWS_SHOWN; i++) {
		char total[24], share[24];
		size_t used;

		sb_text_seconds(total, sizeof total, rows[i].total_s);
		share_text(share, sizeof share, rows[i].ratio);
		sb_buf_puts(out, "  ");
		used = sb_text_name(out, rows[i].short_name ? rows[i].short_name : rows[i].name, width);
		sb_buf_printf(out, "%*s %10s %8s %9lld", (int)(width - used), "", total, share,
			(long long)rows[i].count);
		if (rows[i].bytes > 0) {
			char bytes[24];

			sb_text_bytes(bytes, sizeof bytes, rows[i].bytes);
			sb_buf_printf(out, "  %8s", bytes);
			if (with_rates && rows[i].bytes / 1e9 >= RATE_LEAST * rows[i].total_s)
				sb_buf_printf(out, " %7.1f GB/s", rows[i].bytes / rows[i].total_s / 1e9);
		}
		sb_buf_putc(out, '\n');
	}
	if (count > ROWS_SHOWN)
		sb_buf_printf(
			out, "  ... and %zu more: strobe report RUN --format json\n", count - ROWS_SHOWN);
}

static void copies_text(const struct sb_gpu_panel *g, struct sb_buf *out)
{
	for (size_t i = 0; i < g->copy_count; i++) {
		const struct sb_gpu_copy *c = &g->copies[i];
		char bytes[24], total[24];

		sb_text_bytes(bytes, sizeof bytes, c->bytes);
		sb_text_seconds(total, sizeof total, c->total_s);
		sb_buf_printf(out, "  copies %-5s %-8s %8lld  %10s in %s", c->direction,
			c->memory ? c->memory : "", (long long)c->count, bytes, total);
		if (c->gb_per_s >= RATE_LEAST)
			sb_buf_printf(out, ", %.1f GB/s", c->gb_per_s);
		sb_buf_putc(out, '\n');
	}
}

static void memsets_text(const struct sb_gpu_panel *g, struct sb_buf *out)
{
	char bytes[24], total[24];

	if (!g->memset_count)
		return;
	sb_text_bytes(bytes, sizeof bytes, g->memset_bytes);
	sb_text_seconds(total, sizeof total, g->memset_total_s);
	sb_buf_printf(out, "  memsets %22lld  %10s in %s\n", (long long)g->memset_count, bytes, total);
}

static void waits_text(const struct sb_gpu_panel *g, struct sb_buf *out)
{
	for (size_t i = 0; i < g->wait_count; i++) {
		char total[24], longest[24];
		size_t used;

		sb_text_seconds(total, sizeof total, g->waits[i].total_s);
		sb_text_seconds(longest, sizeof longest, g->waits[i].max_s);
		sb_buf_puts(out, "  waits  ");
		used = sb_text_name(out, g->waits[i].name, WAIT_WIDTH);
		sb_buf_printf(out, "%*s %4lld  %10s, the longest %s\n", (int)(WAIT_WIDTH - used), "",
			(long long)g->waits[i].count, total, longest);
	}
}

static void busy_text(struct sb_buf *out, double busy_s, double idle_s, double window_s)
{
	char busy[24], idle[24], window[24], share[24];

	sb_text_seconds(busy, sizeof busy, busy_s);
	sb_text_seconds(idle, sizeof idle, idle_s);
	sb_text_seconds(window, sizeof window, window_s);
	share_text(share, sizeof share, window_s > 0 ? busy_s / window_s : NAN);
	sb_buf_printf(out, "busy %s (%s) + idle %s = %s", busy, share, idle, window);
}

/* Of a process: what is between two traces is not idle time, and not counted. */
static bool several_traces(const struct sb_gpu_panel *g)
{
	return g->trace_count > (g->process_count ? g->process_count : 1);
}

/* Times of devices that work side by side are not added up for people. */
static void devices_text(const struct sb_gpu_panel *g, struct sb_buf *out)
{
	double count = (double)g->device_count;

	sb_buf_puts(out, "  ");
	if (g->device_count <= 1) {
		busy_text(out, g->busy_s, g->idle_s, g->window_s);
		if (several_traces(g))
			sb_buf_printf(out, " in %zu traces, added up\n", g->trace_count);
		else
			sb_buf_puts(out, " from the first work to the last\n");
		return;
	}
	sb_buf_printf(out, "%zu GPUs", g->device_count);
	if (g->process_count > 1)
		sb_buf_printf(out, " of %zu processes", g->process_count);
	sb_buf_printf(out, ", each from its first work to its last%s\n    mean   ",
		several_traces(g) ? " of each trace, added up" : "");
	if (g->process_count > 1)
		sb_buf_printf(out, "%16s", "");
	busy_text(out, g->busy_s / count, g->idle_s / count, g->window_s / count);
	sb_buf_putc(out, '\n');
	for (size_t i = 0; i < g->device_count && i < DEVICES_SHOWN; i++) {
		sb_buf_printf(out, "    GPU %-3d", g->devices[i].device);
		if (g->process_count > 1)
			sb_buf_printf(out, "process %-8u", g->devices[i].pid);
		busy_text(out, g->devices[i].busy_s, g->devices[i].idle_s, g->devices[i].window_s);
		sb_buf_putc(out, '\n');
	}
	if (g->device_count > DEVICES_SHOWN)
		sb_buf_printf(out, "    ... and %zu more: strobe report RUN --format json\n",
			g->device_count - DEVICES_SHOWN);
}

static void traces_text(const struct sb_gpu_panel *g, struct sb_buf *out)
{
	for (size_t i = 0; i < g->trace_count && i < TRACES_SHOWN; i++) {
		const struct sb_gpu_traced *t = &g->traces[i];
		char duration[24], from[24], to[24];

		sb_text_seconds(duration, sizeof duration, t->duration_s);
		sb_text_seconds(from, sizeof from, t->t_s);
		sb_text_seconds(to, sizeof to, t->t_s + t->duration_s);
		sb_buf_printf(out, "  traced %s, from %s to %s of the run", duration, from, to);
		if (g->process_count > 1)
			sb_buf_printf(out, ", in process %u", t->pid);
		sb_buf_putc(out, '\n');
	}
	if (g->trace_count > TRACES_SHOWN)
		sb_buf_printf(out, "  ... and %zu more traces: strobe report RUN --format json\n",
			g->trace_count - TRACES_SHOWN);
}

static void head_text(const struct sb_gpu_panel *g, struct sb_buf *out)
{
	const char *each = g->device_count > 1 ? " per GPU" : "";
	char total[24], exposed[24], share[24];
	double count = g->device_count ? (double)g->device_count : 1;

	traces_text(g, out);
	if (g->slow_only)
		sb_buf_puts(out, "  around slow moments only: shares are of these, not of the run\n");
	devices_text(g, out);
	sb_text_seconds(total, sizeof total, g->kernel_total_s);
	share_text(share, sizeof share, g->small_kernel_ratio);
	sb_buf_printf(out, "  %lld kernels, %s in all%s, %s of them under 10 us\n",
		(long long)g->kernel_count, total, g->device_count > 1 ? " on all GPUs" : "", share);
	if (!isnan(g->launch_ahead_s)) {
		sb_text_seconds(total, sizeof total, g->launch_ahead_s);
		sb_buf_printf(out, "  launched %s ahead on average, %.1f kernels waiting%s", total,
			g->launch_queue_count, each);
		if (g->launch_interval_s > 0) {
			sb_text_seconds(total, sizeof total, g->launch_interval_s);
			sb_buf_printf(out, ", one every %s", total);
		}
		sb_buf_puts(out, "\n");
	}
	if (!isnan(g->overlap_ratio))
		sb_buf_printf(
			out, "  the CPU worked on during %.0f %% of the busy time\n", g->overlap_ratio * 100);
	else if (isfinite(g->traced_s) && !g->wait_count)
		sb_buf_puts(
			out, "  CPU/GPU overlap not known: the trace has no calls that wait for the GPU\n");
	if (g->collective_count) {
		sb_text_seconds(total, sizeof total, g->communication_s / count);
		sb_text_seconds(exposed, sizeof exposed, g->exposed_communication_s / count);
		sb_buf_printf(out, "  communication %s%s, of which %s exposed (nothing computed meanwhile)\n",
			total, each, exposed);
	}
}

/* ---- kernel families ---- */

static void families_text(
	const struct sb_gpu_panel *g, const struct sb_text_options *options, struct sb_buf *out)
{
	struct sb_family_rows rows;

	sb_family_rows_fill(g->families, g->family_count, true, &rows);
	rows_text(out, options, g->slow_only ? "Kernels by family, around slow moments" : "Kernels by family",
		"of all", "count", rows.all, rows.count);
}

/* "denoise: GEMM 41 %, attention 30 %, element-wise 20 %" */
static void stage_families_text(
	const struct sb_stage *s, const struct sb_text_options *options, struct sb_buf *out)
{
	struct sb_family_rows rows;
	char total[24], part[80];
	size_t column;

	sb_family_rows_fill(s->kernels, s->kernel_share_count, false, &rows);
	sb_text_seconds(total, sizeof total, s->kernel_s);
	sb_buf_puts(out, "    ");
	column = 4 + sb_text_name(out, s->name, 30);
	snprintf(part, sizeof part, ", %s of kernels:", total);
	sb_buf_puts(out, part);
	column += strlen(part);
	for (size_t i = 0; i < rows.count && i < STAGE_FAMILIES_SHOWN; i++) {
		double percent = rows.all[i].total_s / s->kernel_s * 100;

		snprintf(part, sizeof part,
			percent < 0.1   ? "%s < 0.1 %%"
			: percent < 0.5 ? "%s %.1f %%"
					: "%s %.0f %%",
			rows.all[i].name, percent);
		sb_buf_puts(out, i ? "," : "");
		column += strlen(part) + 2;
		if (column >= (size_t)sb_text_columns(options)) {
			sb_buf_puts(out, "\n     ");
			column = 6 + strlen(part);
		}
		sb_buf_printf(out, " %s", part);
	}
	sb_buf_putc(out, '\n');
}

static void stages_families_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_stages_panel *s = &model->stages;
	size_t shown = 0;

	for (size_t i = 0; i < s->stage_count && shown < STAGES_SHOWN; i++) {
		const struct sb_stage *stage = &s->stages[s->by_total ? s->by_total[i] : i];

		if (!(stage->kernel_s >= STAGE_LEAST * model->gpu.kernel_total_s) || stage->depth > 1)
			continue;
		if (!shown++)
			sb_buf_printf(out, "  What the kernels of a stage do%s\n",
				model->gpu.slow_only ? " around slow moments" : "");
		stage_families_text(stage, options, out);
	}
}

/* "GPU idle while Python was in" functions of the program, by samples. */
static void idle_functions_text(const struct sb_gpu_panel *g, struct sb_buf *out)
{
	if (g->idle_function_count)
		sb_buf_printf(out, "  GPU idle while Python was in (%lld samples)\n",
			(long long)g->idle_sample_count);
	for (size_t i = 0; i < g->idle_function_count && i < 5; i++)
		sb_place_row(&g->idle_functions[i], g->idle_sample_count >= SB_SHARE_SAMPLES_LEAST, out);
}

static void gpu_text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_gpu_panel *g = &model->gpu;

	if (!g->present)
		return;
	sb_text_heading(out, options, "GPU trace");
	head_text(g, out);
	copies_text(g, out);
	memsets_text(g, out);
	waits_text(g, out);
	rows_text(out, options,
		g->slow_only ? "Kernels by GPU time, around slow moments" : "Kernels by GPU time", "of all",
		"count", g->top_kernels, g->top_kernel_count);
	families_text(g, options, out);
	stages_families_text(model, options, out);
	rows_text(out, options, "Zones by the GPU time they launched", "of busy", "launched", g->top_zones,
		g->top_zone_count);
	rows_text(out, options, "Attention kernels", "of all", "count", g->attention, g->attention_count);
	rows_text(out, options, "Collectives", "of all", "count", g->collectives, g->collective_count);
	rows_text(out, options, "Host copies by zone", "of busy", "copies", g->offload, g->offload_count);
	rows_text(out, options,
		g->device_count > 1 ? "GPU idle while the CPU was in (all GPUs added up)"
				    : "GPU idle while the CPU was in",
		"of idle", "gaps", g->idle_zones, g->idle_zone_count);
	idle_functions_text(g, out);
	for (size_t i = 0; i < g->gap_count && i < 3; i++) {
		char duration[24];

		sb_text_seconds(duration, sizeof duration, g->gaps[i].duration_s);
		sb_buf_printf(out, "  gap of %s at %.3f s", duration, g->gaps[i].t_s);
		if (g->device_count > 1)
			sb_buf_printf(out, " on GPU %d", g->gaps[i].device);
		sb_buf_puts(out, ": ");
		sb_text_name(out, g->gaps[i].cpu_did, 50);
		sb_buf_putc(out, '\n');
	}
}

const struct sb_panel sb_panel_gpu = {
	.name = "gpu",
	.text = gpu_text,
};
