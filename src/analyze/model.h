/* The report model: a plain tree of everything a report says. Text, JSON, HTML,
 * diff, aggregate, history and Prometheus read it; none computes anything.
 *
 * Absent is not zero: a double is NAN, an int64_t count is -1, a string NULL, an
 * array empty, a section's `present` false. Everything is in seconds and bytes.
 * All memory belongs to the model (sb_model_alloc, sb_model_text). */
#ifndef SB_ANALYZE_MODEL_H
#define SB_ANALYZE_MODEL_H

#include "analyze/events.h"
#include "analyze/run.h"
#include "analyze/statistics.h"
#include "base/histogram.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_pair { /* a key with a typed value: tags, settings, system facts */
	const char *key;
	enum strobe_type type;
	int64_t i;
	double f;
	const char *s;
};

/* Values over time: one column of a monitor. */
struct sb_series_column {
	const char *name; /* ends in its unit: "memory_used_bytes" */
	double *values; /* NAN: unknown */
	struct sb_stats stats; /* of every sample; mean: weighted by the real time between samples */
	double first, max_t_s;
	double integral; /* value x seconds, trapezoids over the real intervals */
};
struct sb_series {
	const char *source; /* "gpu", "cpu", "memory", "disk", "process"... */
	int device; /* -1: none */
	const char *device_name;
	double *t_s;
	size_t count;
	struct sb_series_column *columns;
	size_t column_count;
	size_t recorded_count; /* before thinning to max_data_points */
};

/* ---- session_info, system ---- */
struct sb_session_section {
	const char *id; /* the session's uuid as text */
	const char *name;
	const char *run; /* folder or file */
	const char *command;
	const char *host;
	const char *job; /* its tag `job`, else the launcher's id; NULL: not known */
	const char *state; /* "complete", "live", "ended without a stop" */
	uint64_t start_real_ns, end_real_ns, generated_real_ns;
	double duration_s;
	int64_t pid, rank, local_rank, world_size; /* -1: none */
	int64_t exit_code, exit_signal; /* -1: unknown */
	const char *outcome; /* in words: "exit 3 after Ctrl-C"; NULL: not under strobe run */
	const char *left_behind; /* processes still running when it ended; NULL: none */
	double cpu_s, peak_rss_bytes; /* of the command's processes; the largest one's; NAN: unknown */
	int64_t process_count; /* seen in its tree, short-lived ones may be missing; -1: unknown */
	struct sb_pair *tags;
	size_t tag_count;
	double cut_from_s, cut_to_s; /* NAN: the whole run */
	int64_t cut_generation; /* -1: not cut to one */
};
struct sb_system_section {
	struct sb_pair *facts; /* META_SYSTEM */
	size_t fact_count;
	struct sb_pair *settings; /* META_SETTING */
	size_t setting_count;
	struct sb_system_process {
		int64_t pid, ppid;
		const char *command;
		double start_s, end_s; /* NAN: unknown */
		int64_t exit_code, exit_signal;
		bool recorded; /* it wrote a recording of its own */
	} * processes;
	size_t process_count;
};

/* GPUs and the disk as sampled; their series are in model->series. */
struct sb_device {
	int index;
	const char *name, *uuid; /* NULL: not known */
	bool used; /* it did something for this run */
	double throttled_ratio; /* of the samples; NAN: not sampled */
	const char **throttle_reasons;
	size_t throttle_reason_count;
	double energy_wh, cost;
};
struct sb_devices_section {
	struct sb_device *all;
	size_t count;
};
struct sb_disk_section {
	bool present;
	/* of the process tree, and of the machine */
	double read_bytes, write_bytes, machine_read_bytes, machine_write_bytes;
	double read_gb_per_s, write_gb_per_s; /* over the sampled time; 1 GB = 1e9 bytes */
	double read_max_gb_per_s, write_max_gb_per_s; /* the best interval between two samples */
	struct sb_series series; /* rates over time */
};

/* ---- stage_analysis ---- */
enum sb_stage_state { SB_STAGE_NORMAL = 0, SB_STAGE_OPEN, SB_STAGE_SKIPPED, SB_STAGE_UNTIMED };

struct sb_stage {
	const char *name; /* grouped: "sampling_chunk_*" */
	const char *code; /* NULL: none */
	int64_t parent; /* index of stages, always smaller; -1: top level */
	uint32_t depth;
	uint32_t child_count; /* direct ones */
	uint32_t role;
	enum sb_stage_state state;
	const char *skip_reason;
	bool span; /* from SPAN records: may overlap its siblings */
	bool main_thread; /* some of it ran on the main thread */
	bool bottleneck; /* the largest self time */
	bool setup; /* importing, loading, compiling, or inside of such */
	bool uneven; /* members differ in kind (tasks, threads) */
	/* calls that began and ended in the part asked for, without those inside another
	 * of their own; mean, percentiles, last are theirs */
	int64_t count;
	int64_t recursive_count; /* inside another call of the same stage */
	int64_t open_count; /* never ended */
	int64_t cut_count; /* cut by --from, --to, --last, --generation */
	int64_t folded_count; /* of all of these, known from digests only */
	int64_t thread_count;
	double total_s, self_s;
	double unfinished_s; /* of the total: calls never ended or cut; count x mean is the rest */
	double unattributed_s; /* of a stage with children: its self time */
	double covered_s; /* wall time in which at least one call ran; less than total_s when several did */
	double at_once_mean; /* calls that ran at the same time, on average; NAN: one at most */
	bool before_run; /* part of it lies before the run: a duration handed in later */
	double wall_ratio, self_ratio; /* of the covered time, so that neither exceeds 1 */
	struct sb_stats time; /* min, max, mean, percentiles of one call, seconds */
	const struct sb_histogram *calls; /* of ns, when the options ask for it; else NULL */
	double first_s, end_s; /* first begin, last end, since the run's start */
	double gpu_span_s, gpu_busy_s; /* NAN: not measured */
	int64_t gpu_span_count;
	/* attributes of its calls, summed (frames, steps, bytes) or the only value */
	struct sb_stage_attr {
		const char *key;
		double sum, last, min, max;
		int64_t count;
		const char *text; /* string attributes: the last value */
	} * attrs;
	size_t attr_count;
	/* grouped names: who is inside; also threads of a pool */
	struct sb_stage_member {
		const char *name;
		int64_t count;
		double total_s;
	} * members; /* at most SB_MEMBERS_MAX, largest first */
	size_t member_count; /* listed */
	size_t member_total; /* all */
};
#define SB_MEMBERS_MAX 1000

/* Every outermost call, whole or not. */
static inline int64_t sb_stage_calls(const struct sb_stage *s)
{
	return s->count + s->open_count + s->cut_count;
}

struct sb_stages_section {
	double wall_s;
	double unattributed_s; /* wall - top-level zones of the main thread */
	struct sb_stage *stages; /* a parent before its children, siblings by total */
	size_t stage_count;
	uint32_t *by_total; /* indices of stages, largest total first */
	const char **bottlenecks; /* names, largest self time first */
	size_t bottleneck_count;
	bool combined; /* rows of one name under different parents were merged */
};

/* ---- iterations, generations ---- */
struct sb_iterations {
	const char *name;
	uint32_t role; /* ITERATION, STEP, BLOCK or GENERATION */
	struct sb_stats all;
	struct sb_stats warm; /* without the warm-up */
	int64_t warmup_count;
	double warmup_s;
	double per_second; /* warm.count / warm.total: of the iterations themselves, not of what lies between */
	int64_t outlier_count; /* slower than its peers, see slow.h */
	struct sb_outlier {
		int64_t index;
		double t_s, duration_s, peer_s; /* its peers' median */
	} * outliers; /* the largest, at most 20 */
	size_t outlier_listed;
	double *series_s; /* durations in order, thinned to series_count */
	size_t series_count;
};
void sb_iterations_add_slow(struct sb_iterations *iterations, struct sb_outlier slow);

struct sb_iterations_section {
	struct sb_iterations *all;
	size_t count;
};

struct sb_generation {
	const char *name;
	double begin_s, end_s;
	int64_t frames, width, height, steps, blocks; /* -1: unknown */
	double fps; /* frames over its wall time */
	double denoise_s, vae_s; /* wall time of its steps (or denoise stages), of its VAE decodes */
	double energy_wh, cost; /* summed over the GPUs; cost: in gpu_cost_per_hour's currency */
	double utilization_percent; /* mean of the busiest GPU */
	bool open, cut; /* not ended; cut by a border: not in the section's time */
};
struct sb_generations_section {
	bool whole_run; /* no generation was marked: the run counts as one */
	double union_s; /* wall time with at least one of them */
	double total_s; /* each counted in full */
	struct sb_generation *all;
	size_t count; /* listed, at most 10 000 */
	int64_t total; /* all of them */
	struct sb_stats time; /* of those that began and ended in the part asked for */
};

/* ---- collectives: where ranks meet, and leave together ---- */
struct sb_collectives_section {
	struct sb_collective {
		const char *name;
		int64_t occurrence; /* of that name, from 0 */
		double begin_s, end_s;
	} * all; /* in order, the first SB_COLLECTIVES_MAX */
	size_t count;
	int64_t total;
};
#define SB_COLLECTIVES_MAX 2048

/* ---- sampled stacks: shares of samples, never times ---- */
struct sb_functions_section {
	struct sb_function {
		const char *name;
		const char *file; /* NULL: not known */
		uint32_t line; /* seen most often */
		const char *stage; /* in which it was seen most often; NULL: in none */
		uint64_t self_count, total_count; /* total: with what it calls */
		double self_ratio, total_ratio;
	} * all; /* the 20 seen most often themselves */
	size_t count;
	uint64_t sample_count;
};

/* ---- summary: one screen; filled from the other sections ---- */
struct sb_summary_section {
	int64_t generation_count, frames, steps, blocks, dropped_frames;
	int64_t width, height;
	double generation_s; /* wall time inside generations */
	double outside_s; /* imports, load, compile, export... */
	double fps_wall, fps_compute, bps_wall, bps_compute;
	double first_block_s;
	double energy_wh, energy_wh_per_video, cost, cost_per_video;
	double run_energy_wh, run_cost; /* of the whole run, load and all */
	double target_fps; /* NAN: none */
	double gpu_peak_bytes, gpu_total_bytes, gpu_reserved_peak_bytes;
	const char *gpu_peak_stage;
	double ram_peak_bytes, ram_total_bytes;
	double gpu_utilization_mean_percent;
	const char *bound; /* "GPU", "CPU launch", "copies", "disk", "communication" */
	const char *bound_reason; /* with numbers */
	const char **leave_alone; /* stages that cannot pay */
	size_t leave_alone_count;
	double leave_alone_ratio; /* of the wall time, all that small together */
	struct sb_outside {
		const char *what; /* "imports", "load", "compile", ... */
		double total_s;
		double bytes; /* NAN: none */
	} * outside;
	size_t outside_count;
};

/* ---- memory ---- */
struct sb_memory_snapshot {
	const char *label;
	double t_s;
	int device; /* -1: host */
	double allocated_bytes, reserved_bytes, peak_bytes;
	const char *stage;
};
struct sb_memory_section {
	bool present;
	struct sb_memory_snapshot *snapshots;
	size_t snapshot_count;
	int64_t snapshot_total;
	double peak_bytes, peak_t_s; /* of the device with the highest peak */
	const char *peak_stage;
	const char *peak_source; /* "allocated" (the allocator's word), "process" or "device" (sampled) */
	int peak_device;
	double reserved_peak_bytes, device_total_bytes;
	double fragmentation_ratio; /* 1 - allocated / reserved, at the worst snapshot */
	double fragmentation_bytes, fragmentation_reserved_bytes;
	const char *fragmentation_label; /* that snapshot's */
	double spike_bytes, spike_t_s; /* the steepest rise between two readings */
	const char *spike_stage; /* NULL: outside every stage */
	struct sb_memory_stage {
		const char *stage;
		int64_t count;
		double peak_bytes, before_bytes, after_bytes;
		double kept_bytes; /* after - before, the last occurrence with a reading on both sides */
		bool checked; /* there was one */
		bool freed; /* kept no more than 5 % of its peak, or 64 MB */
		bool holds; /* it loads weights: keeping them is its purpose */
	} * stages;
	size_t stage_count;
	struct sb_memory_allocator {
		const char *allocator;
		int64_t alloc_count, free_count;
		double allocated_bytes, freed_bytes, live_bytes, peak_bytes;
	} * allocators;
	size_t allocator_count;
	double ram_peak_bytes, swap_peak_bytes, page_cache_peak_bytes;
	double ram_total_bytes; /* the machine's, or the cgroup's limit where that is lower */
	double rss_peak_bytes, swap_first_bytes;
	struct sb_series timeline; /* VRAM, RAM, swap, page cache side by side; count 0: none */
};

/* ---- video ---- */
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
struct sb_diffusion_section {
	bool present;
	double fps, bps; /* over the time spent in steps */
	enum sb_frames_source frames_source;
	int64_t frames, latent_frames, blocks, steps; /* steps: scheduler steps in all */
	double steps_per_video, steps_per_block, forwards_per_step;
	int64_t steps_per_chain; /* the longest chain: of one block, or of one video without blocks */
	double first_step_s; /* median of the generations' first steps */
	struct sb_stats step, warm_step, cached_step, computed_step;
	int64_t cached_steps;
	double cached_ratio;
	/* where the generations' time went: self times, they add up to its wall time */
	double denoise_s, vae_s, vae_encode_s, text_encode_s, offload_s, other_s, unattributed_s;
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
		int64_t step, block; /* -1: none */
		double t_s, duration_s, peer_s; /* peers: same block size, not cached, not first */
	} * slow_steps; /* slowest first, at most 20 */
	size_t slow_step_count;
	int64_t slow_step_total;
	double slow_step_excess_s; /* over their peers, all of them */
	struct sb_series series; /* one row per step, thinned; count 0: none */
};
struct sb_block_section {
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
};
struct sb_model_section {
	bool present;
	struct sb_model_entry {
		const char *name, *type;
		int64_t parameters;
		double bytes;
		double flops_per_step, tflops_reached;
	} * models;
	size_t model_count;
	int64_t total_parameters;
	struct sb_layer {
		const char *name;
		const char *component; /* "patch_embed", "blocks", "norm"… */
		int64_t count;
		struct sb_stats time;
		double total_s, gpu_span_s, ratio; /* ratio: of layers_total_s; NAN when nested */
		bool block, attention;
		bool nested; /* inside another layer: not added to the total */
	} * layers; /* slowest mean first */
	size_t layer_count;
	double layers_total_s; /* outermost layers; the components add up to it */
	bool layers_on_gpu; /* these times are GPU spans, not CPU time */
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
};
struct sb_streaming_section {
	bool present;
	int64_t batches, frames, dropped_frames;
	double dropped_ratio, fps, bps;
	struct sb_stats encode_ms, network_ms, buffer_ratio;
	struct sb_series series; /* one row per batch, thinned; count 0: none */
};
struct sb_cache_section {
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

/* ---- gpu_trace ---- */
struct sb_gpu_section {
	bool present;
	int64_t kernel_count;
	double kernel_total_s;
	double busy_s; /* kernels, copies and sets, counted once where they overlap; devices added up */
	double kernel_busy_s; /* kernels alone, the same way */
	double idle_s, window_s; /* window: from the first work to the last; busy + idle */
	double small_kernel_ratio; /* of the kernels, those under 10 us */
	double copy_ratio; /* copies' time / window */
	double overlap_ratio; /* of busy, while the launching thread was not waiting; NAN: unknown */
	double launch_ahead_s; /* mean time from launch to start of a kernel */
	double launch_queue_count; /* mean number of launched, not yet started kernels */
	double unattributed_busy_s; /* launched outside every zone, or by nobody known */
	/* by path (see sb_run_path), what was launched in a zone and the zones inside it */
	double *path_busy_s;
	uint32_t path_count;
	struct sb_gpu_copy {
		const char *direction; /* "H2D"... */
		const char *memory; /* "pageable", "pinned", NULL */
		int64_t count;
		double bytes, total_s, gb_per_s;
	} * copies;
	size_t copy_count;
	struct sb_gpu_row {
		const char *name;
		int64_t count;
		double total_s, busy_s, mean_s, min_s, max_s, ratio;
		double bytes;
	} * top_kernels, *top_zones, *attention, *collectives, *offload, *idle_zones;
	size_t top_kernel_count, top_zone_count, attention_count, collective_count, offload_count;
	size_t idle_zone_count; /* where the CPU was while the GPU had nothing to do */
	struct sb_gpu_gap {
		double t_s, duration_s;
		const char *cpu_did; /* the zone the CPU was in */
		int device;
	} * gaps;
	size_t gap_count;
	int64_t gap_total;
	double exposed_communication_s, communication_s;
};

/* ---- events, recommendations, recording, not_recorded ---- */
struct sb_event_row {
	const char *name;
	double t_s;
	const char *kind; /* "event", "mark", "skipped" */
	const char *reason;
	struct sb_pair *attrs;
	size_t attr_count;
};
struct sb_events_section {
	struct sb_event_row *rows; /* at most max_data_points, thinned evenly */
	size_t count;
	int64_t total;
	struct sb_counter {
		const char *name;
		double value; /* sum of deltas, or the last set value */
		bool gauge;
		int64_t updates;
	} * counters;
	size_t counter_count;
};
struct sb_advice {
	const char *id, *category;
	const char *priority; /* "high", "medium", "low" */
	const char *issue, *suggestion, *evidence;
	const char *effort; /* "< 1 day", "2-3 days", "1-2 weeks" */
	double saves_s; /* NAN: not computable */
	const char *stage; /* where, NULL: nowhere in particular */
	double value, threshold;
	const char *threshold_key; /* to set it in `thresholds:`; NULL: none */
	double rank_s; /* what it is ranked by */
};
struct sb_advice_section {
	struct sb_advice *all; /* by the seconds they could save */
	size_t count;
};
struct sb_recording_section {
	int64_t events, zones, open_zones, folded_zones, unmatched_ends;
	int64_t dropped_count;
	struct sb_drop {
		const char *reason; /* "disk_full" */
		const char *text;
		int64_t count;
	} * drops;
	size_t drop_count;
	double bytes, skipped_bytes;
	struct sb_damaged {
		const char *text; /* "a chunk is missing" */
		const char *file; /* where it was seen first */
		int64_t count, bytes, first_offset;
	} * damage;
	size_t damage_count;
	bool complete; /* the main process stopped in order, and nothing of it is missing */
	bool live;
	const char *limited_by; /* why detail was folded: "max_trace_bytes"; NULL: no limit was met */
	double folded_until_s; /* detail starts here; NAN: nothing was folded */
	/* what recording cost; NAN: not known, or of a run too short to say */
	double own_cpu_s, own_cpu_ratio; /* of strobe's own threads; of one core */
	double record_cost_s; /* of one word, measured where it was recorded */
	double recording_s, threads_s; /* all words at that cost; the time of the threads that wrote them */
	double overhead_ratio; /* recording_s / threads_s: never above 1 */
	double waiting_s; /* threads at a change of chunk, work and waiting, added up over threads */
	int64_t files;
	const char **warnings;
	size_t warning_count;
};
struct sb_missing {
	const char *what, *why, *how;
};
struct sb_missing_section {
	struct sb_missing *all;
	size_t count;
};

struct sb_model {
	struct sb_session_section session;
	struct sb_system_section system;
	struct sb_summary_section summary;
	struct sb_stages_section stages;
	struct sb_iterations_section iterations;
	struct sb_generations_section generations;
	struct sb_collectives_section collectives;
	struct sb_functions_section functions;
	struct sb_memory_section memory;
	struct sb_series *series; /* every monitor; gpu_metrics, cpu_metrics... pick theirs by source */
	size_t series_count;
	struct sb_devices_section devices;
	struct sb_disk_section disk;
	struct sb_diffusion_section diffusion;
	struct sb_block_section blocks;
	struct sb_model_section models;
	struct sb_streaming_section streaming;
	struct sb_cache_section caches;
	struct sb_gpu_section gpu;
	struct sb_events_section events;
	struct sb_advice_section advice;
	struct sb_recording_section recording;
	struct sb_missing_section missing;
	/* private: sb_model_alloc, sb_model_text */
	struct sb_strings strings;
	struct sb_model_block *blocks_of_memory;
	bool failed; /* memory ran out; sb_model_build reports it */
};

struct sb_model_options {
	bool combine; /* one row per name, whatever the parent */
	bool no_groups; /* indexed names stay apart */
	bool histograms; /* keep those of stages, to be merged with other runs' */
	size_t max_data_points; /* 0: the recording's own setting, else 10 000 */
	uint64_t now_real_ns; /* generated_at; 0: now */
};

int sb_model_build(struct sb_run *run, const struct sb_model_options *options, struct sb_model **out_model);
void sb_model_free(struct sb_model *model); /* takes NULL */

/* Zeroed memory that lives as long as the model; never NULL for size 0 only. */
void *sb_model_alloc(struct sb_model *model, size_t size);
/* A copy of text (NULL stays NULL, "" too). */
const char *sb_model_text(struct sb_model *model, const char *text);
const char *sb_model_printf(struct sb_model *model, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void sb_model_missing(struct sb_model *model, const char *what, const char *why, const char *how);
/* The first series of a source (and device, -2: any); NULL: none. */
const struct sb_series *sb_model_series(const struct sb_model *model, const char *source, int device);
const struct sb_series_column *sb_series_column_find(const struct sb_series *series, const char *name);
const struct sb_stage *sb_model_stage(
	const struct sb_model *model, const char *name); /* largest of that name */

/* One analysis: says what it wants to see, sees it in the one common pass, and
 * fills its section. Listed in analyze/analyses.c in the order of finishing, so
 * that later ones (advice, summary) can read what earlier ones found. */
struct sb_analysis {
	const char *name;
	/* Makes its state (v->self) and fills in the visitor; NULL: needs no pass.
	 * Leaves v zeroed when the run cannot interest it. */
	int (*begin)(struct sb_run *run, struct sb_model *model, struct sb_visitor *v);
	int (*finish)(void *self, struct sb_run *run, struct sb_model *model);
	void (*done)(void *self); /* frees the state, also after failure; takes NULL */
};
extern const struct sb_analysis *const sb_analyses[]; /* NULL-terminated */
const struct sb_model_options *sb_model_build_options(const struct sb_model *model);

#endif
