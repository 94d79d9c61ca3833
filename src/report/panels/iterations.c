/* iterations: how regular the loops are. */
#include "report/panels/stages.h"

#include <stdio.h>

static void cell(struct sb_buf *out, double seconds)
{
	char text[32];

	sb_text_seconds(text, sizeof text, seconds);
	sb_buf_printf(out, " %9s", isfinite(seconds) ? text : "-");
}

/* "warm-up: the first took 556 ms; the others 375 ms each on average"; of steps, how many are warm as every panel counts them. */
static void warm_remark(const struct sb_iterations *it, struct sb_buf *out)
{
	bool some = it->steps_warm && it->warm.count < it->all.count;
	char a[32], b[32];

	if (!it->warmup_count && !some)
		return;
	sb_text_seconds(a, sizeof a, it->warmup_s);
	sb_text_seconds(b, sizeof b, it->warm.mean);
	sb_buf_puts(out, "    ");
	if (it->warmup_count)
		sb_buf_puts(out, "warm-up: the first ");
	if (it->warmup_count > 1)
		sb_buf_printf(out, "%lld ", (long long)it->warmup_count);
	if (it->warmup_count)
		sb_buf_printf(out, "took %s; ", a);
	if (some)
		sb_buf_printf(out, "%lld %s warm: %s each on average\n", (long long)it->warm.count,
			it->warm.count == 1 ? "is" : "are", b);
	else
		sb_buf_printf(out, "the others %s each on average\n", b);
}

static void remarks(const struct sb_iterations *it, struct sb_buf *out)
{
	char a[32], b[32];

	if (it->fps > 0)
		sb_buf_printf(out, "    %.2f frames/s\n", it->fps);

	warm_remark(it, out);
	if (it->marked_warmup_count)
		sb_buf_printf(out, "    %lld more in the warm-up %s not counted\n",
			(long long)it->marked_warmup_count, it->marked_warmup_count == 1 ? "is" : "are");
	if (it->outlier_count) {
		sb_text_seconds(a, sizeof a, it->outliers[0].duration_s);
		sb_text_seconds(b, sizeof b, it->outliers[0].peer_s);
		sb_buf_printf(out, "    %lld slower than %s peers; slowest: number %lld, %s, its peers %s\n",
			(long long)it->outlier_count, it->outlier_count == 1 ? "its" : "their",
			(long long)it->outliers[0].index + 1, a, b);
	}
}

static void text(const struct sb_model *m, const struct sb_text_options *o, struct sb_buf *out)
{
	size_t width = o->columns >= 100 ? 30 : 15;
	char count[32];

	if (!m->iterations.count)
		return;
	sb_buf_putc(out, '\n');
	sb_text_colour(out, o, "1");
	sb_buf_printf(out, "%-*s%7s %9s %9s %9s %9s %9s %7s", (int)width, "Iterations", "count", "mean",
		"median", "std", "min", "max", "it/s");
	sb_text_colour(out, o, "");
	sb_buf_putc(out, '\n');
	for (size_t i = 0; i < m->iterations.count; i++) {
		const struct sb_iterations *it = &m->iterations.all[i];
		size_t used = 2;

		sb_buf_puts(out, "  ");
		for (used += sb_text_name(out, it->name, width - 3); used < width; used++)
			sb_buf_putc(out, ' ');
		sb_text_count(count, sizeof count, (double)it->all.count);
		sb_buf_printf(out, "%7s", count);
		cell(out, it->all.mean);
		cell(out, it->all.p50);
		cell(out, it->all.std);
		cell(out, it->all.min);
		cell(out, it->all.max);
		if (isfinite(it->per_second) && it->per_second < 100) {
			sb_buf_printf(out, " %7.2f", it->per_second);
		} else if (isfinite(it->per_second)) {
			char rate[24];

			sb_text_count(rate, sizeof rate, it->per_second);
			sb_buf_printf(out, " %7s", rate);
		}
		sb_buf_putc(out, '\n');
		remarks(it, out);
	}
	sb_buf_puts(out, "  (std: of a sample, n - 1; it/s: without the warm-up)\n");
}

const struct sb_panel sb_panel_iterations = { "iterations", text };
