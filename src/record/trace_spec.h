/* How long a GPU trace lasts, in the words of the setting gpu_trace. */
#ifndef SB_RECORD_TRACE_SPEC_H
#define SB_RECORD_TRACE_SPEC_H

#include <stdint.h>

#define SB_TRACE_BY_SIGNAL "signal" /* of gpu_counters: begun by SIGUSR2 alone */

enum sb_trace_bound { SB_TRACE_ALL, SB_TRACE_STEPS, SB_TRACE_SECONDS };

struct sb_trace_spec {
	enum sb_trace_bound bound;
	double seconds;
	uint32_t steps;
	uint32_t skip; /* steps to let pass first: warm-up */
};

/* "" or "all"; "steps:3" (after one step of warm-up), "steps:3@10" (after ten);
 * "seconds:5". */
int sb_trace_spec_parse(const char *text, struct sb_trace_spec *out_spec);

#endif
