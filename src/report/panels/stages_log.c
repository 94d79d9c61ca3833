/* The stage log: a line per stage with a code, in the order of the codes. */
#include "report/panels/stages.h"

#include "report/label.h"
#include <ctype.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "4f.2" < "4f.10" < "4g": runs of digits count as numbers. */
static int compare_codes(const char *a, const char *b)
{
	while (*a && *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			char *end_a, *end_b;
			unsigned long x = strtoul(a, &end_a, 10), y = strtoul(b, &end_b, 10);

			if (x != y)
				return x < y ? -1 : 1;
			a = end_a;
			b = end_b;
			continue;
		}
		if (*a != *b)
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		a++;
		b++;
	}
	return *a ? 1 : *b ? -1 : 0;
}

/* "(1320 frames, batch=4)" with a space before it, or nothing. */
static void remarks(const struct sb_stage *s, struct sb_buf *out)
{
	static const char *const plain[] = { "frames", "steps", "iters", "tiles", "tokens" };
	int remarks = 0;

	for (size_t i = 0; i < s->attr_count && remarks < 4; i++) {
		const struct sb_stage_attr *a = &s->attrs[i];
		bool is_plain = false;

		for (size_t k = 0; k < sizeof plain / sizeof plain[0]; k++)
			is_plain |= !strcmp(a->key, plain[k]);
		if (!strcmp(a->key, "untimed") || !strcmp(a->key, "index") ||
			(a->text && strlen(a->text) > 40))
			continue;
		if (!is_plain && !a->text && a->min != a->max)
			continue;
		sb_buf_puts(out, remarks++ ? ", " : " (");
		if (a->text) {
			sb_label_printf(out, "%s=", a->key);
			sb_text_name(out, a->text, 40);
		} else if (is_plain) {
			sb_label_printf(out, "%.10g %s",
				a->min == a->max && !strcmp(a->key, "iters") ? a->last : a->sum, a->key);
		} else {
			sb_label_printf(out, "%s=%.10g", a->key, a->last);
		}
	}
	if (remarks)
		sb_buf_putc(out, ')');
}

/* Anywhere below it: a group without a code may stand between. */
static bool has_coded_child(const struct sb_stages_panel *s, size_t parent)
{
	for (size_t i = parent + 1; i < s->stage_count && s->stages[i].depth > s->stages[parent].depth; i++)
		if (s->stages[i].code)
			return true;
	return false;
}

/* Seconds as pipelines log them, "16.47s"; below a tenth with two digits that say something, "0.000035s",
 * of those that an imported time has (digit_s). */
static void log_seconds(double seconds, double digit_s, struct sb_buf *out)
{
	char text[32];
	int digits = 2, used;

	for (double s = seconds; s > 0 && s < 0.0995 && digits < 9 && !(pow(10, -digits) <= digit_s * 1.5);
		s *= 10)
		digits++;
	used = snprintf(text, sizeof text, "%.*f", digits, seconds);
	for (; digits > 2 && text[used - 1] == '0'; digits--)
		text[--used] = 0;
	sb_buf_printf(out, "%ss", text);
}

static void log_line(const struct sb_stages_panel *s, const struct sb_text_options *o, size_t i,
	unsigned indent, bool total, struct sb_buf *out)
{
	const struct sb_stage *row = &s->stages[i];

	sb_buf_printf(out, "%*s", (int)indent, "");
	if (row->bottleneck)
		sb_text_colour(out, o, "33");
	if (row->code)
		sb_label_printf(out, "[%s] ", row->code);
	sb_text_name(out, row->name, 90);
	remarks(row, out);
	if (row->state == SB_STAGE_SKIPPED) {
		sb_buf_puts(out, ": SKIPPED (");
		sb_text_name(out, row->skip_reason ? row->skip_reason : "", 200);
		sb_buf_putc(out, ')');
	} else if (row->state == SB_STAGE_UNTIMED) {
		sb_buf_puts(out, ": untimed");
	} else {
		sb_buf_printf(out, "%s: ", total ? row->code ? " TOTAL" : " total" : "");
		log_seconds(row->total_s, row->digit_s, out);
	}
	if (row->state == SB_STAGE_OPEN)
		sb_buf_puts(out, " (still open)");
	else if (row->cut_count)
		sb_buf_puts(out, " (cut)");
	sb_buf_puts(out, sb_stage_mark(s, row));
	if (row->bottleneck)
		sb_text_colour(out, o, "");
	sb_buf_putc(out, '\n');
}

struct log {
	const struct sb_stages_panel *stages;
	const struct sb_text_options *options;
	struct sb_buf *out;
	double digit_s; /* of imported times; NAN: measured */
	const char **code; /* a stage's own, else the first below it; NULL: none */
	uint32_t *order; /* children of the parents on the way down, sorted */
};

static int by_code(const void *a, const void *b, void *log)
{
	const struct log *l = log;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct sb_stage *x = &l->stages->stages[i], *y = &l->stages->stages[k];
	int order = compare_codes(l->code[i], l->code[k]);

	if (order)
		return order;
	if (x->first_s != y->first_s)
		return x->first_s < y->first_s ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void find_codes(struct log *l)
{
	const struct sb_stages_panel *s = l->stages;

	for (size_t i = s->stage_count; i-- > 0;) {
		int64_t parent = s->stages[i].parent;

		if (s->stages[i].code)
			l->code[i] = s->stages[i].code;
		if (parent >= 0 && l->code[i] &&
			(!l->code[parent] || compare_codes(l->code[i], l->code[parent]) < 0))
			l->code[parent] = l->code[i];
	}
}

/* Unattributed time that shows in the digits of its total. */
static bool worth_a_line(const struct sb_stage *s)
{
	return isfinite(s->unattributed_s) && s->unattributed_s > 0 &&
	       (s->unattributed_s >= 0.005 || s->unattributed_s >= s->total_s / 100);
}

/* The coded children of a parent (-1: top level), then their totals. */
static void write_level(struct log *l, int64_t parent, size_t used, unsigned indent, unsigned depth)
{
	const struct sb_stages_panel *s = l->stages;
	size_t count = 0;

	for (size_t i = parent < 0 ? 0 : (size_t)parent + 1; i < s->stage_count; i++) {
		if (parent >= 0 && s->stages[i].depth <= s->stages[parent].depth)
			break;
		if (s->stages[i].parent == parent && l->code[i])
			l->order[used + count++] = (uint32_t)i;
	}
	qsort_r(l->order + used, count, sizeof *l->order, by_code, l);
	for (size_t k = 0; k < count; k++) {
		size_t i = l->order[used + k];
		bool total = has_coded_child(s, i) || !s->stages[i].code;

		unsigned inside = s->stages[i].code ? indent + 2
						    : indent; /* a total without a code closes its level */

		if (total && depth < 40)
			write_level(l, (int64_t)i, used + count, inside, depth + 1);
		if (total && worth_a_line(&s->stages[i])) {
			sb_buf_printf(l->out, "%*sunattributed: ", (int)inside, "");
			log_seconds(s->stages[i].unattributed_s, l->digit_s, l->out);
			sb_buf_putc(l->out, '\n');
		}
		log_line(s, l->options, i, s->stages[i].code ? indent : indent - 2, total, l->out);
	}
}

void sb_stages_log(const struct sb_model *m, const struct sb_text_options *o, struct sb_buf *out)
{
	const struct sb_stages_panel *s = &m->stages;
	struct log l = { .stages = s, .options = o, .out = out, .digit_s = m->session.digit_s };
	bool any = false;

	l.code = calloc(s->stage_count + 1, sizeof *l.code);
	l.order = calloc(s->stage_count + 1, sizeof *l.order);
	if (!l.code || !l.order)
		out->failed = true;
	if (!out->failed)
		find_codes(&l);
	for (size_t i = 0; !out->failed && i < s->stage_count; i++)
		any |= l.code[i] != NULL;
	if (any) {
		sb_text_heading(out, o, "Stages by code");
		write_level(&l, -1, 0, 2, 0);
		sb_buf_puts(out, "TOTAL TIME: ");
		log_seconds(s->wall_s, l.digit_s, out);
		if (s->wall_s >= 60)
			sb_buf_printf(out, " (%.1f min)", s->wall_s / 60);
		sb_buf_putc(out, '\n');
	}
	free(l.code);
	free(l.order);
}
