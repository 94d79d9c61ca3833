/* What bounds a stage: from the counters' readings, else from its rate, else from its traced kernels, else
 * from the zones in which weights move. */
#ifndef SB_ANALYZE_GPU_STAGE_BOUND_H
#define SB_ANALYZE_GPU_STAGE_BOUND_H

#include "analyze/model.h"

/* Fills work.bound with bounds and bound_basis, or bound_why. After the stage's rate. */
void sb_stage_bound_fill(struct sb_model *model, struct sb_stage *s);

#endif
