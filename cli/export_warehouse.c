/* Runs into the warehouse. */
#include "export_warehouse.h"
#include "aggregate_find.h"
#include "command.h"
#include "facts_arg.h"
#include "output.h"
#include "progress.h"

#include "base/error.h"
#include "exchange/report_in.h"
#include "exchange/warehouse.h"
#include "exchange/warehouse_schema.h"
#include "report/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct outcome {
	size_t loaded;
	size_t broken;
};

static int load_report(struct sb_warehouse_loader *l, const char *path)
{
	struct sb_facts *f = NULL;
	int err = sb_report_in(path, &f);

	if (!err)
		err = sb_warehouse_add(l, f, NULL);
	sb_facts_free(f);
	return err;
}

static int load_run(struct sb_warehouse_loader *l, const char *spec)
{
	struct sb_model_options options = { .calls = true, .no_neighbours = true };
	struct sb_run *run = NULL;
	struct sb_model *model = NULL;
	struct sb_facts *f = NULL;
	int err = sb_run_open(spec, NULL, &run);

	if (!err)
		err = sb_report_build(run, &options, &model);
	if (!err)
		err = sb_facts_of_model(model, spec, &f);
	if (!err)
		err = sb_warehouse_add(l, f, model);
	sb_facts_free(f);
	sb_model_free(model);
	sb_run_close(run);
	return err;
}

/* What cannot be read is named and the rest loaded; a warehouse that is away
 * ends it. */
static int load_all(struct sb_warehouse_loader *l, const struct aggregate_inputs *inputs, struct outcome *o)
{
	struct progress progress;

	progress_init(&progress, inputs->count);
	for (size_t i = 0; i < inputs->count; i++) {
		const char *path = inputs->paths[i];
		size_t size = strlen(path);
		bool report = size > 5 && !strcmp(path + size - 5, ".json") && sb_report_in_is_report(path);
		int err = report ? load_report(l, path) : load_run(l, path);

		progress.done = i + 1;
		progress_draw(&progress);
		if (err == STROBE_EIO || err == STROBE_EPERM) {
			progress_clear(&progress);
			return complain_last();
		}
		if (err)
			complain("%s: %s", path, sb_error_message());
		o->broken += err != 0;
		o->loaded += !err;
	}
	progress_clear(&progress);
	return 0;
}

int export_print_schema(const char *url, const char *version)
{
	struct sb_warehouse_schema schema;
	struct sb_warehouse w;
	struct sb_buf out = { 0 };
	int code;

	if (!url || !sb_warehouse_is_url(url))
		return complain(
			"--print-schema needs --to clickhouse://HOST/DATABASE[?cluster=NAME&replicated=1]");
	if (sb_warehouse_open(url, &w))
		return complain_last();
	sb_warehouse_schema_of(&w, &schema);
	schema.on_cluster = true;
	if (version && *version)
		schema.modern = sb_warehouse_is_modern(version);
	sb_warehouse_print_schema(&schema, &out);
	code = output_put(&out, NULL);
	sb_buf_done(&out);
	return code;
}

int export_warehouse(const char *spec, const char *url)
{
	struct aggregate_inputs inputs = { 0 };
	struct sb_warehouse_loader *loader = NULL;
	struct sb_warehouse_load sum;
	struct sb_warehouse w;
	struct outcome o = { 0 };
	int code = 0;

	if (sb_warehouse_open(url, &w) || aggregate_find(&inputs, spec) || sb_warehouse_begin(&w, &loader))
		code = complain_last();
	if (!code && !inputs.count)
		code = complain("'%s' holds no runs", spec);
	if (!code)
		code = load_all(loader, &inputs, &o);
	if (sb_warehouse_end(loader, code ? NULL : &sum))
		code = complain_last();
	if (!code && !o.loaded)
		code = complain("nothing was loaded");
	if (!code) {
		printf("%zu run%s, %" PRIu64 " rows, %.1f MB into %s:%s/%s", o.loaded,
			o.loaded == 1 ? "" : "s", sum.rows, (double)sum.bytes / 1e6, w.host, w.port,
			w.database);
		if (sum.retries)
			printf(", after %" PRIu64 " retries", sum.retries);
		printf("\n");
		code = o.broken ? EXIT_CHECK : EXIT_OK;
	}
	aggregate_inputs_done(&inputs);
	return code;
}
