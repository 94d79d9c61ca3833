/* Values over time in bounded memory, and functions to query them. Where rows were merged,
 * every bin keeps its true minimum and maximum; statistics are of every sample. */
#ifndef SB_STATS_SERIES_H
#define SB_STATS_SERIES_H

#include "stats/statistics.h"

#include <stddef.h>

/* Values over time: one column of a monitor. */
struct sb_series_column {
	const char *name; /* ends in its unit: "memory_used_bytes" */
	double *values; /* NAN: unknown */
	struct sb_stats stats; /* of every sample; mean: weighted by the real time between samples */
	double first, max_t_s;
	double integral; /* value x seconds: trapezoids over the real intervals; of means each over its own */
};
struct sb_series {
	const char *source; /* "gpu", "cpu", "memory", "disk", "process"... */
	int device; /* -1: none */
	const char *device_name;
	double *t_s;
	size_t count;
	struct sb_series_column *columns;
	size_t column_count;
	size_t recorded_count; /* before thinning to max_data_points */
};

const struct sb_series_column *sb_series_column_find(const struct sb_series *series, const char *name);
/* The value at a time, between neighbouring rows; NaN outside. */
double sb_series_at(const struct sb_series *s, const struct sb_series_column *c, double t_s);
/* The largest value in [from, to]; NaN: no row there. */
double sb_series_max(const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s);
/* Value x seconds over [from, to], and the mean there; NaN: not known. */
double sb_series_integral(
	const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s);
/* The same for rows that are means since the row before (counters): each is weighted with the time it
 * shares with [from, to]. out_known_s: the sum of these times. */
double sb_series_held_mean(const struct sb_series *s, const struct sb_series_column *c, double from_s,
	double to_s, double *out_known_s);
/* How long the rows are, from the first to the last, that share time with [from, to]. */
double sb_series_rows_s(const struct sb_series *s, double from_s, double to_s);
double sb_series_mean(
	const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s);

#endif
