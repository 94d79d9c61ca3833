/* What a run was recorded with: the effective configuration in its META. */
#ifndef SB_RUN_SETTING_H
#define SB_RUN_SETTING_H

#include "run/run.h"

/* NaN: not set, or not a number. */
double sb_run_setting_number(const struct sb_run *run, const char *key);
/* A limit of the advice from `thresholds: {name: value}`; NaN: not set. */
double sb_run_threshold(const struct sb_run *run, const char *name);

#endif
