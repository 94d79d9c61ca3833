/* What Prometheus sees of the runs: one table of metrics, and the samples of a
 * run's tallies. */
#ifndef SB_SERVE_METRICS_H
#define SB_SERVE_METRICS_H

#include "serve/exposition.h"
#include "serve/tally.h"

struct sb_metric {
	const char *name, *type, *help;
	/* From a monitor's sample; NULL: from elsewhere. */
	const char *source, *column;
	double factor; /* to base units */
	bool highest; /* not the last sample, the highest so far */
};

const struct sb_metric *sb_metrics_table(size_t *out_count);

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

void sb_metrics_add(struct sb_exposition *e, const struct sb_metrics_run *run);
/* One of the server's own. */
void sb_metrics_add_own(struct sb_exposition *e, const char *name, double value);

#endif
