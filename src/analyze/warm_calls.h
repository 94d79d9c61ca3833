/* Which calls of a stage are warm: not its first one in its process (the driver loads kernels, libraries tune), not in a zone
 * of warm-up, not one that failed, not one in which strobe began or ended a trace or set one up, nor the first that a trace
 * saw. Inside generations: of a warm one, where there is one; and of its steps not the first. Nor one in a step that a cache served. */
#ifndef SB_ANALYZE_WARM_CALLS_H
#define SB_ANALYZE_WARM_CALLS_H

#include "analyze/model_roofline.h"
#include "analyze/warm_generations.h"
#include "run/events.h"
#include "base/vec.h"

struct sb_model;

struct sb_warm_calls {
	const struct sb_warm_generations *generations; /* NULL: calls are judged by themselves */
	struct sb_vec traces; /* of struct sb_gpu_trace */
	struct sb_vec
		own; /* when strobe was at work for itself, in order, none at the same time as another */
	struct sb_path_seen {
		uint32_t process; /* of its last call, and 1 */
		uint32_t trace; /* the last that saw one, and 1 */
	} * seen; /* by path */
	uint32_t path_room;
	bool served_too; /* steps that a cache served are as warm as others */
	bool cold_too; /* so are calls of cold generations and steps */
};

int sb_warm_calls_init(struct sb_warm_calls *w, struct sb_run *run, struct sb_model *model);
int sb_warm_calls_init_alone(struct sb_warm_calls *w, const struct sb_run *run); /* without generations */
void sb_warm_calls_done(struct sb_warm_calls *w); /* w may be zeroed */
/* True of what is a call of its own, and neither inside another one of its path nor cut. */
bool sb_warm_calls_counts(const struct sb_zone *z);
/* Of a zone that counts, as it ends; to be asked of every such zone. False: no memory. */
bool sb_warm_calls_kind(struct sb_warm_calls *w, const struct sb_zone *z, enum sb_call_kind *out_kind);
/* How much of a zone was traced, from some moment of it to its end; 0: nothing, or a trace ended before it did. */
int64_t sb_warm_calls_traced_ns(const struct sb_warm_calls *w, const struct sb_zone *z);

#endif
