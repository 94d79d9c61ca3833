/* The metrics that Prometheus reads: their table, and a run's values from its tallies. */
#ifndef SB_SERVE_METRICS_H
#define SB_SERVE_METRICS_H

#include "serve/exposition.h"
#include "serve/tally.h"

struct sb_exposed_metric {
	const char *name, *type, *help;
	/* From a monitor's sample; NULL: from elsewhere. */
	const char *source, *column;
	double factor; /* to base units */
	bool highest; /* of all samples; else the last one */
};

const struct sb_exposed_metric *sb_metrics_table(size_t *out_count); /* all of them */

/* A run, its processes together. */
struct sb_metrics_run {
	const char *id, *job; /* job "" : none */
	const char *name, *host;
	int32_t rank, world_size; /* -1, 0: none */
	uint64_t start_real_ns, seen_real_ns;
	uint64_t bytes, own_cpu_ns;
	bool readable;
	const struct sb_tally *const *tallies;
	size_t tally_count;
	size_t stages_max; /* the largest by time; the rest is one stage "(other)" */
};

/* Adds every metric of a run. */
void sb_metrics_add(struct sb_exposition *e, const struct sb_metrics_run *run);
/* Adds a metric of the server itself. */
void sb_metrics_add_own(struct sb_exposition *e, const char *name, double value);

#endif
