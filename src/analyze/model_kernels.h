/* The report model, kernels by what they do: of the run and of every stage. */
#ifndef SB_ANALYZE_MODEL_KERNELS_H
#define SB_ANALYZE_MODEL_KERNELS_H

#include "stats/fields.h"

#include <stddef.h>
#include <stdint.h>

/* Kernels of one family, kind and precision. */
struct sb_kernel_share {
	const char *family; /* "GEMM"; "not recognised" */
	const char *kind; /* "flash 2", "AllReduce"; NULL: not told */
	const char *precision; /* "bf16"; NULL: not told */
	int64_t count;
	double total_s; /* their time added up, overlapping or not */
	double ratio; /* of the kernels' time of the stage or the run */
	int64_t family_at; /* the family's place among those of the list, from 0 */
};

/* What a path of zones and the zones inside it launched: entries at[path] to at[path + 1]. */
struct sb_path_kernels {
	struct sb_path_kernel {
		uint32_t share; /* index of the run's shares, whose order this is */
		int64_t count;
		double total_s;
	} * all;
	uint32_t *at; /* path_count + 1; NULL: none */
	uint32_t path_count;
};

/* Largest first, with ratios; sum is their total. */
void sb_kernel_shares_sort(struct sb_kernel_share *shares, size_t count);
double sb_kernel_shares_total_s(const struct sb_kernel_share *shares, size_t count);
/* Of one family, all kinds and precisions: seconds. */
double sb_kernel_shares_of_s(const struct sb_kernel_share *shares, size_t count, const char *family);

extern const struct sb_fields sb_kernel_share_fields;

#endif
