/* The report model, what is computed and never seen: padded frames and pixels, what a mask throws away, guidance. */
#ifndef SB_ANALYZE_MODEL_PADDING_H
#define SB_ANALYZE_MODEL_PADDING_H

#include "stats/fields.h"

struct sb_padding_panel {
	struct sb_padding {
		const char *stage, *code; /* code NULL: none */
		const char *kind; /* "padding", "guidance" */
		const char *words; /* "2048 frames for 1320, …: 35.5 % is never seen" */
		double frames,
			padded_frames; /* wanted, computed, over all calls; NAN: frames are not padded */
		double pixels, padded_pixels; /* of a frame; NAN: the same */
		double mask_ratio; /* share of the pixels that is kept; NAN: no mask */
		double passes; /* of guidance, in one step; NAN: padding */
		double unseen_ratio; /* of what is computed */
		double total_s, unseen_s; /* of the stage; the share of it that goes there */
	} * all; /* the largest unseen_s first */
	size_t count;
};

extern const struct sb_fields sb_padding_fields;

#endif
