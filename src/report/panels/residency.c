/* What memory held at the peak of each stage; begin and end are in the JSON report. */
#include "report/panels/panel.h"

#include "base/memory_units.h"

#include <string.h>

#define PARTS_SHOWN 4
#define SHOWN_LEAST (0.05 * SB_MB) /* less is 0.0 */

static void put_part(struct sb_buf *out, const char *name, const char *dtype, double bytes)
{
	sb_buf_printf(out, "    %10.1f    ", bytes / SB_MB);
	sb_text_name(out, name, 44);
	if (dtype)
		sb_buf_printf(out, " (%s)", dtype);
	sb_buf_putc(out, '\n');
}

static void put_head(const struct sb_residency_panel *p, struct sb_buf *out)
{
	sb_buf_printf(out, "  %12s  stage, at its peak", "MB");
	if (p->generation)
		sb_buf_printf(out, " in generation %lld", (long long)p->generation);
	sb_buf_puts(out, ", and what held it\n");
}

static void put_row(const struct sb_residency *r, struct sb_buf *out)
{
	double small = 0;

	sb_buf_printf(out, "  %12.1f  ", r->total_bytes / SB_MB);
	sb_text_name(out, r->stage, 40);
	if (r->device >= 0)
		sb_buf_printf(out, ", GPU %lld\n", (long long)r->device);
	else
		sb_buf_puts(out, ", host\n");
	for (size_t i = 0; i < r->part_count; i++) {
		if (i < PARTS_SHOWN)
			put_part(out, r->parts[i].component, r->parts[i].dtype, r->parts[i].bytes);
		else
			small += r->parts[i].bytes;
	}
	if (small > 0)
		put_part(out, "smaller ones", NULL, small);
	if (r->rest_bytes >= SHOWN_LEAST)
		put_part(out, "no name", NULL, r->rest_bytes);
}

static void put_unplaced(const struct sb_residency_panel *p, struct sb_buf *out)
{
	sb_buf_puts(out, "  no row: ");
	for (size_t i = 0; i < p->unplaced_count; i++) {
		sb_buf_puts(out, i ? ", " : "");
		sb_text_name(out, p->unplaced[i], 44);
	}
	sb_buf_puts(out, ", which moved between host and GPU: this recording does not say where to\n");
}

static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_residency_panel *p = &model->residency;
	bool any = false;

	for (size_t i = 0; i < p->count; i++) {
		if (strcmp(p->all[i].at, "peak"))
			continue;
		if (!any) {
			sb_text_heading(out, options, "Residency");
			put_head(p, out);
		}
		any = true;
		put_row(&p->all[i], out);
	}
	if (any && p->unplaced_count)
		put_unplaced(p, out);
}

const struct sb_panel sb_panel_residency = { "residency", text };
