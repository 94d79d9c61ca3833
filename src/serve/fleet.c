/* Every live run, read anew at each scrape. */
#include "serve/fleet.h"

#include "report/build.h"
#include "base/error.h"
#include "serve/metrics.h"

void sb_fleet_done(struct sb_fleet *f)
{
	f->scrape_count = 0;
}

static void add_run(struct sb_exposition *e, const struct sb_listed *listed, struct sb_worker_link *link)
{
	struct sb_model_options options = { .histograms = true, .max_data_points = 16 };
	struct sb_model *model = NULL;
	struct sb_run *run = NULL;
	struct sb_buf labels = { 0 };
	int err = sb_worker_reading(link, listed->path) ? sb_run_open(listed->path, NULL, &run) : STROBE_EIO;

	if (!err)
		err = sb_report_build(run, &options, &model);
	if (!err)
		sb_metrics_add(e, listed->id, model);
	sb_exposition_label(&labels, "run", listed->id);
	sb_exposition_add(e, "strobe_run_readable", "gauge", "0 where a recording could not be read.", "",
		sb_buf_text(&labels), !err);
	sb_buf_done(&labels);
	sb_model_free(model);
	sb_run_close(run);
}

int sb_fleet_metrics(struct sb_fleet *f, const struct sb_listing *listing, struct sb_worker_link *link,
	bool open_metrics, struct sb_buf *out)
{
	struct sb_exposition e = { 0 };
	size_t live = 0;
	int err = 0;

	f->scrape_count++;
	for (size_t i = 0; i < listing->count; i++) {
		if (!listing->runs[i].live)
			continue;
		live++;
		add_run(&e, &listing->runs[i], link);
	}
	sb_exposition_add(&e, "strobe_runs_live", "gauge", "Recordings in progress.", "", "", (double)live);
	sb_exposition_add(
		&e, "strobe_runs_listed", "gauge", "Recordings found.", "", "", (double)listing->count);
	sb_exposition_write(&e, open_metrics, out);
	if (e.failed || sb_buf_failed(out))
		err = sb_fail(STROBE_ENOMEM, "no memory for the metrics");
	sb_exposition_done(&e);
	return err;
}
