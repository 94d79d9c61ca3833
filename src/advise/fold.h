/* Symptoms, and the causes that account for them. */
#ifndef SB_ADVISE_FOLD_H
#define SB_ADVISE_FOLD_H

#include <stdbool.h>

struct sb_advisor;

/* Takes each symptom that causes account for out of what was found and names it in theirs. One that stays says
 * that its cause was not found, and which recording would tell. */
void sb_fold_symptoms(struct sb_advisor *a);
bool sb_rule_is_symptom(const char *id);
/* Its time is spent before the first generation. */
bool sb_rule_is_startup(const char *id);

#endif
