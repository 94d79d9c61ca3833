/* Sampled functions. */
#include "report/panels/panel.h"

static void put_natives(const struct sb_functions_panel *f, struct sb_buf *out)
{
	char took[32];

	for (size_t i = 0; i < f->native_count && i < 5; i++) {
		sb_text_seconds(took, sizeof took, f->natives[i].cpu_s);
		sb_buf_puts(out, i ? ", " : "  CPU time of threads without Python: ");
		sb_text_name(out, f->natives[i].name, 20);
		sb_buf_printf(out, " %s", took);
	}
	if (f->native_count)
		sb_buf_putc(out, '\n');
}

/* "  1520 more of threads that only waited, left out: threading.Condition.wait". */
static void put_waiting(
	const struct sb_functions_panel *f, const struct sb_text_options *options, struct sb_buf *out)
{
	struct sb_buf words = { 0 };

	if (!f->waiting_count)
		return;
	sb_buf_printf(&words,
		"%llu more of threads that only waited, left out: ", (unsigned long long)f->waiting_count);
	for (size_t i = 0; i < f->waiting_listed && i < 3; i++) {
		sb_buf_puts(&words, i ? ", " : "");
		sb_text_name(&words, f->waiting[i].name, 40);
	}
	sb_buf_puts(&words, f->waiting_listed > 3 ? " …" : "");
	sb_text_wrap(out, sb_buf_text(&words), 2, sb_text_columns(options));
	sb_buf_done(&words);
}

/* Of few samples their number: a share would look like a measurement. */
static void put_part(double ratio, uint64_t count, bool shares, struct sb_buf *out)
{
	char share[32];

	sb_text_share(share, sizeof share, ratio, " ");
	if (shares)
		sb_buf_printf(out, " %7s", share);
	else
		sb_buf_printf(out, " %7llu", (unsigned long long)count);
}

static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_functions_panel *f = &model->functions;
	uint64_t counted = f->sample_count - f->waiting_count;
	bool shares = counted >= SB_SHARE_SAMPLES_LEAST;

	if (!f->count)
		return;
	sb_text_heading(out, options, "Functions");
	sb_buf_printf(out, "  %7s %7s  %-34s %s\n", "self", "with", "function (hottest line)", "stage");
	for (size_t i = 0; i < f->count; i++) {
		const struct sb_function *at = &f->all[i];
		struct sb_buf name = { 0 };
		size_t used;

		sb_buf_puts(&name, at->name);
		if (at->line)
			sb_buf_printf(&name, ":%u", at->line);
		sb_buf_putc(out, ' ');
		put_part(at->self_ratio, (uint64_t)at->self_count, shares, out);
		put_part(at->total_ratio, (uint64_t)at->total_count, shares, out);
		sb_buf_puts(out, "  ");
		used = sb_text_name(out, sb_buf_text(&name), 34);
		sb_buf_printf(out, "%*s", (int)(35 - used), "");
		if (at->stage)
			sb_text_name(out, at->stage, 24);
		sb_buf_putc(out, '\n');
		sb_buf_done(&name);
	}
	sb_buf_printf(out, "  %s %llu sampled stack%s%s; with: and what it calls\n",
		shares ? "shares of the time that" : "of", (unsigned long long)counted,
		counted == 1 ? "" : "s", shares ? " stand for" : ", too few for shares");
	put_waiting(f, options, out);
	put_natives(f, out);
}

const struct sb_panel sb_panel_functions = { .name = "functions", .text = text };
