/* Prometheus' text format 0.0.4, and OpenMetrics 1.0 for those who ask for it. */
#include "serve/exposition.h"

#include "base/json.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sb_exposition_done(struct sb_exposition *e)
{
	for (size_t i = 0; i < e->count; i++)
		sb_buf_done(&e->families[i].samples);
	free(e->families);
	memset(e, 0, sizeof *e);
}

static void legal_name(const char *name, char *out, size_t size)
{
	size_t used = 0;

	for (const char *p = name; *p && used + 1 < size; p++)
		out[used++] = isalnum((unsigned char)*p) ? (char)tolower((unsigned char)*p) : '_';
	out[used] = '\0';
}

struct sb_family *sb_exposition_family(
	struct sb_exposition *e, const char *name, const char *type, const char *help)
{
	struct sb_family *families;

	for (size_t i = 0; i < e->count; i++)
		if (!strcmp(e->families[i].name, name))
			return &e->families[i];
	families = realloc(e->families, (e->count + 1) * sizeof *families);
	if (!families) {
		e->failed = true;
		return NULL;
	}
	e->families = families;
	memset(&families[e->count], 0, sizeof *families);
	snprintf(families[e->count].name, sizeof families->name, "%s", name);
	snprintf(families[e->count].help, sizeof families->help, "%s", help);
	families[e->count].type = type;
	return &families[e->count++];
}

/* The shortest text that reads back as the same number. */
static void put_number(struct sb_buf *out, double value)
{
	char text[40];

	if (value >= 0 && value < 1e15 && value == (double)(uint64_t)value) {
		snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	} else if (isinf(value)) {
		snprintf(text, sizeof text, "%cInf", value > 0 ? '+' : '-');
	} else {
		for (int digits = 15; digits <= 17; digits++) {
			snprintf(text, sizeof text, "%.*g", digits, value);
			if (strtod(text, NULL) == value)
				break;
		}
	}
	sb_buf_puts(out, text);
}

void sb_family_put(
	struct sb_family *f, const char *suffix, const char *labels, const char *more, double value)
{
	struct sb_buf *out = &f->samples;

	if (isnan(value))
		return;
	sb_buf_puts(out, f->name);
	sb_buf_puts(out, suffix);
	if (*labels) {
		sb_buf_putc(out, '{');
		sb_buf_puts(out, labels);
		sb_buf_puts(out, more);
		sb_buf_putc(out, '}');
	}
	sb_buf_putc(out, ' ');
	put_number(out, value);
	sb_buf_putc(out, '\n');
}

void sb_family_exemplar(struct sb_family *f, const char *labels, double value, double real_s)
{
	struct sb_buf *out = &f->samples;

	if (!out->size || isnan(value))
		return;
	out->size--; /* the end of its line */
	sb_buf_printf(out, " # {%s} ", labels);
	put_number(out, value);
	sb_buf_printf(out, " %.3f\n", real_s);
}

void sb_exposition_add(struct sb_exposition *e, const char *name, const char *type, const char *help,
	const char *suffix, const char *labels, double value)
{
	char legal[128];
	struct sb_family *f;

	if (isnan(value))
		return;
	legal_name(name, legal, sizeof legal);
	f = sb_exposition_family(e, legal, type, help);
	if (f)
		sb_family_put(f, suffix, labels, "", value);
}

/* Bytes that are no UTF-8, and control characters, become U+FFFD: a scraper refuses the whole text for one. A line's
 * end would begin a line of the file's own choice. */
static void put_escaped(struct sb_buf *out, const char *text, bool quotes)
{
	size_t left = strlen(text);

	while (left) {
		size_t size = sb_utf8_length(text, left);

		if (size && *text == '\n')
			sb_buf_puts(out, "\\n");
		else if (!size || sb_utf8_is_control(text, size))
			sb_buf_puts(out, "\xef\xbf\xbd");
		else if (*text == '\\' || (quotes && *text == '"'))
			sb_buf_printf(out, "\\%c", *text);
		else
			sb_buf_add(out, text, size);
		size += !size;
		text += size;
		left -= size;
	}
}

void sb_exposition_label(struct sb_buf *labels, const char *key, const char *value)
{
	if (labels->size)
		sb_buf_putc(labels, ',');
	sb_buf_printf(labels, "%s=\"", key);
	put_escaped(labels, value, true);
	sb_buf_putc(labels, '"');
}

/* OpenMetrics names a counter's family without the "_total" of its samples. */
static int family_name_size(const struct sb_family *f, bool open_metrics)
{
	size_t size = strlen(f->name);

	if (open_metrics && !strcmp(f->type, "counter") && size > 6 && !strcmp(f->name + size - 6, "_total"))
		size -= 6;
	return (int)size;
}

void sb_exposition_write(const struct sb_exposition *e, struct sb_buf *out)
{
	for (size_t i = 0; i < e->count; i++) {
		const struct sb_family *f = &e->families[i];
		int size = family_name_size(f, e->open_metrics);

		sb_buf_printf(out, "# HELP %.*s ", size, f->name);
		put_escaped(out, f->help, e->open_metrics);
		sb_buf_printf(out, "\n# TYPE %.*s %s\n", size, f->name, f->type);
		sb_buf_add(out, f->samples.data, f->samples.size);
	}
	if (e->open_metrics)
		sb_buf_puts(out, "# EOF\n");
}
