/* Tables of the GPU's counters: the parts that most kernels need, and those of the others that were used at all. */
#include "report/panels/counter_tables.h"

#include "report/label.h"
#include "report/panels/stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STAGES_SHOWN 10u
#define GENERATIONS_SHOWN 10u
#define FAMILIES_SHOWN 30u
#define FAMILY_LEAST 0.01 /* of the kernels' time: less is not missed */
#define NAME_LEAST 20u
#define NAME_MOST 32u /* "attention memory-efficient fp32" */
#define AFTER_NAME 68 /* columns of the other numbers and what bounds a stage */
#define COVERED_LEAST 0.05 /* of a stage's time: less says little of it */
#define READ_LEAST 0.25 /* the same of readings a second long, which see the longest calls alone */

struct row {
	const char *name; /* NULL: the stage's */
	const struct sb_stage *stage;
	const struct sb_gpu_counters *counters;
};

/* The run, its first generations, its largest stages; or what was sampled, and kernels by family: the rows of several tables. */
struct rows {
	struct row all[1 + FAMILIES_SHOWN];
	size_t count, generations, more_generations, more;
	char names[FAMILIES_SHOWN][64];
};
_Static_assert(GENERATIONS_SHOWN + STAGES_SHOWN <= FAMILIES_SHOWN, "all rows have room");

static void add_generations(const struct sb_model *model, struct rows *r)
{
	const struct sb_generations_panel *g = &model->generations;

	for (size_t i = 0; !g->whole_run && i < g->count; i++) {
		char *name = r->names[r->generations];

		if (!g->all[i].counters.source)
			continue;
		if (r->generations == GENERATIONS_SHOWN) {
			r->more_generations++;
			continue;
		}
		snprintf(name, sizeof r->names[0], "generation %zu", i + 1);
		r->all[r->count++] = (struct row){ name, NULL, &g->all[i].counters };
		r->generations++;
	}
}

static void add_stages(const struct sb_model *model, struct rows *r)
{
	const struct sb_stages_panel *s = &model->stages;
	size_t shown = 0;

	for (size_t i = 0; i < s->stage_count; i++) {
		const struct sb_stage *stage = &s->stages[s->by_total ? s->by_total[i] : i];
		const struct sb_gpu_counters *c = &stage->counters;
		bool read = c->source == sb_counter_source_names[SB_COUNTED_GPM];

		if (!(c->covered_ratio >= (read ? READ_LEAST : COVERED_LEAST)))
			continue;
		if (shown++ < STAGES_SHOWN)
			r->all[r->count++] = (struct row){ NULL, stage, c };
		else
			r->more++;
	}
}

/* "copy and cast" of "copy and layout": they begin with the same word. */
static bool says_again(const char *kind, const char *family)
{
	size_t word = strcspn(family, " ");

	return !strncmp(kind, family, word) && (kind[word] == ' ' || !kind[word]);
}

static void add_families(const struct sb_pm_samples_panel *p, struct rows *r)
{
	for (size_t i = 0; i < p->family_count && i < FAMILIES_SHOWN; i++) {
		const struct sb_pm_family *f = &p->families[i];

		bool twice = f->kind && says_again(f->kind, f->family);

		snprintf(r->names[i], sizeof r->names[0], "%s%s%s%s%s", twice ? "" : f->family,
			f->kind && !twice ? " " : "", f->kind ? f->kind : "", f->precision ? " " : "",
			f->precision ? f->precision : "");
		r->all[r->count++] = (struct row){ r->names[i], NULL, &f->counters };
	}
	r->more = p->family_count > FAMILIES_SHOWN ? p->family_count - FAMILIES_SHOWN : 0;
}

static void begin_rows(struct rows *out, const char *name, const struct sb_gpu_counters *of_all)
{
	memset(out, 0, sizeof *out);
	out->all[out->count++] = (struct row){ name, NULL, of_all };
}

static size_t name_columns(const struct sb_text_options *options)
{
	int room = sb_text_columns(options) - AFTER_NAME;

	return room < (int)NAME_LEAST ? NAME_LEAST : room > (int)NAME_MOST ? NAME_MOST : (size_t)room;
}

static void put_name(struct sb_buf *out, const struct sb_text_options *options, const char *name)
{
	size_t width = name_columns(options), used;

	sb_buf_puts(out, "    ");
	used = sb_text_name(out, name, width);
	sb_buf_printf(out, "%*s", (int)(width - used), "");
}

static void put_row_name(struct sb_buf *out, const struct sb_text_options *options,
	const struct sb_model *model, const struct row *row)
{
	struct sb_buf name = { 0 };

	if (row->stage)
		sb_stage_path(model, row->stage, name_columns(options), &name);
	else
		sb_buf_puts(&name, row->name);
	put_name(out, options, sb_buf_text(&name));
	sb_buf_done(&name);
}

static void put_percent(struct sb_buf *out, double value)
{
	if (isnan(value))
		sb_buf_printf(out, " %8s", "n/a");
	else
		sb_buf_printf(out, " %6.1f %%", value);
}

/* ---- the parts that most kernels need ---- */

static void put_main_parts(
	struct sb_buf *out, const struct sb_gpu_counters *c, const struct sb_stage_work *work)
{
	const char *bound = !work ? NULL : work->bound ? work->bound : work->bound_why ? "n/a" : NULL;
	bool cold = bound && work->bound_calls && !strcmp(work->bound_calls, SB_CALLS_COLD);

	put_percent(out, c->percent[SB_COUNTER_SM]);
	put_percent(out, c->percent[SB_COUNTER_TENSOR]);
	put_percent(out, c->percent[SB_COUNTER_FP32]);
	put_percent(out, c->percent[SB_COUNTER_DRAM]);
	put_percent(out, c->covered_ratio * 100);
	sb_buf_printf(out, "%s%s%s\n", bound ? "  " : "", bound ? bound : "", cold ? " (cold)" : "");
}

static void put_more(struct sb_buf *out, size_t more, const char *of)
{
	if (more)
		sb_buf_printf(out, "    … and %zu more%s\n", more, of);
}

static void main_table(const struct sb_model *model, const struct sb_text_options *options,
	const struct rows *rows, struct sb_buf *out)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->all[i];

		put_row_name(out, options, model, row);
		put_main_parts(out, row->counters, row->stage ? &row->stage->work : NULL);
		if (i == rows->generations)
			put_more(out, rows->more_generations, " generations");
	}
	put_more(out, rows->more, "");
}

/* ---- the others ---- */

enum unit { PERCENT, GB_PER_S, UNITS };
static const double least_shown[UNITS] = { 0.05, 0.005 }; /* what is not shown as 0 */

/* Counters by their index; of what is read beside them, of a link the busier way. Utilisation is "util". */
static const struct part {
	const char *head;
	enum unit unit;
	int counter; /* -1: beside */
	int beside, other_way;
} parts[] = {
	{ "util", PERCENT, -1, SB_BESIDE_UTILIZATION, SB_BESIDE_UTILIZATION },
	{ "occupancy", PERCENT, SB_COUNTER_OCCUPANCY, 0, 0 },
	{ "FP64", PERCENT, SB_COUNTER_FP64, 0, 0 },
	{ "NVDEC", PERCENT, SB_COUNTER_NVDEC, 0, 0 },
	{ "HMMA", PERCENT, SB_COUNTER_TENSOR_FLOAT, 0, 0 },
	{ "IMMA", PERCENT, SB_COUNTER_TENSOR_INTEGER, 0, 0 },
	{ "FP16", PERCENT, SB_COUNTER_FP16, 0, 0 },
	{ "integer", PERCENT, SB_COUNTER_INTEGER, 0, 0 },
	{ "DRAM read", PERCENT, SB_COUNTER_DRAM_READ, 0, 0 },
	{ "DRAM written", PERCENT, SB_COUNTER_DRAM_WRITE, 0, 0 },
	{ "PCIe GB/s", GB_PER_S, -1, SB_BESIDE_PCIE_RX, SB_BESIDE_PCIE_TX },
	{ "NVLink GB/s", GB_PER_S, -1, SB_BESIDE_NVLINK_RX, SB_BESIDE_NVLINK_TX },
};
enum { PARTS = sizeof parts / sizeof parts[0], PART_COLUMNS = 8 };

static double value_of(const struct sb_gpu_counters *c, const struct part *p)
{
	return p->counter >= 0 ? c->percent[p->counter] : fmax(c->beside[p->beside], c->beside[p->other_way]);
}

static int columns_of(const struct part *p)
{
	int head = (int)strlen(p->head);

	return head > PART_COLUMNS ? head : PART_COLUMNS;
}

static void put_value(struct sb_buf *out, const struct sb_gpu_counters *c, const struct part *p)
{
	double value = value_of(c, p);
	int columns = columns_of(p);

	if (isnan(value))
		sb_buf_printf(out, " %*s", columns, "n/a");
	else if (p->unit == PERCENT)
		sb_buf_printf(out, " %*.1f %%", columns - 2, value);
	else
		sb_buf_printf(out, " %*.2f", columns, value);
}

static void parts_table(const struct sb_model *model, const struct sb_text_options *options,
	const struct rows *rows, const struct part *const *shown, size_t count, struct sb_buf *out)
{
	sb_buf_printf(out, "    %-*s", (int)name_columns(options), "");
	for (size_t k = 0; k < count; k++)
		sb_buf_printf(out, " %*s", columns_of(shown[k]), shown[k]->head);
	sb_buf_putc(out, '\n');
	for (size_t i = 0; i < rows->count; i++) {
		put_row_name(out, options, model, &rows->all[i]);
		for (size_t k = 0; k < count; k++)
			put_value(out, rows->all[i].counters, shown[k]);
		sb_buf_putc(out, '\n');
	}
}

static bool is_used(const struct rows *rows, const struct part *p)
{
	for (size_t i = 0; i < rows->count; i++)
		if (value_of(rows->all[i].counters, p) > least_shown[p->unit])
			return true;
	return false;
}

/* Those that were used, in as many tables as their columns need. beside: also what was read beside the counters. */
static void other_parts(const struct sb_model *model, const struct sb_text_options *options,
	const struct rows *rows, bool beside, struct sb_buf *out)
{
	const struct part *shown[PARTS];
	int room = sb_text_columns(options) - 4 - (int)name_columns(options), used = 0;
	size_t count = 0;

	for (size_t k = 0; k < PARTS; k++) {
		if (!is_used(rows, &parts[k]) || (parts[k].counter < 0 && !beside))
			continue;
		if (count && used + 1 + columns_of(&parts[k]) > room) {
			parts_table(model, options, rows, shown, count, out);
			count = 0;
			used = 0;
		}
		shown[count++] = &parts[k];
		used += 1 + columns_of(&parts[k]);
	}
	if (count)
		parts_table(model, options, rows, shown, count, out);
}

static void put_heads(const struct sb_text_options *options, const char *more, struct sb_buf *out)
{
	sb_buf_printf(out, "    %-*s %8s %8s %8s %8s %8s%s\n", (int)name_columns(options), "", "SMs",
		"tensor", "FP32", "DRAM", "covered", more);
}

void sb_counter_tables(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	struct rows rows;

	begin_rows(&rows, "the whole run", &model->gpu_counters);
	add_generations(model, &rows);
	add_stages(model, &rows);
	put_heads(options, "  bound by", out);
	main_table(model, options, &rows, out);
	other_parts(model, options, &rows, true, out);
}

/* ---- sampled counters ---- */

static void clocks_text(const struct sb_pm_samples_panel *p, struct sb_buf *out)
{
	if (isnan(p->sm_clock_mhz))
		return;
	if (p->clocks && !strcmp(p->clocks, "held")) {
		sb_buf_printf(out,
			"    the SMs ran at %.0f MHz while sampled, at %.0f MHz else: times measured "
			"meanwhile\n"
			"      are not the usual ones\n",
			p->sm_clock_mhz, p->sm_clock_elsewhere_mhz);
		return;
	}
	sb_buf_printf(out, "    the SMs ran at %.0f MHz by their cycles", p->sm_clock_mhz);
	if (p->clocks)
		sb_buf_printf(out, "; the driver reads %.0f MHz while they are not sampled",
			p->sm_clock_elsewhere_mhz);
	sb_buf_putc(out, '\n');
}

/* "2.47 GB", "1.0 MB": as the page has it. */
static void rate_text(char *out, size_t size, double bytes)
{
	if (bytes >= 1e9)
		snprintf(out, size, "%.2f GB", bytes / 1e9);
	else
		sb_text_bytes(out, size, bytes);
}

static bool is_sampled(const struct sb_pm_samples_panel *p, const char *family)
{
	for (size_t i = 0; i < p->family_count; i++)
		if (!strcmp(p->families[i].family, family))
			return true;
	return false;
}

/* Families that have no row: which, and why. */
static void unsampled_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_pm_samples_panel *p = &model->pm_samples;
	const struct sb_kernel_share *all = model->gpu.families;
	struct sb_buf line = { 0 };
	const char *last = "";

	for (size_t i = 0; p->family_count && i < model->gpu.family_count; i++) {
		size_t before = 0;

		while (before < i && strcmp(all[before].family, all[i].family) != 0)
			before++;
		if (before < i || all[i].ratio < FAMILY_LEAST || is_sampled(p, all[i].family))
			continue;
		sb_buf_printf(&line, "%s%s",
			*last ? ", " : "(n/a, as no sample lies in their kernels alone: ", all[i].family);
		last = all[i].family;
	}
	if (*last) {
		sb_buf_putc(&line, ')');
		sb_text_wrap(out, sb_buf_text(&line), 4, sb_text_columns(options));
	}
	sb_buf_done(&line);
}

void sb_counter_samples(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_pm_samples_panel *p = &model->pm_samples;
	char at[24], sampled[24], interval[24], read[24], written[24];
	struct rows rows;

	sb_text_seconds(at, sizeof at, p->t_s);
	sb_text_seconds(sampled, sizeof sampled, p->sampled_s);
	sb_text_seconds(interval, sizeof interval, p->interval_s);
	sb_buf_printf(out, "  Sampled for %s, from %s of the run on: %lld samples of %s", sampled, at,
		(long long)p->sample_count, interval);
	if (p->lost_count)
		sb_buf_printf(out, ", %lld lost", (long long)p->lost_count);
	sb_buf_putc(out, '\n');
	clocks_text(p, out);
	if (!isnan(p->pcie_read_bytes_per_s) && !isnan(p->pcie_write_bytes_per_s)) {
		rate_text(read, sizeof read, p->pcie_read_bytes_per_s);
		rate_text(written, sizeof written, p->pcie_write_bytes_per_s);
		sb_buf_printf(out, "    PCIe: %s/s read, %s/s written\n", read, written);
	}
	put_heads(options, "", out);
	begin_rows(&rows, "while sampled", &p->counters);
	add_families(p, &rows);
	main_table(model, options, &rows, out);
	other_parts(model, options, &rows, false, out);
	unsampled_text(model, options, out);
}
