/* Symptoms, and the causes that explain them. */
#ifndef SB_ADVISE_SYMPTOMS_H
#define SB_ADVISE_SYMPTOMS_H

#include <stdbool.h>
#include <stddef.h>

struct sb_advisor;
struct sb_model;
struct sb_advice;

/* Removes each symptom that is explained by causes, and names it in their findings. A symptom that stays
 * says that no cause was found, and what to record to find it. */
void sb_symptoms_explain(struct sb_advisor *a);
/* The first finding of this rule; NULL: none. */
struct sb_advice *sb_symptoms_found(const struct sb_advisor *a, const char *id);
/* Names another rule among what the finding explains; false: no memory. */
bool sb_symptoms_name(struct sb_advisor *a, struct sb_advice *cause, const char *id);
void sb_symptoms_leave_out(struct sb_advisor *a, const struct sb_advice *f);
/* "cause not found: …, next: …" of that symptom or direction. */
const char *sb_symptoms_not_found(struct sb_model *model, const char *id);
bool sb_rule_is_one_of(const char *const *ids, size_t count, const char *id);
/* True if it says what is seen and not what causes it. */
bool sb_rule_is_symptom(const char *id);
/* True if it says where the time goes and not why. */
bool sb_rule_is_direction(const char *id);
/* True if its time is spent before the first generation. */
bool sb_rule_is_startup(const char *id);

#endif
