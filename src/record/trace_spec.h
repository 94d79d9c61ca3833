/* How long a GPU trace or the sampling of counters lasts: the settings gpu_trace and gpu_counters, parsed. */
#ifndef SB_RECORD_TRACE_SPEC_H
#define SB_RECORD_TRACE_SPEC_H

#include <stdint.h>

#define SB_TRACE_BY_SIGNAL "signal" /* of gpu_counters: begun by SIGUSR2 alone */

#define SB_COUNTERS_OF_SLOW "slow" /* of gpu_counters: held, and written around slow moments alone */

enum sb_trace_bound { SB_TRACE_ALL, SB_TRACE_STEPS, SB_TRACE_SECONDS, SB_TRACE_SLOW };

#define SB_TRACE_MOMENTS_DEFAULT 3
#define SB_TRACE_MOMENTS_MAX 100

struct sb_trace_spec {
	enum sb_trace_bound bound;
	double seconds;
	uint32_t steps;
	uint32_t skip; /* steps to let pass first: warm-up */
	double slow_ratio; /* over its peers: how much slower is slow */
	uint32_t moments; /* slow ones that are kept */
};

/* "" or "all"; "steps:3" (after one step of warm-up), "steps:3@10" (after ten);
 * "seconds:5"; "slow:1.5" (keeps three moments 1.5 times slower than their peers),
 * "slow:1.5,10" (ten). */
int sb_trace_spec_parse(const char *text, struct sb_trace_spec *out_spec);
/* The same for the sampling of counters, which has no "slow:1.5". */
int sb_counters_spec_parse(const char *text, struct sb_trace_spec *out_spec);

/* Of the settings gpu_trace and gpu_counters: what they would take in place of the text; NULL: they take it. */
const char *sb_trace_setting_wants(const char *text);
const char *sb_counters_setting_wants(const char *text);

#endif
