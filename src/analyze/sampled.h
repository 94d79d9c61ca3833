/* Collects values over time in bounded memory and stores them as a series of the model. */
#ifndef SB_ANALYZE_SAMPLED_H
#define SB_ANALYZE_SAMPLED_H

#include "analyze/model.h"

struct sb_sampled_column {
	const char *name; /* the caller's, for the collector's life */
	double *values;
	int64_t count;
	double first, last, min, max, max_t_s, sum;
	double integral, known_s, previous_t_s;
	struct { /* of the bin that the newest rows stand for */
		double low, high, sum, known_s;
		bool high_first; /* the highest value came before the lowest */
	} bin;
};

/* What rows hold where one stands for several samples. */
enum sb_sampled_merge {
	SB_SAMPLED_EXTREMES, /* two rows: the lowest and the highest value, as they came */
	SB_SAMPLED_MEANS, /* each sample is a mean since the one before, and so is a row; one without values ends a
			   * gap and is kept */
};

struct sb_sampled {
	enum sb_sampled_merge merge;
	size_t row_limit; /* rows kept, a multiple of 4 */
	size_t bin_limit, bin_count; /* samples of a bin, alike from the first to the last; of the newest */
	size_t row_count, row_capacity;
	int64_t sample_count;
	double last_t_s;
	double *t_s;
	struct sb_sampled_column *columns;
	size_t column_count;
};

/* columns: names that outlive s; each ends in its unit. Rows hold extremes; set s->merge for means. */
int sb_sampled_init(struct sb_sampled *s, const char *const *columns, size_t column_count, size_t row_limit);
void sb_sampled_done(struct sb_sampled *s); /* s may be zeroed */
/* values: one per column, NaN: unknown. Rows that go back in time are left out. */
int sb_sampled_add(struct sb_sampled *s, double t_s, const double *values);
/* Copies it into the model's memory; columns never known are left out. */
int sb_sampled_store(const struct sb_sampled *s, struct sb_model *model, struct sb_series *out_series);

#endif
