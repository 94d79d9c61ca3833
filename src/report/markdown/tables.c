/* The tables of the report in Markdown: where the time went, iterations, the GPU trace. */
#include "report/markdown/markdown.h"

#include "report/markdown/words.h"
#include "report/panels/panel.h"
#include "report/panels/stages.h"
#include "report/place.h"
#include "report/summary_rows.h"

#include <stdio.h>
#include <stdlib.h>

#define PARTS_SHOWN 10u
#define STAGES_SHOWN 20u
#define STAGE_LEAST 0.001 /* of the wall time, to have a row */
#define ITERATIONS_SHOWN 6u
#define KERNELS_SHOWN 8u
#define FAMILIES_SHOWN 6u
#define COPIES_SHOWN 4u
#define PLACES_SHOWN 3u

static void cell_seconds(struct sb_buf *out, double seconds)
{
	char text[32];

	sb_text_seconds(text, sizeof text, seconds);
	sb_buf_printf(out, " %s |", isnan(seconds) ? "" : text);
}

static void cell_share(struct sb_buf *out, double ratio)
{
	sb_buf_putc(out, ' ');
	if (!isnan(ratio))
		sb_text_percent(out, ratio);
	sb_buf_puts(out, " |");
}

static void row_share(struct sb_buf *out, const char *name, double seconds, double wall_s)
{
	sb_markdown_row(out, name);
	cell_seconds(out, seconds);
	cell_share(out, wall_s > 0 ? seconds / wall_s : NAN);
}

static void stage_label(const struct sb_stage *s, char *out, size_t size)
{
	if (s->code && *s->code)
		snprintf(out, size, "[%s] %s", s->code, s->name);
	else
		snprintf(out, size, "%s", s->name);
}

/* ---- what the generations' time, or the run's, is made of ---- */

static void parts(const struct sb_summary_rows *rows, struct sb_buf *out)
{
	double rest_s = 0;
	char name[300];

	for (size_t i = 0; i < rows->count; i++) {
		const struct sb_summary_row *r = &rows->all[i];

		if (i >= PARTS_SHOWN) {
			rest_s += r->total_s;
			continue;
		}
		stage_label(r->stage, name, sizeof name);
		row_share(out, name, r->total_s, rows->wall_s);
		cell_seconds(out, r->gpu_span_s);
		sb_buf_printf(out, " %lld |\n", (long long)r->count);
	}
	if (rows->count > PARTS_SHOWN) {
		snprintf(name, sizeof name, "%zu more stages", rows->count - PARTS_SHOWN);
		row_share(out, name, rest_s, rows->wall_s);
		sb_buf_puts(out, " | |\n");
	}
	row_share(out, "unattributed", rows->unattributed_s, rows->wall_s);
	sb_buf_puts(out, " | |\n");
	if (rows->overlap_s >= rows->wall_s * 0.0005 && rows->overlap_s > 0) {
		row_share(out, "overlap (at the same time)", -rows->overlap_s, rows->wall_s);
		sb_buf_puts(out, " | |\n");
	}
}

static void places(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_place_list *list = sb_place_list_of(model);

	for (size_t i = 0; list && i < list->count && i < PLACES_SHOWN; i++) {
		struct sb_buf place = { 0 };

		sb_place_text(&list->all[i], &place);
		sb_buf_printf(out, "%s- %.0f %% of the unattributed time in ", i ? "" : "\n",
			100 * list->all[i].ratio);
		sb_markdown_name(out, sb_buf_text(&place), 120);
		sb_buf_putc(out, '\n');
		sb_buf_done(&place);
	}
}

/* ---- every stage that matters, nested ---- */

static void stage_row(const struct sb_stage *s, struct sb_buf *out)
{
	char name[300], rate[96] = "";

	stage_label(s, name, sizeof name);
	sb_buf_puts(out, "| ");
	for (uint32_t i = 0; i < s->depth && i < 8; i++)
		sb_buf_puts(out, "› ");
	sb_markdown_name(out, name, 80);
	if (s->state == SB_STAGE_SKIPPED)
		sb_buf_puts(out, " (skipped)");
	else if (s->open_count)
		sb_buf_puts(out, " (open)");
	sb_buf_puts(out, s->bottleneck ? " **← bottleneck** |" : " |");
	cell_seconds(out, s->state == SB_STAGE_NORMAL || s->state == SB_STAGE_OPEN ? s->total_s : NAN);
	cell_share(out, s->wall_ratio);
	cell_seconds(out, s->self_s);
	sb_buf_printf(out, " %lld |", (long long)s->count);
	cell_seconds(out, s->time.mean);
	cell_seconds(out, s->time.p95);
	cell_seconds(out, s->gpu_span_s);
	sb_stage_rate(s, rate, sizeof rate);
	sb_buf_printf(out, " %s |\n", rate);
}

static bool worth_a_row(const struct sb_stage *s)
{
	return s->state == SB_STAGE_SKIPPED || s->wall_ratio >= STAGE_LEAST || s->bottleneck;
}

static void stages(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_stages_panel *p = &model->stages;
	size_t shown = 0, left = 0;

	sb_buf_puts(out,
		"\n| Stage (› inside the one above) | total | share of the run | self | calls | mean | "
		"p95 | GPU span | rate |\n|---|--:|--:|--:|--:|--:|--:|--:|---|\n");
	for (size_t i = 0; i < p->stage_count; i++) {
		if (shown == STAGES_SHOWN || !worth_a_row(&p->stages[i])) {
			left++;
			continue;
		}
		stage_row(&p->stages[i], out);
		shown++;
	}
	if (left)
		sb_buf_printf(out, "\n%zu more stage%s: see the JSON report.\n", left, left == 1 ? "" : "s");
}

int sb_markdown_time(const struct sb_model *model, struct sb_buf *out)
{
	struct sb_summary_rows rows;
	char wall[32];
	int err = sb_summary_rows_of(model, &rows);

	if (err)
		return err;
	sb_markdown_heading(out, "Where the time went");
	sb_text_seconds(wall, sizeof wall, rows.wall_s);
	if (rows.count) {
		sb_buf_printf(out, "| %s, %s | wall | share | GPU span | calls |\n|---|--:|--:|--:|--:|\n",
			model->generations.whole_run ? "Run" : "Generations", wall);
		parts(&rows, out);
	} else {
		sb_buf_puts(out, "No stage was recorded.\n");
	}
	free(rows.all);
	places(model, out);
	if (model->stages.stage_count)
		stages(model, out);
	sb_buf_putc(out, '\n');
	return 0;
}

/* ---- iterations, GPU ---- */

void sb_markdown_iterations(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_iterations_panel *p = &model->iterations;

	if (!p->count)
		return;
	sb_markdown_heading(out, "Steps and iterations");
	sb_buf_puts(out, "| Name | count | mean | median | p95 | max | warm-up | slow ones |\n"
			 "|---|--:|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < p->count && i < ITERATIONS_SHOWN; i++) {
		const struct sb_iterations *it = &p->all[i];

		sb_markdown_row(out, it->name);
		sb_buf_printf(out, " %lld |", (long long)it->all.count);
		cell_seconds(out, it->all.mean);
		cell_seconds(out, it->all.median);
		cell_seconds(out, it->all.p95);
		cell_seconds(out, it->all.max);
		sb_buf_printf(
			out, " %lld | %lld |\n", (long long)it->warmup_count, (long long)it->outlier_count);
	}
	if (p->count > ITERATIONS_SHOWN)
		sb_buf_printf(out, "\n%zu more.\n", p->count - ITERATIONS_SHOWN);
}

static void families(const struct sb_gpu_panel *g, struct sb_buf *out)
{
	for (size_t i = 0; i < g->family_count && i < FAMILIES_SHOWN; i++) {
		const struct sb_kernel_share *k = &g->families[i];
		char share[32];

		snprintf(share, sizeof share, "%.0f %%", 100 * k->ratio);
		sb_buf_printf(out, "%s%s", i ? ", " : "- Kernels by family: ", k->family);
		if (k->kind)
			sb_buf_printf(out, " %s", k->kind);
		if (k->precision)
			sb_buf_printf(out, " %s", k->precision);
		sb_buf_printf(out, " %s", share);
	}
	if (g->family_count)
		sb_buf_putc(out, '\n');
}

static void copies(const struct sb_gpu_panel *g, struct sb_buf *out)
{
	for (size_t i = 0; i < g->copy_count && i < COPIES_SHOWN; i++) {
		const struct sb_gpu_copy *c = &g->copies[i];
		char bytes[24], total[24];

		sb_text_bytes(bytes, sizeof bytes, c->bytes);
		sb_text_seconds(total, sizeof total, c->total_s);
		sb_buf_printf(out, "- Copies %s%s%s: %lld, %s in %s", c->direction, c->memory ? " " : "",
			c->memory ? c->memory : "", (long long)c->count, bytes, total);
		if (!isnan(c->gb_per_s))
			sb_buf_printf(out, ", %.1f GB/s", c->gb_per_s);
		sb_buf_putc(out, '\n');
	}
}

void sb_markdown_gpu(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_gpu_panel *g = &model->gpu;
	char busy[24], idle[24];

	if (!g->present)
		return;
	sb_markdown_heading(out, "GPU trace");
	sb_text_seconds(busy, sizeof busy, g->busy_s);
	sb_text_seconds(idle, sizeof idle, g->idle_s);
	sb_buf_printf(out, "- %lld kernels; busy %s, idle %s%s\n", (long long)g->kernel_count, busy, idle,
		g->device_count > 1 ? ", all GPUs added up" : "");
	families(g, out);
	copies(g, out);
	if (!g->top_kernel_count)
		return;
	sb_buf_puts(out, "\n| Kernel | total | share | count | mean |\n|---|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < g->top_kernel_count && i < KERNELS_SHOWN; i++) {
		const struct sb_gpu_row *k = &g->top_kernels[i];

		sb_markdown_row(out, k->name);
		cell_seconds(out, k->total_s);
		cell_share(out, k->ratio);
		sb_buf_printf(out, " %lld |", (long long)k->count);
		cell_seconds(out, k->mean_s);
		sb_buf_putc(out, '\n');
	}
}
