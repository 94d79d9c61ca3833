/* The stage tree: inclusive, self and unattributed time. */
#include "report/panels/stages.h"
#include "report/panels/stages_imports.h"

#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TREE_ROWS 80
#define IMPORTS_NAMED 3
#define IMPORT_LEAST 0.05 /* of all imports */

size_t sb_stage_name(const struct sb_stage *s, const char *name, size_t width, struct sb_buf *out)
{
	const struct {
		int64_t count;
		const char *what;
	} marks[] = { { s->open_count, "open" }, { s->cut_count, "cut" },
		{ s->recursive_count, "recursive" } };
	char text[80] = "", number[24];
	size_t used = 0;

	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
		if (!marks[i].count)
			continue;
		sb_text_count(number, sizeof number, (double)marks[i].count);
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", used ? ", " : " (",
			number, marks[i].what);
	}
	if (used && used + 8 < width) {
		text[used++] = ')';
		text[used] = 0;
	} else {
		text[used = 0] = 0;
	}
	used = sb_text_name(out, name, width - used) + used;
	sb_buf_puts(out, text);
	return used;
}

static void pad(struct sb_buf *out, size_t used, size_t width)
{
	for (; used < width; used++)
		sb_buf_putc(out, ' ');
}

static void tree_name(
	const struct sb_stage *s, const struct sb_text_options *o, size_t width, struct sb_buf *out)
{
	struct sb_buf name = { 0 };
	size_t indent = 2 + 2 * (s->depth < 12 ? s->depth : 12);

	if (s->code)
		sb_buf_printf(&name, "[%s] ", s->code);
	sb_buf_puts(&name, s->name);
	if (s->member_total)
		sb_buf_printf(&name, " (%zu names)", s->member_total);
	sb_buf_printf(out, "%*s", (int)indent, "");
	if (s->bottleneck)
		sb_text_colour(out, o, "33");
	indent += sb_stage_name(s, sb_buf_text(&name), width > indent + 9 ? width - indent - 1 : 8, out);
	if (s->bottleneck)
		sb_text_colour(out, o, "");
	pad(out, indent, width);
	sb_buf_done(&name);
}

/* Busy time where a GPU trace tells it; a span is never shown as busy. */
enum gpu_column { GPU_NONE, GPU_SPAN, GPU_BUSY };
#define MOST 0.9 /* of the run */

/* How long a device was traced, on average. */
static double traced_s(const struct sb_model *m)
{
	return m->gpu.window_s / (double)(m->gpu.device_count ? m->gpu.device_count : 1);
}

/* A trace of a few steps says little about a stage's whole time: spans do. */
static enum gpu_column gpu_column(const struct sb_model *m)
{
	if (m->gpu.present && traced_s(m) >= MOST * m->stages.wall_s)
		return GPU_BUSY;
	for (size_t i = 0; i < m->stages.stage_count; i++)
		if (isfinite(m->stages.stages[i].gpu_span_s))
			return GPU_SPAN;
	return m->gpu.present ? GPU_BUSY : GPU_NONE;
}

static void busy_of_a_part(const struct sb_model *m, struct sb_buf *out)
{
	char window[32];

	if (m->gpu.device_count > 1)
		sb_buf_printf(out, "GPU busy: %zu GPUs added up\n", m->gpu.device_count);
	if (traced_s(m) >= MOST * m->stages.wall_s)
		return;
	sb_text_seconds(window, sizeof window, traced_s(m));
	sb_buf_printf(out, "GPU busy: of the %s that were traced\n", window);
}

/* The rates and the mark; rates without room beside the mark get a line of their own. */
static void row_end(const struct sb_stage *s, const char *mark, size_t spare, struct sb_buf *out)
{
	char rate[96] = "";
	bool beside;

	if (sb_stage_at_once(s))
		snprintf(rate, sizeof rate, "%.1f at once", s->at_once_mean);
	else
		sb_stage_rate(s, rate, sizeof rate);
	beside = *rate && spare >= strlen(rate) + 2;
	sb_buf_printf(out, "%s%s%s\n", beside ? "  " : "", beside ? rate : "", mark);
	if (*rate && !beside)
		sb_buf_printf(out, "%*s%s\n", 4 + 2 * (int)(s->depth < 12 ? s->depth : 12), "", rate);
}

static void tree_row(const struct sb_stage *s, const struct sb_text_options *o, size_t width, size_t spare,
	enum gpu_column gpu, const char *mark, struct sb_buf *out)
{
	char total[32], self[32], count[32], span[32], share[32];

	tree_name(s, o, width, out);
	if (s->state == SB_STAGE_SKIPPED) {
		sb_buf_puts(out, "   SKIPPED (");
		sb_text_name(out, s->skip_reason ? s->skip_reason : "", 40);
		sb_buf_puts(out, ")\n");
		return;
	}
	if (s->state == SB_STAGE_UNTIMED) {
		sb_buf_puts(out, "   untimed\n");
		return;
	}
	sb_text_printed_seconds(total, sizeof total, s->total_s, s->digit_s);
	sb_text_printed_seconds(self, sizeof self, s->self_s, s->digit_s);
	sb_text_count(count, sizeof count, (double)s->count);
	sb_text_share(share, sizeof share, s->wall_ratio, "");
	sb_buf_printf(out, "%10s %6s%s%10s", total, share, sb_stage_overlaps(s) ? "*" : " ", self);
	if (gpu) {
		double seconds = gpu == GPU_BUSY ? s->gpu_busy_s : s->gpu_span_s;

		*span = '>';
		sb_text_seconds(span + 1, sizeof span - 1, seconds);
		sb_buf_printf(out, " %10s",
			!isfinite(seconds)                           ? "-"
			: gpu == GPU_SPAN && sb_stage_gpu_partial(s) ? span
								     : span + 1);
	}
	sb_buf_printf(out, " %7s", count);
	if (strlen(mark) > spare && spare < 21 && s->bottleneck_level == SB_BOTTLENECK_MAJOR)
		mark = "  <- BOTTLENECK"; /* without MAJOR */
	row_end(s, mark, spare > strlen(mark) ? spare - strlen(mark) : 0, out);
}

/* What the rows of a tree share, and how many there are so far. */
struct tree {
	const struct sb_model *model;
	const struct sb_text_options *options;
	struct sb_buf *out;
	struct sb_imports imports;
	size_t width, spare, shown, hidden;
	enum gpu_column gpu;
	bool partial; /* some row's GPU time is of some calls */
};

static void tree_title(const struct tree *t)
{
	sb_buf_putc(t->out, '\n');
	sb_text_colour(t->out, t->options, "1");
	sb_buf_printf(t->out, "%-*s%10s %6s %10s%s %7s", (int)t->width, "Stage tree", "total", "share",
		"self",
		t->gpu == GPU_BUSY ? "   GPU busy"
		: t->gpu           ? "   GPU span"
				   : "",
		"calls");
	sb_text_colour(t->out, t->options, "");
	sb_buf_putc(t->out, '\n');
}

static void put_row(struct tree *t, const struct sb_stage *row)
{
	tree_row(row, t->options, t->width, t->spare, t->gpu, sb_stage_mark(&t->model->stages, row), t->out);
	t->partial |= sb_stage_gpu_partial(row);
	t->shown++;
}

static bool is_larger_import(const struct tree *t, size_t a, double self_s, size_t b)
{
	const struct sb_stage *stages = t->model->stages.stages;

	return stages[a].self_s > self_s || (stages[a].self_s == self_s && a < b);
}

/* One of the few that take most of it by themselves. */
static bool is_worth_naming(const struct tree *t, size_t stage)
{
	double self_s = t->model->stages.stages[stage].self_s;
	size_t larger = 0;

	for (size_t i = 0; i < t->model->stages.stage_count; i++)
		larger += sb_imports_has(&t->imports, i) && is_larger_import(t, i, self_s, stage);
	return larger < IMPORTS_NAMED && self_s >= t->imports.row.self_s * IMPORT_LEAST;
}

/* All of them where the first one stands, the largest below. */
static void put_imports(struct tree *t)
{
	const struct sb_stages_panel *s = &t->model->stages;

	put_row(t, &t->imports.row);
	for (size_t i = 0; i < s->stage_count; i++) {
		struct sb_stage row = s->stages[i];

		row.depth = 1;
		if (sb_imports_has(&t->imports, i) && is_worth_naming(t, i))
			put_row(t, &row);
	}
}

static void put_rows(struct tree *t)
{
	const struct sb_stages_panel *s = &t->model->stages;
	bool imports = false;

	for (size_t i = 0; i < s->stage_count; i++) {
		const struct sb_stage *row = &s->stages[i];
		bool small = row->state == SB_STAGE_NORMAL && row->wall_ratio < 0.001 && t->shown >= 20;

		if (sb_imports_has(&t->imports, i)) {
			if (!imports)
				put_imports(t);
			imports = true;
		} else if (small || t->shown >= TREE_ROWS) {
			t->hidden++;
		} else {
			put_row(t, row);
		}
	}
}

#define WORTH_SAYING 0.1 /* of the generations, or of the run where none is */

/* "  (denoise: " */
static void say_name(const struct sb_stage *row, struct sb_buf *out)
{
	sb_buf_puts(out, "  (");
	sb_text_name(out, row->name, 30);
	sb_buf_puts(out, ": ");
}

/* A row that takes longer than the CPU is in it. */
static void say_late(const struct sb_stages_panel *s, struct sb_buf *out)
{
	double whole_s = s->generations_s > 0 ? s->generations_s : s->wall_s;

	for (size_t i = 0; i < s->stage_count; i++) {
		const struct sb_stage *row = &s->stages[i];
		char late[24], real[24];

		if (!row->side_by_side || !(row->real_s - row->covered_s > WORTH_SAYING * whole_s))
			continue;
		sb_text_seconds(late, sizeof late, row->real_s - row->covered_s);
		sb_text_seconds(real, sizeof real, row->real_s);
		say_name(row, out);
		sb_buf_printf(out, "the GPU took %s more: %s in all)\n", late, real);
	}
}

/* A row whose time is not its own: without this line its length says the wrong thing. */
static void say_behind(const struct sb_stages_panel *s, struct sb_buf *out)
{
	double whole_s = s->generations_s > 0 ? s->generations_s : s->wall_s;

	for (size_t i = 0; i < s->stage_count; i++) {
		const struct sb_stage *row = &s->stages[i];
		char text[24], of[24];

		if (row->gpu_behind_s - row->gpu_late_s < WORTH_SAYING * whole_s ||
			row->gpu_behind_s < 0.5 * row->self_s)
			continue;
		sb_text_seconds(text, sizeof text, row->gpu_behind_s);
		sb_text_seconds(of, sizeof of, row->self_s);
		say_name(row, out);
		sb_buf_printf(out, "for %s of its own %s the GPU was still at earlier work)\n", text, of);
	}
}

static void tree_end(const struct tree *t)
{
	const struct sb_stages_panel *s = &t->model->stages;
	char text[32], share[32];

	if (!sb_model_one_call(t->model)) {
		sb_text_printed_seconds(text, sizeof text, s->unattributed_s, t->model->session.digit_s);
		sb_text_share(share, sizeof share, s->wall_s > 0 ? s->unattributed_s / s->wall_s : 0, "");
		sb_buf_printf(t->out, "  %-*s%10s %6s\n", (int)t->width - 2, "unattributed", text, share);
	}
	if (sb_stages_overlap(s)) {
		sb_text_seconds(text, sizeof text, -s->overlap_s);
		sb_buf_printf(t->out, "  %-*s%10s %5.1f%%\n", (int)t->width - 2, "overlap (at the same time)",
			text, -s->overlap_s / s->wall_s * 100);
	}
	if (s->startup_unattributed_s > 0.1 * s->unattributed_s && s->unattributed_s > 0.01 * s->wall_s) {
		sb_text_seconds(text, sizeof text, fmin(s->startup_unattributed_s, s->unattributed_s));
		sb_buf_printf(t->out, "  (%s of what is unattributed belongs to the start-up)\n", text);
	}
	if (t->hidden)
		sb_buf_printf(t->out, "  (%zu small %s)\n", t->hidden,
			t->hidden == 1 ? "stage not shown; JSON has it" : "stages not shown; JSON has them");
	say_late(s, t->out);
	say_behind(s, t->out);
	if (t->imports.count)
		sb_buf_puts(t->out, "  (imports are one row; --no-groups shows each)\n");
	if (t->gpu == GPU_BUSY)
		busy_of_a_part(t->model, t->out);
	if (t->gpu == GPU_SPAN && t->partial)
		sb_buf_puts(t->out, "GPU span >: of some calls; the others were not timed on the GPU\n");
}

void sb_stages_tree(const struct sb_model *m, const struct sb_text_options *o, struct sb_buf *out)
{
	struct tree t = { .model = m, .options = o, .out = out, .gpu = gpu_column(m) };
	size_t columns = o->columns ? (size_t)o->columns : 80;
	size_t fixed = 36 + (t.gpu ? 11 : 0);
	size_t marked = m->stages.two_bottlenecks ? 21 : 15;

	if (!m->stages.stage_count || m->stages.combined)
		return;
	t.width = columns > fixed + 24 + marked ? columns - fixed - marked : 24;
	t.width = t.width > 48 ? 48 : t.width;
	t.spare = columns > t.width + fixed ? columns - t.width - fixed : 0;
	sb_imports_gather(m, &t.imports);
	tree_title(&t);
	put_rows(&t);
	tree_end(&t);
	sb_imports_done(&t.imports);
}
