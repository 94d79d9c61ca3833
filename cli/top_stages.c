/* The table of stages: as many columns as the screen is wide for. */
#include "top_lines.h"

#include "report/panels/panel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES_MAX = 1000, NAME_LEAST = 20, NAME_MOST = 60, BAR_LEAST = 10, BAR_MOST = 40 };

enum field { TOTAL, SHARE, BAR, CALLS, RATE, MEAN, STATE, FIELDS };

struct table {
	const struct sb_stage *rows[STAGES_MAX];
	size_t count;
	int width[FIELDS]; /* with the blank before; 0: left out */
	int name;
};

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

static void collect(struct top_view *v, struct table *t)
{
	const struct sb_stages_panel *stages = &v->whole->stages;

	for (size_t i = 0; i < stages->stage_count && t->count < STAGES_MAX; i++)
		t->rows[t->count++] = &stages->stages[i];
	if (v->sort == TOP_BY_TOTAL)
		return;
	sorting = v;
	qsort(t->rows, t->count, sizeof *t->rows, by_key);
}

static void label_of(const struct top_view *v, const struct sb_stage *s, char *out, size_t size)
{
	int indent = v->sort == TOP_BY_TOTAL ? (int)(2 * (s->depth < 8 ? s->depth : 8)) : 0;

	if (s->code)
		snprintf(out, size, "%*s[%s] %s", indent, "", s->code, s->name);
	else
		snprintf(out, size, "%*s%s", indent, "", s->name);
}

/* ---- layout ----------------------------------------------------------------------- */

static int fields_width(const struct table *t)
{
	int width = 0;

	for (int i = 0; i < FIELDS; i++)
		width += t->width[i];
	return width;
}

/* The bar goes first, then what can be worked out from the rest. */
static void lay_out(const struct top_view *v, struct table *t)
{
	static const int full[FIELDS] = {
		[TOTAL] = 11, [SHARE] = 9, [BAR] = 1 + BAR_LEAST, [CALLS] = 8, [RATE] = 12, [MEAN] = 11
	};
	static const enum field dropped[] = { BAR, MEAN, CALLS, STATE, RATE, SHARE };
	int longest = NAME_LEAST, spare;

	memcpy(t->width, full, sizeof full);
	for (size_t i = 0; i < t->count; i++) {
		char label[160];
		int columns;

		label_of(v, t->rows[i], label, sizeof label);
		columns = (int)top_columns_of(label);
		longest = columns > longest ? columns : longest;
		if (t->rows[i]->state == SB_STAGE_OPEN)
			t->width[STATE] = 8;
	}
	longest = longest > NAME_MOST ? NAME_MOST : longest;
	for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++)
		if (v->columns - fields_width(t) < NAME_LEAST)
			t->width[dropped[i]] = 0;
	spare = v->columns - fields_width(t);
	t->name = spare < longest ? spare : longest;
	spare -= t->name;
	if (t->width[BAR] && spare > 0)
		t->width[BAR] += spare < BAR_MOST - BAR_LEAST ? spare : BAR_MOST - BAR_LEAST;
}

/* ---- rows ------------------------------------------------------------------------- */

static void put_field(struct top_view *v, const struct table *t, enum field field, const char *text)
{
	int pad = t->width[field] - (int)top_columns_of(text);

	if (t->width[field])
		sb_buf_printf(&v->text, "%*s%s", pad > 0 ? pad : 0, "", text);
}

static void put_bar(struct top_view *v, double ratio, int cells)
{
	int full = (int)(fmin(fmax(ratio, 0), 1) * cells + 0.5);

	for (int i = 0; i < cells; i++)
		sb_buf_puts(&v->text, i >= full ? (v->utf8 ? "\xc2\xb7" : ".")
				      : v->utf8 ? "\xe2\x96\x88"
						: "#");
}

static void put_name(struct top_view *v, const struct table *t, const char *label)
{
	size_t used = sb_text_name(&v->text, label, (size_t)t->name);

	sb_buf_printf(&v->text, "%*s", t->name - (int)used, "");
}

static void put_heading(struct top_view *v, const struct table *t)
{
	static const char *const titles[FIELDS] = { [TOTAL] = "total",
		[SHARE] = "share",
		[BAR] = "",
		[CALLS] = "calls",
		[RATE] = "rate",
		[MEAN] = "mean",
		[STATE] = "" };

	top_line_begin(v, TOP_HEADING);
	put_name(v, t, "Stage");
	for (enum field i = TOTAL; i < FIELDS; i++)
		put_field(v, t, i, i == RATE && v->now ? "now" : titles[i]);
	while (v->text.size && v->text.data[v->text.size - 1] == ' ')
		v->text.size--;
	top_line_end(v);
}

static void put_share(struct top_view *v, const struct table *t, double ratio)
{
	char share[32];

	sb_text_share(share, sizeof share, ratio, " ");
	put_field(v, t, SHARE, share);
}

static void put_times(struct top_view *v, const struct table *t, const struct sb_stage *s)
{
	char total[32], mean[32] = "n/a", count[32], rate[32];

	sb_text_seconds(total, sizeof total, s->total_s);
	if (s->count && !isnan(s->time.mean))
		sb_text_seconds(mean, sizeof mean, s->time.mean);
	sb_text_count(count, sizeof count, (double)s->count);
	snprintf(rate, sizeof rate, "%.2f/s", rate_now(v, s));
	put_field(v, t, TOTAL, total);
	put_share(v, t, s->wall_ratio);
	if (t->width[BAR]) {
		sb_buf_putc(&v->text, ' ');
		put_bar(v, s->wall_ratio, t->width[BAR] - 1);
	}
	put_field(v, t, CALLS, count);
	put_field(v, t, RATE, rate);
	put_field(v, t, MEAN, mean);
	if (s->state == SB_STAGE_OPEN)
		put_field(v, t, STATE, "running");
}

static void put_row(struct top_view *v, const struct table *t, const struct sb_stage *s)
{
	char label[160];

	label_of(v, s, label, sizeof label);
	top_line_begin(v, TOP_PLAIN);
	put_name(v, t, label);
	if (s->state == SB_STAGE_SKIPPED)
		sb_buf_printf(&v->text, "    skipped%s%s%s", s->skip_reason ? " (" : "",
			s->skip_reason ? s->skip_reason : "", s->skip_reason ? ")" : "");
	else if (s->state == SB_STAGE_UNTIMED)
		sb_buf_puts(&v->text, "    untimed");
	else
		put_times(v, t, s);
	top_line_end(v);
}

static void put_unattributed(struct top_view *v, const struct table *t)
{
	const struct sb_stages_panel *stages = &v->whole->stages;
	char time[32];

	if (isnan(stages->unattributed_s))
		return;
	sb_text_seconds(time, sizeof time, stages->unattributed_s);
	top_line_begin(v, TOP_DIM);
	put_name(v, t, "unattributed");
	put_field(v, t, TOTAL, time);
	put_share(v, t, stages->wall_s > 0 ? stages->unattributed_s / stages->wall_s : 0);
	top_line_end(v);
}

/* Scrolling ends where the last stage is on the screen. */
static size_t first_row(struct top_view *v, size_t count, size_t room)
{
	size_t most = count > room ? count - room : 0;

	if (v->scroll > (int)most)
		v->scroll = (int)most;
	return (size_t)v->scroll;
}

void top_stages(struct top_view *v)
{
	struct table *t = calloc(1, sizeof *t);
	int rows;
	size_t room;

	if (!t)
		return;
	collect(v, t);
	lay_out(v, t);
	if (v->line_count + 6 < (size_t)v->rows)
		top_line(v, TOP_PLAIN, "%s", "");
	put_heading(v, t);
	rows = v->rows - (int)v->line_count - 2; /* unattributed and the foot */
	room = rows > 0 ? (size_t)rows : 0;
	v->first = first_row(v, t->count, room);
	for (size_t i = v->first; i < t->count && i < v->first + room; i++)
		put_row(v, t, t->rows[i]);
	v->shown = t->count - v->first < room ? t->count - v->first : room;
	v->stage_count = t->count;
	if (!t->count)
		top_line(v, TOP_DIM, "no stages recorded");
	else
		put_unattributed(v, t);
	free(t);
}
