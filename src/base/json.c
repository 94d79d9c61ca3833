/* The JSON writer. Not a parser. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sb_json_init(struct sb_json *j, struct sb_buf *out, bool pretty)
{
	memset(j, 0, sizeof *j);
	j->out = out;
	j->pretty = pretty;
	j->first[0] = true;
}

static void newline(struct sb_json *j)
{
	if (!j->pretty)
		return;
	sb_buf_putc(j->out, '\n');
	for (unsigned i = 0; i < j->depth; i++)
		sb_buf_puts(j->out, "  ");
}

static void value_begin(struct sb_json *j, const char *key)
{
	if (!j->first[j->depth])
		sb_buf_putc(j->out, ',');
	if (j->depth)
		newline(j);
	j->first[j->depth] = false;
	if (!key)
		return;
	sb_json_quote(j->out, key, strlen(key));
	sb_buf_puts(j->out, j->pretty ? ": " : ":");
}

static void nest(struct sb_json *j, const char *key, char bracket)
{
	value_begin(j, key);
	sb_buf_putc(j->out, bracket);
	if (j->depth + 1 < sizeof j->first / sizeof j->first[0])
		j->depth++;
	else
		j->out->failed = true;
	j->first[j->depth] = true;
}

static void unnest(struct sb_json *j, char bracket)
{
	bool empty = j->first[j->depth];

	if (j->depth)
		j->depth--;
	if (!empty)
		newline(j);
	sb_buf_putc(j->out, bracket);
}

void sb_json_object_begin(struct sb_json *j, const char *key)
{
	nest(j, key, '{');
}

void sb_json_object_end(struct sb_json *j)
{
	unnest(j, '}');
}

void sb_json_array_begin(struct sb_json *j, const char *key)
{
	nest(j, key, '[');
}

void sb_json_array_end(struct sb_json *j)
{
	unnest(j, ']');
}

void sb_json_string(struct sb_json *j, const char *key, const char *value)
{
	if (!value)
		sb_json_null(j, key);
	else
		sb_json_string_n(j, key, value, strlen(value));
}

void sb_json_string_n(struct sb_json *j, const char *key, const char *value, size_t size)
{
	value_begin(j, key);
	sb_json_quote(j->out, value, size);
}

void sb_json_int(struct sb_json *j, const char *key, int64_t value)
{
	value_begin(j, key);
	sb_buf_printf(j->out, "%lld", (long long)value);
}

void sb_json_uint(struct sb_json *j, const char *key, uint64_t value)
{
	value_begin(j, key);
	sb_buf_printf(j->out, "%llu", (unsigned long long)value);
}

void sb_json_bool(struct sb_json *j, const char *key, bool value)
{
	value_begin(j, key);
	sb_buf_puts(j->out, value ? "true" : "false");
}

void sb_json_null(struct sb_json *j, const char *key)
{
	value_begin(j, key);
	sb_buf_puts(j->out, "null");
}

void sb_json_double(struct sb_json *j, const char *key, double value)
{
	char text[40];

	if (!isfinite(value)) {
		sb_json_null(j, key);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	value_begin(j, key);
	sb_buf_puts(j->out, text);
}

void sb_json_fixed(struct sb_json *j, const char *key, double value, int decimals)
{
	char text[400];
	size_t size;

	if (!isfinite(value)) {
		sb_json_null(j, key);
		return;
	}
	size = (size_t)snprintf(text, sizeof text, "%.*f", decimals, value);
	if (decimals > 0) {
		while (text[size - 1] == '0')
			size--;
		if (text[size - 1] == '.')
			size--;
	}
	value_begin(j, key);
	sb_buf_add(j->out, text, size);
}

void sb_json_raw(struct sb_json *j, const char *key, const char *json)
{
	value_begin(j, key);
	sb_buf_puts(j->out, json);
}

size_t sb_utf8_length(const char *text, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	static const unsigned lowest[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
	unsigned code;

	if (n < 2 || n > size)
		return n == 1 ? 1 : 0;
	code = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		code = code << 6 | (s[i] & 0x3fu);
	}
	if (code < lowest[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return n;
}

bool sb_utf8_is_control(const char *text, size_t length)
{
	const unsigned char *u = (const unsigned char *)text;

	if (length == 1)
		return u[0] < 0x20 || u[0] == 0x7f;
	if (length == 2)
		return u[0] == 0xc2 && u[1] < 0xa0;
	if (length != 3 || u[0] != 0xe2)
		return false;
	return (u[1] == 0x80 && ((u[2] & 0xfe) == 0x8e || (u[2] >= 0xa8 && u[2] <= 0xae))) ||
	       (u[1] == 0x81 && u[2] >= 0xa0 && u[2] <= 0xaf);
}

/* All of them have four hex digits at most. */
static void put_control(struct sb_buf *out, const unsigned char *u, size_t length)
{
	unsigned code = length == 1   ? u[0]
			: length == 2 ? (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu)
				      : (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);

	sb_buf_printf(out, "\\u%04x", code);
}

void sb_json_quote(struct sb_buf *out, const char *text, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;

	sb_buf_putc(out, '"');
	for (size_t i = 0; i < size;) {
		size_t run = i;
		size_t n = 1;

		while (run < size && s[run] >= 0x20 && s[run] < 0x7f && s[run] != '"' && s[run] != '\\')
			run++;
		if (run > i) {
			sb_buf_add(out, s + i, run - i);
			i = run;
			continue;
		}
		if (s[i] == '"' || s[i] == '\\') {
			sb_buf_putc(out, '\\');
			sb_buf_putc(out, (char)s[i]);
		} else if (s[i] == '\n') {
			sb_buf_puts(out, "\\n");
		} else if (s[i] == '\t') {
			sb_buf_puts(out, "\\t");
		} else if ((n = sb_utf8_length(text + i, size - i)) && sb_utf8_is_control(text + i, n)) {
			put_control(out, s + i, n);
		} else if (n) {
			sb_buf_add(out, s + i, n);
		} else {
			sb_buf_puts(out, "\xef\xbf\xbd");
			n = 1;
		}
		i += n;
	}
	sb_buf_putc(out, '"');
}
