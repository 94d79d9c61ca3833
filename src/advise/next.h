/* The command that would tell more about a run, where no cause was found. */
#ifndef SB_ADVISE_NEXT_H
#define SB_ADVISE_NEXT_H

#include "analyze/model.h"

/* Fills the summary's next_command and next_reason. After the advice is ranked. */
void sb_next_find(struct sb_model *model);

#endif
