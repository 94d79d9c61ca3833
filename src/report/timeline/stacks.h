/* Sampled stacks of a run: each different one once, and when it was seen. */
#ifndef SB_REPORT_TIMELINE_STACKS_H
#define SB_REPORT_TIMELINE_STACKS_H

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"
#include "run/events.h"

struct sb_timeline_stacks {
	struct sb_vec samples; /* struct sb_timeline_sample */
	struct sb_vec stacks; /* struct sb_timeline_stack */
	struct sb_vec frames; /* uint32_t: names, the innermost first */
	struct sb_map number_of; /* by a hash of the frames */
	struct sb_map waits; /* function -> 1: a thread in it waits; 0: it works */
	uint64_t left_out; /* samples beyond what is kept */
};

void sb_timeline_stacks_done(struct sb_timeline_stacks *s);
/* What is around the frames of a thread beside the main one that waits; its number is run->name_count. */
#define SB_TIMELINE_WAITING "threads that only wait"

void sb_timeline_stacks_file(
	struct sb_timeline_stacks *s, const struct sb_run *run, const struct sb_event *e);
void sb_timeline_stacks_add(struct sb_timeline_stacks *s, const struct sb_run *run, const struct sb_event *e);
/* Marks the names that the stacks use with 0; SB_TIMELINE_WAITING, too. */
void sb_timeline_stacks_names(const struct sb_timeline_stacks *s, uint32_t *name_numbers);
/* "stacks": names, the outermost first; "samples": [t_ns, stack, ns that it stands for], and where it is known
 * the CPU time that the thread used meanwhile and its lane or -1; of a thread without Python, whose one name is
 * the thread's, the CPU time alone. lane_of: track -> lane, UINT32_MAX: none. */
void sb_timeline_stacks_write(const struct sb_timeline_stacks *s, const uint32_t *name_numbers,
	const uint32_t *lane_of, uint32_t track_count, struct sb_json *j);

#endif
