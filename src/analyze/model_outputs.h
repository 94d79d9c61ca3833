/* The report model, what the program wrote: the files whose quality can be compared with another run's. */
#ifndef SB_ANALYZE_MODEL_OUTPUTS_H
#define SB_ANALYZE_MODEL_OUTPUTS_H

#include "stats/fields.h"

struct sb_outputs_panel {
	struct sb_output {
		const char *path; /* absolute */
		const char *state; /* "written", "overwritten", "missing", "not read", "being written" */
		const char *why; /* it is not as written; NULL */
		double bytes; /* NAN: not known; of a folder all its files */
		const char *sha256; /* hex; NULL: not known */
		uint64_t modified_real_ns; /* as it was then; 0: not known */
		const char *kept; /* a copy in the run's folder; NULL: none */
		int64_t width, height; /* of raw samples; -1: not given */
		const char *pixel_format; /* the same; NULL */
	} * all;
	size_t count;
};

/* of one; and outputs.json in the run's folder, which keeps what was seen at the run's end */
extern const struct sb_fields sb_output_fields, sb_outputs_file_fields;
#define SB_OUTPUTS_FILE "outputs.json"

#endif
