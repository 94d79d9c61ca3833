/* Python inside a model's call, for the rules about it. */
#ifndef SB_ADVISE_FORWARD_H
#define SB_ADVISE_FORWARD_H

#include "advise/hot.h"

/* The function of the program whose lines only run Python, inside the calls of torch's modules, and take most time
 * there. */
struct sb_hot sb_forward_find(const struct sb_model *model);
/* Of these, lines that read values one by one: "rows.append(float(value))". */
struct sb_hot sb_forward_find_reads(const struct sb_model *model);

#endif
