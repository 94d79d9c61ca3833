/* libFuzzer on everything that shows a recording: reader, cursor, digests, the pass,
 * the model; text, JSON, page, summary and the files beside them. What is JSON must
 * be well formed. */
#include "recording_input.h"

#include "base/jsondom.h"
#include "report/json.h"
#include "report/memory_log.h"
#include "report/page/html.h"
#include "report/raw_data.h"
#include "report/summary.h"
#include "report/text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json(struct sb_buf *out, int err)
{
	struct sb_jsondom_doc *doc = NULL;

	if (!err && out->size && sb_jsondom_parse("fuzz", out->data, out->size, &doc))
		abort();
	sb_jsondom_free(doc);
	sb_buf_done(out);
}

static void show(struct sb_run *run, const struct sb_model *model)
{
	struct sb_buf out = { 0 };

	(void)sb_report_text(model, NULL, &out);
	sb_buf_done(&out);
	(void)sb_report_summary(model, NULL, &out);
	sb_buf_done(&out);
	check_json(&out, sb_report_json(model, &out));
	check_json(&out, sb_report_memory_log(model, &out));
	check_json(&out, sb_report_raw_data(run, model, &out));
	(void)sb_report_html(run, model, &out);
	sb_buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sb_run *run = input_run(0, data, size);
	struct sb_model *model = input_model(run);

	if (model)
		show(run, model);
	sb_model_free(model);
	sb_run_close(run);
	return 0;
}
