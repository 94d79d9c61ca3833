/* The rows of the summary's table: the stages side by side in a generation. */
#ifndef SB_REPORT_SUMMARY_ROWS_H
#define SB_REPORT_SUMMARY_ROWS_H

#include "analyze/model.h"

#define SB_SUMMARY_ROWS 8

struct sb_summary_row {
	const struct sb_stage *stage; /* the largest of that name */
	double total_s; /* wall time: calls at the same time count once */
	double called_s; /* all calls added up */
	double gpu_span_s; /* NAN: not measured */
	bool gpu_partial; /* of some calls only */
	int64_t count, open_count;
	double frames, tiles, steps, bytes; /* attributes, summed; NAN: none */
};

struct sb_summary_rows {
	struct sb_summary_row *all; /* largest first */
	size_t count;
	double wall_s; /* of the generations, or the run */
	double startup_s; /* of the run: what came before the pipeline, none of the rows; 0: nothing */
	char startup_name[64]; /* "start-up (imports, model load)" */
	double unattributed_s; /* no row covers it */
	bool one_call; /* a pasted table of layers: no run, nothing unattributed */
	double overlap_s; /* the rows, startup_s and unattributed_s add up to this much more than wall_s */
};

/* Stages of one name and code are one row. all must be freed. Returns 0 or STROBE_ENOMEM. */
int sb_summary_rows_of(const struct sb_model *model, struct sb_summary_rows *out_rows);

/* A row of one stage alone. */
struct sb_summary_row sb_summary_row_of(const struct sb_stage *stage);

bool sb_summary_row_is_of(
	const struct sb_summary_row *row, const struct sb_stage *stage); /* its name and code */
void sb_summary_row_add(struct sb_summary_row *row, const struct sb_stage *stage);

/* Time of the row in which weights move: of stages inside it, or of the row itself. What is inside another such stage is
 * counted once. */
double sb_summary_row_moves_s(
	const struct sb_summary_rows *rows, const struct sb_stages_panel *stages, size_t row);

/* The number of the row that a stage is part of, or that the stage around it is part of; rows->count: none. */
size_t sb_summary_row_around(const struct sb_summary_rows *rows, const struct sb_stages_panel *stages,
	const struct sb_stage *stage);

#endif
