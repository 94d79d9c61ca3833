/* What memory.c noted in the pass, for stages.c and timeline.c;
 * no other file includes it. */
#ifndef SB_ANALYZE_MEMORY_COLLECTED_H
#define SB_ANALYZE_MEMORY_COLLECTED_H

#include "analyze/memory/memory.h"
#include "run/open_stages.h"

struct sb_memory_reading {
	int64_t t_ns;
	uint32_t label, process;
	int device;
	int64_t allocated, reserved, peak; /* -1 */
};

struct sb_memory_collected {
	struct sb_run *run;
	size_t points;
	struct sb_vec snapshots; /* struct sb_memory_reading, which the program took */
	struct sb_vec readings; /* the same of GPUs' allocators, with those that strobe took */
	int64_t snapshot_total;
	struct sb_open_stages stages;
	struct sb_vec held; /* lines.c's */
	struct sb_vec moments; /* line_layers.c's */
	struct sb_vec segments; /* struct sb_memory_segment */
	struct sb_model *model;
	struct allocator {
		uint32_t name;
		int64_t allocs, frees, allocated, freed, live, peak;
	} * allocators;
	size_t allocator_count;
	bool sampled; /* the run has memory samples, or lines that held it */
	bool failed;
};

static inline double sb_known_bytes(int64_t bytes)
{
	return bytes >= 0 ? (double)bytes : NAN;
}

static inline const char *sb_open_stage_name(
	const struct sb_memory_collected *m, const struct sb_open_stage *stage)
{
	return stage ? m->run->names[stage->name].text : NULL;
}

/* Peaks by stage, the spike, what stages keep; after the snapshots are listed. */
void sb_memory_stages_fill(struct sb_memory_collected *m, struct sb_model *model);
/* What lines of the program held at the peak, from snapshots of an allocator. */
void sb_memory_lines_see(struct sb_memory_collected *m, struct sb_model *model, const struct sb_event *e);
void sb_memory_lines_fill(struct sb_memory_collected *m, struct sb_model *model);
/* The same lines over time. Names the snapshot that counts: set, process, device, and its rows as they
 * were written. */
struct sb_memory_snapshot_of {
	int64_t set, device; /* set -1: the recording has one of it */
	uint32_t process;
	bool by_stage; /* its lines are stages */
};
void sb_memory_layers_see(struct sb_memory_collected *m, const struct sb_event *e);
void sb_memory_layers_fill(struct sb_memory_collected *m, struct sb_model *model,
	const struct sb_memory_snapshot_of *of, const struct sb_memory_line *rows, size_t count);
/* Blocks of the allocator's segments. */
void sb_memory_segments_see(struct sb_memory_collected *m, const struct sb_event *e);
void sb_memory_segments_fill(struct sb_memory_collected *m, struct sb_model *model);
/* The time in an event's attribute, in ns since the run's start. The attribute has that, or microseconds
 * of the time of day. */
int64_t sb_memory_event_device(const struct sb_event *e); /* -1: the host */
bool sb_memory_event_time(const struct sb_run *run, const struct sb_event *e, const char *ns_key,
	const char *unix_us_key, int64_t *out_ns);
/* The host's peaks; VRAM, RAM, swap and page cache side by side. */
void sb_memory_timeline_fill(struct sb_memory_collected *m, struct sb_model *model);

#endif
