/* The one-screen summary. */
#include "report/summary.h"

#include "base/error.h"
#include "format/run_keys.h"
#include "report/panels/panel.h"
#include "report/place.h"
#include "report/summary_screen.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS_MOST 100
#define COLUMNS_LEAST 80
#define LABEL_MOST 36
#define NUMBERS 54 /* what stands right of the label */
#define FINDINGS 3
#define OUTSIDE 5 /* parts named outside the generations */
#define RATE_LEAST 5e6 /* bytes a second: less would read 0.00 GB/s */
#define OUTSIDE_LEAST_S 1e-6 /* less is what a stage at the same time as a generation leaves over */
#define NAME_MOST 40 /* columns of a name in the title */

/* ---- the head ----------------------------------------------------------- */

static void title(struct sb_screen *s)
{
	const struct sb_session_panel *session = &s->model->session;
	char wall[32];
	size_t used;

	sb_screen_say(s, "== strobe: ");
	sb_text_name(&s->line, session->name ? session->name : "run", NAME_MOST);
	if (session->outcome)
		sb_screen_say(s, ", %s", session->outcome);
	else if (session->exit_signal >= 0)
		sb_screen_say(s, ", killed by signal %lld", (long long)session->exit_signal);
	else if (session->exit_code >= 0)
		sb_screen_say(s, ", exit %lld", (long long)session->exit_code);
	if (strcmp(session->state ? session->state : "complete", "complete") != 0)
		sb_screen_say(s, ", %s", session->state);
	sb_text_seconds(wall, sizeof wall, s->model->stages.wall_s);
	sb_screen_say(s, ", %s ", session->no_times ? "no times" : wall);
	for (used = sb_screen_columns(sb_buf_text(&s->line)); used < (size_t)s->text.columns; used++)
		sb_buf_putc(&s->line, '=');
	sb_screen_end(s, "1");
}

/* ---- the foot ----------------------------------------------------------- */

/* The function that ran most of what no stage covers. */
static void outside_place(struct sb_screen *s)
{
	const struct sb_place_list *run = &s->model->unattributed.run;
	struct sb_buf place = { 0 };
	char took[32];

	if (run->exit_s > run->unattributed_s / 2) {
		sb_text_seconds(took, sizeof took, run->exit_s);
		sb_screen_say(s, " (%s of it after the program's last line)", took);
		return;
	}
	if (!run->count || run->sample_count < SB_SHARE_SAMPLES_LEAST)
		return;
	sb_place_text(&run->all[0], &place);
	sb_screen_say(s, " (%.0f %% in ", 100 * run->all[0].ratio);
	sb_text_name(&s->line, sb_buf_text(&place), 50);
	sb_screen_say(s, ")");
	sb_buf_done(&place);
}

/* What lies outside the generations; the last one takes what is left, so that
 * the parts add up. */
void sb_screen_outside(struct sb_screen *s)
{
	const struct sb_summary_panel *sum = &s->model->summary;
	double left_s = sum->outside_s;
	char took[32];

	if (s->model->generations.whole_run || sum->outside_s <= 0)
		return;
	sb_screen_say(s, "Outside: ");
	for (size_t i = 0; i < sum->outside_count && i < OUTSIDE; i++) {
		const struct sb_outside *o = &sum->outside[i];

		if (o->total_s < OUTSIDE_LEAST_S)
			continue;
		sb_text_seconds(took, sizeof took, o->total_s);
		sb_screen_say(s, "%s %s", o->what, took);
		if (o->total_s > 0 && o->bytes / o->total_s >= RATE_LEAST)
			sb_screen_say(s, " (%.2f GB/s)", o->bytes / o->total_s / 1e9);
		if (o->bottleneck)
			sb_screen_say(s, " (BOTTLENECK)");
		sb_screen_say(s, ", ");
		left_s -= o->total_s;
	}
	left_s += sum->outside_overlap_s;
	sb_text_seconds(took, sizeof took, left_s > 0 ? left_s : 0);
	sb_screen_say(
		s, "%s %s", sum->outside_count > OUTSIDE ? "others and unattributed" : "unattributed", took);
	outside_place(s);
	sb_text_seconds(took, sizeof took, sum->outside_overlap_s);
	if (sum->outside_overlap_s >= 0.005)
		sb_screen_say(s, "; %s of these at the same time", took);
	sb_screen_end(s, NULL);
}

static double frames_of(const struct sb_stage *stage)
{
	for (size_t i = 0; i < stage->attr_count; i++)
		if (!strcmp(stage->attrs[i].key, "frames") && !stage->attrs[i].text)
			return stage->attrs[i].sum;
	return 0;
}

/* "Beside: video_decode of 1920 frames in 3.20 s on 2 threads (600 frames/s)": what workers do for the generations has no row among
 * their stages, and little time outside of them. */
void sb_screen_beside(struct sb_screen *s)
{
	const struct sb_stages_panel *p = &s->model->stages;
	char took[32];

	for (size_t i = 0; i < p->stage_count && !s->model->generations.whole_run; i++) {
		const struct sb_stage *stage = &p->stages[i];
		double frames = stage->other_thread && !stage->depth ? frames_of(stage) : 0;

		if (!(frames > 0) || !(stage->covered_s > 0))
			continue;
		sb_text_seconds(took, sizeof took, stage->covered_s);
		sb_screen_say(s, "%s", s->line.size ? ", " : "Beside: ");
		sb_text_name(&s->line, stage->name, NAME_MOST);
		sb_screen_say(s, " of %.0f frame%s in %s on %lld thread%s (%.*f frames/s)", frames,
			frames == 1 ? "" : "s", took, (long long)stage->thread_count,
			stage->thread_count == 1 ? "" : "s", frames < 100 * stage->covered_s ? 2 : 0,
			frames / stage->covered_s);
	}
	if (s->line.size)
		sb_screen_end(s, NULL);
}

static void memory_of(struct sb_screen *s, const char *before, double bytes, const char *after)
{
	char text[32];

	sb_text_memory(text, sizeof text, bytes);
	if (!isnan(bytes))
		sb_screen_say(s, "%s%s%s", before, text, after);
}

void sb_screen_memory(struct sb_screen *s)
{
	const struct sb_summary_panel *sum = &s->model->summary;
	bool vram = !isnan(sum->gpu_peak_bytes), ram = !isnan(sum->ram_peak_bytes);

	if (vram) {
		memory_of(s, "VRAM peak ", sum->gpu_peak_bytes, "");
		memory_of(s, " (reserved ", sum->gpu_reserved_peak_bytes, ")");
		memory_of(s, " of ", sum->gpu_total_bytes, "");
		if (sum->gpu_peak_stage) {
			sb_screen_say(s, " in ");
			sb_text_name(&s->line, sum->gpu_peak_stage, 30);
		}
	}
	if (ram) {
		sb_screen_say(s, "%s%s's RAM", vram ? "; " : "",
			s->model->memory.ram_of_group ? "cgroup" : "machine");
		memory_of(s, vram ? " " : " peak ", sum->ram_peak_bytes, "");
		memory_of(s, " of ", sum->ram_total_bytes, "");
	}
	if (vram || ram)
		sb_screen_end(s, NULL);
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

/* The snapshot of the process that shows the peak; NULL: none. */
static const char *peak_label(const struct sb_model *model)
{
	for (size_t i = 0; i < model->memory.snapshot_count; i++) {
		const struct sb_memory_snapshot *shot = &model->memory.snapshots[i];

		if (shot->device < 0 && shot->peak_bytes >= model->session.peak_rss_bytes)
			return shot->label;
	}
	return NULL;
}

/* A log of memory alone: nothing else says how much the program took. */
static void say_peak_alone(struct sb_screen *s)
{
	const char *label = peak_label(s->model);
	char text[32];

	if (isnan(s->model->session.peak_rss_bytes) || !label)
		return;
	sb_text_memory(text, sizeof text, s->model->session.peak_rss_bytes);
	sb_screen_say(s, "Program: RSS peak %s at ", text);
	sb_text_name(&s->line, label, 40);
	sb_screen_end(s, NULL);
}

/* What the whole process tree used, as `strobe run` saw it from outside. */
void sb_screen_program(struct sb_screen *s)
{
	const struct sb_session_panel *session = &s->model->session;
	double read = last_value(s->model, "disk", "read_bytes"),
	       written = last_value(s->model, "disk", "write_bytes");
	char text[3][32];

	if (isnan(session->cpu_s)) {
		say_peak_alone(s);
		return;
	}
	sb_screen_say(s, "%s: CPU %.2f s", s->processes ? s->processes : "Program", session->cpu_s);
	if (s->model->stages.wall_s > 0)
		sb_screen_say(s, " (%.0f %% of a core)", 100 * session->cpu_s / s->model->stages.wall_s);
	sb_text_memory(text[0], sizeof text[0], session->peak_rss_bytes);
	if (!isnan(session->peak_rss_bytes))
		sb_screen_say(s, ", RSS peak %s", text[0]);
	sb_text_bytes(text[1], sizeof text[1], read);
	sb_text_bytes(text[2], sizeof text[2], written);
	if (!isnan(read) && !isnan(written))
		sb_screen_remark(s, "disk read %s, write %s", text[1], text[2]);
	if (session->process_count > 1)
		sb_screen_remark(s, "≥ %lld processes", (long long)session->process_count);
	sb_screen_end(s, NULL);
}

static void advice(struct sb_screen *s)
{
	const struct sb_advice_panel *a = &s->model->advice;
	const struct sb_summary_panel *sum = &s->model->summary;

	for (size_t i = 0; i < a->count && i < FINDINGS; i++) {
		const struct sb_advice *f = &a->all[i];
		char saved[32];

		sb_screen_say(s, "%zu %s %s%s", i + 1, short_priority(f->priority),
			f->startup ? "at the start: " : "", f->issue);
		sb_text_seconds(saved, sizeof saved, f->saves_s);
		if (!isnan(f->saves_s))
			sb_screen_say(s, " (could save %s)", saved);
		sb_screen_end(s, strcmp(f->priority, "high") == 0 ? "31" : NULL);
	}
	if (!sum->leave_alone_count && a->count <= FINDINGS)
		return;
	if (a->count > FINDINGS)
		sb_screen_say(s, "%zu more in the report%s", a->count - FINDINGS,
			sum->leave_alone_count ? ".  " : "");
	for (size_t i = 0; i < sum->leave_alone_count && i < 3; i++) {
		sb_screen_say(s, "%s", i ? ", " : "Not worth tuning: ");
		sb_text_name(&s->line, sum->leave_alone[i].name, 18);
	}
	if (sum->leave_alone_count)
		sb_screen_say(s,
			sum->leave_alone_ratio < 0.0005 ? "%s (< 0.1 %% of the run)"
							: "%s (%.1f %% of the run)",
			sum->leave_alone_count > 3 ? ", …" : "", sum->leave_alone_ratio * 100);
	sb_screen_end(s, NULL);
}

/* It was asked for: its answer may be that nothing was slow. */
static void watched(struct sb_screen *s)
{
	if (!s->model->slow_moments.watch.words)
		return;
	sb_screen_say(s, "Slow moments: %s", s->model->slow_moments.watch.words);
	sb_screen_end(s, NULL);
}

/* One line; the program's own words give way. */
static void next(struct sb_screen *s)
{
	const char *command = s->model->summary.next_command, *reason = s->model->summary.next_reason;
	const char *program = command ? strstr(command, " -- ") : NULL;
	bool whole = command && sb_screen_fits(s, sb_screen_columns(command) + sb_screen_columns(reason) + 9);

	if (!program)
		return;
	if (whole)
		sb_screen_say(s, "Next: %s (%s)", command, reason);
	else
		sb_screen_say(s, "Next: %.*s -- COMMAND (%s)", (int)(program - command), command, reason);
	sb_screen_end(s, NULL);
}

static const char *text_or_none(const char *text)
{
	return text ? text : "";
}

/* A trace that was not asked for needs no reason: the option that asks for it is named. */
static bool needs_reason(const struct sb_missing *m)
{
	const char *why = text_or_none(m->why);
	bool option = !strncmp(text_or_none(m->how), "--", 2);

	return *why && !(option && !strcmp(why, SB_NOT_ASKED_TRACE));
}

static bool same_line(const struct sb_missing *a, const struct sb_missing *b)
{
	return strcmp(text_or_none(a->how), text_or_none(b->how)) == 0 &&
	       (!needs_reason(a) || strcmp(text_or_none(a->why), text_or_none(b->why)) == 0);
}

/* What is missing, by how to get it: "kernels, attention kind (--gpu-trace)". */
static void not_recorded(struct sb_screen *s)
{
	const struct sb_missing_panel *m = &s->model->missing;

	for (size_t i = 0; i < m->count; i++) {
		const char *how = text_or_none(m->all[i].how);
		bool said = false;

		for (size_t k = 0; k < i && !said; k++)
			said = same_line(&m->all[k], &m->all[i]);
		if (said)
			continue;
		sb_screen_say(s, "Not recorded: %s", m->all[i].what);
		for (size_t k = i + 1; k < m->count; k++)
			if (same_line(&m->all[i], &m->all[k]))
				sb_screen_say(s, ", %s", m->all[k].what);
		if (needs_reason(&m->all[i]))
			sb_screen_say(s, ": %s", m->all[i].why);
		if (*how && !sb_screen_fits(s, sb_screen_columns(how) + 3)) {
			sb_screen_end(s, NULL);
			sb_screen_say(s, "  -> %s", how);
		} else if (*how) {
			sb_screen_say(s, " (%s)", how);
		}
		sb_screen_end(s, NULL);
	}
}

static void foot(struct sb_screen *s)
{
	const struct sb_recording_panel *r = &s->model->recording;
	char bytes[32], own[32];

	sb_text_bytes(bytes, sizeof bytes, r->bytes);
	sb_screen_say(s, "strobe: ");
	sb_text_dropped(&s->line, s->model, "events dropped");
	if (!isnan(r->overhead_ratio)) {
		sb_screen_say(s, ", ");
		sb_text_percent(&s->line, r->overhead_ratio);
		sb_screen_say(s, " overhead");
	}
	if (r->own_stages_s > 0) {
		sb_text_seconds(own, sizeof own, r->own_stages_s);
		sb_screen_say(s, " and %s of strobe's own stages", own);
	}
	sb_screen_say(s, ", %s", bytes);
	if (s->report) {
		if (!sb_screen_fits(s, sb_screen_columns(s->report) + 12)) {
			sb_screen_end(s, NULL);
			sb_screen_say(s, "report: ");
			sb_buf_puts(s->out, sb_buf_text(&s->line)); /* a path is never cut */
			sb_buf_puts(s->out, s->report);
			sb_buf_putc(s->out, '\n');
			sb_buf_clear(&s->line);
			return;
		}
		sb_screen_say(s, "    report: %s", s->report);
	}
	sb_screen_end(s, NULL);
}

int sb_report_summary(
	const struct sb_model *model, const struct sb_summary_options *options, struct sb_buf *out)
{
	struct sb_screen s = { .model = model, .out = out };
	int err = 0;

	if (options) {
		s.text.columns = options->columns;
		s.text.colour = options->colour;
		s.report = options->report;
		s.processes = options->processes;
	}
	if (s.text.columns <= 0 || s.text.columns > COLUMNS_MOST)
		s.text.columns = COLUMNS_MOST;
	if (s.text.columns < COLUMNS_LEAST)
		s.text.columns = COLUMNS_LEAST;
	s.label = s.text.columns - NUMBERS < LABEL_MOST ? s.text.columns - NUMBERS : LABEL_MOST;
	title(&s);
	if (options && options->ranks) {
		sb_buf_puts(out, options->ranks);
	} else {
		sb_screen_made(&s);
		sb_screen_speed(&s);
		err = sb_screen_table(&s);
		sb_screen_outside(&s);
		sb_screen_beside(&s);
		sb_screen_memory(&s);
	}
	sb_screen_program(&s);
	if (!options || !options->ranks) { /* of one process: each rank's report has its own */
		advice(&s);
		watched(&s);
		next(&s);
	}
	not_recorded(&s);
	foot(&s);
	if (!err && (sb_buf_failed(out) || sb_buf_failed(&s.line)))
		err = sb_fail(STROBE_ENOMEM, "no memory for the summary");
	sb_buf_done(&s.line);
	return err;
}
