/* What a finding costs the generations, and how urgent that makes it. */
#ifndef SB_ADVISE_WEIGH_H
#define SB_ADVISE_WEIGH_H

#include "advise/rule.h"

/* Time of the generations, of the run where none is marked. */
double sb_weigh_work_s(const struct sb_model *model);
/* Time of the generations in which the GPU had nothing to do, as traced or sampled; INFINITY: no GPU, or not known. */
double sb_weigh_idle_s(const struct sb_model *model);
bool sb_weigh_has_gpu(const struct sb_model *model);
/* High, medium or low by its share of the generations' time; of a finding that may be NULL. */
void sb_weigh_priority(struct sb_advisor *a, struct sb_advice *f);

#endif
