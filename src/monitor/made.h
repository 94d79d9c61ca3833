/* How much the recorded program has made so far, for the live display: frames, blocks and steps, from the headers of
 * the recordings that are being written. */
#ifndef SB_MONITOR_MADE_H
#define SB_MONITOR_MADE_H

#include "base/buf.h"

#include <stdint.h>

struct sb_made_so_far {
	uint64_t frames, blocks, steps;
};

/* Adds up this process's recording and every other one in folder. NULL: this process alone. */
void sb_made_read(const char *folder, struct sb_made_so_far *out_made);

/* "Speed: 12.0 FPS, 4.0 BPS, 16.0 steps/s (36 frames, 12 blocks, 48 steps)", the rates since `before`. Writes
 * nothing where nothing was made. */
void sb_made_put(struct sb_buf *out, const struct sb_made_so_far *now, const struct sb_made_so_far *before,
	double seconds);

#endif
