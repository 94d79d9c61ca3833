/* The report model, what is particular to video: steps, blocks, models and their layers,
 * streaming, caches. model.h says what absent is and who owns the memory. */
#ifndef SB_ANALYZE_MODEL_VIDEO_H
#define SB_ANALYZE_MODEL_VIDEO_H

#include "analyze/model_machine.h"
#include "stats/distribution.h"
#include "stats/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_rate { /* one definition of speed, named */
	const char *scope; /* "denoise", "denoise_vae", "end_to_end" */
	double wall_s, compute_s;
	double fps_wall, fps_compute, bps_wall, bps_compute;
};
enum sb_frames_source {
	SB_FRAMES_NONE,
	SB_FRAMES_COUNTED, /* strobe_frames(), where they left the pipeline */
	SB_FRAMES_GENERATION, /* the generation's own number */
	SB_FRAMES_DECODED, /* frames of the VAE decode stages */
	SB_FRAMES_BLOCKS, /* the blocks' sizes, each block once */
	SB_FRAMES_STEPS /* the steps' block sizes, each chain of steps once */
};
const char *sb_frames_source_name(enum sb_frames_source source); /* "counted"… */
struct sb_diffusion_panel {
	bool present;
	double fps, bps; /* over the time spent in steps */
	double steps_s; /* that: those of generations at the same time count once */
	enum sb_frames_source frames_source;
	int64_t frames, latent_frames, blocks, steps; /* steps: scheduler steps in all */
	double steps_per_video, steps_per_block, forwards_per_step;
	int64_t unrated_count; /* generations that did not end or failed, without frames: their time is in no rate */
	int64_t steps_per_chain; /* the longest chain: of one block, or of one video without blocks */
	int64_t steps_per_chain_min; /* the shortest of those that came to their end, where it is shorter; -1: it is not */
	double first_step_s; /* median of the generations' first steps */
	struct sb_stats step, warm_step, cached_step, computed_step;
	int64_t cached_steps;
	int64_t traced_steps,
		traced_cached_steps; /* in the GPU trace, and of them those that a cache served */
	double cached_ratio;
	/* where the generations' time went: self times against the wall; less the overlap they add up
	 * to the wall time of the generations */
	double denoise_s, vae_s, vae_encode_s, text_encode_s, offload_s, other_s, unattributed_s, overlap_s;
	double moving_s; /* of offload_s, the part inside steps, decodes and encodes: compute time holds it */
	struct sb_split {
		const char *part; /* "vae_decode" */
		const char *words; /* "VAE decode" */
		double self_s, wall_ratio; /* of the generations' time */
	} * split; /* the same, those above 0 */
	size_t split_count;
	double offload_bytes, offload_gb_per_s;
	struct sb_offload {
		const char *name;
		int64_t count;
		double total_s, bytes, gb_per_s; /* 1 GB = 1e9 bytes */
	} * offloads;
	size_t offload_count;
	int64_t tiles;
	struct sb_rate *rates;
	size_t rate_count;
	struct sb_step_group { /* by block size, by step number */
		int64_t key;
		struct sb_stats time;
	} * by_block_size, *by_step;
	size_t by_block_size_count, by_step_count;
	struct sb_slow_step {
		int64_t step, block; /* as the pipeline numbers them; -1: none */
		int64_t ordinal; /* among the steps of its name, from 0, like iterations' outliers */
		double t_s, duration_s, peer_s; /* peers: same block size, cached alike, not first */
	} * slow_steps; /* slowest first, at most 20 */
	size_t slow_step_count;
	int64_t slow_step_total;
	double slow_step_excess_s; /* over their peers, all of them */
	int64_t trace_edge_steps; /* strobe's GPU trace slows them: left out of the comparison */
	struct sb_series series; /* one row per step, thinned; count 0: none */
	struct sb_distribution distribution; /* of all steps */
};
struct sb_block_panel {
	bool present;
	double fps, bps;
	int64_t frames, blocks, steps;
	double first_block_s; /* latency: from the generation's start to its first block's end, median */
	double first_block_time_s, later_block_time_s; /* the first block itself, the median of the others */
	double mean_frames;
	struct sb_stats time;
	struct sb_step_group *by_size;
	size_t by_size_count;
	struct sb_block {
		int64_t index, frames;
		double t_s, duration_s, memory_bytes;
	} * all;
	size_t listed, total;
	struct sb_distribution distribution; /* of all of them */
};
struct sb_model_panel {
	bool present;
	struct sb_model_entry {
		const char *name, *type;
		int64_t parameters;
		const char *parameters_text; /* "1.3B" */
		double bytes;
		double flops_per_step, tflops_reached;
	} * models;
	size_t model_count;
	const char *device,
		*gpu; /* of an imported benchmark: "cuda", "NVIDIA GeForce RTX 4090"; NULL: not given */
	int64_t total_parameters;
	struct sb_layer {
		const char *name;
		const char *component; /* "patch_embed", "blocks", "norm"… */
		int64_t count;
		struct sb_stats time;
		double total_s, mean_s, gpu_span_s, ratio; /* ratio: of layers_total_s; NAN when nested */
		bool block, attention;
		bool nested; /* inside another layer: not added to the total */
		int64_t stands_for; /* blocks that a text put into one row; 0: it is one layer */
	} * layers; /* slowest mean first */
	size_t layer_count;
	bool summed_blocks; /* one row of a text stands for all of them */
	struct sb_layer *slowest; /* of the blocks, or of the outermost layers where there are none */
	size_t slowest_count; /* at most 5 */
	double layers_total_s; /* outermost layers; the components add up to it */
	bool layers_on_gpu; /* these times are GPU spans, not CPU time */
	const char *layers_timed_on; /* "gpu", "cpu"; NULL: the imported text does not say */
	struct sb_component {
		const char *name;
		int64_t layers;
		double total_s, ratio;
	} * components;
	size_t component_count;
	int64_t block_count;
	double block_mean_s, block_std_s; /* over the blocks' means; sample deviation */
	double attention_ratio;
	struct sb_variant { /* precision and other named variants */
		const char *name;
		struct sb_stats time;
		int64_t warmup_count;
		double speedup; /* over the first one; NAN for itself */
		const char *reading; /* NULL for the first */
	} * variants;
	size_t variant_count;
	struct sb_operator { /* of an imported table of torch.profiler, beside the stages */
		const char *name;
		int64_t calls;
		double self_s, total_s, gpu_s; /* NAN: not known */
		double ratio; /* of all self time; NAN: not known */
	} * operators; /* the most self time first */
	size_t operator_count;
};
struct sb_streaming_panel {
	bool present;
	int64_t batches, frames, dropped_frames;
	double dropped_ratio, fps, bps;
	struct sb_stats encode_ms, network_ms, buffer_ratio;
	struct sb_series series; /* one row per batch, thinned; count 0: none */
};
struct sb_cache_panel {
	bool present;
	struct sb_cache_entry {
		const char *cache;
		int64_t hits, misses, evictions;
		double hit_ratio; /* hits / (hits + misses) */
		double size_bytes, size_peak_bytes;
		double threshold, score_mean;
		double miss_score_median; /* of misses with a score and a threshold */
		int64_t scored_misses, near_misses; /* near: within a quarter of the threshold */
		struct sb_cache_event_row {
			double t_s, frame, score, threshold;
			int64_t chunk, count;
			int kind;
		} * events; /* at most max_data_points */
		size_t event_count;
	} * caches;
	size_t cache_count;
};

/* "1.3B" from 1e9, "304.7M" from 1e6, "12.5K" from 1e3, else the number. */
void sb_parameters_text(int64_t count, char out_text[16]);

/* Their keys in the report: model_video.c. */
extern const struct sb_fields sb_diffusion_fields, sb_block_fields, sb_models_fields;
extern const struct sb_fields sb_streaming_fields, sb_cache_fields;

#endif
