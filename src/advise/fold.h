/* Symptoms, and the causes that explain them. */
#ifndef SB_ADVISE_FOLD_H
#define SB_ADVISE_FOLD_H

#include <stdbool.h>

struct sb_advisor;

/* Removes each symptom that is explained by causes, and names it in their findings. A symptom that stays
 * says that no cause was found, and what to record to find it. */
void sb_fold_symptoms(struct sb_advisor *a);
bool sb_rule_is_symptom(const char *id);
/* True if it only says where the time goes. */
bool sb_rule_is_direction(const char *id);
/* True if its time is spent before the first generation. */
bool sb_rule_is_startup(const char *id);

#endif
