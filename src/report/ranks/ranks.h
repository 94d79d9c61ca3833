/* The report of a job's ranks, as text and as JSON. */
#ifndef SB_REPORT_RANKS_RANKS_H
#define SB_REPORT_RANKS_RANKS_H

#include "compare/aggregate.h"
#include "base/buf.h"

struct sb_aggregate_options {
	bool colour;
	size_t top; /* rows of a table; 0: 15 */
};

void sb_aggregate_text(
	const struct sb_aggregate *a, const struct sb_aggregate_options *options, struct sb_buf *out);
void sb_aggregate_json(const struct sb_aggregate *a, struct sb_buf *out);

#endif
