/* A program that calls its models in a loop of its own, and records no generation. */
#ifndef SB_ADVISE_MODEL_CALLS_H
#define SB_ADVISE_MODEL_CALLS_H

#include "advise/rule.h"

/* What the program does between the calls while its GPU idles, or while the CPU that computes the model does not. */
void sb_model_calls_advise(struct sb_advisor *a);

#endif
