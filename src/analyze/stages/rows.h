/* One row of the stages from the sums of its paths. tree.c decides which paths make a row and where it
 * is in the tree. */
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

/* What is not known until it is filled. */
void sb_stage_row_clear(struct sb_stage *row);
/* The GPU's part of a row whose times are filled. */
void sb_stage_row_gpu(const struct sb_stage_paths *paths, struct sb_stage *row);
/* grouped: names that differ in a number, which the row then lists. */
int sb_stage_row_fill(const struct sb_stage_paths *paths, bool grouped, struct sb_stage *row);
/* Calls inside another call of the row: they count as work of the row, but their time is in it already. */
struct sb_stage_inner {
	int64_t total_ns, self_ns, count;
};
/* Takes the paths inside another path of the row out of its list; row_of: by path, 0: none. */
struct sb_stage_inner sb_stage_take_inner(
	const struct sb_stage_sums *sums, const uint32_t *row_of, uint32_t *first, uint32_t *next);
void sb_stage_row_add_inner(struct sb_stage *row, double self_s, int64_t count);
/* The row of a stage that never ran: an index of sums->skips. */
void sb_stage_row_skip(
	const struct sb_stage_sums *sums, uint32_t skip, struct sb_model *model, struct sb_stage *row);

/* Fills same_name from rows that are ranked; paths has those of every row. */
int sb_stages_merge_names(const struct sb_stage_paths *paths, uint32_t path_count, struct sb_model *model);

#endif
