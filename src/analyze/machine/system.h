/* The machine as sampled: GPUs that were throttled, used, paid for; the disk's
 * rates. */
#ifndef SB_ANALYZE_MACHINE_SYSTEM_H
#define SB_ANALYZE_MACHINE_SYSTEM_H

#include "analyze/analysis.h"

extern const struct sb_analysis sb_analysis_system; /* after the series */

/* Fills model->charts; after the devices, the CPU and the disk. */
void sb_charts_choose(struct sb_model *model);

#endif
