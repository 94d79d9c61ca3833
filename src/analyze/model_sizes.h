/* The report model, on what generations of each size needed: time and peak memory. `strobe fit` reads these of many runs. */
#ifndef SB_ANALYZE_MODEL_SIZES_H
#define SB_ANALYZE_MODEL_SIZES_H

#include "stats/fields.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_sizes_panel {
	const char
		*model; /* "WanPipeline, 1.4B parameters, 2.8 GB": runs that say the same are of one model */
	const char *device; /* the GPU's name; "cpu": none was used */
	double vram_total_bytes, ram_total_bytes;
	struct sb_size {
		struct sb_pair *attributes; /* numbers that the generation carries: frames, width, steps */
		size_t attribute_count;
		int64_t count; /* generations of this size */
		double generation_s; /* median of the warm ones; without any, of the processes' first ones */
		/* peaks, NAN: not known */
		double allocated_bytes; /* of the GPU's allocator: its own maximum, which rose in one of them */
		double reserved_bytes; /* by the allocator, the highest reading */
		double process_bytes; /* of the processes on the GPU, sampled */
		double rss_bytes; /* of the processes, sampled; or the kernel's own maximum, which rose in one of them */
		bool out_of_memory; /* memory ran out in one of them */
		struct sb_size_stage {
			const char *stage;
			double total_s; /* in one generation */
			double allocated_bytes, process_bytes, rss_bytes; /* peaks inside it */
		} * stages;
		size_t stage_count;
		int64_t warm_count; /* of them, not the first in their process */
		double first_s; /* median of those that were the first in their process; NAN: none was */
	} * all;
	size_t count;
	bool frames_of_one; /* of one video, where a generation makes several; older reports added them up */
};

extern const struct sb_fields sb_sizes_fields;

#endif
