/* One row of the stages from the sums of its paths. Which paths make a row, and
 * where it is in the tree, is tree.c's business. */
#ifndef SB_ANALYZE_STAGES_ROWS_H
#define SB_ANALYZE_STAGES_ROWS_H

#include "analyze/stages/stages.h"

/* The paths of a row, a list through next; UINT32_MAX ends it. */
struct sb_stage_paths {
	const struct sb_stage_sums *sums;
	struct sb_model *model;
	uint32_t first;
	const uint32_t *next; /* by path */
};

/* grouped: names that differ in a number, which the row then lists. */
int sb_stage_row_fill(const struct sb_stage_paths *paths, bool grouped, struct sb_stage *row);
/* The row of a stage that never ran: an index of sums->skips. */
void sb_stage_row_skip(
	const struct sb_stage_sums *sums, uint32_t skip, struct sb_model *model, struct sb_stage *row);

/* Fills same_name from rows that are ranked; paths has those of every row. */
int sb_stages_merge_names(const struct sb_stage_paths *paths, uint32_t path_count, struct sb_model *model);

#endif
