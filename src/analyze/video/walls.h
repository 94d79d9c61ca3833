/* Wall time of denoising and decoding: every moment once. */
#ifndef SB_ANALYZE_VIDEO_WALLS_H
#define SB_ANALYZE_VIDEO_WALLS_H

#include "analyze/video/video.h"

/* The stages for it where they were marked, else the steps with the short pauses between them.
 * NaN: not known. Also fills the generations' own. */
double sb_denoise_wall_s(struct sb_video *v, struct sb_model *model);
double sb_vae_wall_s(struct sb_video *v, struct sb_model *model);
/* Either of them, or both at the same time. */
double sb_denoise_vae_wall_s(struct sb_video *v);
/* The generations that count in a rate: all, or those that ended where only their frames are known. */
bool sb_generation_is_rated(const struct sb_video *v, uint32_t generation);
double sb_generations_covered_s(struct sb_video *v);
/* Of the time in which generations denoised, decoded or encoded: the part of those that count in a rate. 1: of all, or
 * no such time is known. */
double sb_rated_compute_ratio(struct sb_video *v);
/* The steps alone. */
double sb_steps_covered_s(struct sb_video *v);
/* Steps and blocks that were handed in with their durations. */
double sb_measured_s(struct sb_video *v);
/* The largest sum of such durations on one track, inside generations. If it is longer than the
 * generations, they were measured elsewhere and this run's wall time is not theirs. */
double sb_measured_track_s(struct sb_video *v);

#endif
