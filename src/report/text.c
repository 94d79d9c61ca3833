/* The whole report as text: one panel after the other. */
#include "report/text.h"

#include "base/error.h"

int sb_report_text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	struct sb_text_options o = options ? *options : (struct sb_text_options){ 0 };

	o.columns = !o.columns ? 80 : o.columns < 60 ? 60 : o.columns;
	for (const struct sb_panel *const *s = sb_panels; *s; s++)
		if ((*s)->text)
			(*s)->text(model, &o, out);
	return out->failed ? sb_fail(STROBE_ENOMEM, "no memory for the report's text") : 0;
}
