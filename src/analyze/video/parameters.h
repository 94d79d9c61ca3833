/* The models a run loaded, and how their sizes are written. */
#ifndef SB_ANALYZE_VIDEO_PARAMETERS_H
#define SB_ANALYZE_VIDEO_PARAMETERS_H

#include "analyze/analysis.h"

/* Models by strobe_model(). */
extern const struct sb_analysis sb_analysis_parameters;

#endif
