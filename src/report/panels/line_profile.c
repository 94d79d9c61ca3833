/* Lines of functions with @profile, as line_profiler prints them. */
#include "report/panels/panel.h"

#include "base/filename.h"

#include <stdio.h>

static void put_line(const struct sb_profiled_line *n, size_t width, struct sb_buf *out)
{
	char total[32], each[32];

	sb_text_seconds(total, sizeof total, n->total_s);
	sb_text_seconds(each, sizeof each, n->hits ? n->total_s / (double)n->hits : NAN);
	sb_buf_printf(out, "  %6lld %9lld %9s %9s %6.1f %%  ", (long long)n->line, (long long)n->hits, total,
		each, 100 * n->ratio);
	if (n->text)
		sb_text_name(out, n->text, width);
	sb_buf_putc(out, '\n');
}

static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_line_profile_panel *panel = &model->line_profile;
	size_t width = options->columns > 88 ? (size_t)options->columns - 50 : 38;

	for (size_t i = 0; i < panel->count; i++) {
		const struct sb_profiled_function *f = &panel->all[i];
		char total[32];

		if (!i)
			sb_text_heading(out, options, "Lines (@profile)");
		sb_text_seconds(total, sizeof total, f->total_s);
		sb_buf_puts(out, "  ");
		sb_text_name(out, f->name, 40);
		sb_buf_printf(out, ", %s", total);
		if (f->file) {
			sb_buf_puts(out, ", ");
			sb_text_name(out, sb_filename_of(f->file), 40);
			sb_buf_printf(out, ":%lld", (long long)f->line);
		}
		if (f->timed_calls < f->calls)
			sb_buf_printf(out, ", the first %lld of %lld calls", (long long)f->timed_calls,
				(long long)f->calls);
		sb_buf_printf(out, "\n  %6s %9s %9s %9s %8s\n", "line", "hits", "time", "per hit", "share");
		for (size_t k = 0; k < f->line_count; k++)
			put_line(&f->lines[k], width, out);
	}
}

const struct sb_panel sb_panel_line_profile = { "line_profile", text };
