/* The page's types: what TypeScript may read from a report. */
#include "generate.h"

static void put_names(const struct sb_field *f, struct sb_buf *out)
{
	bool first = true;

	for (size_t i = 0; f->names[i] != SB_NAMES_END; i++) {
		if (!field_has_name(f, i))
			continue;
		sb_buf_puts(out, first ? "" : " | ");
		sb_json_quote(out, f->names[i], __builtin_strlen(f->names[i]));
		first = false;
	}
}

static void put_type(const struct sb_field *f, struct sb_buf *out)
{
	switch (f->kind) {
	case SB_FIELD_BOOL: sb_buf_puts(out, f->rule == SB_SET ? "true" : "boolean"); break;
	case SB_FIELD_CONSTANT: sb_json_quote(out, f->help, __builtin_strlen(f->help)); break;
	case SB_FIELD_NAME: put_names(f, out); break;
	case SB_FIELD_STRING:
		if (f->names)
			put_names(f, out);
		else
			sb_buf_puts(out, "string");
		break;
	case SB_FIELD_TEXT:
	case SB_FIELD_TIME:
	case SB_FIELD_TIME_S: sb_buf_puts(out, "string"); break;
	case SB_FIELD_PAIRS: sb_buf_puts(out, "Free"); break;
	case SB_FIELD_NUMBERS: sb_buf_puts(out, "(number | null)[]"); break;
	case SB_FIELD_INTEGERS: sb_buf_puts(out, "number[]"); break;
	case SB_FIELD_STRINGS: sb_buf_puts(out, "string[]"); break;
	case SB_FIELD_OBJECT: sb_buf_puts(out, f->of->name); break;
	case SB_FIELD_OBJECTS: sb_buf_printf(out, "%s[]", f->of->name); break;
	case SB_FIELD_SERIES:
	case SB_FIELD_SERIES_AT: sb_buf_puts(out, "Series"); break;
	default: sb_buf_puts(out, "number"); break;
	}
}

static void put_table(const struct sb_fields *t, struct sb_buf *out)
{
	sb_buf_printf(out, "\n// %s\nexport type %s = {\n", t->help, t->name);
	for (size_t i = 0; i < t->count; i++) {
		const struct sb_field *f = &t->all[i];

		sb_buf_printf(out, "  %s%s: ", f->key, field_is_required(f) ? "" : "?");
		put_type(f, out);
		if (f->kind == SB_FIELD_CONSTANT)
			sb_buf_puts(out, ";\n");
		else
			sb_buf_printf(out, "; // %s\n", f->help);
	}
	sb_buf_puts(out, "};\n");
}

void types_write(struct sb_buf *out)
{
	struct tables tables = { .count = 0 };

	sb_buf_puts(out, "// What the JSON of strobe holds. Made by tools/generate from the tables of "
			 "fields: do not edit.\n"
			 "// Absent data is absent: a key with ? may be missing.\n\n"
			 "export type Series = Record<string, (number | null)[]>;\n"
			 "export type Free = Record<string, string | number | boolean>; // keys that are not "
			 "strobe's own\n");
	for (const struct report *r = reports; r->name; r++)
		tables_reach(&tables, r->fields);
	for (size_t i = 0; i < tables.count; i++)
		put_table(tables.all[i], out);
}
