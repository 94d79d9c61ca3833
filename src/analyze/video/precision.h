/* Named variants of one computation: FP32 against FP16, compiled, quantised.
 * Recorded either as zones with the role ITERATION (and WARMUP) that carry a
 * string attribute "variant", or measured elsewhere and reported as an event
 * "strobe.variant" with variant, mean_ms, std_ms, count, warmup_count. */
#ifndef SB_ANALYZE_VIDEO_PRECISION_H
#define SB_ANALYZE_VIDEO_PRECISION_H

#include "analyze/analysis.h"

extern const struct sb_analysis sb_analysis_precision;

/* Under 1.5 "CPU- or memory-bound", to 2 "good GPU use", above "excellent
 * tensor-core use". */
const char *sb_precision_reading(double speedup, bool on_gpu);

#endif
