/* A row of a counter is a mean since the row before. */
#include "exchange/sample_values.h"

#include "base/error.h"
#include "exchange/export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int sb_sample_values_init(struct sb_sample_values *v, const struct sb_run *run,
	void (*put)(void *user, uint32_t process, const char *name, int64_t t_ns, double value), void *user)
{
	*v = (struct sb_sample_values){ .run = run, .put = put, .user = user };
	v->rows = calloc(run->schema_count + 1, sizeof *v->rows);
	if (!v->rows)
		return sb_fail(STROBE_ENOMEM, "no memory to export");
	for (uint32_t i = 0; i < run->schema_count; i++)
		v->rows[i].end_ns = INT64_MIN;
	return 0;
}

static bool is_sampled(const struct sb_run_schema *schema)
{
	return !strcmp(schema->source, "gpu_pm");
}

static bool holds_means(const struct sb_run_schema *schema)
{
	return is_sampled(schema) || !strcmp(schema->source, "gpu_counters");
}

static void put_column(struct sb_sample_values *v, const struct sb_run_schema *schema, uint32_t process,
	uint32_t column, int64_t t_ns, double value)
{
	char name[300];

	sb_export_column_name(schema, column, name, sizeof name);
	v->put(v->user, process, name, t_ns, value);
}

static void end_values(struct sb_sample_values *v, const struct sb_run_schema *schema, uint32_t process,
	struct sb_sample_row *row)
{
	for (uint32_t i = 0; i < schema->column_count && i < 64; i++)
		if (row->known >> i & 1)
			put_column(v, schema, process, i, row->end_ns, 0);
	row->known = 0;
}

void sb_sample_values_take(struct sb_sample_values *v, const struct sb_event *e)
{
	const struct sb_run_schema *schema = e->sample.schema;
	struct sb_sample_row *row = &v->rows[schema - v->run->schemas];
	bool mean = holds_means(schema) && row->end_ns < e->t_ns && row->end_ns != INT64_MIN;
	int64_t begin_ns = mean ? row->end_ns : e->t_ns;
	uint64_t known = 0;

	for (uint32_t i = 0; i < schema->column_count; i++) {
		if (isnan(e->sample.values[i]))
			continue;
		known |= i < 64 ? 1ull << i : 0;
		put_column(v, schema, e->process, i, begin_ns, e->sample.values[i]);
	}
	if (!known && is_sampled(schema))
		end_values(v, schema, e->process, row);
	row->known = known;
	row->end_ns = e->t_ns;
}

void sb_sample_values_done(struct sb_sample_values *v)
{
	for (uint32_t i = 0; v->rows && i < v->run->schema_count; i++)
		if (is_sampled(&v->run->schemas[i]))
			end_values(v, &v->run->schemas[i], v->run->schemas[i].process, &v->rows[i]);
	free(v->rows);
	v->rows = NULL;
}
