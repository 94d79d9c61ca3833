/* How the stages split the wall time: unattributed, overlap, inside and outside the generations. */
#ifndef SB_ANALYZE_STAGES_SPLIT_H
#define SB_ANALYZE_STAGES_SPLIT_H

#include "analyze/stages/rows.h"

/* `paths` by row. Fills the totals of the panel, and each row's place in it. */
int sb_stages_split(const struct sb_stage_paths *paths, struct sb_stage_sums *sums, struct sb_model *model);
/* After that: what changes hands where the CPU runs ahead, of each row with its parts. */
void sb_stages_move(struct sb_model *model);
/* What follows from moved_s, for one row. */
void sb_stage_tell_real(struct sb_stage *row, double wall_s);
/* What each stage took of each generation. */
int sb_stages_take_shares(const struct sb_stage_paths *paths, uint32_t path_count, struct sb_stage_sums *sums,
	struct sb_model *model);
/* After that, and where set-up is marked: which rows are start-up, and until when. */
void sb_stages_find_startup(
	const struct sb_stage_paths *paths, struct sb_stage_sums *sums, struct sb_model *model);
/* The gaps of the unattributed time. */
void sb_stages_find_gaps(struct sb_stage_sums *sums, struct sb_model *model);
/* The one pause between the calls of a program's loop that is far longer than all others: what it does there, it does once.
 * Needs the gaps and when the work begins and ends. */
void sb_stages_find_once(struct sb_stages_panel *s);

#endif
