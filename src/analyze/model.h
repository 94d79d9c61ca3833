/* The report model: a plain tree of everything a report says. Text, JSON, HTML,
 * diff, aggregate, history and Prometheus read it; none computes anything.
 *
 * Absent is not zero: a double is NAN, an int64_t count is -1, a string NULL, an
 * array empty, a panel's `present` false. Everything is in seconds and bytes.
 * All memory belongs to the model (sb_model_alloc, sb_model_text). */
#ifndef SB_ANALYZE_MODEL_H
#define SB_ANALYZE_MODEL_H

#include "analyze/model_line_profile.h"
#include "analyze/model_machine.h"
#include "analyze/model_slow_moments.h"
#include "analyze/model_outputs.h"
#include "analyze/model_source.h"
#include "analyze/model_chat.h"
#include "analyze/model_padding.h"
#include "analyze/model_out_of_memory.h"
#include "analyze/model_pm_samples.h"
#include "analyze/model_python.h"
#include "analyze/model_readings.h"
#include "analyze/model_memory_picture.h"
#include "analyze/model_residency.h"
#include "analyze/model_sizes.h"
#include "analyze/model_stages.h"
#include "analyze/model_stage_lane.h"
#include "analyze/model_strategies.h"
#include "analyze/model_video.h"
#include "base/strings.h"
#include "stats/fields.h"
#include "strobe.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- session_info, system ---- */
struct sb_session_panel {
	const char *id; /* the session's uuid as text */
	const char *name;
	const char *run; /* folder or file */
	const char *command;
	const char *commit; /* hex, of the git tree; NULL: not known */
	const char *host;
	const char *clock; /* host and boot: runs with the same text have the same clock; NULL: not known */
	const char *job; /* its tag `job`, else the launcher's id; NULL: not known */
	int64_t attempt; /* which start of the job, from 1; -1: not known */
	const char *state; /* "complete", "live", "ended without a stop" */
	uint64_t start_real_ns, end_real_ns, generated_real_ns;
	double duration_s;
	const char *duration; /* for people: "131.40 s"; "no times" */
	double digit_s; /* what the last digit of imported times stands for; NAN: they were measured */
	const char *import_note; /* what was doubtful when it was imported; NULL: nothing */
	bool file_date; /* what was imported has no date: start_real_ns is that of its file */
	bool no_times; /* what was imported has none: duration_s and all times are made up */
	int64_t pid, rank, local_rank, world_size; /* -1: none */
	int64_t previous_rank, next_rank; /* with a folder beside this one's; -1: none */
	int64_t exit_code, exit_signal; /* -1: unknown */
	bool failed; /* its recording says that its process ended with a failure */
	const char *outcome; /* in words: "exit 3 after Ctrl-C"; NULL: not under strobe run */
	const char *left_behind; /* processes still running when it ended; NULL: none */
	double cpu_s, peak_rss_bytes; /* of the command's processes; the largest one's; NAN: unknown */
	int64_t process_count; /* seen in its tree, short-lived ones may be missing; -1: unknown */
	struct sb_pair *tags;
	size_t tag_count;
	double cut_from_s, cut_to_s; /* NAN: the whole run */
	int64_t cut_generation; /* -1: not cut to one */
};
struct sb_system_panel {
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

/* ---- summary: one screen; filled from the other panels ---- */
struct sb_summary_panel {
	int64_t generation_count; /* begun and ended, without an error */
	int64_t video_count; /* made by these, in batches, or beside images or latents; 0: one each */
	int64_t image_count; /* made by these; 0: not known of any */
	int64_t unfinished_count; /* never ended, or cut by the selected part */
	int64_t failed_count; /* an error ended them */
	const char *failure; /* of the first of these, in one line; NULL: none */
	int64_t frames, steps, blocks, dropped_frames;
	int64_t width, height;
	double wall_s;
	double generation_s; /* wall time inside generations */
	double unattributed_s; /* of generation_s: no stage inside covers it */
	double overlap_s; /* stages inside at the same time: their times add up to this much more */
	double outside_s; /* imports, load, compile, export... */
	double startup_end_s; /* when the first generation began, else the first stage that is not set-up; NAN: none
				 of them is known */
	double startup_unattributed_s; /* before that: no stage covers it; NAN: no set-up is known */
	double outside_overlap_s; /* the same of what is listed there */
	double fps_wall, fps_compute, bps_wall, bps_compute;
	double first_block_s;
	double energy_wh, energy_wh_per_video, cost, cost_per_video;
	double run_energy_wh, run_cost; /* of the whole run, load and all */
	double target_fps; /* NAN: none */
	bool target_known, target_reached; /* known: there is a target and a speed */
	double gpu_peak_bytes, gpu_total_bytes, gpu_reserved_peak_bytes;
	const char *gpu_peak_stage;
	const char *gpu_name; /* of the GPUs that were used, and how many; NULL: not known */
	double ram_peak_bytes, ram_total_bytes;
	/* the time that verdicts are about: the generations, else from the start-up to the end of the last stage */
	double judged_s;
	bool judged_sampled; /* false: what was sampled is mostly of other times, the start-up's */
	double gpu_utilization_mean_percent, cpu_mean_percent,
		disk_wait_mean_percent; /* in it; NAN: not known */
	const char *
		bound; /* "GPU", "CPU", "CPU launch", "copies", "disk", "input", "communication", "mixed"; NULL: unknown */
	const char *bound_by; /* the same as a key: "cpu_launch", "unknown" */
	const char *bound_reason; /* with numbers */
	const char *next_command,
		*next_reason; /* what to record next, where no cause was found; NULL: none */
	struct sb_left_alone {
		const char *name;
	} * leave_alone; /* stages that cannot pay */
	size_t leave_alone_count;
	double leave_alone_ratio; /* of the wall time, all that small together */
	struct sb_outside {
		const char *what; /* "imports", "load", "compile", ... */
		double total_s;
		double bytes; /* NAN: none */
		bool bottleneck; /* the stage tree marks it, or a stage inside it */
	} * outside;
	size_t outside_count;
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
struct sb_events_panel {
	struct sb_event_row *rows; /* at most max_data_points, thinned evenly */
	size_t count;
	int64_t total;
	struct sb_event_name {
		const char *name;
		int64_t count; /* of all events, kept or not */
	} * names; /* the rarest first */
	size_t name_count;
	struct sb_counter {
		const char *name;
		double value; /* sum of deltas, or the last set value */
		bool gauge;
		const char *kind; /* "gauge", "sum" */
		int64_t updates;
	} * counters;
	size_t counter_count;
};
struct sb_advice {
	const char *id, *category;
	const char *priority; /* "high", "medium", "low" */
	const char *issue, *suggestion, *evidence;
	const char *cause; /* names the thing; of a symptom "cause not found: …" */
	bool cause_open; /* it names no thing: the issue is all that is known */
	const char *effort; /* "< 1 day", "2-3 days", "1-2 weeks" */
	double saves_s; /* NAN: not computable */
	const char *basis; /* of saves_s: "measured", "bounded", "estimated"; NULL with NAN */
	const char *confidence; /* "certain", "likely", "possible" */
	const char *stage; /* where, NULL: nowhere in particular */
	struct sb_advice_where {
		const char *stage, *file, *module, *kernel; /* NULL: not known */
		const char *kernel_short_name; /* NULL: kernel is short */
		const char *panel; /* that shows its numbers, by its id on the page; NULL: none of its own */
		int64_t stage_index; /* of stage; -1: none */
		uint32_t line; /* 0: not known */
		double from_s, to_s; /* since the run's start; NAN: not known */
	} where;
	const char **explains; /* ids of the symptoms it accounts for: they are folded under it */
	size_t explain_count;
	bool startup; /* it costs the start, not the warm generations */
	double value, threshold;
	const char *threshold_key; /* to set it in `thresholds:`; NULL: none */
	double rank_s; /* what it is ranked by */
	double whole_s; /* of a symptom: all the time that it is about; 0: rank_s */
};
struct sb_advice_panel {
	struct sb_advice *all; /* by what they cost the generations; those of the start after them */
	size_t count;
};
struct sb_recording_panel {
	int64_t events, zones, open_zones, folded_zones, unmatched_ends;
	int64_t dropped_count;
	struct sb_drop {
		const char *reason; /* "disk_full" */
		const char *text;
		int64_t count;
	} * drops;
	size_t drop_count;
	struct sb_pair *drop_reasons; /* the same as keys and counts */
	size_t drop_reason_count;
	double bytes, skipped_bytes;
	struct sb_damaged {
		const char *text; /* "a chunk is missing" */
		const char *file; /* where it was seen first */
		int64_t count, bytes, first_offset;
	} * damage;
	size_t damage_count;
	bool complete; /* the main process stopped in order, nothing of it is missing, and every process was recorded */
	int64_t unrecorded_count; /* processes without a recording, as far as is known */
	bool live;
	const char *
		limited_by; /* why detail was folded: "max_trace_bytes", "max_run_bytes"…; NULL: no limit was met */
	double folded_until_s; /* detail starts here; NAN: nothing was folded */
	/* what recording cost; NAN: not known, or of a run too short to say */
	double own_cpu_s, own_cpu_ratio; /* of strobe's own threads; of one core */
	double record_cost_s; /* of one word, measured where it was recorded */
	double recording_s, threads_s; /* all words at that cost; the time of the threads that wrote them */
	double overhead_ratio; /* recording_s / threads_s: never above 1 */
	double own_stages_s; /* of stages that are strobe's own work inside the program; NAN: none */
	double waiting_s; /* moving on to the next piece of the file, work and waiting, all threads */
	int64_t files;
	const char **warnings;
	size_t warning_count;
};
struct sb_missing {
	const char *what, *why, *how;
};
struct sb_missing_panel {
	struct sb_missing *all;
	size_t count;
};

struct sb_model {
	struct sb_session_panel session;
	struct sb_system_panel system;
	struct sb_summary_panel summary;
	struct sb_stages_panel stages;
	struct sb_iterations_panel iterations;
	struct sb_generations_panel generations;
	struct sb_collectives_panel collectives;
	struct sb_stage_lane stage_lane; /* not of the report */
	struct sb_functions_panel functions;
	struct sb_line_profile_panel line_profile;
	struct sb_lines_panel lines;
	struct sb_unattributed_panel unattributed;
	struct sb_garbage_panel garbage;
	struct sb_memory_panel memory;
	struct sb_out_of_memory_panel out_of_memory;
	struct sb_alloc_retries_panel alloc_retries;
	struct sb_residency_panel residency;
	struct sb_memory_pictures_panel memory_pictures;
	struct sb_memory_segments_panel memory_segments;
	struct sb_sizes_panel sizes;
	struct sb_series *series; /* every monitor; gpu_metrics, cpu_metrics... pick theirs by source */
	size_t series_count;
	struct sb_devices_panel devices;
	struct sb_charts_panel charts;
	struct sb_gpu_counters gpu_counters; /* of the run */
	int counted_device; /* whose they are */
	struct sb_pm_samples_panel pm_samples;
	struct sb_roofline_panel roofline;
	struct sb_efficiency_panel efficiency;
	struct sb_warm_generations warm_generations; /* not of the report: warm_calls.h asks it */
	struct sb_path_flops path_flops; /* the same for operations */
	struct sb_path_counters path_counters; /* not of the report: stages take theirs from it */
	struct sb_cpu_panel cpu;
	struct sb_other_panel others;
	struct sb_disk_panel disk;
	struct sb_diffusion_panel diffusion;
	struct sb_block_panel blocks;
	struct sb_model_panel models;
	struct sb_streaming_panel streaming;
	struct sb_cache_panel caches;
	struct sb_gpu_panel gpu;
	struct sb_slow_moments_panel slow_moments;
	struct sb_events_panel events;
	struct sb_advice_panel advice;
	struct sb_strategies_panel strategies;
	struct sb_readings_panel readings;
	struct sb_outputs_panel outputs;
	struct sb_source_panel source;
	struct sb_padding_panel padding;
	struct sb_chat_panel chat;
	struct sb_recording_panel recording;
	struct sb_missing_panel missing;
	/* private: sb_model_alloc, sb_model_text */
	struct sb_strings strings;
	struct sb_model_block *blocks_of_memory;
	bool failed; /* memory ran out; sb_model_build reports it */
};

/* A pasted table of layers: its whole is one call of a model, not a run with time of its own. */
static inline bool sb_model_one_call(const struct sb_model *m)
{
	const struct sb_stage *first = m->stages.stages;

	return m->session.file_date && m->models.layer_count && m->stages.stage_count && first->count == 1 &&
	       m->stages.unattributed_s == 0 && first->total_s >= m->stages.wall_s - 1e-9;
}

/* profiling_report.json: every key of the report, see stats/fields.h. */
extern const struct sb_fields sb_model_fields;

void sb_model_free(struct sb_model *model); /* takes NULL */

/* Zeroed memory that lives as long as the model; NULL only when memory is out. */
void *sb_model_alloc(struct sb_model *model, size_t size);
/* A copy of text (NULL stays NULL, "" too). */
const char *sb_model_text(struct sb_model *model, const char *text);
const char *sb_model_printf(struct sb_model *model, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void sb_model_distribution(struct sb_model *model, const double *seconds, size_t count,
	struct sb_distribution *out_distribution);
void sb_model_missing(struct sb_model *model, const char *what, const char *why, const char *how);
/* The first series of a source (and device, -2: any); NULL: none. */
const struct sb_series *sb_model_series(const struct sb_model *model, const char *source, int device);
const struct sb_stage *sb_model_stage(
	const struct sb_model *model, const char *name); /* largest of that name */

/* Settings, thresholds and tags of the recording as numbers; NAN: not set. */
double sb_model_setting_number(const struct sb_model *model, const char *key);
double sb_model_threshold(const struct sb_model *model, const char *name);
double sb_model_tag_number(const struct sb_model *model, const char *key);
/* Joules of the GPUs that the run used (all, where nothing tells) in [from, to]: the running integral where there is one,
 * else integrated power. NAN: never sampled. */
double sb_model_energy_j(const struct sb_model *model, double from_s, double to_s);

#endif
