/* The time between the generations, for the rules about it. */
#ifndef SB_ADVISE_BETWEEN_H
#define SB_ADVISE_BETWEEN_H

#include "analyze/model.h"

/* Wall time between the first generation's begin and the last one's end that is in no generation and in
 * no stage, less what was sampled waiting for another thread, a request or input. 0: there are no two
 * generations. */
double sb_between_s(const struct sb_model *model);
/* The whole that it is a part of: from the first generation's begin to the last one's end; 0: there are
 * no two. */
double sb_between_of_s(const struct sb_model *model);
/* The line that most of it was sampled at; NULL: none. */
const struct sb_line *sb_between_line(const struct sb_model *model);

#endif
