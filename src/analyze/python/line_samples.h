/* The samples that become lines of the program, between the pass that takes them and the groups they are added up in. */
#ifndef SB_ANALYZE_PYTHON_LINE_SAMPLES_H
#define SB_ANALYZE_PYTHON_LINE_SAMPLES_H

#include "analyze/analysis.h"
#include "analyze/python/hooks.h"
#include "analyze/python/moments.h"
#include "analyze/python/periods.h"
#include "base/map.h"

/* Of a deeper stack both ends: copying a model calls itself for each of its parts. */
enum { FRAMES = 32, LEAVES = 12, SAMPLES_MAX = 1 << 16 };
enum {
	IN_GENERATION = 1,
	IN_STEP = 2,
	BETWEEN = 4,
	IN_FIRST = 8,
	AMONG_STEPS = 16,
	IN_MODULE = 32,
	IN_HOOK = 64,
	SURELY_IN_HOOK = 128
};

struct sb_line_sample {
	struct sb_moment at;
	int64_t weight_ns;
	int64_t inside_ns; /* of the weight, in generations of its track that count */
	uint32_t path; /* UINT32_MAX: in no zone */
	uint32_t flags;
	uint32_t frame_count;
	uint32_t names[FRAMES], lines[FRAMES]; /* leaf first */
	uint32_t own; /* the frame that is blamed */
	int64_t cpu_ns; /* -1: not known */
	bool stood, ran; /* while the sampler had the GIL */
};

struct sb_line_samples {
	struct sb_model *model;
	struct sb_run *run;
	struct sb_line_sample *all;
	uint32_t count, capacity;
	struct sb_moments moments; /* of all, once they are complete */
	uint32_t every, seen; /* one of `every` is kept */
	int64_t first_ns; /* begin of the first generation; INT64_MAX: none yet */
	struct sb_periods generations, steps;
	uint32_t maker; /* the track of all generations; UINT32_MAX: there are several, or none */
	int64_t *worked_ns; /* of each track: its outermost zones after the start-up */
	uint32_t loop; /* without generations: the track with most of that, which calls the models */
	struct sb_hooks hooks;
	struct sb_map file_of; /* name -> index of files */
	const char **files;
	uint32_t file_count, file_capacity;
	bool no_memory;
};

/* "" where it is not known. */
const char *sb_lines_file(const struct sb_line_samples *s, uint32_t name);
/* The first of several generations is cold: what it does once costs the others nothing. */
bool sb_lines_are_warm_apart(const struct sb_line_samples *s);
/* True where a generation runs: of its own thread, or of the one that makes them all. */
bool sb_lines_in_generation(const struct sb_line_samples *s, const struct sb_line_sample *at);
/* Groups of equal lines into the model; of more than are listed the largest. */
int sb_lines_list(struct sb_line_samples *s, struct sb_run *run, struct sb_model *model);

#endif
