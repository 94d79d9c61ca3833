/* The table of the one-screen summary: a row per stage. */
#include "report/summary_screen.h"

#include "base/role.h"
#include "report/panels/panel.h"
#include "report/panels/stages.h"
#include "report/place.h"
#include "report/summary_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIXED_LEAST \
	0.02 /* calls a step: less beside a whole number is a step that was cut, not guidance in part */
#define SHORT_RUN_S 10.0 /* below that milliseconds matter */
#define STEPS_WORTH 2 /* a warm-up line needs a step before and one after */
#define NAME_LEAST 12 /* columns left of a name too long for its label */
#define INSIDE 2 /* columns that a stage inside a row's is indented */
#define SAMPLES_LEAST 3 /* fewer may be chance */
#define RATE_LEAST 5e7 /* bytes a second: less would read 0.0 GB/s */

static enum strobe_role work_of(const struct sb_summary_row *row)
{
	return sb_role_work(row->stage->name, row->stage->role);
}

/* " (50 steps, CFG 2x)", " (50 steps, 1.4 calls each)" where steps differ: guidance for some, a solver's second call. */
static void guidance(const struct sb_diffusion_panel *d, char *out, size_t size)
{
	double calls = d->forwards_per_step, whole = round(calls);

	if (fabs(calls - whole) < MIXED_LEAST)
		snprintf(out, size, " (%lld steps, CFG %.0fx)", (long long)d->steps, whole);
	else
		snprintf(out, size, " (%lld steps, %.1f calls each)", (long long)d->steps, calls);
}

/* " (50 steps, CFG 2x)", " (81 frames, 12 tiles)", "  11.2 GB". */
static void row_detail(const struct sb_model *model, const struct sb_summary_row *row, char *out, size_t size)
{
	enum strobe_role work = work_of(row);
	const struct sb_diffusion_panel *d = &model->diffusion;
	char bytes[32];

	*out = 0;
	if (work == STROBE_ROLE_OFFLOAD && row->bytes > 0) {
		sb_text_bytes(bytes, sizeof bytes, row->bytes);
		snprintf(out, size, "  %s", bytes);
	} else if (work == STROBE_ROLE_DENOISE && d->steps > 0 && d->forwards_per_step >= 1 + MIXED_LEAST) {
		guidance(d, out, size);
	} else if (work == STROBE_ROLE_DENOISE && d->steps > 0) {
		snprintf(out, size, " (%lld steps)", (long long)d->steps);
	} else if (row->frames > 0 && row->tiles > 0) {
		snprintf(out, size, " (%.0f frames, %.0f tiles)", row->frames, row->tiles);
	} else if (row->frames > 0) {
		snprintf(out, size, " (%.0f frames)", row->frames);
	}
}

/* "(81 frames, 12 tiles)" is "(81 frames)" where there is no room for more; gone where that is too long. */
static void shorten(char *detail, size_t room)
{
	char *comma = strchr(detail, ',');

	if (sb_screen_columns(detail) > room && comma)
		strcpy(comma, ")");
	if (sb_screen_columns(detail) > room)
		*detail = 0;
}

/* The first column. state stays whole; detail goes before the name is cut. */
static void row_label(struct sb_screen *s, const char *name, char *detail, const char *state)
{
	size_t all = (size_t)s->label - 2, needed = sb_screen_columns(name), fixed = sb_screen_columns(state);
	struct sb_buf label = { 0 };
	size_t used;

	if (fixed + NAME_LEAST > all)
		state = "", fixed = 0;
	shorten(detail, needed + fixed < all ? all - needed - fixed : 0);
	sb_text_name(&label, name, all - fixed - sb_screen_columns(detail));
	sb_buf_puts(&label, detail);
	sb_buf_puts(&label, state);
	used = sb_screen_columns(sb_buf_text(&label));
	sb_screen_say(s, "  %s%*s", sb_buf_text(&label), used < all ? (int)(all - used) : 0, "");
	sb_buf_done(&label);
}

static void plain_label(struct sb_screen *s, const char *name)
{
	row_label(s, name, (char[1]){ 0 }, "");
}

/* Of a row, in the table's unit; in a smaller one where that would read 0. */
static void row_seconds(char *out, size_t size, double seconds, double wall_s, double digit_s)
{
	int decimals = wall_s < SHORT_RUN_S ? 3 : 2, had = sb_digit_decimals(digit_s);

	if (seconds == 0)
		snprintf(out, size, "0 s");
	else if (seconds > 0 && seconds < (decimals == 3 ? 0.0005 : 0.005))
		sb_text_printed_seconds(out, size, seconds, digit_s);
	else
		snprintf(out, size, "%.*f s", had < decimals ? had : decimals, seconds);
}

static void row_numbers(struct sb_screen *s, double total_s, double wall_s, double digit_s)
{
	char took[32], share[32];

	if (fabs(total_s) < 0.5e-9) /* what sums of doubles leave */
		total_s = 0;
	row_seconds(took, sizeof took, total_s, wall_s, digit_s);
	sb_text_share(share, sizeof share, wall_s > 0 ? total_s / wall_s : 0, " ");
	sb_screen_say(s, " %11s %8s", took, share);
}

static void row_gpu(struct sb_screen *s, const struct sb_summary_row *row, double wall_s)
{
	char took[32], text[40];

	row_seconds(took, sizeof took, row->gpu_span_s, wall_s, NAN);
	snprintf(text, sizeof text, "%s%s", row->gpu_partial ? ">" : "", took);
	sb_screen_say(s, " %10s", isnan(row->gpu_span_s) ? "n/a" : text);
}

static void row_name(struct sb_screen *s, const struct sb_summary_row *row, int indent)
{
	char detail[64] = "", state[64] = "", name[300];

	if (!indent)
		row_detail(s->model, row, detail, sizeof detail);
	if (row->open_count)
		snprintf(state, sizeof state, " (%lld open)", (long long)row->open_count);
	if (sb_stage_at_once(row->stage))
		snprintf(state + strlen(state), sizeof state - strlen(state), " (%.1f at once)",
			row->stage->at_once_mean);
	if (row->stage->code && *row->stage->code)
		snprintf(name, sizeof name, "%*s[%s] %s", indent, "", row->stage->code, row->stage->name);
	else
		snprintf(name, sizeof name, "%*s%s", indent, "", row->stage->name);
	row_label(s, name, detail, state);
}

/* marked: the stage whose mark the row has; NULL: none. */
static void one_row(struct sb_screen *s, const struct sb_summary_row *row, double wall_s,
	const struct sb_stage *marked, int indent)
{
	const char *mark = marked ? sb_stage_mark(&s->model->stages, marked) : "";
	char rate[32] = "";

	row_name(s, row, indent);
	row_numbers(s, row->total_s, wall_s, row->stage->digit_s);
	row_gpu(s, row, wall_s);
	sb_screen_say(s, " %6lld", (long long)row->count);
	if (row->called_s > 0 && row->bytes / row->called_s >= RATE_LEAST &&
		work_of(row) == STROBE_ROLE_OFFLOAD)
		snprintf(rate, sizeof rate, "   %.1f GB/s", row->bytes / row->called_s / 1e9);
	if (sb_screen_fits(s, strlen(rate) + strlen(mark)))
		sb_screen_say(s, "%s", rate);
	if (!sb_screen_fits(s, strlen(mark)) && marked->bottleneck_level == SB_BOTTLENECK_MAJOR)
		mark = "  <- BOTTLENECK"; /* without MAJOR */
	sb_screen_say(s, "%s", mark);
	sb_screen_end(s, marked && marked->bottleneck ? "33" : NULL);
}

static bool only_imports(const struct sb_summary_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (work_of(&rows->all[i]) != STROBE_ROLE_IMPORT)
			return false;
	return true;
}

/* The stage of a row that the stage tree marks; NULL: none. */
static const struct sb_stage *marked_in(
	const struct sb_screen *s, const struct sb_summary_rows *rows, size_t row)
{
	const struct sb_stages_panel *stages = &s->model->stages;

	for (size_t i = 0; i < stages->stage_count; i++) {
		const struct sb_stage *stage = &stages->stages[i];

		if (stage->bottleneck_level && stage->side_by_side &&
			sb_summary_row_around(rows, stages, stage) == row)
			return stage;
	}
	return NULL;
}

/* A marked one inside another stands below it. */
static int indent_of(const struct sb_stages_panel *stages, const struct sb_stage *stage)
{
	int indent = INSIDE;

	for (int64_t p = stage->parent; p >= 0 && !stages->stages[p].side_by_side;
		p = stages->stages[p].parent)
		indent += stages->stages[p].bottleneck_level ? INSIDE : 0;
	return indent;
}

/* Two pipelines have stages of one name inside one row: they are one below it, as the row itself is. False: a stage before
 * this one has told of them. */
static bool same_inside(const struct sb_summary_rows *rows, const struct sb_stages_panel *stages, size_t at,
	struct sb_summary_row *out_row)
{
	size_t around = sb_summary_row_around(rows, stages, &stages->stages[at]);

	*out_row = sb_summary_row_of(&stages->stages[at]);
	for (size_t i = 0; i < stages->stage_count; i++) {
		const struct sb_stage *s = &stages->stages[i];

		if (i == at || s->depth != stages->stages[at].depth || s->side_by_side ||
			!sb_summary_row_is_of(out_row, s) || sb_summary_row_around(rows, stages, s) != around)
			continue;
		if (i < at && s->bottleneck_level)
			return false;
		sb_summary_row_add(out_row, s);
	}
	return true;
}

/* What the stage tree marks inside the stages of rows from to to - 1. */
static void marked_inside(struct sb_screen *s, const struct sb_summary_rows *rows, size_t from, size_t to)
{
	const struct sb_stages_panel *stages = &s->model->stages;

	for (size_t i = 0; i < stages->stage_count; i++) {
		const struct sb_stage *stage = &stages->stages[i];
		struct sb_summary_row row;
		size_t around;

		if (!stage->bottleneck_level || (stage->side_by_side && from < SB_SUMMARY_ROWS))
			continue;
		around = sb_summary_row_around(rows, stages, stage);
		if (around < from || around >= to)
			continue;
		if (same_inside(rows, stages, i, &row))
			one_row(s, &row, rows->wall_s, stage, indent_of(stages, stage));
	}
}

static void startup_row(struct sb_screen *s, const struct sb_summary_rows *rows)
{
	if (!(rows->startup_s > 0))
		return;
	plain_label(s, rows->startup_name);
	row_numbers(s, rows->startup_s, rows->wall_s, NAN);
	sb_screen_end(s, NULL);
}

static void imports_line(struct sb_screen *s, const struct sb_summary_rows *rows)
{
	const struct sb_session_panel *session = &s->model->session;
	bool failed = session->exit_code > 0 || session->exit_signal > 0;

	if (!only_imports(rows))
		return;
	sb_screen_say(s, failed ? "  The program failed before any stage: only imports ran."
				: "  No stage was recorded besides imports.");
	sb_screen_end(s, NULL);
}

/* A cache served all steps but the first ones: there is no warm one to say it behind. */
static void cached_line(struct sb_screen *s)
{
	const struct sb_diffusion_panel *d = &s->model->diffusion;
	char first[32], cached[32];

	if (d->cached_steps <= 0)
		return;
	sb_text_seconds(first, sizeof first, d->first_step_s);
	sb_text_seconds(cached, sizeof cached, d->cached_step.p50);
	sb_screen_say(s, "    %lld cached (%.0f %%), %s each; first%s %s", (long long)d->cached_steps,
		d->cached_ratio * 100, cached, s->model->generations.count > 1 ? " ones" : "", first);
	sb_screen_end(s, NULL);
}

static void warm_line(struct sb_screen *s)
{
	const struct sb_diffusion_panel *d = &s->model->diffusion;
	char median[32], p95[32], first[32];

	if (d->warm_step.count < STEPS_WORTH) {
		cached_line(s);
		return;
	}
	sb_text_seconds(median, sizeof median, d->warm_step.p50);
	sb_text_seconds(p95, sizeof p95, d->warm_step.p95);
	sb_text_seconds(first, sizeof first, d->first_step_s);
	sb_screen_say(s, "    warm step %s  p95 %s; first%s %s%s", median, p95,
		s->model->generations.count > 1 ? " ones" : "", first,
		d->first_step_s > d->warm_step.p50 * 1.2 ? " (warm-up)" : "");
	if (d->cached_steps > 0)
		sb_screen_say(
			s, "; %lld cached (%.0f %%)", (long long)d->cached_steps, d->cached_ratio * 100);
	sb_screen_end(s, NULL);
}

/* What there is no room for, in one row. */
static void rest_row(struct sb_screen *s, const struct sb_summary_rows *rows)
{
	double rest_s = 0;
	char more[48];

	if (rows->count <= SB_SUMMARY_ROWS)
		return;
	for (size_t i = SB_SUMMARY_ROWS; i < rows->count; i++)
		rest_s += rows->all[i].total_s;
	snprintf(more, sizeof more, "%zu more stage%s", rows->count - SB_SUMMARY_ROWS,
		rows->count == SB_SUMMARY_ROWS + 1 ? "" : "s");
	plain_label(s, more);
	row_numbers(s, rest_s, rows->wall_s, s->model->session.digit_s);
	sb_screen_end(s, NULL);
	marked_inside(s, rows, SB_SUMMARY_ROWS, rows->count);
}

/* Few samples name a function that most of them are in, and no share. */
static void seen_most(struct sb_screen *s, const struct sb_place_list *list)
{
	struct sb_buf place = { 0 };

	if (!list->count || list->sample_count < SAMPLES_LEAST || list->all[0].ratio < 0.5)
		return;
	sb_place_text(&list->all[0], &place);
	sb_screen_say(s, "    seen most in ");
	sb_text_name(&s->line, sb_buf_text(&place), 60);
	sb_screen_say(s, ", in %lld samples: too few for shares", (long long)list->sample_count);
	sb_buf_done(&place);
	sb_screen_end(s, NULL);
}

/* The functions that ran most of it. */
static void place_lines(struct sb_screen *s, const struct sb_place_list *list, const char *whole, size_t most)
{
	if (!list)
		return;
	if (list->sample_count < SB_SHARE_SAMPLES_LEAST) {
		seen_most(s, list);
		return;
	}
	for (size_t i = 0; i < list->count && i < most && list->all[i].ratio >= 0.1; i++) {
		struct sb_buf place = { 0 };

		sb_place_text(&list->all[i], &place);
		sb_screen_say(s, "    %2.0f %% of %s in ", 100 * list->all[i].ratio, whole);
		sb_text_name(&s->line, sb_buf_text(&place), 60);
		sb_buf_done(&place);
		sb_screen_end(s, NULL);
	}
}

#define PHASE_LEAST 0.01 /* of the generations */

/* What ran in a stage around the steps. */
static void phase_lines(struct sb_screen *s, const struct sb_summary_row *row)
{
	int phase = sb_role_phase(row->stage->name);

	if (phase >= 0 && row->total_s >= PHASE_LEAST * s->model->summary.generation_s)
		place_lines(s, &s->model->unattributed.around[phase], "it", 2);
}

#define MOVES_LEAST \
	0.01 /* of the generations: time of weights that move inside of rows which are about other work */

/* What no row shows: weights move inside the stages that need them. */
static void moves_line(struct sb_screen *s, const struct sb_summary_rows *rows)
{
	double all_s = 0, inside_s = 0;
	char took[32], share[32];
	bool said = false;

	for (size_t i = 0; i < rows->count; i++) {
		double moves_s = sb_summary_row_moves_s(rows, &s->model->stages, i);

		all_s += moves_s;
		inside_s += work_of(&rows->all[i]) == STROBE_ROLE_OFFLOAD ? 0 : moves_s;
	}
	if (!(inside_s >= MOVES_LEAST * rows->wall_s))
		return;
	sb_text_seconds(took, sizeof took, all_s);
	sb_text_share(share, sizeof share, all_s / rows->wall_s, " ");
	sb_screen_say(s, "  offload in all %s (%s), of which in ", took, share);
	for (size_t i = 0; i < rows->count; i++) {
		double moves_s = sb_summary_row_moves_s(rows, &s->model->stages, i);

		if (!(moves_s > 0) || work_of(&rows->all[i]) == STROBE_ROLE_OFFLOAD)
			continue;
		sb_text_seconds(took, sizeof took, moves_s);
		sb_screen_say(s, "%s", said ? ", " : "");
		sb_text_name(&s->line, rows->all[i].stage->name, 40);
		sb_screen_say(s, " %s", took);
		said = true;
	}
	sb_screen_end(s, NULL);
}

/* Closes the sum where rows run at the same time. */
static void overlap_row(struct sb_screen *s, const struct sb_summary_rows *rows)
{
	if (!(rows->overlap_s >= rows->wall_s * 0.0005))
		return;
	plain_label(s, "overlap (at the same time)");
	row_numbers(s, -rows->overlap_s, rows->wall_s, NAN);
	sb_screen_end(s, NULL);
}

/* Their shares are of what the row has; where the functions are known of another time only, that is said. */
static void unattributed_lines(struct sb_screen *s, double row_s)
{
	const struct sb_place_list *work = &s->model->unattributed.work;
	const struct sb_place_list *list = work->count ? work : sb_place_list_of(s->model);
	char took[32], whole[80] = "it";

	if (list && fabs(list->unattributed_s - row_s) > 0.01 * list->unattributed_s) {
		sb_text_seconds(took, sizeof took, list->unattributed_s);
		snprintf(whole, sizeof whole, "%s that belong to no stage", took);
	}
	place_lines(s, list, whole, 2);
}

int sb_screen_table(struct sb_screen *s)
{
	struct sb_summary_rows rows;
	bool warm_said = false;
	int err = sb_summary_rows_of(s->model, &rows);

	if (err)
		return err;
	if (!rows.count && s->model->session.no_times) {
		free(rows.all);
		return 0;
	}
	if (!rows.count) {
		sb_screen_say(s, "No stage was recorded%s.",
			s->model->generations.whole_run ? "" : " inside the generations");
		sb_screen_end(s, NULL);
		place_lines(s, sb_place_list_of(s->model),
			s->model->generations.whole_run ? "the run" : "them", 3);
		free(rows.all);
		return 0;
	}
	sb_screen_say(s, "%-*s %11s %8s %10s %6s", s->label,
		s->model->generations.whole_run ? "Run" : "Generation", "wall", "share", "GPU span", "calls");
	sb_screen_end(s, "1");
	startup_row(s, &rows);
	for (size_t i = 0; i < rows.count && i < SB_SUMMARY_ROWS; i++) {
		one_row(s, &rows.all[i], rows.wall_s, marked_in(s, &rows, i), 0);
		if (!warm_said && work_of(&rows.all[i]) == STROBE_ROLE_DENOISE) {
			warm_line(s);
			warm_said = true;
		}
		marked_inside(s, &rows, i, i + 1);
		phase_lines(s, &rows.all[i]);
	}
	rest_row(s, &rows);
	imports_line(s, &rows);
	if (!rows.one_call) {
		plain_label(s, "unattributed");
		row_numbers(s, rows.unattributed_s, rows.wall_s, s->model->session.digit_s);
		sb_screen_end(s, NULL);
	}
	unattributed_lines(s, rows.unattributed_s);
	overlap_row(s, &rows);
	moves_line(s, &rows);
	if (sb_stages_moved(&s->model->stages, rows.wall_s)) {
		sb_screen_say(s,
			"  (wall: as the GPU went through the stages; the stage tree has the CPU's times)");
		sb_screen_end(s, NULL);
	}
	free(rows.all);
	return 0;
}
