/* Fits facts into lines of the screen's width. */
#include "top_lines.h"

#include "report/panels/panel.h"
#include "base/room.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t top_columns_of(const char *text)
{
	size_t columns = 0;

	for (; *text; text++)
		columns += ((unsigned char)*text & 0xc0) != 0x80;
	return columns;
}

/* ---- facts ------------------------------------------------------------------------ */

void top_fact(struct top_facts *f, const char *format, ...)
{
	va_list args;

	if (f->count == TOP_FACTS_MAX)
		return;
	va_start(args, format);
	vsnprintf(f->text[f->count++], sizeof f->text[0], format, args);
	va_end(args);
}

size_t top_facts_columns(const struct top_facts *f, size_t count, size_t gap)
{
	size_t columns = 0;

	for (size_t i = 0; i < count; i++)
		columns += top_columns_of(f->text[i]) + (i ? gap : 0);
	return columns;
}

size_t top_facts_fitting(const struct top_facts *f, size_t columns, size_t gap)
{
	size_t count = f->count;

	while (count && top_facts_columns(f, count, gap) > columns)
		count--;
	return count;
}

void top_facts_lines(struct top_view *v, enum top_style style, const struct top_facts *f)
{
	struct top_facts rest = *f;

	while (rest.count) {
		size_t fit = top_facts_fitting(&rest, (size_t)v->columns, 3);

		fit = fit ? fit : 1;
		top_line_begin(v, style);
		for (size_t i = 0; i < fit; i++)
			sb_buf_printf(&v->text, "%s%s", i ? "   " : "", rest.text[i]);
		top_line_end(v);
		rest.count -= fit;
		memmove(rest.text, rest.text + fit, rest.count * sizeof rest.text[0]);
	}
}

/* ---- lines ------------------------------------------------------------------------ */

void top_line_begin(struct top_view *v, enum top_style style)
{
	if (!SB_MAKE_ROOM(v->lines, v->line_count, v->line_capacity))
		return;
	v->lines[v->line_count++] = (struct top_line){ style, v->text.size, 0 };
}

void top_line_end(struct top_view *v)
{
	struct top_line *l = v->line_count ? &v->lines[v->line_count - 1] : NULL;

	if (l && !sb_buf_failed(&v->text)) {
		const char *text = sb_buf_text(&v->text) + l->start;

		if (top_columns_of(text) > (size_t)v->columns) {
			char *copy = strdup(text);

			v->text.size = l->start;
			if (copy)
				sb_text_name(&v->text, copy, (size_t)v->columns);
			free(copy);
		}
		l->size = v->text.size - l->start;
	}
	sb_buf_putc(&v->text, '\n');
}

void top_line(struct top_view *v, enum top_style style, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	top_line_begin(v, style);
	sb_buf_puts(&v->text, text);
	top_line_end(v);
}
