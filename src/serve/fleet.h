/* The live runs as /metrics shows them: each recording is followed from one
 * scrape to the next, so that a scrape costs what is new. */
#ifndef SB_SERVE_FLEET_H
#define SB_SERVE_FLEET_H

#include "base/vec.h"
#include "serve/listing.h"
#include "serve/worker.h"

#define SB_FLEET_STAGES 2000u /* of all runs together; a run alone has 200 at most, 20 at least */
#define SB_FLEET_RUNS_MAX 512u

struct sb_fleet {
	struct sb_vec runs; /* struct fleet_run, in no order */
	uint64_t scrape_count;
};

void sb_fleet_done(struct sb_fleet *f); /* f may be zeroed */
/* The text of a scrape. A run that cannot be read is reported; the others are still there. */
int sb_fleet_metrics(struct sb_fleet *f, const struct sb_listing *listing, struct sb_worker_link *link,
	bool open_metrics, struct sb_buf *out);

#endif
