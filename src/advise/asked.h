/* What the program asked its models to be (the event "torch.asked" of each), for the rules that look whether it ran. */
#ifndef SB_ADVISE_ASKED_H
#define SB_ADVISE_ASKED_H

#include "advise/rule.h"

/* The latest model that asked for this setting ("cache", "attention", "compiled"); NULL: none did. */
const struct sb_event_row *sb_asked_for(const struct sb_model *model, const char *setting);
/* "first block cache"; NULL: not a text, or not there; of an event that may be NULL. */
const char *sb_asked_text(const struct sb_event_row *event, const char *key);
/* NAN: not a number, or not there. */
double sb_asked_number(const struct sb_event_row *event, const char *key);
/* The latest event of this name whose attribute is this text; NULL: none. */
const struct sb_event_row *sb_asked_last(
	const struct sb_model *model, const char *name, const char *key, const char *text);

/* Adds the finding about a cache that is set on a model and has served no step. */
void sb_asked_cache(struct sb_advisor *a);

/* What is known about the run's versions of torch and cuDNN and convolutions in 16 bits, with its source; NULL: nothing. */
const char *sb_known_version(struct sb_advisor *a);

#endif
