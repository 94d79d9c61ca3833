/* Puts report and timeline into the page. */
#include "report/page/html.h"

#include "report/json.h"
#include "report/page/page.h"
#include "report/timeline/timeline.h"

int sb_report_html(struct sb_run *run, const struct sb_model *model, struct sb_buf *out)
{
	return sb_report_html_shared(run, model, NULL, out);
}

int sb_report_html_shared(
	struct sb_run *run, const struct sb_model *model, const struct sb_buf *recording, struct sb_buf *out)
{
	struct sb_buf json = { 0 }, timeline = { 0 };
	int err;

	err = sb_report_json(model, &json);
	if (!err)
		err = sb_timeline_write(run, &timeline);
	if (!err) {
		struct sb_page page = {
			.kind = "report",
			.json = json.data,
			.json_size = json.size,
			.timeline = &timeline,
			.recording = recording,
		};
		err = sb_page_write(&page, out);
	}
	sb_buf_done(&json);
	sb_buf_done(&timeline);
	return err;
}
