/* The monitors' raw series. */
#include "report/raw_data.h"

#include "base/error.h"
#include "base/vec.h"
#include "run/events.h"

#include <string.h>

struct rows { /* of one schema: time, then its columns */
	struct sb_vec values; /* double */
	uint32_t width;
};

struct gathering {
	const struct sb_run *run;
	struct rows *rows; /* by schema */
	bool failed;
};

static void gather(void *self, const struct sb_event *e)
{
	struct gathering *g = self;
	struct rows *rows = &g->rows[e->sample.schema - g->run->schemas];

	rows->width = e->sample.schema->column_count + 1;
	for (uint32_t i = 0; i < rows->width && !g->failed; i++) {
		double *slot = sb_vec_push(&rows->values, sizeof *slot);

		if (slot)
			*slot = i ? e->sample.values[i - 1] : (double)e->t_ns * 1e-9;
		else
			g->failed = true;
	}
}

static void put_column(struct sb_json *j, const char *key, const struct rows *rows, uint32_t column)
{
	const double *values = rows->values.items;

	sb_json_array_begin(j, key);
	for (size_t i = column; i < rows->values.count; i += rows->width)
		sb_json_fixed(j, NULL, values[i], 6);
	sb_json_array_end(j);
}

static void put_series(struct sb_json *j, const struct sb_run_schema *schema, const struct rows *rows)
{
	if (!rows->values.count)
		return;
	sb_json_object_begin(j, NULL);
	sb_json_string(j, "source", schema->source);
	if (schema->device >= 0)
		sb_json_int(j, "device", schema->device);
	sb_json_uint(j, "sample_count", rows->values.count / rows->width);
	put_column(j, "t_s", rows, 0);
	for (uint32_t i = 0; i < schema->column_count; i++)
		put_column(j, schema->columns[i], rows, i + 1);
	sb_json_object_end(j);
}

static bool is_wanted(const struct sb_run *run)
{
	const struct sb_run_meta *meta = sb_run_meta_find(run, SB_META_SETTING, "save_raw_data");

	return meta && meta->attr.type == STROBE_TYPE_STRING && !strcmp(meta->attr.s, "true");
}

int sb_report_raw_data(struct sb_run *run, const struct sb_model *model, struct sb_buf *out)
{
	struct gathering g = { .run = run };
	struct sb_visitor visitor = { .self = &g, .kinds = 1u << SB_EVENT_SAMPLE, .event = gather };
	struct sb_json j;
	int err;

	if (!is_wanted(run))
		return 0;
	g.rows = calloc(run->schema_count + 1, sizeof *g.rows);
	if (!g.rows)
		return sb_fail(STROBE_ENOMEM, "no memory for the raw samples");
	err = sb_run_visit(run, &visitor, 1);
	if (!err && g.failed)
		err = sb_fail(STROBE_ENOMEM, "no memory for the raw samples");
	sb_json_init(&j, out, false);
	sb_json_object_begin(&j, NULL);
	sb_json_string(&j, "session_id", model->session.id);
	sb_json_string(&j, "name", model->session.name);
	sb_json_array_begin(&j, "series");
	for (uint32_t i = 0; i < run->schema_count; i++) {
		if (!err)
			put_series(&j, &run->schemas[i], &g.rows[i]);
		sb_vec_done(&g.rows[i].values);
	}
	sb_json_array_end(&j);
	sb_json_object_end(&j);
	free(g.rows);
	return err;
}
