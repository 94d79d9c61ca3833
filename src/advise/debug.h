/* Switches that were left on, for the rules that they explain. */
#ifndef SB_ADVISE_DEBUG_H
#define SB_ADVISE_DEBUG_H

#include "analyze/model.h"

/* The model that records gradients in a run without a backward pass: the longest one; NULL: none, or name is not NULL and is
 * not that model's. */
const char *sb_debug_gradients(const struct sb_model *model, const char *name);

#endif
