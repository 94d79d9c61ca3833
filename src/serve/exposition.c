/* The text format, version 0.0.4. */
#include "serve/exposition.h"

#include <ctype.h>
#include <math.h>
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

static struct sb_family *family(struct sb_exposition *e, const char *name, const char *type, const char *help)
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

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	sb_buf_printf(out, " %s\n", text);
}

void sb_exposition_add(struct sb_exposition *e, const char *name, const char *type, const char *help,
	const char *suffix, const char *labels, double value)
{
	char legal[128];
	struct sb_family *f;

	if (isnan(value))
		return;
	legal_name(name, legal, sizeof legal);
	f = family(e, legal, type, help);
	if (!f)
		return;
	sb_buf_printf(&f->samples, "%s%s", legal, suffix);
	if (*labels)
		sb_buf_printf(&f->samples, "{%s}", labels);
	if (isinf(value))
		sb_buf_printf(&f->samples, " %cInf\n", value > 0 ? '+' : '-');
	else
		put_number(&f->samples, value);
}

void sb_exposition_label(struct sb_buf *labels, const char *key, const char *value)
{
	if (labels->size)
		sb_buf_putc(labels, ',');
	sb_buf_printf(labels, "%s=\"", key);
	for (const char *p = value; *p; p++) {
		if (*p == '\\' || *p == '"')
			sb_buf_putc(labels, '\\');
		if (*p == '\n')
			sb_buf_puts(labels, "\\n");
		else
			sb_buf_putc(labels, *p);
	}
	sb_buf_putc(labels, '"');
}

void sb_exposition_write(const struct sb_exposition *e, struct sb_buf *out)
{
	for (size_t i = 0; i < e->count; i++) {
		const struct sb_family *f = &e->families[i];

		sb_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, f->type);
		sb_buf_add(out, f->samples.data, f->samples.size);
	}
}
