/* Which zone launched what: GPU work waits per thread, in launch order, and is
 * handed to the innermost zone as that thread's zones stream past. */
#ifndef SB_ANALYZE_GPU_LAUNCHES_H
#define SB_ANALYZE_GPU_LAUNCHES_H

#include "analyze/gpu/families.h"
#include "analyze/gpu/timeline.h"
#include "analyze/warm_calls.h"

/* What the zones of one path launched themselves; path 0: no zone was open. */
struct sb_gpu_path {
	int64_t busy_ns; /* of the GPU's busy time; adds up to it over all paths */
	int64_t total_ns; /* durations, overlapping or not */
	int64_t copy_ns, copy_bytes; /* between host and device */
	int64_t idle_ns; /* the GPU had nothing to do while the CPU was here */
	uint64_t count;
	uint64_t copy_count;
	int64_t read_ns; /* the thread waited for single values that it copied to the host */
	uint64_t read_count;
	uint64_t gap_count; /* gaps that the CPU was here for most of */
	uint64_t call_count; /* calls inside which something was launched, by the zones inside them too */
	struct sb_gpu_calls { /* with the zones inside them */
		uint64_t call_count, launch_count, kernel_count;
		int64_t time_ns; /* their GPU spans, where they have some, else from begin to end */
		int64_t busy_ns, kernel_ns, communication_ns; /* of the GPU's busy time, as above */
		int64_t idle_ns, moves_idle_ns; /* of the GPU: all of it, and what it waited for weights */
	} of[SB_CALL_KINDS], open; /* that were traced, and the one that is open so far */
	bool is_new; /* nothing was launched yet in the call that is open */
};

struct sb_gpu_launches;

/* Every kernel is added to the families of the place that launched it. */
int sb_gpu_launches_new(struct sb_run *run, struct sb_model *model, struct sb_gpu_families *families,
	struct sb_gpu_launches **out_launches);
void sb_gpu_launches_free(struct sb_gpu_launches *l); /* takes NULL */

/* A process's work, then its zones; the gaps are given what the CPU did. */
int sb_gpu_launches_add(struct sb_gpu_launches *l, const struct sb_gpu_work *work);
int sb_gpu_launches_settle(struct sb_gpu_launches *l, struct sb_gpu_timeline *timeline);
void sb_gpu_launches_begin(struct sb_gpu_launches *l, const struct sb_zone *z);
void sb_gpu_launches_end(struct sb_gpu_launches *l, const struct sb_zone *z);
/* What is left belongs to no zone. */
int sb_gpu_launches_rest(struct sb_gpu_launches *l);

/* By path; valid after rest. */
const struct sb_gpu_path *sb_gpu_launches_paths(const struct sb_gpu_launches *l, uint32_t *out_count);
/* Time the launching thread waited while a GPU was busy, devices added up; -1: no such calls seen. */
int64_t sb_gpu_launches_waited_ns(const struct sb_gpu_launches *l);
/* From one launch of a thread to its next, the median; NAN: no two. */
double sb_gpu_launches_interval_s(const struct sb_gpu_launches *l);

#endif
