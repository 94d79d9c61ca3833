/* What bounds the run, and which stages to leave alone. */
#ifndef SB_ADVISE_BOUND_H
#define SB_ADVISE_BOUND_H

#include "analyze/model.h"

/* Sets the summary's bound and bound_reason, where there is data to judge by. */
void sb_bound_judge(struct sb_model *model);
/* Sets leave_alone: stages too small to pay, beside one that is not. */
void sb_bound_leave_alone(struct sb_model *model);

#endif
