/* Strategies by stage: what kind of stage it is, which knob it has, what changing the knob saves and
 * costs. docs/advice.md has the same table in words. */
#ifndef SB_ADVISE_STRATEGIES_H
#define SB_ADVISE_STRATEGIES_H

#include "advise/advise.h"

struct sb_advisor;

/* Fills model->strategies from the stages. */
void sb_strategies_find(struct sb_model *model);
/* Adds the knob to turn to findings that only say where to start. After sb_strategies_find(). */
void sb_strategies_name(struct sb_advisor *advisor);

#endif
