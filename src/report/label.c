/* Names in columns. */
#include "report/label.h"

#include "base/json.h"

#include <string.h>

/* Bytes of the next character; 0: the next byte is none. */
static size_t character(const char *text)
{
	return (unsigned char)*text < 0x80 ? 1 : sb_utf8_length(text, strnlen(text, 4));
}

int sb_label_columns(const char *text)
{
	int columns = 0;

	for (size_t n; *text; text += n ? n : 1, columns++)
		n = character(text);
	return columns;
}

static bool is_shown(const char *text, size_t n)
{
	return n > 1 || (n == 1 && (unsigned char)*text >= 0x20 && *text != 0x7f);
}

void sb_label_put(struct sb_buf *out, const char *text, int width)
{
	int columns = sb_label_columns(text), left = columns <= width ? columns : width - 1;

	for (size_t n; *text && left > 0; text += n ? n : 1, left--) {
		n = character(text);
		if (is_shown(text, n))
			sb_buf_add(out, text, n);
		else
			sb_buf_putc(out, '?');
	}
	if (columns > width)
		sb_buf_puts(out, "…");
	else
		sb_buf_printf(out, "%*s", width - columns, "");
}
