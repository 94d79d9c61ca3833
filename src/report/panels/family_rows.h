/* Kernels by family, added up as text and Markdown show them. */
#ifndef SB_REPORT_PANELS_FAMILY_ROWS_H
#define SB_REPORT_PANELS_FAMILY_ROWS_H

#include "analyze/model.h"

#include <stdbool.h>

#define SB_FAMILY_ROWS_MOST 96u

struct sb_family_rows {
	struct sb_gpu_row all[SB_FAMILY_ROWS_MOST]; /* the most time first; names are those below */
	char names[SB_FAMILY_ROWS_MOST][80];
	size_t count;
};

/* named: "GEMM bf16", "attention flash 2 bf16"; else by family alone. */
void sb_family_rows_fill(
	const struct sb_kernel_share *shares, size_t count, bool named, struct sb_family_rows *out);

#endif
