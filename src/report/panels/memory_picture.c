/* What memory held over time: a line for each layer, as high as what it held. */
#include "report/panels/panel.h"

#include "base/memory_units.h"

#define COLUMNS 24
#define LAYERS_SHOWN 8
#define SEGMENTS_SHOWN 6

/* The highest value of each column; moments are not evenly spaced. */
static void spread(const struct sb_memory_picture *p, const double *mb, double *out)
{
	double first = p->t_s[0], last = p->t_s[p->count - 1];

	for (size_t i = 0; i < COLUMNS; i++)
		out[i] = NAN;
	for (size_t i = 0; i < p->count; i++) {
		size_t at = last > first ? (size_t)((p->t_s[i] - first) / (last - first) * (COLUMNS - 1)) : 0;

		out[at] = fmax(isnan(out[at]) ? 0 : out[at], mb[i]);
	}
	for (size_t i = 1; i < COLUMNS; i++) /* nothing was read: as before */
		out[i] = isnan(out[i]) ? out[i - 1] : out[i];
}

static void put_bars(const double *mb, double most, struct sb_buf *out)
{
	static const char *const bars[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

	for (size_t i = 0; i < COLUMNS; i++)
		sb_buf_puts(out, bars[most > 0 ? (size_t)ceil(fmin(1, mb[i] / most) * 8) : 0]);
}

static void put_layer(
	const struct sb_memory_picture *p, const struct sb_memory_layer *l, double most, struct sb_buf *out)
{
	double columns[COLUMNS];

	spread(p, l->mb, columns);
	sb_buf_printf(out, "  %12.1f  ", l->mb[p->peak]);
	put_bars(columns, most, out);
	sb_buf_puts(out, "  ");
	sb_text_name(out, l->component, l->dtype ? 24 : 36);
	if (l->dtype)
		sb_buf_printf(out, " (%.10s)", l->dtype);
	sb_buf_putc(out, '\n');
}

static void put_picture(const struct sb_memory_picture *p, struct sb_buf *out)
{
	double most = 0;
	size_t left = 0;

	for (size_t i = 0; i < p->layer_count; i++)
		most += p->layers[i].mb[p->peak];
	sb_buf_printf(out, "  %12.1f  ", most);
	if (p->device >= 0)
		sb_buf_printf(out, "GPU %lld", (long long)p->device);
	else
		sb_buf_puts(out, "host");
	sb_buf_printf(out, "%s, highest at %.2f s",
		p->by_line    ? " by line"
		: p->by_stage ? " by stage"
			      : "",
		p->t_s[p->peak]);
	if (*p->stages[p->peak]) {
		sb_buf_puts(out, " in ");
		sb_text_name(out, p->stages[p->peak], 40);
	}
	sb_buf_printf(out, "; from %.1f to %.1f s\n", p->t_s[0], p->t_s[p->count - 1]);
	for (size_t i = p->layer_count; i-- > 0;) { /* the top layer is the upper line */
		if (p->layer_count - i <= LAYERS_SHOWN)
			put_layer(p, &p->layers[i], most, out);
		else
			left++;
	}
	if (left)
		sb_buf_printf(out, "  and %zu more\n", left);
}

/* One that was read back from a report has no stages. */
static bool can_be_shown(const struct sb_memory_picture *p)
{
	return p->count > 1 && p->stages && p->layer_count;
}

/* Each column as full as what lies in it. */
static void put_segment(const struct sb_memory_segment *s, struct sb_buf *out)
{
	double columns[COLUMNS] = { 0 }, at = 0;

	for (size_t i = 0; i < s->part_count; i++) {
		double from = at / s->bytes * COLUMNS, to = (at + s->part_bytes[i]) / s->bytes * COLUMNS;

		for (size_t k = (size_t)from; k < COLUMNS && (double)k < to; k++)
			columns[k] += (fmin(to, (double)k + 1) - fmax(from, (double)k)) * s->used_ratio[i];
		at += s->part_bytes[i];
	}
	sb_buf_printf(out, "  %12.1f  ", s->free_bytes / SB_MB);
	put_bars(columns, 1, out);
	sb_buf_printf(out, "  GPU %lld, %.0f MB, %lld free %s, largest %.0f\n", (long long)s->device,
		s->bytes / SB_MB, (long long)s->free_count, s->free_count == 1 ? "piece" : "pieces",
		s->largest_free_bytes / SB_MB);
}

static void put_segments(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_memory_segments_panel *p = &model->memory_segments;

	if (!p->count)
		return;
	sb_text_heading(out, options, "Fragmentation");
	sb_buf_printf(out, "  %12s  %s\n", "MB free", "between blocks in use, in segments of the allocator");
	for (size_t i = 0; i < p->count && i < SEGMENTS_SHOWN; i++)
		if (p->all[i].bytes > 0)
			put_segment(&p->all[i], out);
	if (p->count > SEGMENTS_SHOWN)
		sb_buf_printf(out, "  and %zu more\n", p->count - SEGMENTS_SHOWN);
}

/* The host's parts only where there is no GPU's, and by stage only what is exact: the page has all. */
static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_memory_pictures_panel *p = &model->memory_pictures;
	size_t shown = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (!can_be_shown(&p->all[i]) || (p->all[i].by_stage && !p->all[i].exact) ||
			(p->all[i].device < 0 && !p->all[i].by_line && shown))
			continue;
		if (!shown++) {
			sb_text_heading(out, options, "Memory over time");
			sb_buf_printf(out, "  %12s  %s\n", "MB", "at the highest moment, and what held it");
		}
		put_picture(&p->all[i], out);
	}
	put_segments(model, options, out);
}

const struct sb_panel sb_panel_memory_picture = { "memory_over_time", text };
