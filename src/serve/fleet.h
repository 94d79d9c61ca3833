/* The live runs as /metrics tells of them. */
#ifndef SB_SERVE_FLEET_H
#define SB_SERVE_FLEET_H

#include "serve/listing.h"
#include "serve/worker.h"

struct sb_fleet {
	uint64_t scrape_count;
};

void sb_fleet_done(struct sb_fleet *f); /* f may be zeroed */
/* The text of a scrape. A run that cannot be read is said; the others still answer. */
int sb_fleet_metrics(struct sb_fleet *f, const struct sb_listing *listing, struct sb_worker_link *link,
	bool open_metrics, struct sb_buf *out);

#endif
