/* Whether a size fits, as text and JSON: what is predicted, how well that is known, the limit, the largest. */
#include "report/fit.h"

#include "report/label.h"
#include "stats/seconds.h"

#include <stdio.h>
#include <string.h>

#define STAGES_SHOWN 3
#define EXPLAINS 0.9 /* of the peak: less is not the limit */
#define NOTICED 0.01 /* of the time: a first generation that takes less than this more takes no longer */
#define ROUNDING 0.0005

static const char *bytes_text(double bytes, char *out, size_t size)
{
	sb_metric_text(SB_METRIC_GPU_MEMORY_PEAK, bytes, out, size);
	return out;
}

static void put_sizes(const struct sb_fit *f, struct sb_buf *out)
{
	sb_buf_puts(out, " ");
	for (size_t i = 0; i < f->axis_count; i++) {
		const struct sb_fit_axis *a = &f->axes[i];

		sb_buf_printf(out, " %s %.6g%s", a->key, a->value, a->asked ? "" : " (as in the run)");
		sb_buf_puts(out, i + 1 < f->axis_count ? "," : "\n");
	}
}

static const char *times_text(double ratio, char *out, size_t size)
{
	snprintf(out, size, ratio < 10 ? "%.2g" : "%.0f", ratio);
	return out;
}

static bool is_far(const struct sb_fit *f)
{
	return f->extrapolates_ratio > SB_FIT_FARTHEST;
}

static void put_error(const struct sb_fit *f, const struct sb_fit_value *v, struct sb_buf *out)
{
	char times[32];

	if (isnan(v->error_ratio))
		sb_buf_puts(out, ": measured at this size\n");
	else if (is_far(f))
		sb_buf_printf(out,
			"\n    how far off is not known: this is %s times the largest size that was measured "
			"(among those: "
			"%.1f %%)\n",
			times_text(f->extrapolates_ratio, times, sizeof times),
			fmax(0.1, 100 * v->error_ratio));
	else if (v->worst_ratio < ROUNDING)
		sb_buf_puts(out, "; each size predicted from the others is right to 0.05 %\n");
	else
		sb_buf_printf(out,
			"; each size predicted from the others is off by %.1f %%, at worst %.1f %%\n",
			100 * v->error_ratio, 100 * v->worst_ratio);
}

static void put_verdict(const struct sb_fit *f, struct sb_buf *out)
{
	static const char *const words[] = { [SB_FIT_FITS] = "it fits",
		[SB_FIT_TIGHT] = "it may not fit: the error decides",
		[SB_FIT_TOO_LARGE] = "it does not fit" };
	char all[32], context[32];

	if (f->ran_out)
		sb_buf_printf(
			out, "    it does not fit: a size no larger ran out of memory in %s\n", f->ran_out);
	if (!f->ran_out && !strcmp(f->memory_of, "host") && isnan(f->capacity_bytes) && f->capacity_of)
		sb_buf_printf(out,
			"    whether it fits %s is not known: these runs used no GPU, and this is the host's "
			"memory\n",
			f->capacity_of);
	if (f->ran_out || f->verdict == SB_FIT_UNKNOWN)
		return;
	sb_buf_printf(out, "    %s: %s has %s",
		is_far(f) && f->verdict == SB_FIT_TIGHT ? "it may not fit: too far to tell"
							: words[f->verdict],
		f->capacity_of, bytes_text(f->capacity_bytes, all, sizeof all));
	if (f->context_bytes > 0)
		sb_buf_printf(out, ", of which CUDA's context and libraries take %s",
			bytes_text(f->context_bytes, context, sizeof context));
	sb_buf_putc(out, '\n');
}

static void put_limit(const struct sb_fit *f, struct sb_buf *out)
{
	char text[32];
	size_t shown = 0;

	for (size_t i = 0; i < f->stage_count && shown < STAGES_SHOWN; i++) {
		if (isnan(f->stages[i].memory_bytes) ||
			f->stages[0].memory_bytes < EXPLAINS * f->memory.predicted)
			break; /* not known, or the peak was in a stage too short to be read */
		sb_label_printf(out, "%s%s %s", shown ? ", " : "    the limit is ", f->stages[i].stage,
			bytes_text(f->stages[i].memory_bytes, text, sizeof text));
		shown++;
	}
	if (shown)
		sb_buf_putc(out, '\n');
}

static void put_memory(const struct sb_fit *f, struct sb_buf *out)
{
	char y[32], low[32], high[32];

	if (isnan(f->memory.predicted)) {
		if (f->ran_out)
			put_verdict(f, out);
		return;
	}
	sb_buf_printf(out, "  peak memory %s", bytes_text(f->memory.predicted, y, sizeof y));
	if (strcmp(f->memory_of, "host") == 0)
		sb_buf_puts(out, " of the host");
	if (!isnan(f->memory.error_ratio))
		sb_buf_printf(out, ", between %s and %s", bytes_text(f->memory.low, low, sizeof low),
			bytes_text(f->memory.high, high, sizeof high));
	put_error(f, &f->memory, out);
	put_verdict(f, out);
	put_limit(f, out);
}

static void put_first(const struct sb_fit *f, struct sb_buf *out)
{
	char extra[32], low[32], high[32];

	if (!strcmp(f->time_of, "first"))
		sb_buf_puts(out, "    no later one is known: those take less\n");
	if (isnan(f->first.extra_s))
		return;
	if (f->first.high_s < NOTICED * f->time.predicted) {
		sb_buf_puts(out, "    the first generation in a process takes no longer\n");
		return;
	}
	sb_text_seconds(extra, sizeof extra, f->first.extra_s);
	sb_text_seconds(low, sizeof low, f->first.low_s);
	sb_text_seconds(high, sizeof high, f->first.high_s);
	sb_buf_printf(out, "    the first generation in a process takes about %s more", extra);
	if (f->first.count > 1)
		sb_buf_printf(out, ": %s to %s at %lld sizes", low, high, (long long)f->first.count);
	sb_buf_putc(out, '\n');
}

static void put_time(const struct sb_fit *f, struct sb_buf *out)
{
	char y[32], low[32], high[32];

	if (isnan(f->time.predicted))
		return;
	sb_text_seconds(y, sizeof y, f->time.predicted);
	sb_text_seconds(low, sizeof low, f->time.low);
	sb_text_seconds(high, sizeof high, f->time.high);
	sb_buf_printf(out, "  time %s%s", y,
		strcmp(f->time_of, "first") ? "" : " of the first generation in a process");
	if (!isnan(f->time.error_ratio))
		sb_buf_printf(out, ", between %s and %s", low, high);
	put_error(f, &f->time, out);
	put_first(f, out);
}

static void put_largest(const struct sb_fit *f, struct sb_buf *out)
{
	if (!f->largest_count)
		return;
	sb_buf_printf(out, "  the largest that fits %s, each with the rest as above\n",
		strcmp(f->capacity_of, "this machine") ? f->capacity_of : "here");
	for (size_t i = 0; i < f->largest_count; i++) {
		const struct sb_fit_largest *l = &f->largest[i];

		sb_buf_printf(out, "    %-15s %s%.6g", l->key, l->open ? "at least " : "", l->value);
		if (!isnan(l->other_value))
			sb_buf_printf(out, " x %.6g", l->other_value);
		sb_buf_putc(out, '\n');
	}
}

void sb_fit_text(const struct sb_fit *f, struct sb_buf *out)
{
	char times[32];

	sb_label_printf(out, "%s on %s, from %lld size%s in %lld run%s\n", f->model, f->device,
		(long long)f->size_count, f->size_count == 1 ? "" : "s", (long long)f->run_count,
		f->run_count == 1 ? "" : "s");
	if (f->other_count)
		sb_label_printf(out, "  left out: %lld run%s of another model, device or host (%s%s)\n",
			(long long)f->other_count, f->other_count == 1 ? "" : "s", f->other_model,
			f->other_count == 1 ? "" : ", ...");
	if (f->summed_count)
		sb_label_printf(out,
			"  left out: %lld size%s of several videos, remembered by a strobe that added their "
			"frames up\n",
			(long long)f->summed_count, f->summed_count == 1 ? "" : "s");
	put_sizes(f, out);
	put_memory(f, out);
	put_time(f, out);
	put_largest(f, out);
	if (f->more_count)
		sb_buf_printf(out, "  too few to predict: run %lld more size%s %s\n",
			(long long)f->more_count, f->more_count == 1 ? "" : "s", f->more);
	else if (!isnan(f->extrapolates_ratio))
		sb_buf_printf(out, "  this extrapolates: %s times the largest that was measured\n",
			times_text(f->extrapolates_ratio, times, sizeof times));
}

void sb_fit_json(const struct sb_fit *f, struct sb_buf *out)
{
	struct sb_json j;

	sb_json_init(&j, out, true);
	sb_fields_write(&sb_fit_fields, f, NULL, &j);
	sb_buf_putc(out, '\n');
}
