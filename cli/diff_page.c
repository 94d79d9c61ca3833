/* The page of a comparison: both timelines beside the JSON, where both sides are recordings. */
#include "diff_page.h"
#include "run_arg.h"

#include "report/diff/diff.h"
#include "report/page/page.h"
#include "report/timeline/timeline.h"

/* What is no recording (a report, a row of the history, a job) has no timeline: empty. */
static void put_timeline(const struct args *args, const char *spec, struct sb_buf *out)
{
	struct sb_run *run = NULL;
	int err = run_arg_has_cut(args) ? run_arg_open(args, spec, &run) : sb_run_open(spec, NULL, &run);

	if (!err)
		err = sb_timeline_write(run, out);
	sb_run_close(run);
	if (err)
		sb_buf_done(out);
}

int diff_page_write(const struct args *args, const struct sb_comparison *c, struct sb_buf *out)
{
	struct sb_buf json = { 0 }, base = { 0 }, now = { 0 };
	struct sb_page page = { .kind = "diff", .timeline = &now, .base_timeline = &base };
	int err;

	sb_diff_json(c, &json);
	put_timeline(args, c->base_labels[0], &base);
	if (base.size)
		put_timeline(args, c->now_labels[0], &now);
	if (!now.size)
		sb_buf_done(&base);
	page.json = sb_buf_text(&json);
	page.json_size = json.size;
	err = sb_page_write(&page, out);
	sb_buf_done(&json);
	sb_buf_done(&base);
	sb_buf_done(&now);
	return err ? complain_last() : 0;
}
