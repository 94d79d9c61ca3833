/* The tables of the report in Markdown: where the time went, iterations, the GPU trace. */
#include "report/markdown/markdown.h"

#include "base/error.h"
#include "report/markdown/words.h"
#include "report/panels/family_rows.h"
#include "report/panels/panel.h"
#include "report/panels/stages.h"
#include "report/place.h"
#include "report/summary_rows.h"

#include <stdio.h>
#include <stdlib.h>

#define PARTS_SHOWN 10u
#define STAGES_LEAST 20u /* so many stages are always shown */
#define OWN_TIME_SHOWN 0.99 /* of the stages' own time, by the shown ones */
#define STAGES_FRAME 5u /* lines of the table that are no stages */
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
	if (ratio == 0)
		sb_buf_puts(out, "0 %");
	else if (!isnan(ratio))
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

	if (rows->startup_s > 0) {
		row_share(out, rows->startup_name, rows->startup_s, rows->wall_s);
		sb_buf_puts(out, " | |\n");
	}
	for (size_t i = 0; i < rows->count; i++) {
		const struct sb_summary_row *r = &rows->all[i];

		if (i >= PARTS_SHOWN) {
			rest_s += r->total_s;
			continue;
		}
		stage_label(r->stage, name, sizeof name);
		row_share(out, name, r->total_s, rows->wall_s);
		cell_seconds(out, r->gpu_span_s);
		sb_buf_printf(out, " %lld", (long long)r->count);
		if (r->open_count)
			sb_buf_printf(out, ", %lld open", (long long)r->open_count);
		sb_buf_puts(out, " |\n");
	}
	if (rows->count > PARTS_SHOWN) {
		snprintf(name, sizeof name, "%zu more stages", rows->count - PARTS_SHOWN);
		row_share(out, name, rest_s, rows->wall_s);
		sb_buf_puts(out, " | |\n");
	}
	if (!rows->one_call) {
		row_share(out, "unattributed", rows->unattributed_s, rows->wall_s);
		sb_buf_puts(out, " | |\n");
	}
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

/* The words of the text report. */
static const char *mark_of(const struct sb_stage *s)
{
	switch (s->bottleneck_level) {
	case SB_BOTTLENECK_PART: return "main part";
	case SB_BOTTLENECK_LARGEST: return "largest stage";
	default: return "bottleneck";
	}
}

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
	if (s->bottleneck)
		sb_buf_printf(out, " **← %s**", mark_of(s));
	sb_buf_puts(out, " |");
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

/* Largest first; what was skipped and what is marked before all. */
static int by_weight(const void *a, const void *b)
{
	const struct sb_stage *const *x = a, *const *y = b;
	int first = ((*y)->state == SB_STAGE_SKIPPED || (*y)->bottleneck) -
		    ((*x)->state == SB_STAGE_SKIPPED || (*x)->bottleneck);

	if (first)
		return first;
	if ((*x)->total_s != (*y)->total_s && !isnan((*x)->total_s) && !isnan((*y)->total_s))
		return (*x)->total_s > (*y)->total_s ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static int in_order(const void *a, const void *b)
{
	const struct sb_stage *const *x = a, *const *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double own_s(const struct sb_stage *s)
{
	return s->self_s > 0 ? s->self_s : 0;
}

/* How many of the largest stages to show: those that hold nearly all of the stages' own time. */
static size_t enough(const struct sb_stage *const *sorted, size_t count, size_t most)
{
	double all_s = 0, shown_s = 0;
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		all_s += own_s(sorted[i]);
	while (n < count && n < most && (n < STAGES_LEAST || shown_s < all_s * OWN_TIME_SHOWN))
		shown_s += own_s(sorted[n++]);
	return n;
}

static void left_out(const struct sb_stage *const *left, size_t count, double wall_s, struct sb_buf *out)
{
	double own = 0;
	char text[32];

	for (size_t i = 0; i < count; i++)
		own += own_s(left[i]);
	sb_text_seconds(text, sizeof text, own);
	sb_buf_printf(out, "\n%zu smaller stage%s, %s of own time", count, count == 1 ? "" : "s", text);
	if (wall_s > 0) {
		sb_buf_puts(out, " (");
		sb_text_percent(out, own / wall_s);
		sb_buf_puts(out, " of the run)");
	}
	sb_buf_puts(out, ": see the JSON report.\n");
}

int sb_markdown_stages(const struct sb_model *model, size_t lines, struct sb_buf *out)
{
	const struct sb_stages_panel *p = &model->stages;
	const struct sb_stage **sorted;
	size_t shown;

	if (!p->stage_count || lines <= STAGES_FRAME)
		return 0;
	sorted = calloc(p->stage_count, sizeof *sorted);
	if (!sorted)
		return sb_fail(STROBE_ENOMEM, "no memory for the report's Markdown");
	for (size_t i = 0; i < p->stage_count; i++)
		sorted[i] = &p->stages[i];
	qsort(sorted, p->stage_count, sizeof *sorted, by_weight);
	shown = enough(sorted, p->stage_count, lines - STAGES_FRAME);
	qsort(sorted, shown, sizeof *sorted, in_order);
	sb_buf_puts(out,
		"\n| Stage (› inside the one above) | total | share of the run | self | calls | mean | "
		"p95 | GPU span | rate |\n|---|--:|--:|--:|--:|--:|--:|--:|---|\n");
	for (size_t i = 0; i < shown; i++)
		stage_row(sorted[i], out);
	if (shown < p->stage_count)
		left_out(sorted + shown, p->stage_count - shown, p->wall_s, out);
	free(sorted);
	return 0;
}

int sb_markdown_time(const struct sb_model *model, struct sb_buf *out)
{
	struct sb_summary_rows rows;
	char wall[32];
	int err = sb_summary_rows_of(model, &rows);

	if (err)
		return err;
	if (!rows.count && model->session.no_times) {
		free(rows.all);
		return 0;
	}
	sb_markdown_heading(out, "Where the time went");
	sb_text_seconds(wall, sizeof wall, rows.wall_s);
	if (rows.count) {
		sb_buf_printf(out, "| %s, %s | wall | share | GPU span | calls |\n|---|--:|--:|--:|--:|\n",
			model->generations.whole_run ? "Run" : "Generations", wall);
		parts(&rows, out);
	} else {
		sb_buf_puts(out,
			model->session.file_date ? "The text names no stage.\n" : "No stage was recorded.\n");
	}
	free(rows.all);
	places(model, out);
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
	struct sb_family_rows rows;

	sb_family_rows_fill(g->families, g->family_count, true, &rows);
	for (size_t i = 0; i < rows.count && i < FAMILIES_SHOWN; i++)
		sb_buf_printf(out, "%s%s %.0f %%",
			i              ? ", "
			: g->slow_only ? "- Kernels by family, around slow moments: "
				       : "- Kernels by family: ",
			rows.all[i].name, 100 * rows.all[i].ratio);
	if (rows.count)
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

static void waits(const struct sb_gpu_panel *g, struct sb_buf *out)
{
	for (size_t i = 0; i < g->wait_count && i < COPIES_SHOWN; i++) {
		char total[24], longest[24];

		sb_text_seconds(total, sizeof total, g->waits[i].total_s);
		sb_text_seconds(longest, sizeof longest, g->waits[i].max_s);
		sb_buf_puts(out, "- Waits for the GPU, ");
		sb_markdown_name(out, g->waits[i].name, 40);
		sb_buf_printf(
			out, ": %lld, %s, the longest %s\n", (long long)g->waits[i].count, total, longest);
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
	if (g->slow_only)
		sb_buf_puts(out, "- Around slow moments only: shares are of these, not of the run\n");
	families(g, out);
	copies(g, out);
	waits(g, out);
	if (!g->top_kernel_count)
		return;
	sb_buf_puts(out, "\n| Kernel | total | share | count | mean |\n|---|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < g->top_kernel_count && i < KERNELS_SHOWN; i++) {
		const struct sb_gpu_row *k = &g->top_kernels[i];

		sb_markdown_row(out, k->short_name ? k->short_name : k->name);
		cell_seconds(out, k->total_s);
		cell_share(out, k->ratio);
		sb_buf_printf(out, " %lld |", (long long)k->count);
		cell_seconds(out, k->mean_s);
		sb_buf_putc(out, '\n');
	}
}
