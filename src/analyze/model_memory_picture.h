/* The report model, on what memory held over time: layers that lie on each other. */
#ifndef SB_ANALYZE_MODEL_MEMORY_PICTURE_H
#define SB_ANALYZE_MODEL_MEMORY_PICTURE_H

#include "stats/fields.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_memory_pictures_panel {
	struct sb_memory_picture {
		int64_t device; /* -1: the host */
		double *t_s; /* moments, ascending */
		const char **stages; /* the innermost that was open then; "": none */
		size_t count;
		struct sb_memory_layer {
			const char *component, *dtype; /* dtype NULL: none */
			double *mb; /* at each moment */
			size_t count;
			const char *stack; /* of a line's largest allocation, innermost first; NULL: none */
			double most_mb; /* the largest of mb */
			bool small; /* drawn together with the other small ones */
		} * layers; /* from the bottom: what stays, then what comes and goes */
		size_t layer_count;
		double *sum_mb; /* all layers together, at each moment */
		double *small_mb; /* all small layers together, at each moment; NULL: none is small */
		size_t small_moments; /* count, or 0 */
		int64_t peak; /* the moment at which what the run holds is highest, from 0 */
		bool by_line; /* layers are lines of the program, and none of them */
		bool by_stage; /* layers are stages in which memory came, and is still there */
		bool exact; /* of stages: those in which each block was allocated; else estimated from sums */
	} * all;
	size_t count;
};

/* How full a segment of the allocator is, from one end to the other. */
struct sb_memory_segments_panel {
	struct sb_memory_segment {
		int64_t device;
		double bytes, free_bytes, largest_free_bytes;
		int64_t free_count; /* pieces that lie apart */
		double *part_bytes, *used_ratio; /* blocks in their order; small ones are joined */
		size_t part_count;
	} * all; /* those with the most free memory beside blocks in use, the first of each device first */
	size_t count;
};

extern const struct sb_fields sb_memory_picture_fields, sb_memory_segment_fields;

#endif
