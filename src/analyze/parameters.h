/* The models a run loaded, and how their sizes are written. */
#ifndef SB_ANALYZE_PARAMETERS_H
#define SB_ANALYZE_PARAMETERS_H

#include "analyze/model.h"

/* Models by strobe_model(). */
extern const struct sb_analysis sb_analysis_parameters;

/* "1.3B" from 1e9, "304.7M" from 1e6, "12.5K" from 1e3, else the number. */
void sb_parameters_text(int64_t count, char out_text[16]);

#endif
