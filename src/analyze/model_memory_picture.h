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
		} * layers; /* from the bottom: what stays, then what comes and goes */
		size_t layer_count;
		int64_t peak; /* the moment at which they are highest, from 0 */
		bool by_line; /* layers are lines of the program, and none of them */
	} * all;
	size_t count;
};

extern const struct sb_fields sb_memory_picture_fields;

#endif
