/* The time that a verdict is about: the generations, else from the start-up to the end of the
 * last stage. */
#ifndef SB_ANALYZE_JUDGED_H
#define SB_ANALYZE_JUDGED_H

#include "analyze/model.h"

/* Fills the summary's judged_s and what was sampled in that time. Needs startup_end_s. */
void sb_judged_fill(struct sb_model *model);

#endif
