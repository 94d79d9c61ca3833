/* CSV: when a field is quoted, and what no field may hold. */
#include "base/csv.h"

#include "base/json.h"

#include <stdbool.h>
#include <string.h>

static char *put_character(char *at, const char *text, size_t length)
{
	static const char replacement[] = "\xef\xbf\xbd";
	bool kept = length && (strchr("\n\r\t", *text) || !sb_utf8_is_control(text, length));
	size_t size = kept ? length : sizeof replacement - 1;

	if (*text == '"')
		*at++ = '"';
	memcpy(at, kept ? text : replacement, size);
	return at + size;
}

/* Spreadsheets run such a text. */
static bool is_formula(const char *text, size_t size)
{
	if (!size || !strchr("=+-@", *text))
		return false;
	return strchr("=@", *text) || text[1 + strspn(text + 1, "0123456789.")];
}

char *sb_csv_put(char *at, const char *text, size_t limit)
{
	size_t size = strnlen(text, limit);
	bool quoted = strpbrk(text, ",\"\r\n") != NULL;

	if (quoted)
		*at++ = '"';
	if (is_formula(text, size))
		*at++ = ' ';
	for (size_t i = 0; i < size;) {
		size_t length = sb_utf8_length(text + i, size - i);

		at = put_character(at, text + i, length);
		i += length ? length : 1;
	}
	if (quoted)
		*at++ = '"';
	return at;
}

void sb_csv_add(struct sb_buf *out, const char *text)
{
	size_t size = strlen(text);
	char *at = sb_buf_reserve(out, SB_CSV_ROOM(size));

	if (!at)
		return;
	out->size += (size_t)(sb_csv_put(at, text, size) - at);
	out->data[out->size] = 0;
}
