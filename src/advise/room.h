/* What all findings together may promise: the warm time there is, each second once. */
#ifndef SB_ADVISE_ROOM_H
#define SB_ADVISE_ROOM_H

#include "analyze/model.h"

/* The warm generations, where none is marked the run after its start-up: what findings about them share. */
double sb_room_inside_s(const struct sb_model *model);
/* The rest of the run from the first generation on: what findings about the time between generations have besides. */
double sb_room_outside_s(const struct sb_model *model);
/* Cuts each gain to its stage's warm time and to what the findings before it leave, which its evidence says; one that they
 * leave next to nothing promises none. The findings are in their order; those of the start-up are left alone. */
void sb_room_share(struct sb_model *model);

#endif
