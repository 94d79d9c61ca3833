/* Writes what is made from the tables of fields into a copy of the tree's folders:
 * docs/<report>.schema.json, docs/report-keys.md, web/src/report-types.ts, docs/grafana-dashboard.json.
 * usage: generate_fields FOLDER (tools/generate calls it) */
#include "generate.h"

#include "analyze/model.h"
#include "compare/aggregate.h"
#include "compare/bench.h"
#include "compare/compare.h"
#include "compare/fit.h"
#include "compare/journal.h"
#include "compare/whatif.h"
#include "doctor.h"
#include "report/memory_log.h"
#include "serve/listing.h"
#include "store/history.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct report reports[] = {
	{ "report", "strobe report --format json, profiling_report.json", &sb_model_fields, false },
	{ "diff", "strobe diff --format json", &sb_comparison_fields, false },
	{ "aggregate", "strobe aggregate --format json", &sb_aggregate_fields, false },
	{ "bench", "strobe bench --format json", &sb_bench_fields, false },
	{ "journal", "strobe journal --format json", &sb_journal_fields, false },
	{ "whatif", "strobe whatif --format json", &sb_whatif_fields, false },
	{ "fit", "strobe fit --format json", &sb_fit_fields, false },
	{ "runs", "/api/runs of strobe serve", &sb_listing_fields, false },
	{ "memory_log", "memory_log.json of strobe report --format all", &sb_memory_log_fields, false },
	{ "outputs", "outputs.json of a run folder", &sb_outputs_file_fields, false },
	{ "source_lines", "source_lines.json of a run folder", &sb_source_file_fields, false },
	{ "doctor", "strobe doctor --json", &doctor_fields, false },
	{ "history_list", "strobe history list --format json", &sb_history_run_fields, true },
	{ "history_trend", "strobe history trend --format json", &sb_history_trend_fields, false },
	{ NULL, NULL, NULL, false },
};

void tables_reach(struct tables *tables, const struct sb_fields *fields)
{
	for (size_t i = 0; i < tables->count; i++)
		if (tables->all[i] == fields)
			return;
	if (tables->count == sizeof tables->all / sizeof *tables->all) {
		fprintf(stderr, "generate_fields: more tables than there is room for\n");
		exit(1);
	}
	tables->all[tables->count++] = fields;
	for (size_t i = 0; i < fields->count; i++)
		if (fields->all[i].of)
			tables_reach(tables, fields->all[i].of);
}

bool field_is_integer(const struct sb_field *f)
{
	return f->kind == SB_FIELD_INT32 || f->kind == SB_FIELD_INT64 || f->kind == SB_FIELD_UINT32 ||
	       f->kind == SB_FIELD_UINT64 || f->kind == SB_FIELD_WHOLE;
}

bool field_is_number(const struct sb_field *f)
{
	return field_is_integer(f) || f->kind == SB_FIELD_NUMBER || f->kind == SB_FIELD_MB ||
	       f->kind == SB_FIELD_SECONDS;
}

bool field_is_required(const struct sb_field *f)
{
	if (f->when || (f->kind == SB_FIELD_OBJECT && f->of->present))
		return false;
	return f->rule == SB_ALWAYS || f->rule == SB_OR_ZERO;
}

bool field_has_name(const struct sb_field *f, size_t i)
{
	bool again = !f->names[i];

	for (size_t k = 0; !again && k < i; k++)
		again = f->names[k] == f->names[i];
	return !again;
}

/* ---- what a compiler does not see ---- */

static int complain(const struct sb_fields *t, const struct sb_field *f, const char *what)
{
	fprintf(stderr, "generate_fields: %s.%s: %s\n", t->name, f->key, what);
	return 1;
}

static int check_field(const struct sb_fields *t, const struct sb_field *f)
{
	int wrong = 0;

	if (field_is_number(f) && !unit_of(f->key))
		wrong += complain(t, f, "a number's key ends in its unit (tools/fields/unit.c)");
	if (!f->help || !*f->help || strchr(f->help, '\n'))
		wrong += complain(t, f, "its help is one line");
	if (f->of && f->size && f->size != f->of->size)
		wrong += complain(t, f, "its table is of another struct");
	for (const struct sb_field *other = t->all; other < f; other++)
		if (!strcmp(other->key, f->key))
			wrong += complain(t, f, "the key is there twice");
	return wrong;
}

static int check(const struct tables *tables)
{
	int wrong = 0;

	for (size_t i = 0; i < tables->count; i++) {
		for (size_t k = 0; k < tables->all[i]->count; k++)
			wrong += check_field(tables->all[i], &tables->all[i]->all[k]);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(tables->all[i]->name, tables->all[k]->name)) {
				fprintf(stderr, "generate_fields: two tables are called %s\n",
					tables->all[i]->name);
				wrong++;
			}
	}
	return wrong;
}

static int save(const char *folder, const char *name, struct sb_buf *text)
{
	char path[4096];
	FILE *file;
	int err;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	file = fopen(path, "w");
	err = !file || text->failed || fwrite(text->data, 1, text->size, file) != text->size;
	if ((file && fclose(file)) || err)
		perror(path);
	sb_buf_done(text);
	return err;
}

int main(int argc, char **argv)
{
	struct tables all = { .count = 0 };
	struct sb_buf out = { 0 };
	int wrong = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: generate_fields FOLDER\n");
		return 2;
	}
	for (const struct report *r = reports; r->name; r++)
		tables_reach(&all, r->fields);
	if (check(&all))
		return 1;
	for (const struct report *r = reports; r->name; r++) {
		char name[64];

		schema_write(r, &out);
		snprintf(name, sizeof name, "docs/%s.schema.json", r->name);
		wrong |= save(argv[1], name, &out);
	}
	types_write(&out);
	wrong |= save(argv[1], "web/src/report-types.ts", &out);
	keys_write(&out);
	wrong |= save(argv[1], "docs/report-keys.md", &out);
	dashboard_write(&out);
	return wrong | save(argv[1], "docs/grafana-dashboard.json", &out);
}
