/* From what the user typed to the recordings it means. */
#ifndef SB_RUN_RESOLVE_H
#define SB_RUN_RESOLVE_H

#include "run/catalogue.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_recordings {
	struct sb_recording_paths files;
	char *folder; /* where reports belong */
	bool listed; /* found in a folder, not named: links among them are not followed */
	int32_t rank; /* only the recordings of that rank are meant; -1: all */
	uint32_t attempt; /* and of this attempt; 0: of the one that counts */
	char *imported; /* a temporary recording to remove; NULL: none */
};

/* The .strobe files of a folder or file; names what is wrong when there are none. */
int sb_recordings_find(const char *path, struct sb_recordings *out_recordings);
void sb_recordings_done(struct sb_recordings *r);

#endif
