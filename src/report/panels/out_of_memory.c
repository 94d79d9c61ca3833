/* Memory that ran out, or did so until the allocator gave its cache back: what held it. */
#include "report/panels/panel.h"

#include "base/memory_units.h"

static void residents_text(const struct sb_resident *all, size_t count, struct sb_buf *out)
{
	for (size_t i = 0; i < count; i++) {
		sb_buf_printf(out, "  %11.1f MB  ", all[i].bytes / SB_MB);
		sb_text_name(out, all[i].component, 60);
		if (all[i].dtype)
			sb_buf_printf(out, " (%.20s)", all[i].dtype);
		sb_buf_putc(out, '\n');
	}
}

static void retries_text(
	const struct sb_alloc_retries_panel *p, const struct sb_text_options *options, struct sb_buf *out)
{
	if (!p->present)
		return;
	sb_text_heading(out, options, "Allocator retries");
	sb_buf_printf(out, "  no memory until the cache was given back, %lld time%s", (long long)p->count,
		p->count == 1 ? "" : "s");
	if (p->stage) {
		sb_buf_puts(out, ", in ");
		sb_text_name(out, p->stage, 40);
	}
	sb_buf_putc(out, '\n');
	residents_text(p->residents, p->resident_count, out);
}

/* The times before the last one. */
static void times_text(const struct sb_out_of_memory_panel *p, struct sb_buf *out)
{
	for (size_t i = 0; i + 1 < p->time_count; i++) {
		const struct sb_out_of_memory_time *t = &p->times[i];

		sb_buf_printf(out, "  before it, at %.2f s:", t->t_s);
		if (!isnan(t->requested_bytes))
			sb_buf_printf(out, " asked for %.1f MB", t->requested_bytes / SB_MB);
		if (!isnan(t->free_bytes))
			sb_buf_printf(out, "%s %.1f MB free", isnan(t->requested_bytes) ? "" : ",",
				t->free_bytes / SB_MB);
		if (t->stage) {
			sb_buf_puts(out, ", in ");
			sb_text_name(out, t->stage, 40);
		}
		sb_buf_putc(out, '\n');
	}
}

static void ran_out_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_out_of_memory_panel *p = &model->out_of_memory;

	if (!p->present)
		return;
	sb_text_heading(out, options, "Out of memory");
	if (!isnan(p->requested_bytes))
		sb_buf_printf(out, "  asked for %.1f MB, %.1f MB free", p->requested_bytes / SB_MB,
			(isnan(p->free_bytes) ? 0 : p->free_bytes) / SB_MB);
	else
		sb_buf_puts(out, p->killed ? "  killed by the kernel" : "  memory ran out");
	if (p->stage) {
		sb_buf_puts(out, ", in ");
		sb_text_name(out, p->stage, 40);
	}
	if (p->count > 1)
		sb_buf_printf(out, "; the last of %lld times", (long long)p->count);
	sb_buf_putc(out, '\n');
	if (!isnan(p->limit_bytes))
		sb_buf_printf(out, "  the program may take %.1f MB\n", p->limit_bytes / SB_MB);
	if (p->piece_count > 0 && p->fragmented_bytes > 0) {
		sb_buf_printf(out, "  fragmentation: %.1f MB in %lld piece%s", p->fragmented_bytes / SB_MB,
			(long long)p->piece_count, p->piece_count == 1 ? "" : "s");
		if (p->largest_piece_bytes > 0)
			sb_buf_printf(out, ", the largest %.1f MB", p->largest_piece_bytes / SB_MB);
		sb_buf_putc(out, '\n');
	}
	residents_text(p->residents, p->resident_count, out);
	times_text(p, out);
	for (size_t i = 0; i < p->would_fit_count; i++)
		if (p->would_fit[i].fits) {
			sb_buf_puts(out, "  fits without: ");
			sb_text_name(out, p->would_fit[i].free, 60);
			sb_buf_putc(out, '\n');
		}
}

static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	ran_out_text(model, options, out);
	retries_text(&model->alloc_retries, options, out);
}

const struct sb_panel sb_panel_out_of_memory = { "out_of_memory", text };
