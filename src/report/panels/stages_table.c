/* The timing table. */
#include "report/panels/stages.h"
#include "report/label.h"
#include "report/panels/stages_imports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At least so wide; a column with more in it is wider. */
enum { COUNT_WIDTH = 7, TOTAL_WIDTH = 10, TIME_WIDTH = 7, SHARE_WIDTH = 7 };
enum { NAME_LEAST = 24, NAME_NARROW = 8, NAME_MOST = 60 };

/* Three significant digits; of a printed time as many as it had. */
static void brief_time(char *out, size_t size, double s, double digit_s)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "us" }, { 1e-9, "ns" } };
	size_t i = 0;
	double v;

	if (!isfinite(s) || s == 0) {
		snprintf(out, size, s == 0 ? "0s" : "-");
		return;
	}
	if (sb_printed_decimals(s, digit_s) >= 0) {
		snprintf(out, size, "%.*fs", sb_printed_decimals(s, digit_s), s);
		return;
	}
	while (i < 3 && s < units[i].unit * 0.9995)
		i++;
	v = s / units[i].unit;
	snprintf(out, size,
		i == 3 || v >= 99.95 ? "%.0f%s"
		: v >= 9.995         ? "%.1f%s"
				     : "%.2f%s",
		v, units[i].name);
}

static double total_of(const struct sb_stage *s)
{
	return s->total_s;
}

static double self_of(const struct sb_stage *s)
{
	return s->self_s;
}

static double count_of(const struct sb_stage *s)
{
	return (double)s->count;
}

static double mean_of(const struct sb_stage *s)
{
	return s->time.mean;
}

static double min_of(const struct sb_stage *s)
{
	return s->time.min;
}

static double max_of(const struct sb_stage *s)
{
	return s->time.max;
}

static double p50_of(const struct sb_stage *s)
{
	return s->time.p50;
}

static double p95_of(const struct sb_stage *s)
{
	return s->time.p95;
}

static double p99_of(const struct sb_stage *s)
{
	return s->time.p99;
}

static double last_of(const struct sb_stage *s)
{
	return s->time.last;
}

static double gpu_of(const struct sb_stage *s)
{
	return isfinite(s->gpu_busy_s) ? s->gpu_busy_s : s->gpu_span_s;
}

static const struct column {
	const char *title;
	double (*value)(const struct sb_stage *);
	int leaves; /* which are left out first: 1 on 80 columns, the next where the numbers are long */
} columns[] = {
	{ "Mean", mean_of, 5 },
	{ "Min", min_of, 1 },
	{ "Max", max_of, 4 },
	{ "p50", p50_of, 3 },
	{ "p95", p95_of, 2 },
	{ "p99", p99_of, 1 },
	{ "last", last_of, 1 },
};
enum { COLUMNS = sizeof columns / sizeof columns[0], LEAVES_LAST = 5 };

struct widths {
	int name, count, total, share;
	int time[COLUMNS]; /* 0: left out */
};

static const struct {
	const char *name;
	double (*value)(const struct sb_stage *);
} sorts[] = { { "total", total_of }, { "self", self_of }, { "mean", mean_of }, { "count", count_of },
	{ "min", min_of }, { "max", max_of }, { "p50", p50_of }, { "p95", p95_of }, { "p99", p99_of },
	{ "last", last_of }, { "gpu", gpu_of } };

struct order {
	double (*value)(const struct sb_stage *); /* NULL: by name */
};

static int compare(const void *a, const void *b, void *order)
{
	const struct order *o = order;
	const struct sb_stage *x = *(const struct sb_stage *const *)a;
	const struct sb_stage *y = *(const struct sb_stage *const *)b;
	double vx = o->value ? o->value(x) : 0, vy = o->value ? o->value(y) : 0;
	int names = strcmp(x->name, y->name);

	vx = isnan(vx) ? -1 : vx;
	vy = isnan(vy) ? -1 : vy;
	if (vx != vy)
		return vx > vy ? -1 : 1;
	return names ? names : x < y ? -1 : x > y;
}

bool sb_text_sort_known(const char *sort)
{
	if (!strcmp(sort, "name"))
		return true;
	for (size_t i = 0; i < sizeof sorts / sizeof sorts[0]; i++)
		if (!strcmp(sorts[i].name, sort))
			return true;
	return false;
}

/* Whether two rows read alike when each is written with so many parents. */
static bool same_tail(
	const struct sb_stages_panel *s, const struct sb_stage *a, const struct sb_stage *b, int parents)
{
	for (; parents >= 0; parents--) {
		if (strcmp(a->name, b->name))
			return false;
		if (a->parent < 0 || b->parent < 0)
			return (a->parent < 0) == (b->parent < 0) || !parents;
		a = &s->stages[a->parent];
		b = &s->stages[b->parent];
	}
	return true;
}

/* "aten::…/" before cudaLaunchKernel: what does not fit is taken off the parents, not off the stage's own name. */
static void put_parents(
	const struct sb_stage *const *chain, int parents, const char *own, size_t width, struct sb_buf *name)
{
	size_t used = (size_t)sb_label_columns(own) + 1;
	struct sb_buf all = { 0 };

	for (int i = parents; i > 0; i--)
		sb_buf_printf(&all, "%s%s", chain[i]->name, i > 1 ? "/" : "");
	if (parents && used < width)
		sb_text_name(name, sb_buf_text(&all), width - used);
	if (parents && used < width)
		sb_buf_putc(name, '/');
	sb_buf_done(&all);
}

void sb_stage_path(const struct sb_model *m, const struct sb_stage *s, size_t width, struct sb_buf *name)
{
	const struct sb_stages_panel *all = &m->stages;
	const struct sb_stage *chain[4] = { s };
	int parents = 0;

	for (size_t i = 0; i < all->stage_count && parents < 3; i++)
		while (&all->stages[i] != s && parents < 3 && same_tail(all, s, &all->stages[i], parents))
			parents++;
	for (int i = 1; i <= parents; i++) {
		if (chain[i - 1]->parent < 0)
			parents = i - 1;
		else
			chain[i] = &all->stages[chain[i - 1]->parent];
	}
	if (s->code)
		sb_buf_printf(name, "[%s] ", s->code);
	put_parents(chain, parents, s->name, width - (size_t)sb_label_columns(sb_buf_text(name)), name);
	sb_buf_puts(name, s->name);
}

static void pad(struct sb_buf *out, size_t used, size_t width)
{
	for (; used < width; used++)
		sb_buf_putc(out, ' ');
}

static void write_row(const struct sb_model *m, const struct sb_text_options *o, const struct sb_stage *s,
	const struct widths *w, struct sb_buf *out)
{
	struct sb_buf name = { 0 };
	size_t width = (size_t)w->name;
	char text[32];

	sb_stage_path(m, s, width - 1, &name);
	if (s->bottleneck)
		sb_text_colour(out, o, "33");
	pad(out, sb_stage_name(s, sb_buf_text(&name), width - 1, out), width);
	if (s->bottleneck)
		sb_text_colour(out, o, "");
	sb_buf_done(&name);
	sb_text_count(text, sizeof text, (double)s->count);
	sb_buf_printf(out, "%*s", w->count, text);
	if (s->state == SB_STAGE_SKIPPED || s->state == SB_STAGE_UNTIMED) {
		sb_buf_printf(out, "   %s\n", s->state == SB_STAGE_SKIPPED ? "skipped" : "untimed");
		return;
	}
	sb_text_printed_seconds(text, sizeof text, s->total_s, s->digit_s);
	sb_buf_printf(out, "%*s", w->total, text);
	for (size_t i = 0; i < COLUMNS; i++) {
		if (!w->time[i])
			continue;
		brief_time(text, sizeof text, columns[i].value(s), s->digit_s);
		sb_buf_printf(out, "%*s", w->time[i], text);
	}
	sb_text_share(text, sizeof text, s->wall_ratio, "");
	sb_buf_printf(out, "%*s%s\n", w->share, text, sb_stage_overlaps(s) ? "*" : "");
}

static void write_titles(const struct sb_text_options *o, const struct widths *w, struct sb_buf *out)
{
	sb_text_colour(out, o, "1");
	sb_buf_printf(out, "%-*s%*s%*s", w->name, "Operation", w->count, "Count", w->total, "Total");
	for (size_t i = 0; i < COLUMNS; i++)
		if (w->time[i])
			sb_buf_printf(out, "%*s", w->time[i], columns[i].title);
	sb_buf_printf(out, "%*s", w->share, "share");
	sb_text_colour(out, o, "");
	sb_buf_putc(out, '\n');
}

static bool any_overlaps(const struct sb_stages_panel *s)
{
	for (size_t i = 0; i < s->stage_count; i++)
		if (sb_stage_overlaps(&s->stages[i]))
			return true;
	return false;
}

/* What stands in brackets after a name, where any row has it. */
static void write_remarks(
	const struct sb_stages_panel *s, const struct sb_text_options *o, struct sb_buf *out)
{
	bool folded = false, open = false, cut = false, recursive = false;

	for (size_t i = 0; i < s->stage_count; i++) {
		folded |= s->stages[i].time.percentile_error_ratio > 0;
		open |= s->stages[i].open_count > 0;
		cut |= s->stages[i].cut_count > 0;
		recursive |= s->stages[i].recursive_count > 0;
	}
	if (open)
		sb_text_wrap(out,
			"open: had not ended when the recording did; in Total up to then, not in Count, "
			"Mean, "
			"Min, Max, p50-p99",
			0, sb_text_columns(o));
	if (cut)
		sb_text_wrap(out,
			"cut: began before this part or ended after it; what is inside is in Total, not in "
			"Count, Mean, Min, Max, p50-p99",
			0, sb_text_columns(o));
	if (recursive)
		sb_text_wrap(out,
			"recursive: calls inside a call of the same stage; every column is of the outermost "
			"ones",
			0, sb_text_columns(o));
	if (any_overlaps(s))
		sb_text_wrap(out,
			"*: calls at the same time (tasks, threads, spans), or a duration from before the "
			"run; "
			"Total adds all of it up, share is the wall time in which at least one ran",
			0, sb_text_columns(o));
	if (folded)
		sb_text_wrap(out,
			"Old detail was folded: totals, min and max are exact, p50-p99 within 6.25 %", 0,
			sb_text_columns(o));
}

static struct order order_of(const char *sort)
{
	struct order order = { .value = total_of };

	for (size_t i = 0; sort && i < sizeof sorts / sizeof sorts[0]; i++)
		if (!strcmp(sorts[i].name, sort))
			order.value = sorts[i].value;
	if (sort && !strcmp(sort, "name"))
		order.value = NULL;
	return order;
}

/* Every stage but the imports, and these as one; sorted. Returns how many. */
static size_t take_rows(const struct sb_stages_panel *s, const struct sb_imports *imports, const char *sort,
	const struct sb_stage **rows)
{
	struct order order = order_of(sort);
	size_t count = 0;

	for (size_t i = 0; i < s->stage_count; i++)
		if (!sb_imports_has(imports, i))
			rows[count++] = &s->stages[i];
	if (imports->count)
		rows[count++] = &imports->row;
	qsort_r(rows, count, sizeof *rows, compare, &order);
	return count;
}

/* A line below the rows: its time, and its share where it has one. */
static void write_rest(const struct sb_model *m, const char *name, double seconds, const struct widths *w,
	struct sb_buf *out)
{
	const struct sb_stages_panel *s = &m->stages;
	size_t before = (size_t)w->name + (size_t)w->count;
	char text[32], share[32];
	int times = 0;

	for (size_t i = 0; i < COLUMNS; i++)
		times += w->time[i];

	sb_text_printed_seconds(text, sizeof text, seconds, m->session.digit_s);
	sb_text_share(share, sizeof share, s->wall_s > 0 ? seconds / s->wall_s : 0, "");
	pad(out, sb_text_name(out, name, before - 1), before);
	sb_buf_printf(out, "%*s%*s%*s\n", w->total, text, times, "", w->share, share);
}

/* A blank before it at least; two where the column has to grow. */
static void grow(int *width, const char *text)
{
	int size = (int)strlen(text);

	if (size + 1 > *width)
		*width = size + 2;
}

static void grow_rest(const struct sb_model *m, double seconds, struct widths *w)
{
	char text[32];

	sb_text_printed_seconds(text, sizeof text, seconds, m->session.digit_s);
	if (w->total < (int)strlen(text)) /* no count before it */
		w->total = (int)strlen(text);
}

static void grow_row(const struct sb_stage *s, struct widths *w)
{
	char text[32];

	sb_text_count(text, sizeof text, (double)s->count);
	grow(&w->count, text);
	if (s->state == SB_STAGE_SKIPPED || s->state == SB_STAGE_UNTIMED)
		return;
	sb_text_printed_seconds(text, sizeof text, s->total_s, s->digit_s);
	grow(&w->total, text);
	for (size_t i = 0; i < COLUMNS; i++) {
		brief_time(text, sizeof text, columns[i].value(s), s->digit_s);
		grow(&w->time[i], text);
	}
}

/* What the numbers leave of a line is the name's; columns are left out until that is enough. */
static void fit_name(int line, struct widths *w)
{
	for (int left = 0;; left++) {
		w->name = line - w->count - w->total - w->share;
		for (size_t i = 0; i < COLUMNS; i++) {
			if (columns[i].leaves <= left)
				w->time[i] = 0;
			w->name -= w->time[i];
		}
		if (w->name >= (left ? NAME_NARROW : NAME_LEAST) || left == LEAVES_LAST)
			break;
	}
	w->name = w->name < NAME_NARROW ? NAME_NARROW : w->name > NAME_MOST ? NAME_MOST : w->name;
}

static struct widths widths_of(
	const struct sb_model *m, int line, const struct sb_stage *const *rows, size_t count)
{
	struct widths w = { .count = COUNT_WIDTH, .total = TOTAL_WIDTH, .share = SHARE_WIDTH };

	for (size_t i = 0; i < COLUMNS; i++)
		w.time[i] = TIME_WIDTH;
	for (size_t i = 0; i < count; i++)
		grow_row(rows[i], &w);
	grow_rest(m, m->stages.unattributed_s, &w);
	grow_rest(m, m->stages.wall_s, &w);
	if (sb_stages_overlap(&m->stages))
		grow_rest(m, -m->stages.overlap_s, &w);
	fit_name(line, &w);
	return w;
}

static void write_table(const struct sb_model *m, const struct sb_text_options *o,
	const struct sb_stage *const *rows, size_t count, struct sb_buf *out)
{
	const struct sb_stages_panel *s = &m->stages;
	size_t top = o->top ? o->top : 20;
	struct widths w = widths_of(
		m, (o->columns ? o->columns : 80) - any_overlaps(s), rows, count < top ? count : top);
	char text[32];

	sb_buf_putc(out, '\n');
	write_titles(o, &w, out);
	for (size_t i = 0; i < count && i < top; i++)
		write_row(m, o, rows[i], &w, out);
	if (count > top)
		sb_buf_printf(out, "... and %zu more (--top %zu shows them)\n", count - top, count);
	if (sb_model_one_call(m))
		return;
	write_rest(m, "unattributed", s->unattributed_s, &w, out);
	if (sb_stages_overlap(s))
		write_rest(m, "overlap, top level", -s->overlap_s, &w, out);
	sb_text_printed_seconds(text, sizeof text, s->wall_s, m->session.digit_s);
	sb_buf_printf(out, "%-*s%*s%*s\n", w.name, "wall", w.count, "", w.total, text);
}

void sb_stages_table(const struct sb_model *m, const struct sb_text_options *o, struct sb_buf *out)
{
	const struct sb_stages_panel *s = &m->stages;
	const struct sb_stage **rows = malloc((s->stage_count + 1) * sizeof *rows);
	struct sb_imports imports;
	size_t count;

	if (!rows) {
		out->failed = true;
		return;
	}
	sb_imports_gather(m, &imports);
	count = take_rows(s, &imports, o->sort, rows);
	write_table(m, o, rows, count, out);
	write_remarks(s, o, out);
	sb_imports_done(&imports);
	free(rows);
}
