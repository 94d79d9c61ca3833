/* Names in columns. */
#include "report/label.h"

#include "base/json.h"
#include "base/numerals.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODED_LEAST 8 /* columns for the name after a code */

size_t sb_label_character(const char *text, bool *out_harmless)
{
	const unsigned char *u = (const unsigned char *)text;
	size_t n = u[0] < 0x80 ? 1 : u[0] >> 5 == 6 ? 2 : u[0] >> 4 == 14 ? 3 : u[0] >> 3 == 30 ? 4 : 0;

	*out_harmless = false;
	for (size_t i = 1; i < n; i++)
		if (u[i] >> 6 != 2)
			return 1;
	if (!n)
		return 1;
	*out_harmless = !sb_utf8_is_control(text, n);
	return n;
}

void sb_label_add(struct sb_buf *out, const char *text, size_t n, bool harmless)
{
	if (harmless)
		sb_buf_add(out, text, n);
	else
		sb_buf_putc(out, *text == '\n' || *text == '\t' ? ' ' : '?');
}

int sb_label_columns(const char *text)
{
	int columns = 0;
	bool harmless;

	for (; *text; text += sb_label_character(text, &harmless))
		columns++;
	return columns;
}

/* ---- where to cut -------------------------------------------------------- */

static bool is_letter(const char *at)
{
	return (unsigned char)*at >= 0x80 || isalnum((unsigned char)*at);
}

/* Between two words: beside anything but letters and digits; inside of one: before a capital after a small letter. */
static bool is_break(const char *before, const char *after, bool inside)
{
	if (!is_letter(before) || !is_letter(after))
		return true;
	return inside && islower((unsigned char)*before) && isupper((unsigned char)*after);
}

/* The columns up to the first break from a column on; all of them: there is none. */
static size_t first_break(const char *text, size_t from, bool inside)
{
	const char *before = text;
	size_t at = 0;
	bool harmless;

	for (; *text; at++) {
		if (at && at >= from && is_break(before, text, inside))
			return at;
		before = text;
		text += sb_label_character(text, &harmless);
	}
	return at;
}

/* The columns up to the last break that is no further than a column; 0: there is none. */
static size_t last_break(const char *text, size_t most, bool inside)
{
	const char *before = text;
	size_t found = 0;
	bool harmless;

	for (size_t at = 0; *text && at <= most; at++) {
		if (at && is_break(before, text, inside))
			found = at;
		before = text;
		text += sb_label_character(text, &harmless);
	}
	return found;
}

/* False: even the first word does not fit. */
static bool cut(const char *text, size_t room, bool inside, size_t *out_head, size_t *out_tail)
{
	size_t columns = (size_t)sb_label_columns(text), head = last_break(text, room / 2, inside);

	if (!head) /* the first word may take more than half */
		head = first_break(text, 1, inside);
	if (head > room)
		return false;
	*out_tail = columns - first_break(text, columns - (room - head), inside);
	*out_head = last_break(text, room - *out_tail, inside);
	return true;
}

/* Of all ways to cut between words the one that keeps the most: a long last word may need more than its half. */
static void keep_most(const char *text, size_t room, size_t *head, size_t *tail)
{
	size_t columns = (size_t)sb_label_columns(text);

	for (size_t at = first_break(text, 1, false); at <= room; at = first_break(text, at + 1, false)) {
		size_t rest = columns - first_break(text, columns - (room - at), false);

		if (at + rest >= *head + *tail) {
			*head = at;
			*tail = rest;
		}
	}
}

static void cut_name(const char *text, size_t width, size_t *out_head, size_t *out_tail)
{
	size_t room = width ? width - 1 : 0, half = room / 2;

	/* "BrushNet" is one word; a name that is a single one is cut before a capital letter */
	if (cut(text, room, false, out_head, out_tail)) {
		if (*out_head + *out_tail + 4 < room)
			keep_most(text, room, out_head, out_tail);
		return;
	}
	if (cut(text, room, true, out_head, out_tail))
		return;
	*out_head = half;
	*out_tail = room - half;
}

/* The columns of "    [4f.2] " before a name; 0: it has no code. */
static size_t code_columns(const char *text)
{
	static const char code[] = "0123456789.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t blank = strspn(text, " ");
	size_t end = text[blank] == '[' ? blank + 1 + strspn(text + blank + 1, code) : 0;

	return end && !strncmp(text + end, "] ", 2) ? end + 2 : 0;
}

void sb_label_cut(const char *text, size_t width, size_t *out_head, size_t *out_tail)
{
	size_t code = code_columns(text);

	cut_name(text, width, out_head, out_tail);
	if (*out_head < code && code + CODED_LEAST <= width) { /* people look for codes: they stay whole */
		cut_name(text + code, width - code, out_head, out_tail);
		*out_head += code;
	}
}

void sb_label_put(struct sb_buf *out, const char *text, int width)
{
	int columns = sb_label_columns(text), left = columns, used = 0;
	bool harmless;

	if (columns > width) {
		left = (int)last_break(text, (size_t)width - 1, false);
		left = left ? left : (int)last_break(text, (size_t)width - 1, true);
		left = left ? left : width - 1;
	}
	for (size_t n; *text && used < left; text += n, used++) {
		n = sb_label_character(text, &harmless);
		sb_label_add(out, text, n, harmless);
	}
	if (columns > width)
		sb_buf_puts(out, "…");
	used += columns > width;
	sb_buf_printf(out, "%*s", width > used ? width - used : 0, "");
}

void sb_label_printf(struct sb_buf *out, const char *format, ...)
{
	locale_t before = sb_numerals_enter();
	size_t length = strlen(format), n;
	bool ends_line = length && format[length - 1] == '\n', harmless;
	char *text = NULL;
	va_list args;
	int size;

	va_start(args, format);
	size = vasprintf(&text, format, args);
	va_end(args);
	sb_numerals_leave(before);
	if (size < 0) {
		out->failed = true;
		return;
	}
	if (ends_line)
		text[size - 1] = 0;
	for (const char *at = text; *at; at += n) {
		n = sb_label_character(at, &harmless);
		sb_label_add(out, at, n, harmless);
	}
	if (ends_line)
		sb_buf_putc(out, '\n');
	free(text);
}
