/* profiling_report.json: the model's fields. */
#include "report/json.h"

#include "base/error.h"
#include "stats/fields.h"

int sb_report_json(const struct sb_model *model, struct sb_buf *out)
{
	struct sb_json j;

	sb_json_init(&j, out, true);
	sb_fields_write(&sb_model_fields, model, NULL, &j);
	sb_buf_putc(out, '\n');
	return out->failed ? sb_fail(STROBE_ENOMEM, "no memory for the report's JSON") : 0;
}
