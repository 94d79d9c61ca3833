/* The ranks of a run whose recordings are of several: each in brief, from the headers alone. */
#ifndef SB_RUN_RANK_BRIEFS_H
#define SB_RUN_RANK_BRIEFS_H

#include "run/brief.h"
#include "run/catalogue.h"

#include <stddef.h>

struct sb_rank_brief {
	struct sb_run_brief brief;
	struct sb_recording_paths files; /* the recordings of the rank */
};

struct sb_rank_briefs {
	struct sb_rank_brief *all; /* by rank, of the attempt that counts */
	size_t count; /* 0: the folder is one run */
	struct sb_recording_paths others; /* of no rank: of `strobe run`, of launchers */
};

int sb_rank_briefs_read(const char *folder, struct sb_rank_briefs *out_briefs);
void sb_rank_briefs_done(struct sb_rank_briefs *b); /* b may be zeroed */

#endif
