/* Where the weights of the program's models lay at a moment, on which device or on the host: by the lists of all models that its
 * process makes after a generation, and by what it says after each move. */
#ifndef SB_ANALYZE_MEMORY_WEIGHTS_H
#define SB_ANALYZE_MEMORY_WEIGHTS_H

#include "analyze/analysis.h"
#include "base/vec.h"

#define SB_WEIGHTS_MOST 64u

struct sb_weights {
	struct sb_vec listed; /* struct listed_weights, as they came */
	struct sb_vec moves; /* struct moved_weights, once prepared by line, then by time */
	struct sb_vec lines; /* struct sb_weights_line: once prepared */
	bool failed, too_many;
	const char **unplaced; /* models that were moved, and it is not known where to */
	size_t unplaced_count;
};

struct sb_weights_held { /* at a moment, in one place */
	struct sb_resident parts[SB_WEIGHTS_MOST];
	size_t count;
	double sum; /* of all bytes */
};

/* Takes an event SB_EVENT_RESIDENT; leaves others alone. */
void sb_weights_see(struct sb_weights *w, struct sb_model *model, const struct sb_event *e);
/* Once all events are there and the model has its stages. */
void sb_weights_prepare(struct sb_weights *w, struct sb_model *model);
/* True if models have been named at all. */
bool sb_weights_any(const struct sb_weights *w);
/* device -1: the host. Of models that never move: by the list that was the last one then, else by the first; by the nearest if
 * nearest. INFINITY: at the end. */
void sb_weights_at(
	const struct sb_weights *w, int64_t device, double t_s, bool nearest, struct sb_weights_held *out);
void sb_weights_done(struct sb_weights *w);

#endif
