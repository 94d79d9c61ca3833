/* A program that calls its models in a loop of its own, and records no generation. */
#ifndef SB_ADVISE_MODEL_CALLS_H
#define SB_ADVISE_MODEL_CALLS_H

#include "advise/rule.h"

/* Of the work, how long no call of a model was on the GPU, by the GPU's own events and its utilisation; without a pause
 * that comes once. NAN: the run has generations, or no such call. */
double sb_model_calls_idle_s(const struct sb_model *model);
/* What the program does between the calls while its GPU idles, or while the CPU that computes the model does not. */
void sb_model_calls_advise(struct sb_advisor *a);

#endif
