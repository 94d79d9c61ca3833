/* A JSON schema: every key a report can have, and nothing else. */
#include "generate.h"

#include <stdio.h>

#define COLUMNS "_(s|ms|us|bytes|mb|gb|ratio|percent|count|fps|bps|hz|mhz|w|j|wh|c|per_s|index|value)$"

static void type(struct sb_json *j, const char *name)
{
	sb_json_string(j, "type", name);
}

static void refer(struct sb_json *j, const char *name)
{
	char text[96];

	snprintf(text, sizeof text, "#/$defs/%s", name);
	sb_json_string(j, "$ref", text);
}

static void items(struct sb_json *j, const char *of_type)
{
	type(j, "array");
	sb_json_object_begin(j, "items");
	type(j, of_type);
	sb_json_object_end(j);
}

static void number(const struct sb_field *f, struct sb_json *j)
{
	type(j, field_is_integer(f) ? "integer" : "number");
	if (f->range != SB_SIGNED)
		sb_json_int(j, "minimum", 0);
	if (f->range == SB_SHARE)
		sb_json_double(j, "maximum", 1.000001); /* the last digit of a division */
}

static void names(const struct sb_field *f, struct sb_json *j)
{
	sb_json_array_begin(j, "enum");
	for (size_t i = 0; f->names[i] != SB_NAMES_END; i++)
		if (field_has_name(f, i))
			sb_json_string(j, NULL, f->names[i]);
	sb_json_array_end(j);
}

static void numbers(const struct sb_field *f, struct sb_json *j)
{
	type(j, "array");
	sb_json_object_begin(j, "items");
	sb_json_array_begin(j, "type");
	sb_json_string(j, NULL, "number");
	sb_json_string(j, NULL, "null"); /* not known */
	sb_json_array_end(j);
	sb_json_object_end(j);
}

static void list_of(const struct sb_fields *t, struct sb_json *j)
{
	type(j, "array");
	sb_json_object_begin(j, "items");
	refer(j, t->name);
	sb_json_object_end(j);
}

static void property(const struct sb_field *f, struct sb_json *j)
{
	sb_json_object_begin(j, f->key);
	if (f->kind != SB_FIELD_CONSTANT)
		sb_json_string(j, "description", f->help);
	switch (f->kind) {
	case SB_FIELD_BOOL:
		if (f->rule == SB_SET)
			sb_json_bool(j, "const", true);
		else
			type(j, "boolean");
		break;
	case SB_FIELD_CONSTANT: sb_json_string(j, "const", f->help); break;
	case SB_FIELD_NAME: names(f, j); break;
	case SB_FIELD_STRING:
		if (f->names)
			names(f, j);
		else
			type(j, "string");
		break;
	case SB_FIELD_TEXT:
	case SB_FIELD_TIME:
	case SB_FIELD_TIME_S: type(j, "string"); break;
	case SB_FIELD_PAIRS: refer(j, "Free"); break;
	case SB_FIELD_NUMBERS: numbers(f, j); break;
	case SB_FIELD_INTEGERS: items(j, "integer"); break;
	case SB_FIELD_STRINGS: items(j, "string"); break;
	case SB_FIELD_OBJECT: refer(j, f->of->name); break;
	case SB_FIELD_OBJECTS: list_of(f->of, j); break;
	case SB_FIELD_SERIES:
	case SB_FIELD_SERIES_AT: refer(j, "Series"); break;
	default: number(f, j); break;
	}
	sb_json_object_end(j);
}

static void object(const struct sb_fields *t, struct sb_json *j)
{
	type(j, "object");
	sb_json_array_begin(j, "required");
	for (size_t i = 0; i < t->count; i++)
		if (field_is_required(&t->all[i]))
			sb_json_string(j, NULL, t->all[i].key);
	sb_json_array_end(j);
	sb_json_bool(j, "additionalProperties", false);
	sb_json_object_begin(j, "properties");
	for (size_t i = 0; i < t->count; i++)
		property(&t->all[i], j);
	sb_json_object_end(j);
}

static void free_keys(struct sb_json *j)
{
	sb_json_object_begin(j, "Free");
	sb_json_string(j, "description",
		"Keys that are not strobe's own: tags, attributes, settings, reasons. The unit rule does not "
		"reach here.");
	type(j, "object");
	sb_json_raw(j, "additionalProperties", "{ \"type\": [\"string\", \"number\", \"boolean\"] }");
	sb_json_object_end(j);
}

static void series(struct sb_json *j)
{
	sb_json_object_begin(j, "Series");
	sb_json_string(j, "description",
		"Columns of equal length on one time axis. At most max_data_points rows; where rows were "
		"merged every "
		"bin keeps its true minimum and maximum.");
	type(j, "object");
	sb_json_raw(j, "required", "[\"t_s\"]");
	sb_json_bool(j, "additionalProperties", false);
	sb_json_object_begin(j, "properties");
	sb_json_raw(j, "t_s", "{ \"type\": \"array\", \"items\": { \"type\": \"number\" } }");
	sb_json_object_end(j);
	sb_json_object_begin(j, "patternProperties");
	sb_json_raw(j, COLUMNS, "{ \"type\": \"array\", \"items\": { \"type\": [\"number\", \"null\"] } }");
	sb_json_object_end(j);
	sb_json_object_end(j);
}

static bool uses(const struct tables *tables, enum sb_field_kind kind)
{
	for (size_t i = 0; i < tables->count; i++)
		for (size_t k = 0; k < tables->all[i]->count; k++)
			if (tables->all[i]->all[k].kind == kind)
				return true;
	return false;
}

void schema_write(const struct report *r, struct sb_buf *out)
{
	struct tables tables = { .count = 0 };
	char id[96];
	struct sb_json j;

	tables_reach(&tables, r->fields);
	snprintf(id, sizeof id, "https://strobe.invalid/%s.schema.json", r->name);
	sb_json_init(&j, out, true);
	sb_json_object_begin(&j, NULL);
	sb_json_string(&j, "$schema", "https://json-schema.org/draft/2020-12/schema");
	sb_json_string(&j, "$id", id);
	sb_json_string(&j, "$comment", "Made by tools/generate from the tables of fields: do not edit.");
	sb_json_string(&j, "title", r->title);
	sb_json_string(&j, "description", r->fields->help);
	if (r->is_list)
		list_of(r->fields, &j);
	else
		object(r->fields, &j);
	sb_json_object_begin(&j, "$defs");
	if (uses(&tables, SB_FIELD_PAIRS))
		free_keys(&j);
	if (uses(&tables, SB_FIELD_SERIES) || uses(&tables, SB_FIELD_SERIES_AT))
		series(&j);
	for (size_t i = r->is_list ? 0 : 1; i < tables.count; i++) {
		sb_json_object_begin(&j, tables.all[i]->name);
		sb_json_string(&j, "description", tables.all[i]->help);
		object(tables.all[i], &j);
		sb_json_object_end(&j);
	}
	sb_json_object_end(&j);
	sb_json_object_end(&j);
	sb_buf_putc(out, '\n');
}
