/* The lines of the one-screen summary. */
#include "report/summary_screen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define INDENT 4 /* of what goes on in the next line */

size_t sb_screen_columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

bool sb_screen_fits(const struct sb_screen *s, size_t columns)
{
	return sb_screen_columns(sb_buf_text(&s->line)) + columns <= (size_t)s->text.columns;
}

void sb_screen_say(struct sb_screen *s, const char *format, ...)
{
	char part[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(part, sizeof part, format, args);
	va_end(args);
	sb_buf_puts(&s->line, part);
}

void sb_screen_remark(struct sb_screen *s, const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (s->line.size && !sb_screen_fits(s, 2 + sb_screen_columns(text)))
		sb_screen_end(s, NULL);
	sb_screen_say(s, "%s%s", s->line.size ? "; " : "", text);
}

/* The bytes of text up to the last blank within so many columns; all of them where there is none. */
static size_t break_at(const char *text, size_t columns)
{
	size_t size = strspn(text, " "), used = size, best = 0;

	while (text[size]) {
		size_t end = size + sb_text_word(text + size);

		for (; size < end; size++)
			used += ((unsigned char)text[size] & 0xc0) != 0x80;
		if (used > columns)
			return best ? best : size;
		best = size;
		while (text[size] == ' ') {
			size++;
			used++;
		}
	}
	return size;
}

void sb_screen_end(struct sb_screen *s, const char *colour)
{
	size_t width = (size_t)s->text.columns, indent = 0;
	struct sb_buf harmless = { 0 };
	const char *text;

	sb_text_name(&harmless, sb_buf_text(&s->line), SIZE_MAX);
	text = sb_buf_text(&harmless);
	if (colour)
		sb_text_colour(s->out, &s->text, colour);
	do {
		size_t size = break_at(text, width - indent);
		struct sb_buf part = { 0 };

		sb_buf_add(&part, text, size);
		sb_buf_printf(s->out, "%s%*s", indent ? "\n" : "", (int)indent, "");
		sb_text_name(s->out, sb_buf_text(&part), width - indent);
		sb_buf_done(&part);
		text += size + strspn(text + size, " ");
		indent = INDENT;
	} while (*text);
	if (colour)
		sb_text_colour(s->out, &s->text, "");
	sb_buf_putc(s->out, '\n');
	sb_buf_done(&harmless);
	sb_buf_clear(&s->line);
}
