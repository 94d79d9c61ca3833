/* The lanes of a timeline while a run is read: threads, tasks, GPU streams, and
 * the generations, blocks, steps and iterations once more on lanes of their own.
 * Not how they are written. */
#ifndef SB_REPORT_TIMELINE_LANES_H
#define SB_REPORT_TIMELINE_LANES_H

#include "run/run.h"
#include "base/map.h"
#include "report/timeline/profile.h"
#include "report/timeline/rises.h"
#include "report/timeline/rows.h"
#include "report/timeline/shapes.h"
#include "report/timeline/stacks.h"

#define SB_TIMELINE_DEPTH_MAX 64u /* rows of a lane; deeper zones are counted, not shown */
#define SB_TIMELINE_MARKS_MAX 2000u

enum sb_timeline_kind {
	SB_TIMELINE_GENERATION,
	SB_TIMELINE_BLOCK,
	SB_TIMELINE_STEP,
	SB_TIMELINE_ITERATION,
	SB_TIMELINE_THREAD,
	SB_TIMELINE_TRACK,
	SB_TIMELINE_SPANS, /* of a thread or task: may overlap, none is inside another */
	SB_TIMELINE_GPU_SPAN, /* what follows is of a GPU's stream */
	SB_TIMELINE_STREAM,
	SB_TIMELINE_WAIT /* of a GPU: the program's threads that wait for it */
};

struct sb_timeline_lane {
	enum sb_timeline_kind kind;
	uint32_t id; /* track index, or device << 24 | stream */
	uint32_t process;
	bool main;
	uint32_t rows[SB_TIMELINE_DEPTH_MAX];
	uint32_t row_count;
	int64_t busy_ns;
	uint64_t too_deep;
	uint32_t written_as;
};

/* A zone that may overlap others of its lane: its row is found when those that
 * began before it are known. */
struct sb_timeline_held {
	int64_t start_ns, end_ns;
	uint32_t lane, name;
	uint32_t detail; /* UINT32_MAX: none */
	uint32_t called_on; /* the track of a call that waits for a GPU; UINT32_MAX: none */
};

struct sb_timeline_detail {
	uint32_t lane, row;
	int64_t start_ns;
	size_t text; /* offset in timeline.detail_text */
};

struct sb_timeline_mark {
	int64_t t_ns;
	uint32_t name;
};

struct sb_timeline {
	struct sb_run *run;
	struct sb_timeline_rows rows;
	struct sb_timeline_profile profile, gpu_profile;
	struct sb_timeline_shapes shapes;
	struct sb_timeline_stacks stacks;
	struct sb_timeline_rises rises;
	struct sb_timeline_held *held;
	uint32_t held_count, held_capacity;
	struct sb_timeline_lane *lanes;
	uint32_t lane_count, lane_capacity;
	struct sb_map lane_of; /* kind << 32 | id */
	struct sb_map work_names; /* of kernels and copies: 0 a kernel, 1 a copy or fill */
	struct sb_timeline_detail *details;
	uint32_t detail_count, stage_detail_count;
	struct sb_buf detail_text; /* NUL-terminated objects */
	struct sb_timeline_mark marks[SB_TIMELINE_MARKS_MAX];
	uint32_t mark_count;
	uint32_t *name_numbers; /* run name -> number in the page */
	uint64_t zones;
	bool failed;
};

/* Sorts the run's zones into lanes: one pass, bounded memory. */
int sb_timeline_new(struct sb_run *run, struct sb_timeline **out);
void sb_timeline_free(struct sb_timeline *t); /* t may be NULL */

#endif
