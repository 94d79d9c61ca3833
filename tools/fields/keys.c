/* docs/report-keys.md: every key, its unit, when it is there, what it means. */
#include "generate.h"

#include "unit.h"

#include <ctype.h>

/* "#stagemember": GitHub's anchor of a heading. */
static void put_link(const char *name, struct sb_buf *out)
{
	sb_buf_printf(out, "[%s](#", name);
	for (; *name; name++)
		sb_buf_putc(out, (char)tolower((unsigned char)*name));
	sb_buf_putc(out, ')');
}

static void put_what(const struct sb_field *f, struct sb_buf *out)
{
	const char *unit = field_is_number(f) ? unit_of(f->key) : NULL;

	switch (f->kind) {
	case SB_FIELD_BOOL: sb_buf_puts(out, "true or false"); break;
	case SB_FIELD_TEXT:
	case SB_FIELD_CONSTANT:
	case SB_FIELD_STRING: sb_buf_puts(out, f->names ? "word" : "text"); break;
	case SB_FIELD_NAME: sb_buf_puts(out, "word"); break;
	case SB_FIELD_TIME:
	case SB_FIELD_TIME_S: sb_buf_puts(out, "time"); break;
	case SB_FIELD_PAIRS: sb_buf_puts(out, "own keys"); break;
	case SB_FIELD_NUMBERS:
	case SB_FIELD_INTEGERS: sb_buf_puts(out, "numbers"); break;
	case SB_FIELD_STRINGS: sb_buf_puts(out, "texts"); break;
	case SB_FIELD_OBJECT: put_link(f->of->name, out); break;
	case SB_FIELD_OBJECTS:
		sb_buf_puts(out, "list of ");
		put_link(f->of->name, out);
		break;
	case SB_FIELD_SERIES:
	case SB_FIELD_SERIES_AT: sb_buf_puts(out, "series"); break;
	default: sb_buf_puts(out, unit && *unit ? unit : "number"); break;
	}
}

static void put_help(const struct sb_field *f, struct sb_buf *out)
{
	bool first = true;

	for (const char *c = f->help; *c; c++) {
		if (*c == '|' || *c == '<' || *c == '*')
			sb_buf_putc(out, '\\');
		sb_buf_putc(out, *c);
	}
	for (size_t i = 0; f->names && f->names[i] != SB_NAMES_END; i++)
		if (field_has_name(f, i)) {
			sb_buf_printf(out, "%s`%s`", first ? ": " : ", ", f->names[i]);
			first = false;
		}
}

static void put_table(const struct sb_fields *t, struct sb_buf *out)
{
	sb_buf_printf(out, "\n### %s\n\n%s\n\n| key | what | always | meaning |\n|---|---|---|---|\n",
		t->name, t->help);
	for (size_t i = 0; i < t->count; i++) {
		const struct sb_field *f = &t->all[i];

		sb_buf_printf(out, "| `%s` | ", f->key);
		put_what(f, out);
		sb_buf_printf(out, " | %s | ", field_is_required(f) ? "yes" : "");
		put_help(f, out);
		sb_buf_puts(out, " |\n");
	}
}

void keys_write(struct sb_buf *out)
{
	struct tables tables = { .count = 0 };
	size_t done = 0;

	sb_buf_puts(out, "<!-- Made by tools/generate from the tables of fields: do not edit. -->\n"
			 "# Every key of strobe's JSON\n\n"
			 "`strobe report --format json last | jq .summary` picks one object out of a report; "
			 "the tables below say\n"
			 "what each key of it means. Every form of JSON that strobe writes is here, and each "
			 "has a schema beside\n"
			 "this page that says the same for programs:\n\n"
			 "| JSON | schema |\n|---|---|\n");
	for (const struct report *r = reports; r->name; r++)
		sb_buf_printf(out, "| %s | [%s.schema.json](%s.schema.json) |\n", r->title, r->name, r->name);
	sb_buf_puts(out, "\nA key that is not always there is left out when its value is not known: never 0, "
			 "never null (null appears\n"
			 "inside series and lists of numbers only). *series*: columns of equal length, `t_s` "
			 "is the time of each row.\n"
			 "*own keys*: named by the program or the machine, not by strobe.\n");
	for (const struct report *r = reports; r->name; r++) {
		tables_reach(&tables, r->fields);
		sb_buf_printf(out, "\n## %s.schema.json: %s\n", r->name, r->title);
		for (; done < tables.count; done++)
			put_table(tables.all[done], out);
	}
}
