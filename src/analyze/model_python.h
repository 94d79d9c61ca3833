/* The report model, on Python: functions that ran where no stage was, garbage collections.
 * model.h says what absent is and who owns the memory. */
#ifndef SB_ANALYZE_MODEL_PYTHON_H
#define SB_ANALYZE_MODEL_PYTHON_H

#include "base/role.h"
#include "stats/fields.h"

#include <stddef.h>
#include <stdint.h>

/* ---- unattributed: what ran while no stage did ---- */
struct sb_place {
	const char *function;
	const char *file; /* NULL: not known */
	uint32_t line; /* that most of it was in */
	const char *inside; /* the function of a library that it was in most; NULL: in itself */
	double estimate_s; /* its share of the time of the list */
	double ratio; /* of that time */
};
struct sb_place_list {
	double unattributed_s,
		ratio; /* of the generations' time, or the run's; around steps: what that stage takes */
	int64_t sample_count;
	double sampled_s; /* what the samples stand for; only an estimate of unattributed_s */
	double unsampled_s; /* of unattributed_s: no sample stands for it, as before Python began */
	double exit_s; /* of unattributed_s: after the program's last line, while its process ended */
	struct sb_place *all; /* largest first, at most SB_PLACES_MAX */
	size_t count; /* 0: too little is unattributed, or nothing was sampled there */
	bool launcher; /* the main process only waits for those it started: the functions are of these */
};
struct sb_unattributed_panel {
	struct sb_place_list generations; /* inside them, from 5 % on */
	struct sb_place_list run; /* in all of the run, from 10 % on */
	struct sb_place_list
		work; /* the run's after its start-up, where it has one and no generations: as the first screen has it */
	struct sb_place_list around
		[SB_PHASE_COUNT]; /* in the stages around the steps, each from 5 % of the generations on */
};
#define SB_PLACES_MAX 8
#define SB_SHARE_SAMPLES_LEAST 10 /* from fewer samples no share is said */

/* ---- garbage_collection ---- */
struct sb_garbage_panel {
	int64_t count, object_count; /* object: collected */
	double total_s;
	double generations_s; /* of the long ones, inside generations of videos */
	int64_t long_count; /* 1 ms or longer */
	double warm_s; /* of the long ones, in generations after a cold first one; without any, after the start-up */
	int64_t warm_count;
	struct sb_collection {
		double end_s, duration_s;
		int64_t generation, object_count;
	} * longest; /* at most SB_COLLECTIONS_MAX, longest first */
	size_t longest_count;
};
#define SB_COLLECTIONS_MAX 20

extern const struct sb_fields sb_unattributed_fields, sb_unattributed_share_fields, sb_garbage_fields;

#endif
