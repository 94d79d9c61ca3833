/* What metrics.c and metrics_stages.c share. */
#ifndef SB_SERVE_METRICS_PARTS_H
#define SB_SERVE_METRICS_PARTS_H

#include "serve/metrics.h"

/* The metric's line of the table; NULL: there is none of that name. */
const struct sb_exposed_metric *sb_metrics_named(const char *name);
/* Adds a value under the name's help and type. */
void sb_metrics_put(
	struct sb_exposition *e, const char *name, const char *suffix, const char *labels, double value);
/* Adds the metrics of the run's stages. base: the labels of the run. */
void sb_metrics_add_stages(struct sb_exposition *e, const struct sb_metrics_run *run, const char *base);

#endif
