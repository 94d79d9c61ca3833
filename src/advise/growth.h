/* What the rules about growth tell those about memory that ran out. */
#ifndef SB_ADVISE_GROWTH_H
#define SB_ADVISE_GROWTH_H

#include "advise/rule.h"

/* Bytes that were left behind over the run, of a device's or of the host's memory; 0: it does not leak. */
double sb_growth_leaked(const struct sb_model *model, bool on_host);

#endif
