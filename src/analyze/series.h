/* Values over time, bounded. Where rows had to be merged, every bin keeps its
 * true minimum and maximum of every column; statistics are of every sample. */
#ifndef SB_ANALYZE_SERIES_H
#define SB_ANALYZE_SERIES_H

#include "analyze/model.h"

/* The monitors' samples into model->series. */
extern const struct sb_analysis sb_analysis_series;

/* ---- collecting ---- */
struct sb_sampled_column {
	const char *name; /* the caller's, for the collector's life */
	double *values;
	int64_t count;
	double first, last, min, max, max_t_s, sum;
	double integral, known_s, previous_t_s;
};

struct sb_sampled {
	size_t row_limit; /* rows kept, a multiple of 4 */
	size_t row_count, row_capacity;
	int64_t sample_count;
	double last_t_s;
	double *t_s;
	struct sb_sampled_column *columns;
	size_t column_count;
};

/* columns: names that outlive s; each ends in its unit. */
int sb_sampled_init(struct sb_sampled *s, const char *const *columns, size_t column_count, size_t row_limit);
void sb_sampled_done(struct sb_sampled *s); /* s may be zeroed */
/* values: one per column, NaN: unknown. Rows that go back in time are left out. */
int sb_sampled_add(struct sb_sampled *s, double t_s, const double *values);
/* Copies it into the model's memory; columns never known are left out. */
int sb_sampled_store(const struct sb_sampled *s, struct sb_model *model, struct sb_series *out_series);

/* ---- asking ---- */
/* The value at a time, between neighbouring rows; NaN outside. */
double sb_series_at(const struct sb_series *s, const struct sb_series_column *c, double t_s);
/* The largest value in [from, to]; NaN: no row there. */
double sb_series_max(const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s);
/* Value x seconds over [from, to], and the mean there; NaN: not known. */
double sb_series_integral(
	const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s);
double sb_series_mean(
	const struct sb_series *s, const struct sb_series_column *c, double from_s, double to_s);
/* Joules of all GPUs in [from, to]: the running integral where there is one,
 * else integrated power. NaN: never sampled. */
double sb_series_energy_j(const struct sb_model *model, double from_s, double to_s);

/* max_data_points in force: the report's option, else the recording's setting. */
size_t sb_model_points(const struct sb_model *model, const struct sb_run *run);

#endif
