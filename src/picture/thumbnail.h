/* Two frames and their difference, small enough for a page. */
#ifndef SB_PICTURE_THUMBNAIL_H
#define SB_PICTURE_THUMBNAIL_H

#include "picture/frames.h"

#define SB_THUMBNAIL_WIDTH 320u

/* data: URIs, which the caller frees. STROBE_ENOTSUP in a build that cannot write PNG. */
int sb_thumbnails(const struct sb_picture *base, const struct sb_picture *now, char **out_base,
	char **out_now, char **out_difference);

#endif
