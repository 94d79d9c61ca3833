/* Locks that a line waits for, and which line holds them. */
#ifndef SB_ADVISE_LOCKS_H
#define SB_ADVISE_LOCKS_H

#include "advise/rule.h"

/* The line of another thread that was sampled inside the `with` of the lock that this line waits for, in
 * the same part of the run; NULL: the line waits for no lock, or its holder is not known. */
const struct sb_line *sb_lock_holder(const struct sb_model *model, const struct sb_line *line);

#endif
