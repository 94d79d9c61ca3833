/* Rates and bounds in words. */
#include "report/panels/work_words.h"

#include <string.h>

bool sb_work_is_cold(const char *calls)
{
	return calls && !strcmp(calls, SB_CALLS_COLD);
}

bool sb_work_bound_is_read(const struct sb_stage_work *w)
{
	return !strcmp(w->bound_basis, "counters") || !strcmp(w->bound_basis, "samples");
}

void sb_work_mfu_words(struct sb_buf *out, const struct sb_stage_work *w)
{
	bool little = w->mfu_ratio > 0 && w->mfu_ratio < 0.0005;

	sb_buf_printf(out, "MFU %s%.1f %% of the %s rate", little ? "< " : "",
		little ? 0.1 : w->mfu_ratio * 100, w->precision);
}

void sb_work_bound_words(struct sb_buf *out, const struct sb_stage_work *w, bool said_cold)
{
	const char *basis = !strcmp(w->bound_basis, "samples") ? "sampled"
			    : !strcmp(w->bound_basis, "rate")  ? "by its rate"
			    : !strcmp(w->bound_basis, "trace") ? "by its kernel trace"
			    : !strcmp(w->bound_basis, "zones") ? "weights move for most of its time"
							       : "";
	bool cold = sb_work_is_cold(w->bound_calls) && !said_cold;

	sb_buf_printf(out, "bound by %s", w->bound);
	if (*basis || cold)
		sb_buf_printf(
			out, " (%s%s%s)", basis, *basis && cold ? ", " : "", cold ? "of cold calls" : "");
}
