/* What Prometheus sees of a run: its report model as samples. */
#ifndef SB_SERVE_METRICS_H
#define SB_SERVE_METRICS_H

#include "analyze/model.h"
#include "serve/exposition.h"

/* run: the label that tells runs apart. */
void sb_metrics_add(struct sb_exposition *e, const char *run, const struct sb_model *model);

#endif
