/* How far two videos or pictures are from each other, frame by frame. */
#ifndef SB_PICTURE_QUALITY_H
#define SB_PICTURE_QUALITY_H

#include "picture/frames.h"

#include <stdbool.h>

#define SB_QUALITY_WORST 3

/* A frame that differs much. The pictures are data: URIs of PNG, at most 320 wide; NULL: not asked for. */
struct sb_worst_frame {
	int64_t index;
	double psnr_db, ssim_ratio;
	char *base_picture, *now_picture, *difference_picture;
};

struct sb_quality {
	int64_t base_frames, now_frames;
	int64_t compared_frames; /* the first so many of both */
	int64_t different_frames; /* of these */
	double psnr_db; /* over all samples of all compared frames; INFINITY: none differs */
	double ssim_ratio; /* of the luma, mean over frames */
	struct sb_worst_frame worst[SB_QUALITY_WORST]; /* the worst first; none of equal ones */
	size_t worst_count;
};

/* Compares them frame by frame. pictures: makes those of the worst frames. STROBE_EINVAL: sizes or kinds differ. */
int sb_quality_measure(const struct sb_picture_source *base, const struct sb_picture_source *now,
	bool pictures, struct sb_quality *out_quality);
void sb_quality_done(struct sb_quality *quality); /* frees the pictures */

#endif
