/* The one-screen summary. */
#include "report/summary.h"

#include "base/memory_units.h"
#include "base/part.h"
#include "base/error.h"
#include "report/summary_rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MOST 100
#define COLUMNS_LEAST 80
#define LABEL_MOST 36
#define NUMBERS 53 /* what stands right of the label */
#define FINDINGS 3
#define SHORT_RUN_S 10.0 /* below that milliseconds matter */
#define WORTH_MARKING 0.05 /* of the time, to be called a bottleneck */
#define STEPS_WORTH 2 /* a warm-up line needs a step before and one after */

struct screen {
	const struct sb_model *model;
	struct sb_text_options text;
	int label; /* columns of it */
	const char *report;
	struct sb_buf line; /* of the line being made */
	struct sb_buf *out;
};

static void __attribute__((format(printf, 2, 3))) say(struct screen *s, const char *format, ...)
{
	char part[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(part, sizeof part, format, args);
	va_end(args);
	sb_buf_puts(&s->line, part);
}

static size_t columns_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* Ends the line: no longer than the screen is wide, control bytes harmless. */
static void end_line(struct screen *s, const char *colour)
{
	if (colour)
		sb_text_colour(s->out, &s->text, colour);
	sb_text_name(s->out, sb_buf_text(&s->line), (size_t)s->text.columns);
	if (colour)
		sb_text_colour(s->out, &s->text, "");
	sb_buf_putc(s->out, '\n');
	sb_buf_clear(&s->line);
}

/* ---- the head ----------------------------------------------------------- */

static void title(struct screen *s)
{
	const struct sb_session_section *session = &s->model->session;
	size_t used;

	say(s, "== strobe: %s", session->name ? session->name : "run");
	if (session->outcome)
		say(s, ", %s", session->outcome);
	else if (session->exit_signal >= 0)
		say(s, ", killed by signal %lld", (long long)session->exit_signal);
	else if (session->exit_code >= 0)
		say(s, ", exit %lld", (long long)session->exit_code);
	if (strcmp(session->state ? session->state : "complete", "complete") != 0)
		say(s, ", %s", session->state);
	say(s, ", %.2f s ", s->model->stages.wall_s);
	for (used = columns_of(sb_buf_text(&s->line)); used < (size_t)s->text.columns; used++)
		sb_buf_putc(&s->line, '=');
	end_line(s, "1");
}

static void made(struct screen *s)
{
	const struct sb_summary_section *sum = &s->model->summary;
	const struct sb_generations_section *g = &s->model->generations;
	bool together = !g->whole_run && g->total > 1 && g->union_s < g->total_s * 0.999;
	const char *comma = "";

	if (sum->generation_count > 0) {
		say(s, "%lld video%s", (long long)sum->generation_count,
			sum->generation_count == 1 ? "" : "s");
		comma = ", ";
	}
	if (sum->frames >= 0) {
		say(s, "%s%lld frames", comma, (long long)sum->frames);
		comma = ", ";
	}
	if (sum->width > 0 && sum->height > 0)
		say(s, " %lldx%lld", (long long)sum->width, (long long)sum->height);
	if (sum->steps >= 0) {
		say(s, "%s%lld steps", comma, (long long)sum->steps);
		comma = ", ";
	}
	if (sum->blocks >= 0) {
		say(s, "%s%lld blocks", comma, (long long)sum->blocks);
		comma = ", ";
	}
	if (*comma)
		say(s, " in %.2f s%s", sum->generation_s, together ? ", partly at the same time" : "");
	if (sum->bound)
		say(s, "%s%s%s (%s)", *comma ? "      " : "",
			strcmp(sum->bound, "mixed") == 0 ? "bound: mixed" : sum->bound,
			strcmp(sum->bound, "mixed") == 0 ? "" : "-bound", sum->bound_reason);
	if (*comma || sum->bound)
		end_line(s, NULL);
}

/* Adds a remark; on a new line where this one has no room left. */
static void __attribute__((format(printf, 2, 3))) remark(struct screen *s, const char *format, ...)
{
	size_t used = columns_of(sb_buf_text(&s->line));
	char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (used && used + 2 + columns_of(text) > (size_t)s->text.columns) {
		end_line(s, NULL);
		used = 0;
	}
	say(s, "%s%s", used ? "; " : "", text);
}

static void speed(struct screen *s)
{
	const struct sb_summary_section *sum = &s->model->summary;
	const struct sb_generations_section *g = &s->model->generations;

	if (!isnan(sum->fps_wall) && sum->target_fps > 0)
		remark(s, "%.2f frames/s end to end (target %.2f: %s)", sum->fps_wall, sum->target_fps,
			sum->fps_wall >= sum->target_fps ? "reached" : "MISSED");
	else if (!isnan(sum->fps_wall))
		remark(s, "%.2f frames/s end to end", sum->fps_wall);
	if (!isnan(s->model->diffusion.fps))
		remark(s, "%.2f frames/s in steps", s->model->diffusion.fps);
	if (g->time.count > 1)
		remark(s, "p50 %.2f s, p95 %.2f s per video", g->time.p50, g->time.p95);
	if (!isnan(sum->first_block_s))
		remark(s, "first block after %.2f s", sum->first_block_s);
	if (!isnan(sum->energy_wh_per_video))
		remark(s, "%.1f Wh per video", sum->energy_wh_per_video);
	else if (!isnan(sum->run_energy_wh))
		remark(s, "GPU energy %.1f Wh", sum->run_energy_wh);
	if (!isnan(sum->cost_per_video))
		remark(s, "cost %.4f per video", sum->cost_per_video);
	else if (!isnan(sum->run_cost))
		remark(s, "cost %.4f", sum->run_cost);
	if (s->line.size)
		end_line(s, NULL);
}

/* ---- the table ---------------------------------------------------------- */

/* " (50 steps, 2 calls each)", " (81 frames, 12 tiles)", "  11.2 GB". */
static void row_detail(const struct sb_model *model, const struct sb_summary_row *row, char *out, size_t size)
{
	enum sb_part part = sb_part_of(row->stage->name, (int)row->stage->role);
	const struct sb_diffusion_section *d = &model->diffusion;
	char bytes[32];

	*out = 0;
	if (part == SB_PART_OFFLOAD && row->bytes > 0) {
		sb_text_bytes(bytes, sizeof bytes, row->bytes);
		snprintf(out, size, "  %s", bytes);
	} else if (part == SB_PART_DENOISE && d->steps > 0 && d->forwards_per_step >= 1.5) {
		snprintf(out, size, " (%lld steps, CFG %.0fx)", (long long)d->steps, d->forwards_per_step);
	} else if (part == SB_PART_DENOISE && d->steps > 0) {
		snprintf(out, size, " (%lld steps)", (long long)d->steps);
	} else if (row->frames > 0 && row->tiles > 0) {
		snprintf(out, size, " (%.0f frames, %.0f tiles)", row->frames, row->tiles);
	} else if (row->frames > 0) {
		snprintf(out, size, " (%.0f frames)", row->frames);
	}
}

static void row_label(struct screen *s, const char *name, const char *detail)
{
	struct sb_buf label = { 0 };
	size_t used, all = (size_t)s->label - 2, needed = columns_of(name), more = columns_of(detail);

	if (needed + more > all && more + 12 > all)
		detail = "", more = 0;
	sb_text_name(&label, name, all - more);
	sb_buf_puts(&label, detail);
	used = columns_of(sb_buf_text(&label));
	say(s, "  %s%*s", sb_buf_text(&label), used < all ? (int)(all - used) : 0, "");
	sb_buf_done(&label);
}

static void row_numbers(struct screen *s, double total_s, double wall_s)
{
	say(s, " %9.*f s %6.1f %%", wall_s < SHORT_RUN_S ? 3 : 2, total_s,
		wall_s > 0 ? total_s / wall_s * 100 : 0);
}

static void one_row(struct screen *s, const struct sb_summary_row *row, double wall_s, bool bottleneck)
{
	char detail[64];

	row_detail(s->model, row, detail, sizeof detail);
	if (row->open_count)
		strncat(detail, " (open)", sizeof detail - strlen(detail) - 1);
	if (isfinite(row->stage->at_once_mean))
		snprintf(detail + strlen(detail), sizeof detail - strlen(detail), " (%.1f at once)",
			row->stage->at_once_mean);
	row_label(s, row->stage->name, detail);
	row_numbers(s, row->total_s, wall_s);
	if (isnan(row->gpu_span_s))
		say(s, "  %9s", "n/a");
	else
		say(s, " %s%*.*f s", row->gpu_partial ? ">" : "", row->gpu_partial ? 7 : 8,
			wall_s < SHORT_RUN_S ? 3 : 2, row->gpu_span_s);
	say(s, " %6lld", (long long)row->count);
	if (row->bytes > 0 && row->called_s > 0 &&
		sb_part_of(row->stage->name, (int)row->stage->role) == SB_PART_OFFLOAD)
		say(s, "   %.1f GB/s", row->bytes / row->called_s / 1e9);
	if (bottleneck)
		say(s, "  <- BOTTLENECK");
	end_line(s, bottleneck ? "33" : NULL);
}

/* The largest row that belongs to the pipeline itself; the largest of all where
 * the pipeline is next to nothing. */
static size_t bottleneck_of(const struct sb_summary_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (!rows->all[i].stage->setup && rows->all[i].total_s >= rows->wall_s * WORTH_MARKING)
			return i;
	}
	return 0;
}

static void warm_line(struct screen *s)
{
	const struct sb_diffusion_section *d = &s->model->diffusion;
	char mean[32], p95[32], first[32];

	if (d->warm_step.count < STEPS_WORTH)
		return;
	sb_text_seconds(mean, sizeof mean, d->warm_step.mean);
	sb_text_seconds(p95, sizeof p95, d->warm_step.p95);
	sb_text_seconds(first, sizeof first, d->first_step_s);
	say(s, "    warm step %s  p95 %s; first %s%s", mean, p95, first,
		d->first_step_s > d->warm_step.mean * 1.2 ? " (warm-up)" : "");
	if (d->cached_steps > 0)
		say(s, "; %lld cached (%.0f %%)", (long long)d->cached_steps, d->cached_ratio * 100);
	end_line(s, NULL);
}

/* What there is no room for, in one row. */
static void rest_row(struct screen *s, const struct sb_summary_rows *rows)
{
	double rest_s = 0;
	char more[48];

	if (rows->count <= SB_SUMMARY_ROWS)
		return;
	for (size_t i = SB_SUMMARY_ROWS; i < rows->count; i++)
		rest_s += rows->all[i].total_s;
	snprintf(more, sizeof more, "%zu more stages", rows->count - SB_SUMMARY_ROWS);
	row_label(s, more, "");
	row_numbers(s, rest_s, rows->wall_s);
	end_line(s, NULL);
}

/* Closes the sum where rows run at the same time. */
static void overlap_row(struct screen *s, const struct sb_summary_rows *rows)
{
	if (!(rows->overlap_s >= rows->wall_s * 0.0005))
		return;
	row_label(s, "overlap (at the same time)", "");
	row_numbers(s, -rows->overlap_s, rows->wall_s);
	end_line(s, NULL);
}

static int table(struct screen *s)
{
	struct sb_summary_rows rows;
	size_t bottleneck;
	bool warm_said = false;
	int err = sb_summary_rows_of(s->model, &rows);

	if (err)
		return err;
	if (!rows.count) {
		say(s, "No stage was recorded%s.",
			s->model->generations.whole_run ? "" : " inside the generations");
		end_line(s, NULL);
		free(rows.all);
		return 0;
	}
	say(s, "%-*s %11s %8s %10s %6s", s->label, s->model->generations.whole_run ? "Run" : "Generation",
		"wall", "share", "GPU span", "calls");
	end_line(s, "1");
	bottleneck = bottleneck_of(&rows);
	for (size_t i = 0; i < rows.count && i < SB_SUMMARY_ROWS; i++) {
		one_row(s, &rows.all[i], rows.wall_s, i == bottleneck);
		if (!warm_said && sb_part_of(rows.all[i].stage->name, (int)rows.all[i].stage->role) ==
					  SB_PART_DENOISE) {
			warm_line(s);
			warm_said = true;
		}
	}
	rest_row(s, &rows);
	row_label(s, "unattributed", "");
	row_numbers(s, rows.unattributed_s, rows.wall_s);
	end_line(s, NULL);
	overlap_row(s, &rows);
	free(rows.all);
	return 0;
}

/* ---- the foot ----------------------------------------------------------- */

/* What lies outside the generations; the last one takes what is left, so that
 * the parts add up. */
static void outside(struct screen *s)
{
	const struct sb_summary_section *sum = &s->model->summary;
	double left_s = sum->outside_s;

	if (s->model->generations.whole_run || sum->outside_s <= 0)
		return;
	say(s, "Outside: ");
	for (size_t i = 0; i < sum->outside_count && i < 5; i++) {
		const struct sb_outside *o = &sum->outside[i];

		say(s, "%s %.2f", o->what, o->total_s);
		if (o->bytes > 0 && o->total_s > 0)
			say(s, " (%.2f GB/s)", o->bytes / o->total_s / 1e9);
		say(s, ", ");
		left_s -= o->total_s;
	}
	left_s += sum->outside_overlap_s;
	say(s, "%s %.2f s", sum->outside_count > 5 ? "others and unattributed" : "unattributed",
		left_s > 0 ? left_s : 0);
	if (sum->outside_overlap_s >= 0.005)
		say(s, ", overlap -%.2f s", sum->outside_overlap_s);
	end_line(s, NULL);
}

static void memory(struct screen *s)
{
	const struct sb_summary_section *sum = &s->model->summary;
	bool vram = !isnan(sum->gpu_peak_bytes);

	if (vram) {
		say(s, "VRAM peak %.1f GB", sum->gpu_peak_bytes / SB_GB);
		if (!isnan(sum->gpu_reserved_peak_bytes))
			say(s, " (reserved %.1f)", sum->gpu_reserved_peak_bytes / SB_GB);
		if (!isnan(sum->gpu_total_bytes))
			say(s, " of %.0f", sum->gpu_total_bytes / SB_GB);
		if (sum->gpu_peak_stage) {
			say(s, " in ");
			sb_text_name(&s->line, sum->gpu_peak_stage, 30);
		}
	}
	if (!isnan(sum->ram_peak_bytes)) {
		say(s, "%sRAM peak %.1f", vram ? "; " : "", sum->ram_peak_bytes / SB_GB);
		if (!isnan(sum->ram_total_bytes))
			say(s, " of %.0f", sum->ram_total_bytes / SB_GB);
		say(s, " GB");
	}
	if (vram || !isnan(sum->ram_peak_bytes))
		end_line(s, NULL);
}

static const char *short_priority(const char *priority)
{
	return strcmp(priority, "high") == 0 ? "HIGH" : strcmp(priority, "medium") == 0 ? "MED " : "LOW ";
}

static double last_value(const struct sb_model *model, const char *source, const char *name)
{
	const struct sb_series *series = sb_model_series(model, source, -2);
	const struct sb_series_column *column = series ? sb_series_column_find(series, name) : NULL;

	for (size_t i = column ? series->count : 0; i-- > 0;)
		if (!isnan(column->values[i]))
			return column->values[i];
	return NAN;
}

/* What the whole process tree used, as `strobe run` saw it from outside. */
static void program(struct screen *s)
{
	const struct sb_session_section *session = &s->model->session;
	double read = last_value(s->model, "disk", "read_bytes"),
	       written = last_value(s->model, "disk", "write_bytes");
	char text[3][32];

	if (isnan(session->cpu_s))
		return;
	say(s, "Program: CPU %.2f s", session->cpu_s);
	if (s->model->stages.wall_s > 0)
		say(s, " (%.0f %% of a core)", 100 * session->cpu_s / s->model->stages.wall_s);
	sb_text_memory(text[0], sizeof text[0], session->peak_rss_bytes);
	if (!isnan(session->peak_rss_bytes))
		say(s, ", RSS peak %s", text[0]);
	sb_text_bytes(text[1], sizeof text[1], read);
	sb_text_bytes(text[2], sizeof text[2], written);
	if (!isnan(read) && !isnan(written))
		remark(s, "disk read %s, write %s", text[1], text[2]);
	if (session->process_count > 1)
		remark(s, "≥ %lld processes", (long long)session->process_count);
	end_line(s, NULL);
}

static void advice(struct screen *s)
{
	const struct sb_advice_section *a = &s->model->advice;
	const struct sb_summary_section *sum = &s->model->summary;

	for (size_t i = 0; i < a->count && i < FINDINGS; i++) {
		const struct sb_advice *f = &a->all[i];
		char saved[32];

		say(s, "%zu %s %s", i + 1, short_priority(f->priority), f->issue);
		sb_text_seconds(saved, sizeof saved, f->saves_s);
		if (!isnan(f->saves_s))
			say(s, " (could save %s)", saved);
		end_line(s, strcmp(f->priority, "high") == 0 ? "31" : NULL);
	}
	if (!sum->leave_alone_count && a->count <= FINDINGS)
		return;
	if (a->count > FINDINGS)
		say(s, "%zu more finding%s in the report%s", a->count - FINDINGS,
			a->count == FINDINGS + 1 ? "" : "s", sum->leave_alone_count ? ".  " : "");
	for (size_t i = 0; i < sum->leave_alone_count && i < 3; i++) {
		say(s, "%s", i ? ", " : "Leave alone: ");
		sb_text_name(&s->line, sum->leave_alone[i].name, 18);
	}
	if (sum->leave_alone_count)
		say(s, "%s (%.1f %%)", sum->leave_alone_count > 3 ? ", …" : "", sum->leave_alone_ratio * 100);
	end_line(s, NULL);
}

static const char *text_or_none(const char *text)
{
	return text ? text : "";
}

/* What an option would bring needs no reason: nobody asked for it. */
static bool needs_reason(const struct sb_missing *m)
{
	return strncmp(text_or_none(m->how), "--", 2) != 0 && *text_or_none(m->why);
}

static bool same_line(const struct sb_missing *a, const struct sb_missing *b)
{
	return strcmp(text_or_none(a->how), text_or_none(b->how)) == 0 &&
	       (!needs_reason(a) || strcmp(text_or_none(a->why), text_or_none(b->why)) == 0);
}

/* What is missing, by how to get it: "kernels, attention kind (--gpu-trace)". */
static void not_recorded(struct screen *s)
{
	const struct sb_missing_section *m = &s->model->missing;

	for (size_t i = 0; i < m->count; i++) {
		const char *how = text_or_none(m->all[i].how);
		bool said = false;

		for (size_t k = 0; k < i && !said; k++)
			said = same_line(&m->all[k], &m->all[i]);
		if (said)
			continue;
		say(s, "Not recorded: %s", m->all[i].what);
		for (size_t k = i + 1; k < m->count; k++)
			if (same_line(&m->all[i], &m->all[k]))
				say(s, ", %s", m->all[k].what);
		if (needs_reason(&m->all[i]))
			say(s, ": %s", m->all[i].why);
		if (*how &&
			columns_of(sb_buf_text(&s->line)) + columns_of(how) + 3 > (size_t)s->text.columns) {
			end_line(s, NULL);
			say(s, "  -> %s", how);
		} else if (*how) {
			say(s, " (%s)", how);
		}
		end_line(s, NULL);
	}
}

static void foot(struct screen *s)
{
	const struct sb_recording_section *r = &s->model->recording;
	char bytes[32];

	sb_text_bytes(bytes, sizeof bytes, r->bytes);
	say(s, "strobe: %lld events dropped", (long long)r->dropped_count);
	if (!isnan(r->overhead_ratio)) {
		say(s, ", ");
		sb_text_percent(&s->line, r->overhead_ratio);
		say(s, " overhead");
	}
	say(s, ", %s", bytes);
	if (s->report) {
		size_t used = columns_of(sb_buf_text(&s->line)), wanted = columns_of(s->report) + 12;

		if (used + wanted > (size_t)s->text.columns) {
			end_line(s, NULL);
			say(s, "report: ");
			sb_buf_puts(s->out, sb_buf_text(&s->line)); /* a path is never cut */
			sb_buf_puts(s->out, s->report);
			sb_buf_putc(s->out, '\n');
			sb_buf_clear(&s->line);
			return;
		}
		say(s, "    report: %s", s->report);
	}
	end_line(s, NULL);
}

int sb_report_summary(
	const struct sb_model *model, const struct sb_summary_options *options, struct sb_buf *out)
{
	struct screen s = { .model = model, .out = out };
	int err;

	if (options) {
		s.text.columns = options->columns;
		s.text.colour = options->colour;
		s.report = options->report;
	}
	if (s.text.columns <= 0 || s.text.columns > COLUMNS_MOST)
		s.text.columns = COLUMNS_MOST;
	if (s.text.columns < COLUMNS_LEAST)
		s.text.columns = COLUMNS_LEAST;
	s.label = s.text.columns - NUMBERS < LABEL_MOST ? s.text.columns - NUMBERS : LABEL_MOST;
	title(&s);
	made(&s);
	speed(&s);
	err = table(&s);
	outside(&s);
	memory(&s);
	program(&s);
	advice(&s);
	not_recorded(&s);
	foot(&s);
	if (!err && (sb_buf_failed(out) || sb_buf_failed(&s.line)))
		err = sb_fail(STROBE_ENOMEM, "no memory for the summary");
	sb_buf_done(&s.line);
	return err;
}
