/* Names in columns. */
#include "report/label.h"

static bool continues(char c)
{
	return (c & 0xc0) == 0x80;
}

int sb_label_columns(const char *text)
{
	int columns = 0;

	for (; *text; text++)
		columns += !continues(*text);
	return columns;
}

void sb_label_put(struct sb_buf *out, const char *text, int width)
{
	int columns = sb_label_columns(text), left = columns <= width ? columns : width - 1;

	for (; *text && (left > 0 || continues(*text)); text++) {
		left -= !continues(*text);
		sb_buf_putc(out, (unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
	}
	if (columns > width)
		sb_buf_puts(out, "…");
	else
		sb_buf_printf(out, "%*s", width - columns, "");
}
