/* Which generations and steps are cold: what is inside one is not warm either. So the numbers of a stage are of calls
 * inside those of its generation. */
#ifndef SB_ANALYZE_WARM_GENERATIONS_H
#define SB_ANALYZE_WARM_GENERATIONS_H

#include "run/events.h"

struct sb_model;
struct sb_warm_generations;

/* Into model->warm_generations, which stays for the next caller. */
int sb_warm_generations_find(struct sb_run *run, struct sb_model *model);
/* The zone is, or is inside of, a cold step, or is inside a cold generation. */
bool sb_warm_generations_cold(const struct sb_warm_generations *g, const struct sb_zone *z);
/* The zone is, or is inside of, a step that a cache served. */
bool sb_warm_generations_served(const struct sb_warm_generations *g, const struct sb_zone *z);

#endif
