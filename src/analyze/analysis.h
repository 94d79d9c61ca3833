/* How a run becomes a report model: the analyses, and the one pass they share. */
#ifndef SB_ANALYZE_ANALYSIS_H
#define SB_ANALYZE_ANALYSIS_H

#include "analyze/model.h"
#include "run/events.h"

struct sb_model_options {
	bool combine; /* one row per name, whatever the parent */
	bool no_groups; /* indexed names stay apart */
	bool calls; /* keep stages' calls, as histogram and sample, to be compared with other runs' */
	bool no_neighbours; /* do not list the job's folder for the ranks beside it: for readers of every rank */
	size_t max_data_points; /* 0: the recording's own setting, else 10 000 */
	uint64_t now_real_ns; /* generated_at; 0: now */
};

/* Every analysis over the run; advise/advise.h adds the findings. Free with sb_model_free. */
int sb_analyze(struct sb_run *run, const struct sb_model_options *options, struct sb_model **out_model);

/* One analysis: says what it wants to see, sees it in the one common pass, and
 * fills its panel. Listed in analyze/analyses.c in the order of finishing, so
 * that later ones (advice, summary) can read what earlier ones found. */
struct sb_analysis {
	const char *name;
	/* Makes its state (v->self) and fills in the visitor; NULL: needs no pass.
	 * Leaves v zeroed when the run cannot interest it. */
	int (*begin)(struct sb_run *run, struct sb_model *model, struct sb_visitor *v);
	int (*finish)(void *self, struct sb_run *run, struct sb_model *model);
	void (*done)(void *self); /* frees the state, also after failure; takes NULL */
};
extern const struct sb_analysis *const sb_analyses[]; /* NULL-terminated */
const struct sb_model_options *sb_model_build_options(const struct sb_model *model);

/* max_data_points in force: the report's option, else the recording's setting. */
size_t sb_model_points(const struct sb_model *model, const struct sb_run *run);

#endif
