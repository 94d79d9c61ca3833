/* The report model, on what memory held at the begin, the peak and the end of the stages of a generation. */
#ifndef SB_ANALYZE_MODEL_RESIDENCY_H
#define SB_ANALYZE_MODEL_RESIDENCY_H

#include "analyze/model_out_of_memory.h"
#include "stats/fields.h"

#include <stdint.h>

struct sb_residency_panel {
	int64_t generation; /* which one, from 1; 0: none */
	struct sb_residency {
		const char *stage;
		const char *at; /* "begin", "peak", "end" */
		int64_t device; /* -1: the host */
		double t_s;
		double total_bytes; /* the device's own number; of the host the processes' resident size */
		struct sb_resident *parts; /* largest first; they add up to the total with the rest */
		size_t part_count;
		double rest_bytes; /* what has no name; below 0: readings of different moments overlap */
		double pinned_bytes, page_cache_bytes; /* of the host, not among the parts; NAN: not known */
	} * all; /* by stage in order, by device, by moment */
	size_t count;
	const char **unplaced; /* weights that were moved, and it is not known where to */
	size_t unplaced_count;
};

struct sb_resident_at { /* a part of memory at one moment */
	const char *stage, *at;
	int64_t device; /* -1: the host */
	const char *component, *dtype; /* dtype NULL: none */
	double bytes;
};

extern const struct sb_fields sb_residency_fields, sb_resident_at_fields;

#endif
