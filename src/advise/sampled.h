/* What the monitors sampled of each GPU. */
#ifndef SB_ADVISE_SAMPLED_H
#define SB_ADVISE_SAMPLED_H

#include "analyze/model.h"

/* The i-th GPU that was sampled, and *i one further; NULL past the end. */
const struct sb_series *sb_sampled_gpu(const struct sb_model *model, size_t *i);
/* NULL: not sampled. The series may be NULL. */
const struct sb_stats *sb_sampled_stats(const struct sb_series *series, const char *column);
/* True if the GPU did something, or the program has memory on it: one that was not used gets no advice. */
bool sb_sampled_use(const struct sb_model *model, const struct sb_series *series);

#endif
