/* The lines of `strobe top`. */
#include "top_view.h"

#include "report/section.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

enum { SPARK_CELLS = 30, STAGES_MAX = 1000 };
#define SPARK_WINDOW_S 60.0

/* ---- lines ------------------------------------------------------------------------ */

static void begin_line(struct top_view *v, enum top_style style)
{
	if (v->line_count == v->line_capacity) {
		size_t capacity = v->line_capacity ? v->line_capacity * 2 : 64;
		struct top_line *larger = realloc(v->lines, capacity * sizeof *larger);

		if (!larger)
			return;
		v->lines = larger;
		v->line_capacity = capacity;
	}
	v->lines[v->line_count++] = (struct top_line){ style, v->text.size, 0 };
}

static void end_line(struct top_view *v)
{
	if (v->line_count)
		v->lines[v->line_count - 1].size = v->text.size - v->lines[v->line_count - 1].start;
	sb_buf_putc(&v->text, '\n');
}

__attribute__((format(printf, 3, 4))) static void line(
	struct top_view *v, enum top_style style, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	begin_line(v, style);
	sb_buf_puts(&v->text, text);
	end_line(v);
}

/* ---- sparklines ------------------------------------------------------------------- */

void top_sparkline(struct sb_buf *out, const double *t_s, const double *values, size_t count, double from_s,
	double to_s, double top_value, int cells, bool utf8)
{
	static const char *const blocks[] = { "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
		"\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88" };
	static const char ascii[] = "_.:-=+*#";
	double cell_s = (to_s - from_s) / cells, last = NAN;
	size_t i = 0;

	while (i < count && t_s[i] < from_s)
		last = values[i++];
	for (int cell = 0; cell < cells; cell++) {
		double end_s = from_s + cell_s * (cell + 1), sum = 0, level;
		int samples = 0;

		for (; i < count && (t_s[i] < end_s || cell == cells - 1); i++)
			if (!isnan(values[i])) {
				sum += values[i];
				samples++;
			}
		if (samples) /* between samples the last value holds */
			last = sum / samples;
		if (isnan(last) || !(top_value > 0)) {
			sb_buf_putc(out, ' ');
			continue;
		}
		level = fmin(fmax(last / top_value, 0), 1) * 7.999;
		if (utf8)
			sb_buf_puts(out, blocks[(int)level]);
		else
			sb_buf_putc(out, ascii[(int)level]);
		if (i >= count && cell + 1 < cells && t_s[count - 1] < from_s + cell_s * (cell - 3))
			last = NAN; /* the samples have ended */
	}
}

static const struct sb_series_column *column(const struct sb_series *s, const char *name)
{
	return s ? sb_series_column_find(s, name) : NULL;
}

static double last_known(const struct sb_series *s, const struct sb_series_column *c)
{
	for (size_t i = c ? s->count : 0; i-- > 0;)
		if (!isnan(c->values[i]))
			return c->values[i];
	return NAN;
}

static double last_of(const struct sb_series *s, const char *name)
{
	return last_known(s, column(s, name));
}

/* Live: the last minute; afterwards the whole run. */
static void put_spark(struct top_view *v, const struct sb_series *s, const double *values, double top_value)
{
	double to_s = v->whole->session.duration_s, from_s = v->now ? fmax(0, to_s - SPARK_WINDOW_S) : 0;

	if (!s || !values || !s->count) {
		sb_buf_printf(&v->text, "%*s", SPARK_CELLS, "");
		return;
	}
	top_sparkline(&v->text, s->t_s, values, s->count, from_s, to_s > from_s ? to_s : from_s + 1,
		top_value, SPARK_CELLS, v->utf8);
}

/* ---- the parts of the screen ------------------------------------------------------- */

static void put_head(struct top_view *v)
{
	const struct sb_session_section *s = &v->whole->session;
	char state[64], time[32];

	if (v->now)
		snprintf(state, sizeof state, "LIVE");
	else if (s->exit_signal > 0)
		snprintf(state, sizeof state, "ended by signal %d", (int)s->exit_signal);
	else if (s->exit_code >= 0)
		snprintf(state, sizeof state, "ended, exit %d", (int)s->exit_code);
	else
		snprintf(state, sizeof state, "%s", s->state ? s->state : "ended");
	sb_text_seconds(time, sizeof time, s->duration_s);
	line(v, TOP_TITLE, "strobe top: %s   %s   %s   pid %lld%s%s", s->name ? s->name : "run", state, time,
		(long long)s->pid, s->host ? " on " : "", s->host ? s->host : "");
}

static void add_fact(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add_fact(char *out, size_t size, const char *format, ...)
{
	size_t used = strlen(out);
	va_list args;

	if (used && used + 3 < size) {
		memcpy(out + used, "   ", 4);
		used += 3;
	}
	va_start(args, format);
	vsnprintf(out + used, size - used, format, args);
	va_end(args);
}

/* Steps, frames and blocks: now, and over the whole run. */
static void put_video(struct top_view *v)
{
	const struct sb_diffusion_section *whole = &v->whole->diffusion;
	const struct sb_summary_section *sum = &v->whole->summary;
	const struct sb_model *now = v->now;
	char text[400] = "", time[32];

	if (now && now->diffusion.steps > 0) {
		sb_text_seconds(time, sizeof time, now->diffusion.step.mean);
		add_fact(text, sizeof text, "now: %.2f steps/s (%s each)",
			(double)now->diffusion.steps / v->window_s, time);
	}
	if (now && now->summary.frames > 0)
		add_fact(text, sizeof text, "%.2f FPS", (double)now->summary.frames / v->window_s);
	if (now && now->summary.blocks > 0)
		add_fact(text, sizeof text, "%.2f BPS", (double)now->summary.blocks / v->window_s);
	if (whole->steps > 0)
		add_fact(text, sizeof text, "%s%lld steps", now ? "run: " : "", (long long)whole->steps);
	if (sum->frames > 0)
		add_fact(text, sizeof text, "%lld frames", (long long)sum->frames);
	if (sum->blocks > 0)
		add_fact(text, sizeof text, "%lld blocks", (long long)sum->blocks);
	if (sum->fps_wall > 0)
		add_fact(text, sizeof text, "%.2f FPS end to end", sum->fps_wall);
	if (sum->bps_wall > 0)
		add_fact(text, sizeof text, "%.2f BPS", sum->bps_wall);
	if (sum->dropped_frames > 0)
		add_fact(text, sizeof text, "%lld frames dropped", (long long)sum->dropped_frames);
	if (*text)
		line(v, TOP_PLAIN, "%s", text);
}

static void put_gpus(struct top_view *v)
{
	bool any = false;

	for (size_t i = 0; i < v->whole->series_count; i++) {
		const struct sb_series *s = &v->whole->series[i];
		const struct sb_series_column *busy = column(s, "utilization_percent"),
					      *used = column(s, "memory_used_mb");
		double total = last_of(s, "memory_total_mb"), value;

		if (strcmp(s->source, "gpu"))
			continue;
		any = true;
		begin_line(v, TOP_PLAIN);
		sb_buf_printf(&v->text, "GPU %-2d ", s->device);
		if (busy)
			put_spark(v, s, busy->values, 100);
		else
			put_spark(v, s, used ? used->values : NULL, total);
		if (!isnan(value = last_known(s, busy)))
			sb_buf_printf(&v->text, " %3.0f %%", value);
		if (used)
			sb_buf_printf(&v->text, "  memory %.0f / %.0f MB, peak %.0f", last_known(s, used),
				total, used->stats.max);
		if (!isnan(value = last_of(s, "temperature_c")))
			sb_buf_printf(&v->text, "  %.0f %sC", value, v->utf8 ? "\xc2\xb0" : "");
		if (!isnan(value = last_of(s, "power_w")))
			sb_buf_printf(&v->text, "  %.0f W", value);
		end_line(v);
	}
	if (!any)
		line(v, TOP_DIM, "GPU    n/a");
}

static void put_cpu(struct top_view *v)
{
	const struct sb_series *s = sb_model_series(v->whole, "cpu", -2);
	const struct sb_series_column *usage = column(s, "usage_percent");
	double own = last_of(s, "process_percent"), load = last_of(s, "load1_count");

	if (!usage)
		return;
	begin_line(v, TOP_PLAIN);
	sb_buf_puts(&v->text, "CPU    ");
	put_spark(v, s, usage->values, 100);
	sb_buf_printf(&v->text, " %3.0f %%", last_known(s, usage));
	if (!isnan(own))
		sb_buf_printf(&v->text, "  program %.0f %% of one core", own);
	if (!isnan(load))
		sb_buf_printf(&v->text, "  load %.2f", load);
	end_line(v);
}

static void put_memory(struct top_view *v)
{
	const struct sb_series *s = sb_model_series(v->whole, "memory", -2),
			       *p = sb_model_series(v->whole, "process", -2);
	const struct sb_series_column *used = column(s, "used_mb"), *rss = column(p, "rss_mb");
	double total = last_of(s, "total_mb"), swap = last_of(s, "swap_used_mb");

	if (!used)
		return;
	begin_line(v, TOP_PLAIN);
	sb_buf_puts(&v->text, "RAM    ");
	put_spark(v, s, used->values, total);
	sb_buf_printf(&v->text, " %3.0f %%  %.0f / %.0f MB, peak %.0f", 100 * last_known(s, used) / total,
		last_known(s, used), total, used->stats.max);
	if (rss)
		sb_buf_printf(&v->text, "  program %.0f, peak %.0f", last_known(p, rss), rss->stats.max);
	if (swap >= 1)
		sb_buf_printf(&v->text, "  swap %.0f", swap);
	end_line(v);
}

/* Running totals to bytes per second. */
static double *rates_of(const struct sb_series *s, const struct sb_series_column *c)
{
	double *rates = c ? calloc(s->count + 1, sizeof *rates) : NULL;

	for (size_t i = 0; rates && i < s->count; i++)
		rates[i] = i && s->t_s[i] > s->t_s[i - 1]
				   ? (c->values[i] - c->values[i - 1]) / (s->t_s[i] - s->t_s[i - 1])
				   : NAN;
	return rates;
}

static void put_disk(struct top_view *v)
{
	const struct sb_series *s = sb_model_series(v->whole, "disk", -2);
	const struct sb_series_column *read = column(s, "read_bytes"), *written = column(s, "write_bytes");
	double *reads = rates_of(s, read), *writes = rates_of(s, written), top_value = 1e6;
	char now[2][32], all[2][32];

	if (reads && writes && s->count) {
		for (size_t i = 0; i < s->count; i++) {
			if (!isnan(reads[i]) && !isnan(writes[i]))
				reads[i] += writes[i];
			top_value = fmax(top_value, reads[i]);
		}
		sb_text_bytes(now[0], sizeof now[0],
			isnan(reads[s->count - 1]) ? 0 : reads[s->count - 1] - writes[s->count - 1]);
		sb_text_bytes(now[1], sizeof now[1], isnan(writes[s->count - 1]) ? 0 : writes[s->count - 1]);
		sb_text_bytes(all[0], sizeof all[0], last_known(s, read));
		sb_text_bytes(all[1], sizeof all[1], last_known(s, written));
		begin_line(v, TOP_PLAIN);
		sb_buf_puts(&v->text, "Disk   ");
		put_spark(v, s, reads, top_value);
		sb_buf_printf(
			&v->text, " read %s/s, write %s/s  so far %s, %s", now[0], now[1], all[0], all[1]);
		end_line(v);
	}
	free(reads);
	free(writes);
}

/* ---- stages ------------------------------------------------------------------------ */

static double rate_now(const struct top_view *v, const struct sb_stage *stage)
{
	const struct sb_stage *now;

	if (!v->now)
		return v->whole->session.duration_s > 0 ? (double)stage->count / v->whole->session.duration_s
							: NAN;
	now = sb_model_stage(v->now, stage->name);
	return now ? (double)now->count / v->window_s : 0;
}

static const struct top_view *sorting;

static double sort_key(const struct sb_stage *s)
{
	return sorting->sort == TOP_BY_SELF   ? s->self_s
	       : sorting->sort == TOP_BY_RATE ? rate_now(sorting, s)
					      : s->total_s;
}

static int by_key(const void *a, const void *b)
{
	double x = sort_key(*(const struct sb_stage *const *)a),
	       y = sort_key(*(const struct sb_stage *const *)b);

	return x < y ? 1 : x > y ? -1 : 0;
}

static void put_bar(struct top_view *v, double ratio, int cells)
{
	int full = (int)(fmin(fmax(ratio, 0), 1) * cells + 0.5);

	for (int i = 0; i < cells; i++)
		sb_buf_puts(&v->text, i >= full ? (v->utf8 ? "\xc2\xb7" : ".")
				      : v->utf8 ? "\xe2\x96\x88"
						: "#");
}

static void put_stage(struct top_view *v, const struct sb_stage *s, int name_columns)
{
	char total[32], mean[32], count[32], label[160];
	size_t used;

	sb_text_seconds(total, sizeof total, s->total_s);
	sb_text_seconds(mean, sizeof mean, s->count ? s->total_s / (double)s->count : 0);
	sb_text_count(count, sizeof count, (double)s->count);
	begin_line(v, TOP_PLAIN);
	if (s->code)
		snprintf(label, sizeof label, "%*s[%s] %s",
			v->sort == TOP_BY_TOTAL ? (int)(2 * (s->depth < 8 ? s->depth : 8)) : 0, "", s->code,
			s->name);
	else
		snprintf(label, sizeof label, "%*s%s",
			v->sort == TOP_BY_TOTAL ? (int)(2 * (s->depth < 8 ? s->depth : 8)) : 0, "", s->name);
	used = sb_text_name(&v->text, label, (size_t)name_columns);
	sb_buf_printf(&v->text, "%*s%10s %6.1f %% ", (int)(name_columns - (int)used) + 1, "", total,
		100 * s->wall_ratio);
	put_bar(v, s->wall_ratio, 10);
	sb_buf_printf(&v->text, " %7s %9.2f/s %10s%s", count, rate_now(v, s), mean,
		s->state == SB_STAGE_OPEN ? " running" : "");
	end_line(v);
}

static void put_stages(struct top_view *v)
{
	const struct sb_stages_section *stages = &v->whole->stages;
	const struct sb_stage *list[STAGES_MAX];
	size_t count = 0, first;
	int name_columns = v->columns - 60, room = v->rows - (int)v->line_count - 3;

	name_columns = name_columns < 20 ? 20 : name_columns > 60 ? 60 : name_columns;
	for (size_t i = 0; i < stages->stage_count && count < STAGES_MAX; i++)
		list[count++] = &stages->stages[i];
	if (v->sort != TOP_BY_TOTAL) {
		sorting = v;
		qsort(list, count, sizeof *list, by_key);
	}
	line(v, TOP_PLAIN, "%s", "");
	line(v, TOP_HEADING, "%-*s %10s %8s %-10s %7s %11s %10s", name_columns, "Stage", "total", "share", "",
		"calls", v->now ? "now" : "rate", "mean");
	first = (size_t)v->scroll < count ? (size_t)v->scroll : count ? count - 1 : 0;
	for (size_t i = first; i < count && room-- > 1; i++)
		put_stage(v, list[i], name_columns);
	if (!count)
		line(v, TOP_DIM, "no stages recorded");
	else if (!isnan(stages->unattributed_s) && room > 0) {
		char time[32];

		sb_text_seconds(time, sizeof time, stages->unattributed_s);
		line(v, TOP_DIM, "%-*s %10s %6.1f %%", name_columns, "unattributed", time,
			stages->wall_s > 0 ? 100 * stages->unattributed_s / stages->wall_s : 0);
	}
}

static void put_foot(struct top_view *v)
{
	const struct sb_recording_section *r = &v->whole->recording;
	static const char *const sorts[] = { "tree", "self time", "rate" };
	char bytes[32];

	sb_text_bytes(bytes, sizeof bytes, r->bytes);
	line(v, r->dropped_count > 0 ? TOP_WARN : TOP_DIM,
		"%lld events dropped, %lld zones, %s   q quit  s sort (%s)  arrows scroll",
		(long long)r->dropped_count, (long long)r->zones, bytes, sorts[v->sort]);
}

void top_view_render(struct top_view *v)
{
	sb_buf_clear(&v->text);
	v->line_count = 0;
	put_head(v);
	put_video(v);
	put_gpus(v);
	put_cpu(v);
	put_memory(v);
	put_disk(v);
	put_stages(v);
	put_foot(v);
}

void top_view_done(struct top_view *v)
{
	sb_buf_done(&v->text);
	free(v->lines);
	v->lines = NULL;
}
