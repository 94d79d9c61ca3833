/* The larger parts of sb_facts_of_model(). Each fills its members of facts that are new. */
#ifndef SB_COMPARE_MODEL_FACTS_H
#define SB_COMPARE_MODEL_FACTS_H

#include "compare/facts.h"

void sb_facts_take_metrics(struct sb_facts *facts, const struct sb_model *model);

/* Stages, generations and steps with their times. */
int sb_facts_take_stages(struct sb_facts *facts, const struct sb_model *model);

#endif
