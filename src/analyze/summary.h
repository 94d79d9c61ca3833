/* One screen's worth of the model, gathered from the other panels. */
#ifndef SB_ANALYZE_SUMMARY_H
#define SB_ANALYZE_SUMMARY_H

#include "analyze/analysis.h"

/* After every other panel but the advice, which reads it. */
extern const struct sb_analysis sb_analysis_summary;

/* The end-to-end rate and the others by scope; NULL: none. */
const struct sb_rate *sb_rate_find(const struct sb_model *model, const char *scope);

#endif
