/* What is particular to video, key by key: the tables of model_video.h. */
#include "analyze/model_video.h"

#include "strobe.h"

#include <math.h>

static const char *const frames_sources[] = {
	[SB_FRAMES_NONE] = "none",
	[SB_FRAMES_COUNTED] = "as the program counted them",
	[SB_FRAMES_GENERATION] = "the generations' own number",
	[SB_FRAMES_DECODED] = "frames of the VAE decode stages",
	[SB_FRAMES_BLOCKS] = "block sizes, each block once",
	[SB_FRAMES_STEPS] = "block sizes of the steps, each chain once",
	SB_NAMES_END,
};

const char *sb_frames_source_name(enum sb_frames_source source)
{
	return frames_sources[source];
}

/* ---- diffusion_analysis -------------------------------------------------- */

static const char *const scopes[] = { "denoise", "denoise_vae", "end_to_end", SB_NAMES_END };

static const struct sb_field rate_rows[] = {
	SB_FIELD_NAMED(sb_rate, scope, "scope", SB_ALWAYS, scopes, "which part of the work is counted"),
	SB_FIELD(sb_rate, wall_s, "wall_s", SB_KNOWN, "wall time of that part"),
	SB_FIELD(sb_rate, compute_s, "compute_s", SB_KNOWN,
		"time of its steps, decodes and encodes, with all that runs in them: weights that are moved "
		"there, too"),
	SB_FIELD(sb_rate, fps_wall, "wall_fps", SB_KNOWN, "frames over wall_s"),
	SB_FIELD(sb_rate, fps_compute, "compute_fps", SB_KNOWN, "frames over compute_s"),
	SB_FIELD(sb_rate, bps_wall, "wall_bps", SB_KNOWN, "blocks over wall_s"),
	SB_FIELD(sb_rate, bps_compute, "compute_bps", SB_KNOWN, "blocks over compute_s"),
};
static SB_FIELDS(rate, sb_rate, "Rate", "One scope of the throughput, over wall time and over compute time.");

static const struct sb_field split_rows[] = {
	SB_FIELD(sb_split, part, "part", SB_ALWAYS,
		"\"denoise\", \"vae_decode\", … \"unattributed\", \"overlap\""),
	SB_FIELD(sb_split, self_s, "self_s", SB_ALWAYS,
		"wall time of its stages without those inside them; of overlap a negative time: what the "
		"other parts count twice",
		.range = SB_SIGNED),
	SB_FIELD(sb_split, wall_ratio, "wall_ratio", SB_KNOWN, "share of the generations' wall time",
		.range = SB_SIGNED),
};
static SB_FIELDS(split, sb_split, "Split", "A part of the generations' time; the parts add up to it.");

#define GROUP(counted)                                                                            \
	SB_FIELD(sb_step_group, key, "block_size_frames_count", SB_ALWAYS, "frames of a block"),  \
		SB_FIELD(sb_step_group, time.count, counted, SB_ALWAYS, counted " of that size"), \
		SB_FIELD(sb_step_group, time.total, "total_s", SB_ALWAYS, "their time added up"), \
		SB_FIELD(sb_step_group, time.mean, "mean_s", SB_ALWAYS, "mean time of one"),      \
		SB_FIELD(sb_step_group, time.std, "std_s", SB_KNOWN, "sample deviation (n - 1)"), \
		SB_FIELD(sb_step_group, time.p50, "p50_s", SB_KNOWN, "median time of one"),       \
		SB_FIELD(sb_step_group, time.p95, "p95_s", SB_KNOWN, "95 % take at most this")

static const struct sb_field step_group_rows[] = { GROUP("steps") };
static SB_FIELDS(step_group, sb_step_group, "StepGroup", "Steps of blocks of one size.");
static const struct sb_field block_group_rows[] = { GROUP("blocks") };
static SB_FIELDS(block_group, sb_step_group, "BlockGroup", "Blocks of one size.");

static const struct sb_field slow_step_rows[] = {
	SB_FIELD(sb_slow_step, step, "step_index", SB_ALWAYS, "the pipeline's own number; -1: it gave none",
		.range = SB_SIGNED),
	SB_FIELD(sb_slow_step, ordinal, "iteration_index", SB_ALWAYS,
		"from 0 among all steps of its name: the index of the same step in iterations[].outliers; "
		"the text counts from 1"),
	SB_FIELD(sb_slow_step, block, "block_index", SB_KNOWN, "the block it is in"),
	SB_FIELD(sb_slow_step, t_s, "t_s", SB_ALWAYS, "when it began", .range = SB_SIGNED),
	SB_FIELD(sb_slow_step, duration_s, "duration_s", SB_ALWAYS, "how long it took"),
	SB_FIELD(sb_slow_step, peer_s, "peer_median_s", SB_ALWAYS,
		"median of its peers: steps of the same block size, served by a cache or not alike, not the "
		"first"),
};
static SB_FIELDS(slow_step, sb_slow_step, "SlowStep", "A step slower than its peers.");

static const struct sb_field offload_rows[] = {
	SB_FIELD(sb_offload, name, "name", SB_ALWAYS, "name of the stage"),
	SB_FIELD(sb_offload, count, "count", SB_ALWAYS, "calls"),
	SB_FIELD(sb_offload, total_s, "total_s", SB_ALWAYS, "their time"),
	SB_FIELD(sb_offload, bytes, "moved_bytes", SB_KNOWN, "weights that were moved"),
	SB_FIELD(sb_offload, gb_per_s, "gb_per_s", SB_KNOWN, "moved_bytes over total_s; 1 GB is 10^9 bytes"),
};
static SB_FIELDS(offload, sb_offload, "Offload", "Moving weights between GPU and host.");

SB_FIELD_WHEN(has_frames, sb_diffusion_panel, it->frames >= 0)
SB_FIELD_WHEN(has_steps, sb_diffusion_panel, it->step.count != 0)
SB_FIELD_WHEN(has_cached, sb_diffusion_panel, it->step.count != 0 && it->cached_steps > 0)
SB_FIELD_WHEN(has_slow, sb_diffusion_panel, it->step.count != 0 && it->slow_step_count > 0)
SB_FIELD_WHEN(any_diffusion, sb_diffusion_panel, it->present || it->offload_count > 0)

static const struct sb_field cached_rows[] = {
	SB_FIELD(sb_diffusion_panel, cached_steps, "steps", SB_ALWAYS, "steps that a cache served"),
	SB_FIELD(sb_diffusion_panel, cached_ratio, "step_ratio", SB_ALWAYS, "share of all steps",
		.range = SB_SHARE),
	SB_FIELD_STRUCT(
		sb_diffusion_panel, cached_step, "step", SB_KNOWN, sb_stats_s_fields, "time of one of them"),
};
static SB_FIELDS(
	cached, sb_diffusion_panel, "CachedSteps", "Steps that a cache served.", .present = has_cached);

static const struct sb_field sb_diffusion_fields_rows[] = {
	SB_FIELD(sb_diffusion_panel, fps, "fps", SB_KNOWN, "output frames over the time spent in steps"),
	SB_FIELD(sb_diffusion_panel, bps, "bps", SB_KNOWN, "blocks over the time spent in steps"),
	SB_FIELD(sb_diffusion_panel, frames, "frames", SB_KNOWN, "output frames, each counted once"),
	SB_FIELD_NAMED(sb_diffusion_panel, frames_source, "frames_source", SB_ALWAYS, frames_sources,
		"where the frame count comes from", .when = has_frames),
	SB_FIELD(sb_diffusion_panel, latent_frames, "latent_frames_count", SB_KNOWN,
		"frames before the VAE decode"),
	SB_FIELD(sb_diffusion_panel, blocks, "blocks", SB_KNOWN, "blocks of frames"),
	SB_FIELD(sb_diffusion_panel, steps, "steps", SB_KNOWN, "scheduler steps of the whole run"),
	SB_FIELD(sb_diffusion_panel, tiles, "vae_tiles_count", SB_KNOWN, "tiles of the VAE"),
	SB_FIELD(sb_diffusion_panel, unrated_count, "unrated_generation_count", SB_SET,
		"generations that did not end, or failed, and have no frames: their time is in no rate"),
	SB_FIELD_LIST(sb_diffusion_panel, rates, rate_count, "rates", SB_ALWAYS, rate,
		"throughput, scope by scope"),
	SB_FIELD(sb_diffusion_panel, moving_s, "compute_offload_s", SB_SET,
		"part of the end to end compute_s in which weights moved"),
	SB_FIELD_LIST(sb_diffusion_panel, split, split_count, "split", SB_ALWAYS, split,
		"where the generations' time went"),
	SB_FIELD(sb_diffusion_panel, steps_per_chain, "steps_per_chain_count", SB_KNOWN,
		"scheduler steps of one block, or of one video where there are no blocks; of several the "
		"most",
		.when = has_steps),
	SB_FIELD(sb_diffusion_panel, steps_per_chain_min, "steps_per_chain_min_count", SB_KNOWN,
		"the fewest of one that came to its end, where they differ", .when = has_steps),
	SB_FIELD(sb_diffusion_panel, steps_per_video, "steps_per_video_mean_count", SB_KNOWN,
		"steps of a video, mean", .when = has_steps),
	SB_FIELD(sb_diffusion_panel, steps_per_block, "steps_per_block_mean_count", SB_KNOWN,
		"steps of a block, mean", .when = has_steps),
	SB_FIELD(sb_diffusion_panel, forwards_per_step, "forwards_per_step_mean_count", SB_KNOWN,
		"model calls of a step, mean", .when = has_steps),
	SB_FIELD(sb_diffusion_panel, first_step_s, "first_step_s", SB_KNOWN,
		"median of the generations' first steps", .when = has_steps),
	SB_FIELD_STRUCT(sb_diffusion_panel, step, "step", SB_KNOWN, sb_stats_s_fields, "time of a step"),
	SB_FIELD_STRUCT(sb_diffusion_panel, warm_step, "warm_step", SB_KNOWN, sb_stats_s_fields,
		"time of a step, without the warm-up", .when = has_steps),
	SB_FIELD_PART("cached", cached, "steps that a cache served"),
	SB_FIELD_LIST(sb_diffusion_panel, by_block_size, by_block_size_count, "by_block_size", SB_KNOWN,
		step_group, "steps by the size of their block", .when = has_steps),
	SB_FIELD(sb_diffusion_panel, trace_edge_steps, "trace_edge_step_count", SB_SET,
		"steps in which strobe began or ended its GPU trace (all traced steps if those are few); "
		"never among slow_steps",
		.when = has_steps),
	SB_FIELD(sb_diffusion_panel, slow_step_total, "slow_step_count", SB_ALWAYS,
		"steps slower than their peers", .when = has_slow),
	SB_FIELD(sb_diffusion_panel, slow_step_excess_s, "slow_step_excess_s", SB_KNOWN,
		"how much longer than their peers they took, added up", .when = has_slow),
	SB_FIELD_LIST(sb_diffusion_panel, slow_steps, slow_step_count, "slow_steps", SB_KNOWN, slow_step,
		"slowest first, at most 20", .when = has_slow),
	SB_FIELD(sb_diffusion_panel, series, "series", SB_KNOWN, "one row per step, thinned",
		.when = has_steps),
	SB_FIELD_STRUCT(sb_diffusion_panel, distribution, "distribution", SB_KNOWN, sb_distribution_fields,
		"how often a step took how long", .when = has_steps),
	SB_FIELD_LIST(sb_diffusion_panel, offloads, offload_count, "offload", SB_KNOWN, offload,
		"weights that were moved"),
};
SB_FIELDS(sb_diffusion_fields, sb_diffusion_panel, "DiffusionAnalysis", "Steps, frames per second.",
	.present = any_diffusion, SB_FLAG(sb_diffusion_panel, present));

/* ---- block_analysis ------------------------------------------------------ */

static const struct sb_field block_rows[] = {
	SB_FIELD(sb_block, index, "index", SB_KNOWN, "the pipeline's own number"),
	SB_FIELD(sb_block, frames, "frames", SB_KNOWN, "its frames"),
	SB_FIELD(sb_block, t_s, "t_s", SB_ALWAYS, "when it began", .decimals = 6, .range = SB_SIGNED),
	SB_FIELD(sb_block, duration_s, "duration_s", SB_ALWAYS, "how long it took", .decimals = 6),
	SB_FIELD(sb_block, memory_bytes, "memory_bytes", SB_KNOWN, "GPU memory at its end"),
};
static SB_FIELDS(block, sb_block, "Block", "One block of frames.");

SB_FIELD_WHEN(any_blocks, sb_block_panel, it->present)

static const struct sb_field sb_block_fields_rows[] = {
	SB_FIELD(sb_block_panel, fps, "fps", SB_KNOWN, "frames over the time spent in steps"),
	SB_FIELD(sb_block_panel, bps, "bps", SB_KNOWN, "blocks over the time spent in steps"),
	SB_FIELD(sb_block_panel, frames, "frames", SB_KNOWN, "frames of all blocks"),
	SB_FIELD(sb_block_panel, blocks, "blocks", SB_KNOWN, "blocks"),
	SB_FIELD(sb_block_panel, steps, "steps", SB_KNOWN, "steps of all blocks"),
	SB_FIELD(sb_block_panel, mean_frames, "block_size_mean_frames_count", SB_KNOWN,
		"frames of a block, mean"),
	SB_FIELD(sb_block_panel, first_block_s, "first_block_latency_s", SB_KNOWN,
		"from the start of the generation to the end of its first block, median"),
	SB_FIELD(sb_block_panel, first_block_time_s, "first_block_s", SB_KNOWN, "the first block itself"),
	SB_FIELD(sb_block_panel, later_block_time_s, "later_block_s", SB_KNOWN, "median of the others"),
	SB_FIELD_STRUCT(sb_block_panel, time, "block", SB_KNOWN, sb_stats_s_fields, "time of a block"),
	SB_FIELD_LIST(sb_block_panel, by_size, by_size_count, "by_block_size", SB_KNOWN, block_group,
		"blocks by their size"),
	SB_FIELD_LIST(sb_block_panel, all, listed, "items", SB_ALWAYS, block, "in order, thinned"),
	SB_FIELD_STRUCT(sb_block_panel, distribution, "distribution", SB_KNOWN, sb_distribution_fields,
		"how often a block took how long"),
};
SB_FIELDS(sb_block_fields, sb_block_panel, "BlockAnalysis", "Blocks of frames.", .present = any_blocks,
	SB_FLAG(sb_block_panel, present));

/* ---- model_analysis ------------------------------------------------------ */

static const struct sb_field entry_rows[] = {
	SB_FIELD(sb_model_entry, name, "name", SB_ALWAYS, "of the model"),
	SB_FIELD(sb_model_entry, type, "type", SB_KNOWN, "its class"),
	SB_FIELD(sb_model_entry, parameters, "parameter_count", SB_ALWAYS, "parameters; -1: not known",
		.range = SB_SIGNED),
	SB_FIELD(sb_model_entry, parameters_text, "parameters", SB_ALWAYS, "for people: \"1.3B\""),
	SB_FIELD_AS(
		MB, sb_model_entry, bytes, "size_mb", SB_KNOWN, "size of its weights; 1 MB is 2^20 bytes"),
	SB_FIELD(sb_model_entry, flops_per_step, "step_flops", SB_KNOWN, "operations of one step"),
	SB_FIELD(sb_model_entry, tflops_reached, "reached_tflops", SB_KNOWN,
		"operations over the time of the steps"),
};
static SB_FIELDS(entry, sb_model_entry, "ModelEntry", "One model of the pipeline.");

static const struct sb_field layer_rows[] = {
	SB_FIELD(sb_layer, name, "name", SB_ALWAYS, "of the layer"),
	SB_FIELD(sb_layer, component, "component", SB_ALWAYS, "\"patch_embed\", \"blocks\", \"norm\", …"),
	SB_FIELD(sb_layer, count, "count", SB_ALWAYS, "calls"),
	SB_FIELD(sb_layer, total_s, "total_s", SB_ALWAYS, "their time"),
	SB_FIELD(sb_layer, mean_s, "mean_s", SB_ALWAYS, "mean of one call"),
	SB_FIELD(sb_layer, time.std, "std_s", SB_KNOWN, "sample deviation (n - 1)"),
	SB_FIELD(sb_layer, gpu_span_s, "gpu_span_s", SB_KNOWN,
		"time on the GPU, from event to event on a stream"),
	SB_FIELD(sb_layer, ratio, "model_ratio", SB_KNOWN, "share of the time of all outermost layers"),
	SB_FIELD(sb_layer, nested, "nested", SB_SET, "inside another layer: not in the total"),
};
static SB_FIELDS(layer, sb_layer, "Layer", "A layer of the model.");

static const struct sb_field component_rows[] = {
	SB_FIELD(sb_component, name, "name", SB_ALWAYS, "\"patch_embed\", \"blocks\", \"norm\", …"),
	SB_FIELD(sb_component, layers, "layer_count", SB_ALWAYS, "its layers"),
	SB_FIELD(sb_component, total_s, "total_s", SB_ALWAYS, "their time"),
	SB_FIELD(sb_component, ratio, "model_ratio", SB_KNOWN, "share of the time of all outermost layers"),
};
static SB_FIELDS(component, sb_component, "LayerComponent", "Layers of one kind.");

SB_FIELD_WHEN(has_layers, sb_model_panel, it->layer_count > 0)
SB_FIELD_WHEN(has_models, sb_model_panel, it->model_count > 0)
SB_FIELD_WHEN(any_models, sb_model_panel, it->present)

static const char *const timed_on[] = { "gpu", "cpu", SB_NAMES_END };

static const struct sb_field layers_rows[] = {
	SB_FIELD(sb_model_panel, layers_total_s, "total_s", SB_ALWAYS, "time of the outermost layers"),
	SB_FIELD_NAMED(sb_model_panel, layers_timed_on, "timed_on", SB_KNOWN, timed_on,
		"gpu: these times are GPU spans; absent where an imported text does not say it"),
	SB_FIELD(sb_model_panel, block_mean_s, "block_mean_s", SB_KNOWN, "mean of the blocks' means"),
	SB_FIELD(sb_model_panel, block_std_s, "block_std_s", SB_KNOWN,
		"sample deviation of the blocks' means"),
	SB_FIELD(sb_model_panel, block_count, "block_count", SB_ALWAYS, "blocks of the model"),
	SB_FIELD(sb_model_panel, attention_ratio, "attention_ratio", SB_KNOWN,
		"share of total_s spent in attention"),
	SB_FIELD_LIST(sb_model_panel, components, component_count, "components", SB_ALWAYS, component,
		"layers by kind; they add up to total_s"),
	SB_FIELD_LIST(sb_model_panel, slowest, slowest_count, "slowest", SB_ALWAYS, layer,
		"blocks, or outermost layers where there are none; at most 5"),
	SB_FIELD_LIST(sb_model_panel, layers, layer_count, "items", SB_ALWAYS, layer,
		"every layer, slowest mean first"),
};
static SB_FIELDS(layers, sb_model_panel, "Layers", "The layers of the model.", .present = has_layers);

static const struct sb_field variant_rows[] = {
	SB_FIELD(sb_variant, name, "name", SB_ALWAYS, "of the variant: \"fp16\""),
	SB_FIELD(sb_variant, time.count, "count", SB_ALWAYS, "measurements"),
	SB_FIELD(sb_variant, warmup_count, "warmup_count", SB_ALWAYS, "measurements left out at the start"),
	SB_FIELD(sb_variant, time.mean, "mean_s", SB_ALWAYS, "mean time of one"),
	SB_FIELD(sb_variant, time.std, "std_s", SB_KNOWN, "sample deviation (n - 1)"),
	SB_FIELD(sb_variant, speedup, "speedup_ratio", SB_KNOWN,
		"how many times as fast as the first variant"),
	SB_FIELD(sb_variant, reading, "reading", SB_KNOWN, "the speed-up in words"),
};
static SB_FIELDS(variant, sb_variant, "Variant", "A precision or another named variant.");

static const struct sb_field operator_row_rows[] = {
	SB_FIELD(sb_operator, name, "name", SB_ALWAYS, "of the operator: \"aten::addmm\""),
	SB_FIELD(sb_operator, calls, "count", SB_ALWAYS, "calls"),
	SB_FIELD(sb_operator, self_s, "self_s", SB_ALWAYS, "CPU time without the operators inside it"),
	SB_FIELD(sb_operator, total_s, "total_s", SB_KNOWN, "CPU time with them"),
	SB_FIELD(sb_operator, gpu_s, "gpu_s", SB_KNOWN, "GPU time of its kernels"),
	SB_FIELD(sb_operator, ratio, "self_ratio", SB_KNOWN, "share of all self CPU time in the table",
		.range = SB_SHARE),
};
static SB_FIELDS(operator_row, sb_operator, "Operator", "An operator of torch.profiler's table.");

static const struct sb_field sb_models_fields_rows[] = {
	SB_FIELD(sb_model_panel, total_parameters, "parameter_count", SB_ALWAYS, "parameters of all models",
		.when = has_models),
	SB_FIELD(sb_model_panel, device, "device", SB_KNOWN, "what an imported benchmark ran on: \"cuda\""),
	SB_FIELD(sb_model_panel, gpu, "gpu_name", SB_KNOWN, "the GPU that it names"),
	SB_FIELD_LIST(sb_model_panel, models, model_count, "models", SB_KNOWN, entry, "the largest first"),
	SB_FIELD_PART("layers", layers, "the layers of the model"),
	SB_FIELD_LIST(sb_model_panel, variants, variant_count, "variants", SB_KNOWN, variant,
		"in the order of the run"),
	SB_FIELD_LIST(sb_model_panel, operators, operator_count, "operators", SB_KNOWN, operator_row,
		"of an imported table of torch.profiler, the most self time first"),
};
SB_FIELDS(sb_models_fields, sb_model_panel, "ModelAnalysis", "Parameters, layers, variants.",
	.present = any_models, SB_FLAG(sb_model_panel, present));

/* ---- streaming_analysis, cache_analysis ----------------------------------- */

SB_FIELD_WHEN(any_streaming, sb_streaming_panel, it->present)

static const struct sb_field sb_streaming_fields_rows[] = {
	SB_FIELD(sb_streaming_panel, batches, "batch_count", SB_ALWAYS, "batches that were sent"),
	SB_FIELD(sb_streaming_panel, frames, "frames", SB_KNOWN, "frames that were sent"),
	SB_FIELD(sb_streaming_panel, dropped_frames, "dropped_count", SB_KNOWN, "frames that were dropped"),
	SB_FIELD(sb_streaming_panel, dropped_ratio, "dropped_ratio", SB_KNOWN, "share of all frames",
		.range = SB_SHARE),
	SB_FIELD(sb_streaming_panel, fps, "fps", SB_KNOWN,
		"frames per second; absent where the batches were handed in at once"),
	SB_FIELD(sb_streaming_panel, bps, "batches_per_s", SB_KNOWN, "batches per second"),
	SB_FIELD_STRUCT(sb_streaming_panel, encode_ms, "encode", SB_KNOWN, sb_stats_ms_fields,
		"time to encode a batch"),
	SB_FIELD_STRUCT(sb_streaming_panel, network_ms, "network", SB_KNOWN, sb_stats_ms_fields,
		"time to send a batch"),
	SB_FIELD_STRUCT(sb_streaming_panel, buffer_ratio, "buffer", SB_KNOWN, sb_stats_ratio_fields,
		"how full the buffer is"),
	SB_FIELD(sb_streaming_panel, series, "series", SB_KNOWN, "one row per batch, thinned"),
};
SB_FIELDS(sb_streaming_fields, sb_streaming_panel, "StreamingAnalysis", "Frames that were sent.",
	.present = any_streaming, SB_FLAG(sb_streaming_panel, present));

static const char *const cache_kinds[] = { [0] = "eviction",
	[STROBE_CACHE_HIT] = "hit",
	[STROBE_CACHE_MISS] = "miss",
	[STROBE_CACHE_EVICT] = "eviction",
	SB_NAMES_END };

static const struct sb_field cache_event_rows[] = {
	SB_FIELD(sb_cache_event_row, t_s, "t_s", SB_ALWAYS, "when", .decimals = 6, .range = SB_SIGNED),
	SB_FIELD_NAMED(sb_cache_event_row, kind, "kind", SB_ALWAYS, cache_kinds, "what happened"),
	SB_FIELD(sb_cache_event_row, count, "count", SB_ALWAYS, "how often it happened"),
	SB_FIELD(sb_cache_event_row, chunk, "chunk_index", SB_KNOWN, "the pipeline's number of the chunk"),
	SB_FIELD(sb_cache_event_row, frame, "frame_index", SB_KNOWN, "the pipeline's number of the frame"),
	SB_FIELD(sb_cache_event_row, score, "score_value", SB_KNOWN, "what was compared with the threshold",
		.range = SB_SIGNED),
	SB_FIELD(sb_cache_event_row, threshold, "threshold_value", SB_KNOWN, "the threshold then",
		.range = SB_SIGNED),
};
static SB_FIELDS(cache_event, sb_cache_event_row, "CacheEvent", "A request to a cache, or an eviction.");

SB_FIELD_WHEN(has_scores, sb_cache_entry, it->scored_misses != 0)

static const struct sb_field cache_rows[] = {
	SB_FIELD(sb_cache_entry, cache, "name", SB_ALWAYS, "of the cache"),
	SB_FIELD(sb_cache_entry, hits, "hit_count", SB_ALWAYS, "hits"),
	SB_FIELD(sb_cache_entry, misses, "miss_count", SB_ALWAYS, "misses"),
	SB_FIELD(sb_cache_entry, evictions, "eviction_count", SB_ALWAYS, "evictions"),
	SB_FIELD(sb_cache_entry, hit_ratio, "hit_ratio", SB_KNOWN,
		"hits / (hits + misses); evictions are not requests", .range = SB_SHARE),
	SB_FIELD(sb_cache_entry, size_bytes, "size_bytes", SB_KNOWN, "size at the end"),
	SB_FIELD(sb_cache_entry, size_peak_bytes, "size_peak_bytes", SB_KNOWN, "largest size"),
	SB_FIELD(sb_cache_entry, threshold, "threshold_value", SB_KNOWN, "what a score is compared with",
		.range = SB_SIGNED),
	SB_FIELD(sb_cache_entry, score_mean, "score_mean_value", SB_KNOWN, "mean of the scores",
		.range = SB_SIGNED),
	SB_FIELD(sb_cache_entry, scored_misses, "scored_miss_count", SB_ALWAYS,
		"misses with a score and a threshold", .when = has_scores),
	SB_FIELD(sb_cache_entry, near_misses, "near_miss_count", SB_ALWAYS,
		"part of scored_miss_count: those within a quarter of the threshold", .when = has_scores),
	SB_FIELD(sb_cache_entry, miss_score_median, "miss_score_median_value", SB_KNOWN,
		"median of their scores", .when = has_scores, .range = SB_SIGNED),
	SB_FIELD_LIST(
		sb_cache_entry, events, event_count, "timeline", SB_ALWAYS, cache_event, "in order, thinned"),
};
static SB_FIELDS(cache, sb_cache_entry, "Cache", "One cache of the pipeline.");

SB_FIELD_WHEN(any_caches, sb_cache_panel, it->present)

static const struct sb_field sb_cache_fields_rows[] = {
	SB_FIELD_LIST(
		sb_cache_panel, caches, cache_count, "caches", SB_ALWAYS, cache, "every cache, by name"),
};
SB_FIELDS(sb_cache_fields, sb_cache_panel, "CacheAnalysis", "The pipeline's caches.", .present = any_caches,
	SB_FLAG(sb_cache_panel, present));
