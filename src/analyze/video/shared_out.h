/* What generations used of the machine: those that ran at once share it. */
#ifndef SB_ANALYZE_VIDEO_SHARED_OUT_H
#define SB_ANALYZE_VIDEO_SHARED_OUT_H

#include "analyze/model.h"

/* Fills energy_wh and machine_s of the generations, so that they add up to what was used. */
void sb_generations_share_out(struct sb_model *model);

#endif
