/* What was read of the GPU beside SMs, tensor cores, FP32 pipes and DRAM, where it was not zero. */
#include "report/panels/beside.h"

#include "report/label.h"
#include "report/panels/panel.h"
#include "report/panels/stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_COLUMNS 20u
#define AFTER_NAME 68 /* columns of the other numbers and what bounds a stage */
#define COVERED_LEAST 0.05 /* of a stage's time: less says little of it */
#define READ_LEAST 0.25 /* the same of readings a second long, which see the longest calls alone */

void sb_beside_percent(struct sb_buf *out, double value)
{
	if (isnan(value))
		sb_buf_printf(out, " %8s", "n/a");
	else
		sb_buf_printf(out, " %6.1f %%", value);
}

size_t sb_beside_name_columns(const struct sb_text_options *options)
{
	int room = sb_text_columns(options) - AFTER_NAME;

	return room < (int)NAME_COLUMNS          ? NAME_COLUMNS
	       : room > (int)SB_BESIDE_NAME_MOST ? SB_BESIDE_NAME_MOST
						 : (size_t)room;
}

double sb_beside_least_covered(const struct sb_gpu_counters *c)
{
	return c->source == sb_counter_source_names[SB_COUNTED_GPM] ? READ_LEAST : COVERED_LEAST;
}

/* What else was read and was not zero, in a table of its own: busy is utilisation; of links the busier way. */
enum { BUSY, OCCUPIED, FP64, NVDEC, PCIE, NVLINK, OTHER_PARTS };
static const char *const other_heads[OTHER_PARTS] = { "busy", "occupied", "FP64", "NVDEC", "PCIe GB/s",
	"NVLink GB/s" };
#define GB_PER_S_LEAST 0.005 /* what is shown as 0.01 */
#define PERCENT_LEAST 0.05 /* the same */

static bool is_link(size_t part)
{
	return part == PCIE || part == NVLINK;
}

static double part_of(const struct sb_gpu_counters *c, size_t part)
{
	switch (part) {
	case BUSY: return c->beside[SB_BESIDE_UTILIZATION];
	case OCCUPIED: return c->percent[SB_COUNTER_OCCUPANCY];
	case FP64: return c->percent[SB_COUNTER_FP64];
	case NVDEC: return c->percent[SB_COUNTER_NVDEC];
	case PCIE: return fmax(c->beside[SB_BESIDE_PCIE_RX], c->beside[SB_BESIDE_PCIE_TX]);
	default: return fmax(c->beside[SB_BESIDE_NVLINK_RX], c->beside[SB_BESIDE_NVLINK_TX]);
	}
}

static void put_part(struct sb_buf *out, const struct sb_gpu_counters *c, size_t part)
{
	if (!is_link(part))
		sb_beside_percent(out, part_of(c, part));
	else if (isnan(part_of(c, part)))
		sb_buf_printf(out, " %*s", (int)strlen(other_heads[part]), "n/a");
	else
		sb_buf_printf(out, " %*.2f", (int)strlen(other_heads[part]), part_of(c, part));
}

struct parts_row {
	const char *name; /* NULL: the stage's */
	const struct sb_stage *stage;
	const struct sb_gpu_counters *counters;
};

static void other_parts_row(struct sb_buf *out, const struct sb_text_options *options,
	const struct sb_model *model, const struct parts_row *row, const bool *used)
{
	struct sb_buf name = { 0 };
	size_t width = sb_beside_name_columns(options), length;

	if (row->stage)
		sb_stage_path(model, row->stage, width, &name);
	else
		sb_buf_puts(&name, row->name);
	sb_buf_puts(out, "    ");
	length = sb_text_name(out, sb_buf_text(&name), width);
	sb_buf_printf(out, "%*s", (int)(width - length), "");
	for (size_t k = 0; k < OTHER_PARTS; k++)
		if (used[k])
			put_part(out, row->counters, k);
	sb_buf_putc(out, '\n');
	sb_buf_done(&name);
}

/* The rows of the table above it: the run, generations, stages. */
static size_t list_parts_rows(const struct sb_model *model, struct parts_row *rows, char (*names)[32])
{
	const struct sb_generations_panel *g = &model->generations;
	const struct sb_stages_panel *s = &model->stages;
	size_t count = 1, shown = 0;

	rows[0] = (struct parts_row){ "the whole run", NULL, &model->gpu_counters };
	for (size_t i = 0; !g->whole_run && i < g->count && shown < SB_BESIDE_GENERATIONS; i++) {
		if (!g->all[i].counters.source)
			continue;
		snprintf(names[shown], sizeof names[shown], "generation %zu", i + 1);
		rows[count++] = (struct parts_row){ names[shown++], NULL, &g->all[i].counters };
	}
	shown = 0;
	for (size_t i = 0; i < s->stage_count && shown < SB_BESIDE_STAGES; i++) {
		const struct sb_stage *stage = &s->stages[s->by_total ? s->by_total[i] : i];

		if (!(stage->counters.covered_ratio >= sb_beside_least_covered(&stage->counters)))
			continue;
		shown++;
		rows[count++] = (struct parts_row){ NULL, stage, &stage->counters };
	}
	return count;
}

void sb_beside_text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	struct parts_row rows[1 + SB_BESIDE_GENERATIONS + SB_BESIDE_STAGES];
	char names[SB_BESIDE_GENERATIONS][32];
	size_t count = list_parts_rows(model, rows, names);
	bool used[OTHER_PARTS] = { false }, any = false;

	for (size_t k = 0; k < OTHER_PARTS; k++) {
		for (size_t i = 0; i < count; i++)
			used[k] |= part_of(rows[i].counters, k) >
				   (is_link(k) ? GB_PER_S_LEAST : PERCENT_LEAST);
		any |= used[k];
	}
	if (!any)
		return;
	sb_buf_printf(out, "    %-*s", (int)sb_beside_name_columns(options), "");
	for (size_t k = 0; k < OTHER_PARTS; k++)
		if (used[k])
			sb_buf_printf(out, " %8s", other_heads[k]);
	sb_buf_putc(out, '\n');
	for (size_t i = 0; i < count; i++)
		other_parts_row(out, options, model, &rows[i], used);
}
