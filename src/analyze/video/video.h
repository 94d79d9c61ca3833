/* What a video pipeline did: generations, scheduler steps, blocks, frames, and
 * the rates that follow. Frames are counted once; latent frames are not frames;
 * a step is a scheduler step, whatever runs inside it.
 *
 * One pass collects them (collect.c); then generations.c, steps.c, blocks.c
 * and rates.c fill the model, in this order. */
#ifndef SB_ANALYZE_VIDEO_VIDEO_H
#define SB_ANALYZE_VIDEO_VIDEO_H

#include "analyze/analysis.h"
#include "analyze/touched_devices.h"
#include "analyze/warm_calls.h"
#include "base/map.h"
#include "base/role.h"
#include "base/vec.h"

extern const struct sb_analysis sb_analysis_video;

#define SB_NO_GENERATION UINT32_MAX

struct sb_video_step {
	int64_t begin_ns, end_ns;
	int64_t gpu_begin_ns, gpu_end_ns; /* from event to event on the GPU; equal: not known */
	int64_t step; /* -1: none */
	int64_t block_size; /* frames; 0: none */
	int64_t block; /* the chain it belongs to, set by steps.c */
	int64_t ordinal; /* among the steps of its name, from 0 */
	double timestep; /* NaN: none */
	uint32_t name;
	uint32_t track;
	uint32_t generation;
	bool measured; /* the caller's stopwatch: may overlap, is never nested */
	bool cached;
	bool first; /* of its generation */
	bool warm; /* see warm_calls.h */
	bool trace_edge; /* strobe's GPU trace slows it, set by steps.c */
};

/* Where the CPU runs ahead of the GPU, a step on the CPU is its launches alone: it lasts as long as the GPU takes for it. */
static inline int64_t sb_video_step_ns(const struct sb_video_step *n)
{
	int64_t cpu_ns = n->end_ns - n->begin_ns, gpu_ns = n->gpu_end_ns - n->gpu_begin_ns;

	return gpu_ns > cpu_ns ? gpu_ns : cpu_ns;
}

static inline double sb_video_step_s(const struct sb_video_step *n)
{
	return (double)sb_video_step_ns(n) / 1e9;
}

struct sb_video_block {
	int64_t begin_ns, end_ns;
	int64_t index, frames; /* -1, 0: none */
	int64_t memory_bytes; /* -1: none */
	int64_t steps; /* set by steps.c */
	uint32_t track;
	uint32_t generation;
	bool measured;
};

struct sb_video_generation {
	struct sb_last_stage {
		int64_t end_ns;
		bool failed;
	} last_decode, last_denoise; /* end 0: none */
	int64_t begin_ns, end_ns;
	int64_t frames, width, height, latent_frames; /* -1: none */
	int64_t asked_frames; /* also of one that failed or has not ended */
	int64_t videos; /* of a batch; 0: it made latents; -1: not given, it is one */
	int64_t images; /* that it made instead of a video; -1: none */
	int64_t counted; /* strobe_frames() inside it */
	int64_t decoded; /* frames of its VAE decodes; -1: none */
	bool padded; /* it computes more frames than it has */
	const char *name;
	uint32_t track;
	uint32_t depth; /* zones around it */
	uint64_t devices; /* that its GPU zones name, by the monitors' number; 0: none */
	const char *no_video; /* "failed", "cached": its time is not a video's; NULL: it is */
	bool open, cut; /* then frames and latent_frames are those it has counted, not those it was to make */
};

/* A stage that is for something (base/role.h), outermost of its kind. */
struct sb_video_stage {
	int64_t begin_ns, end_ns;
	int64_t gpu_begin_ns, gpu_end_ns; /* as of a step */
	int64_t frames; /* -1: none */
	uint32_t track;
	uint32_t generation;
	enum strobe_role work;
	bool failed; /* an error came out of it */
};

struct sb_video_frames {
	int64_t t_ns, count;
};

/* What a cache was asked for. */
struct sb_video_lookup {
	int64_t t_ns;
	uint32_t cache, track;
	bool hit; /* else a miss */
};

struct sb_video {
	struct sb_run *run;
	struct sb_model *model;
	struct sb_device_numbers device_numbers;
	bool picked; /* samples of counters are those around slow moments: they show exceptions alone */
	struct sb_vec steps, blocks, generations, stages, frames;
	struct sb_vec lookups;
	struct sb_vec encodes; /* struct sb_video_stage: of texts, and with the VAE */
	struct sb_warm_calls warm;
	int64_t warm_ns; /* the end of the warm-up that the run begins with; its own begin: none */
	int64_t frames_total; /* counted; -1: never */
	int64_t dropped_total; /* -1: never */
	int64_t latent_frames, tiles; /* attributes of stages; -1: none */
	int64_t forward_count;
	struct sb_map ordinals; /* name -> steps of that name so far */
	int64_t nested_steps; /* steps inside steps: forwards in truth */
	double flops; /* sum; 0: none */
	/* what has no detail any more: folded by the recorder, or past the cap here */
	struct sb_video_rest {
		int64_t count, frames;
		double total_s, min_s, max_s;
	} rest_steps, rest_blocks;
	uint32_t block_paths[16]; /* of folded blocks: their sums of frames come by path */
	size_t block_path_count;
	bool failed;
	/* worked out on the way */
	bool whole_run;
	bool blocks_from_steps;
	bool frames_of_ended; /* unfinished or failed generations have no frames: their time is in no rate */
	bool outside; /* no step and no block lies in a generation: they count by themselves */
	int64_t chain_count;
	int64_t longest_chain, shortest_chain; /* 0: none */
};

/* Whether anything of a video was seen, besides generations. */
static inline bool sb_video_any(const struct sb_video *v)
{
	return v->steps.count || v->blocks.count || v->stages.count || v->frames.count;
}

void sb_generations_fill(struct sb_video *v, struct sb_model *model);
/* The part of their time that came one after the other until the last one ended; NAN: no memory, or no time. */
double sb_generations_in_turn_ratio(const struct sb_vec *generations);
/* After sb_generations_fill: the time of the stages in each of them, from model->stages. */
void sb_generations_take_stages(struct sb_video *v, struct sb_model *model);
void sb_steps_fill(struct sb_video *v, struct sb_model *model);
/* Called by sb_steps_fill when the steps are in the order of their tracks: sets `cached` of those that a cache served. */
void sb_served_mark(struct sb_video *v);
/* Called by sb_steps_fill; scratch has room for every step. */
void sb_slow_steps_fill(struct sb_video *v, struct sb_model *model, double *scratch_s);
void sb_blocks_fill(struct sb_video *v, struct sb_model *model);
void sb_rates_fill(struct sb_video *v, struct sb_model *model);

/* Whether any step or block lies in a generation. Sets v->outside. */
void sb_generations_look_for_steps(struct sb_video *v);
/* The generation of a step or block. measured: its duration was handed in by the caller, whose stopwatch may have
 * started before the generation was marked; then its end decides. */
uint32_t sb_generation_of(
	const struct sb_video *v, uint32_t track, int64_t begin_ns, int64_t end_ns, bool measured);

#endif
