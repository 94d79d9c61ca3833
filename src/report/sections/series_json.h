/* A series in JSON: {"t_s": [...], "power_w": [...]}. */
#ifndef SB_REPORT_SECTIONS_SERIES_JSON_H
#define SB_REPORT_SECTIONS_SERIES_JSON_H

#include "analyze/model.h"
#include "base/json.h"

/* Nothing when the series is empty. */
void sb_json_series(struct sb_json *j, const char *key, const struct sb_series *s);
/* A column's "<metric>_mean_<unit>" and so on, for the words given:
 * "min", "mean", "max", "p95", "last". Nothing when the column is absent. */
void sb_json_column(
	struct sb_json *j, const struct sb_series *s, const char *column, const char *const *words);

#endif
