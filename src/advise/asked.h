/* What the program asked of its models (the event "torch.asked" of each), for the rules that check
 * whether it happened. */
#ifndef SB_ADVISE_ASKED_H
#define SB_ADVISE_ASKED_H

#include "advise/rule.h"

/* The text of an attribute: "first block cache"; NULL: there is none. event may be NULL. */
const char *sb_asked_text(const struct sb_event_row *event, const char *key);
/* The number of an attribute; NAN: there is none. event may be NULL. */
double sb_asked_number(const struct sb_event_row *event, const char *key);
/* The latest event of this name whose attribute is this text; NULL: none. */
const struct sb_event_row *sb_asked_last(
	const struct sb_model *model, const char *name, const char *key, const char *text);

/* Adds the finding about a cache that is set on a model and has served no step. */
void sb_asked_cache(struct sb_advisor *a);

/* What is known about the run's versions of torch and cuDNN and convolutions in 16 bits, with its source; NULL: nothing. */
const char *sb_known_version(struct sb_advisor *a);

#endif
