/* The growing table of a journal. Times are seconds with one number of decimals, so that no column changes its
 * unit on the way. */
#include "report/journal/journal.h"

#include "compare/compare.h"
#include "report/label.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STAGES_SHOWN 20
#define WORTH_A_ROW 0.01 /* of the step's total */

/* ---- numbers --------------------------------------------------------------- */

#define PRINTED_ALIKE_S 0.0101 /* a log with fewer than two decimals has its short times in finer ones */

/* Decimals that the times of every step have; -1: some were measured, or printed in several ways. */
static int printed_decimals(const struct sb_journal *j)
{
	double finest = INFINITY;

	for (size_t i = 0; i < j->step_count; i++) {
		if (!(j->steps[i].digit_s > 0 && j->steps[i].digit_s < PRINTED_ALIKE_S))
			return -1;
		finest = fmin(finest, j->steps[i].digit_s);
	}
	return j->step_count ? (int)fmax(0, ceil(-log10(finest) - 0.1)) : -1;
}

/* Enough for four digits of the shortest total. */
static int decimals_of(const struct sb_journal *j)
{
	double least = INFINITY;
	int decimals = 2;

	for (size_t i = 0; i < j->step_count; i++)
		least = fmin(least, j->steps[i].total_s);
	for (; least < 9.995 && decimals < 6; least *= 10)
		decimals++;
	return printed_decimals(j) >= 0 && printed_decimals(j) < decimals ? printed_decimals(j) : decimals;
}

/* The sheet has every stage: two digits of the shortest that takes a microsecond or more. */
static int sheet_decimals_of(const struct sb_journal *j)
{
	double least = 0.01;
	int decimals = 2, all = decimals_of(j);

	for (size_t i = 0; i < j->step_count; i++)
		for (size_t k = 0; k < j->steps[i].stage_count; k++)
			if (j->steps[i].stages[k].total_s >= 1e-6)
				least = fmin(least, j->steps[i].stages[k].total_s);
	for (; least < 0.01 && decimals < 6; least *= 10)
		decimals++;
	if (printed_decimals(j) >= 0)
		return printed_decimals(j);
	return decimals > 2 && decimals < 6 ? decimals + 1 : decimals > all ? decimals : all;
}

static const char *memory_of(const struct sb_journal_step *s, char *out, size_t size)
{
	bool gpu = !isnan(s->gpu_memory_peak_bytes);
	double bytes = gpu ? s->gpu_memory_peak_bytes : s->rss_peak_bytes;

	if (isnan(bytes))
		return "";
	sb_metric_text(gpu ? SB_METRIC_GPU_MEMORY_PEAK : SB_METRIC_RSS_PEAK, bytes, out, size);
	return out;
}

/* What is printed as 0 has no minus. */
static double rounded(double value, int decimals)
{
	return fabs(value) < 0.5 * pow(10, -decimals) ? 0 : value;
}

static void change_text(double delta, double from, int decimals, char *out, size_t size)
{
	if (isnan(delta))
		*out = 0;
	else if (rounded(delta, decimals) == 0)
		snprintf(out, size, delta == 0 ? "same" : "< %.*fs", decimals, pow(10, -decimals));
	else
		snprintf(out, size, "%+.*fs %+.1f%%", decimals, rounded(delta, decimals),
			from > 0 ? rounded(delta / from * 100, 1) : 0);
}

/* Against the baseline: "same", "31.2 dB", "changed"; the baseline's own is "". */
static void output_text(const struct sb_journal_step *s, char *out, size_t size)
{
	*out = 0;
	if (!s->output_verdict)
		return;
	if (!strcmp(s->output_verdict, "identical") || !strcmp(s->output_verdict, "same_pixels"))
		snprintf(out, size, "same");
	else if (!isnan(s->psnr_db))
		snprintf(out, size, "%.1f dB", s->psnr_db);
	else
		snprintf(out, size, "%s", !strcmp(s->output_verdict, "changed") ? "changed" : "?");
}

static bool has_outputs(const struct sb_journal *j)
{
	for (size_t i = 0; i < j->step_count; i++)
		if (j->steps[i].output_verdict)
			return true;
	return false;
}

struct step_words {
	char total[32], before[48], base[48], speedup[24], fps[24], memory[32], output[24];
	const char *commit;
};

static void words_of(const struct sb_journal *j, size_t i, int decimals, struct step_words *w)
{
	const struct sb_journal_step *s = &j->steps[i];
	char memory[32];

	snprintf(w->total, sizeof w->total, "%.*fs", decimals, s->total_s);
	change_text(
		s->delta_before_s, i ? j->steps[i - 1].total_s : 0, decimals, w->before, sizeof w->before);
	change_text(s->delta_base_s, j->steps[0].total_s, decimals, w->base, sizeof w->base);
	*w->speedup = *w->fps = 0;
	if (!isnan(s->speedup_ratio))
		snprintf(w->speedup, sizeof w->speedup, "%.2fx", s->speedup_ratio);
	if (!isnan(s->fps))
		snprintf(w->fps, sizeof w->fps, "%.2f", s->fps);
	snprintf(w->memory, sizeof w->memory, "%s", memory_of(s, memory, sizeof memory));
	output_text(s, w->output, sizeof w->output);
	w->commit = s->commit ? s->commit : "";
}

/* ---- stages ---------------------------------------------------------------- */

/* The i-th stage worth a row: those of the baseline in their order, then those that came later. */
static const struct sb_journal_stage *row_at(const struct sb_journal *j, size_t wanted)
{
	for (size_t i = 0; i < j->step_count; i++)
		for (size_t k = 0; k < j->steps[i].stage_count; k++) {
			const struct sb_journal_stage *s = &j->steps[i].stages[k];
			bool seen = false, worth = false;

			for (size_t b = 0; b < i && !seen; b++)
				seen = sb_journal_stage(&j->steps[b], s->key) != NULL;
			for (size_t b = i; b < j->step_count && !seen && !worth; b++) {
				const struct sb_journal_stage *other = sb_journal_stage(&j->steps[b], s->key);

				worth = other && other->total_s >= WORTH_A_ROW * j->steps[b].wall_s;
			}
			if (!seen && worth && !wanted--)
				return s;
		}
	return NULL;
}

static void stage_cell(
	const struct sb_journal *j, size_t step, const char *key, int decimals, char *out, size_t size)
{
	const struct sb_journal_stage *s = sb_journal_stage(&j->steps[step], key);
	const struct sb_journal_stage *before = step ? sb_journal_stage(&j->steps[step - 1], key) : NULL;

	if (!s)
		snprintf(out, size, "-");
	else if (before && fabs(s->total_s - before->total_s) >= 0.5 * pow(10, -decimals))
		snprintf(out, size, "%.*fs (%+.*f)", decimals, s->total_s, decimals,
			s->total_s - before->total_s);
	else
		snprintf(out, size, "%.*fs", decimals, s->total_s);
}

/* ---- text ------------------------------------------------------------------ */

/* What no step has is no column. */
struct columns {
	bool fps, memory, output, commit;
};

static struct columns columns_of(const struct sb_journal *j)
{
	struct columns c = { .output = has_outputs(j) };

	for (size_t i = 0; i < j->step_count; i++) {
		const struct sb_journal_step *s = &j->steps[i];

		c.fps |= !isnan(s->fps);
		c.memory |= !isnan(s->gpu_memory_peak_bytes) || !isnan(s->rss_peak_bytes);
		c.commit |= s->commit && *s->commit;
	}
	return c;
}

static void put_cell(struct sb_buf *out, bool wanted, const char *text)
{
	if (wanted)
		sb_buf_printf(out, " %8s", text);
}

static void end_line(struct sb_buf *out)
{
	while (out->size && sb_buf_text(out)[out->size - 1] == ' ')
		out->size--;
	sb_buf_putc(out, '\n');
}

static void put_steps(const struct sb_journal *j, int columns, int decimals, struct sb_buf *out)
{
	const struct columns has = columns_of(j);
	int width = columns > 118 ? 34 : 18;

	sb_buf_printf(out, " #  %-*s %10s %15s %15s %8s", width, "step",
		j->per_generation ? "generation" : "total", "vs before", "vs baseline", "speed-up");
	put_cell(out, has.fps, "frames/s");
	put_cell(out, has.memory, "peak");
	put_cell(out, has.output, "output");
	sb_buf_puts(out, has.commit ? " commit\n" : "\n");
	for (size_t i = 0; i < j->step_count; i++) {
		struct step_words w;

		words_of(j, i, decimals, &w);
		sb_buf_printf(out, "%2zu  ", i);
		sb_label_put(out, j->steps[i].title, width);
		sb_buf_printf(out, " %10s %15s %15s %8s", w.total, w.before, w.base, w.speedup);
		put_cell(out, has.fps, w.fps);
		put_cell(out, has.memory, w.memory);
		put_cell(out, has.output, w.output);
		sb_buf_printf(out, " %s", w.commit);
		end_line(out);
	}
}

static void put_stages(const struct sb_journal *j, int columns, int decimals, struct sb_buf *out)
{
	const int cell = 22, width = 34;
	size_t room = (size_t)((columns > 80 ? columns : 80) - width) / (size_t)cell;
	size_t from = j->step_count > room ? j->step_count - room + 1 : 1; /* the baseline and the newest */
	const struct sb_journal_stage *s;

	if (!row_at(j, 0))
		return;
	sb_buf_printf(out, "\n%-*s", width, "Stage");
	for (size_t i = 0; i < j->step_count; i = i ? i + 1 : from)
		sb_buf_printf(out, "%*s%zu", cell - 2, "step ", i);
	sb_buf_putc(out, '\n');
	for (size_t row = 0; row < STAGES_SHOWN && (s = row_at(j, row)); row++) {
		char label[300], text[64];

		sb_stage_label(s->code, s->name, label, sizeof label);
		sb_label_put(out, label, width);
		for (size_t i = 0; i < j->step_count; i = i ? i + 1 : from) {
			stage_cell(j, i, s->key, decimals, text, sizeof text);
			sb_buf_printf(out, "%*s", cell - 1, text);
		}
		sb_buf_putc(out, '\n');
	}
	if (row_at(j, STAGES_SHOWN))
		sb_buf_puts(out, "(more stages: JSON has them)\n");
}

void sb_journal_text(const struct sb_journal *j, int columns, struct sb_buf *out)
{
	int decimals = decimals_of(j);

	put_steps(j, columns, decimals, out);
	put_stages(j, columns, decimals, out);
}

/* ---- Markdown, JSON -------------------------------------------------------- */

static void put_escaped(struct sb_buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '|' || *text == '<' || *text == '`')
			sb_buf_putc(out, '\\');
		sb_buf_putc(out, (unsigned char)*text < ' ' ? ' ' : *text);
	}
}

static void put_column(struct sb_buf *out, bool wanted, const char *text)
{
	if (!wanted)
		return;
	sb_buf_putc(out, ' ');
	put_escaped(out, text);
	sb_buf_puts(out, " |");
}

static void put_columns(struct sb_buf *out, struct columns has, const char *fps, const char *memory,
	const char *output, const char *commit)
{
	put_column(out, has.fps, fps);
	put_column(out, has.memory, memory);
	put_column(out, has.output, output);
	put_column(out, has.commit, commit);
	sb_buf_putc(out, '\n');
}

void sb_journal_markdown(const struct sb_journal *j, struct sb_buf *out)
{
	int decimals = decimals_of(j);
	const struct sb_journal_stage *s;
	const struct columns has = columns_of(j);

	sb_buf_printf(out, "| # | step | %s | Δ before | Δ baseline | speed-up |",
		j->per_generation ? "generation" : "total");
	put_columns(out, has, "frames/s", "peak memory", "output", "commit");
	sb_buf_puts(out, "|--:|---|--:|--:|--:|--:|");
	put_columns(out, has, "--:", "--:", "--:", "---");
	for (size_t i = 0; i < j->step_count; i++) {
		struct step_words w;

		words_of(j, i, decimals, &w);
		sb_buf_printf(out, "| %zu | ", i);
		put_escaped(out, j->steps[i].title);
		sb_buf_printf(out, " | %s | %s | %s | %s |", w.total, w.before, w.base, w.speedup);
		put_columns(out, has, w.fps, w.memory, w.output, w.commit);
	}
	sb_buf_puts(out, "\n| stage |");
	for (size_t i = 0; i < j->step_count; i++)
		sb_buf_printf(out, " step %zu |", i);
	sb_buf_puts(out, "\n|---|");
	for (size_t i = 0; i < j->step_count; i++)
		sb_buf_puts(out, "--:|");
	sb_buf_putc(out, '\n');
	for (size_t row = 0; row < STAGES_SHOWN && (s = row_at(j, row)); row++) {
		char label[300], text[64];

		sb_stage_label(s->code, s->name, label, sizeof label);
		sb_buf_puts(out, "| ");
		put_escaped(out, label);
		for (size_t i = 0; i < j->step_count; i++) {
			stage_cell(j, i, s->key, decimals, text, sizeof text);
			sb_buf_printf(out, " | %s", text);
		}
		sb_buf_puts(out, " |\n");
	}
}

void sb_journal_json(const struct sb_journal *j, struct sb_buf *out)
{
	struct sb_json json;

	sb_json_init(&json, out, true);
	sb_fields_write(&sb_journal_fields, j, NULL, &json);
	sb_buf_putc(out, '\n');
}

/* ---- the tracking sheet ---------------------------------------------------- */

static int label_columns(const struct sb_journal *j)
{
	int most = 6;

	for (size_t i = 0; i < j->step_count; i++)
		for (size_t k = 0; k < j->steps[i].stage_count; k++) {
			char label[300];
			int used;

			sb_stage_label(
				j->steps[i].stages[k].code, j->steps[i].stages[k].name, label, sizeof label);
			used = sb_label_columns(label);
			most = used > most ? used : most;
		}
	return most < 60 ? most : 60;
}

static void put_line(struct sb_buf *out, const char *label, int width, double now, double base, int decimals)
{
	int used = sb_label_columns(label);

	sb_buf_printf(out, "- %s:%*s %8.*fs", label, width > used ? width - used : 0, "", decimals, now);
	if (!isnan(base) && rounded(now - base, decimals) == 0)
		sb_buf_puts(out, " (Δ: 0)");
	else if (!isnan(base))
		sb_buf_printf(out, " (Δ: %+.*fs)", decimals, now - base);
	sb_buf_putc(out, '\n');
}

void sb_journal_template(const struct sb_journal *j, struct sb_buf *out)
{
	int width = label_columns(j), decimals = sheet_decimals_of(j);

	if (j->step_count > 1)
		sb_buf_puts(out, "Δ: against the baseline\n\n");
	for (size_t i = 0; i < j->step_count; i++) {
		const struct sb_journal_step *step = &j->steps[i];

		sb_buf_printf(out, "%s%s: %s\n", i ? "\n" : "", i ? "AFTER" : "BASELINE", step->title);
		for (size_t k = 0; k < step->stage_count; k++) {
			const struct sb_journal_stage *s = &step->stages[k];
			const struct sb_journal_stage *base = i ? sb_journal_stage(&j->steps[0], s->key)
								: NULL;
			char label[300];

			sb_stage_label(s->code, s->name, label, sizeof label);
			put_line(out, label, width, s->total_s, base ? base->total_s : NAN, decimals);
		}
		put_line(out, j->per_generation ? "One generation" : "Total", width, step->total_s,
			i ? j->steps[0].total_s : NAN, decimals);
	}
}
