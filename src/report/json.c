/* profiling_report.json. */
#include "report/json.h"

#include "base/error.h"

int sb_report_json(const struct sb_model *model, struct sb_buf *out)
{
	struct sb_json j;

	sb_json_init(&j, out, true);
	sb_json_object_begin(&j, NULL);
	sb_json_string(&j, "schema", "strobe.report/1");
	for (const struct sb_section *const *s = sb_sections; *s; s++)
		if ((*s)->json)
			(*s)->json(model, &j);
	sb_json_object_end(&j);
	sb_buf_putc(out, '\n');
	return out->failed ? sb_fail(STROBE_ENOMEM, "no memory for the report's JSON") : 0;
}
