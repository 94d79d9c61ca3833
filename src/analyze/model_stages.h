/* The report model, where the time went: stages, iterations, generations, collectives of
 * ranks, sampled functions. model.h says what absent is and who owns the memory. */
#ifndef SB_ANALYZE_MODEL_STAGES_H
#define SB_ANALYZE_MODEL_STAGES_H

#include "analyze/model_counters.h"
#include "analyze/model_kernels.h"
#include "base/histogram.h"
#include "stats/distribution.h"
#include "stats/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- stage_analysis ---- */
/* Where to look first, at two levels: the stages with the most time of their own, and the model around
 * the largest of them. */
enum sb_bottleneck {
	SB_BOTTLENECK_NONE = 0,
	SB_BOTTLENECK_MAJOR,
	SB_BOTTLENECK_OTHER,
	SB_BOTTLENECK_MODEL,
	SB_BOTTLENECK_PART,
	SB_BOTTLENECK_LARGEST
};

enum sb_stage_state { SB_STAGE_NORMAL = 0, SB_STAGE_OPEN, SB_STAGE_SKIPPED, SB_STAGE_UNTIMED };

struct sb_stage {
	const char *name; /* grouped: "sampling_chunk_*" */
	const char *code; /* NULL: none */
	const char *parent_name; /* NULL: top level */
	int64_t parent; /* index of stages, always smaller; -1: top level */
	uint32_t depth;
	uint32_t child_count; /* direct ones */
	uint32_t role;
	enum sb_stage_state state;
	const char *skip_reason;
	bool span; /* from SPAN records: may overlap its siblings */
	bool main_thread; /* some of it ran on the main thread */
	bool other_thread; /* none of it did, and others that are no set-up did: no part of the wall time's split */
	bool bottleneck; /* the largest self time */
	enum sb_bottleneck bottleneck_level;
	bool setup; /* importing, loading, compiling, or inside of such */
	bool startup; /* it ended before the pipeline began */
	double startup_s; /* top level: of covered_s, what lies before that. Imports may go on later */
	bool uneven; /* members differ in kind (tasks, threads) */
	/* calls that began and ended in the selected part, without those inside another
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
	double outside_s; /* of a top-level stage: covered time in which no generation ran; NAN: others */
	double own_outside_s; /* the same of its own time, without the stages inside it; NAN: less than all generations */
	bool in_generation; /* inside one, however deep */
	bool side_by_side; /* one of those that split the generations' time, or the run's where none is */
	bool before_run; /* part of it lies before the run: a duration handed in later */
	double wall_ratio, self_ratio; /* of the covered time, so that neither exceeds 1 */
	struct sb_stats time; /* min, max, mean, percentiles of one call, seconds */
	const struct sb_histogram *calls; /* of ns, when the options ask for it; else NULL */
	double *sample_s; /* every n-th whole call in order, when the options ask for it; else NULL */
	size_t sample_count;
	double first_s, end_s; /* first begin, last end, since the run's start */
	double first_call_s; /* how long the whole call took that began first; 0: not known; not of the report */
	double gpu_span_s, gpu_busy_s; /* NAN: not measured */
	int64_t gpu_span_count; /* calls whose GPU time is in gpu_span_s */
	double gpu_late_s, gpu_behind_s; /* see model_stages.c; 0: none */
	double real_s, real_ratio; /* likewise; NAN: as the CPU has it */
	double moved_s; /* the one without the other, its parts' too; not of the report */
	double gpu_read_s; /* waiting for single values that it copies to the host, its parts' too */
	int64_t gpu_read_count; /* such values */
	double gpu_copy_s; /* its own copies between host and GPU; not of the report */
	struct sb_traced_calls
		traced; /* what its warm calls did in the trace, where it saw some; not of the report */
	bool traced_warm; /* false: there are none, it is all of them */
	struct sb_judged_calls { /* those that its rate and what bounds it are of; not of the report */
		bool warm; /* see warm_calls.h; false: all of them, none is warm */
		int64_t count;
		double time_s; /* GPU span where it is known for all of them, else the covered wall time */
		double moves_s; /* of it, in zones in which weights move */
		double flops, cpu_flops; /* counted, and in models on the CPU; 0: none */
		int64_t cached_count; /* calls of models inside them in steps that a cache served */
	} judged;
	int64_t gpu_call_count; /* calls that launched something while the GPU was traced; not of the report */
	struct sb_kernel_share *kernels; /* that it launched, by family, largest first; NULL: not traced */
	size_t kernel_share_count;
	double kernel_s; /* their time added up; NAN: none */
	struct sb_stage_work work;
	struct sb_gpu_counters counters; /* of the readings in which the GPU was at it and nothing else */
	struct sb_gpu_counters warm_counters; /* the same of its warm calls; not of the report */
	struct sb_gpu_counters sampled_counters; /* of all its calls, samples alone; not of the report */
	/* attributes of its calls, summed (frames, steps, bytes) or the only value */
	struct sb_stage_attr {
		const char *key;
		double sum, last, min, max;
		int64_t count;
		const char *text; /* string attributes: the last value */
	} * attrs;
	size_t attr_count;
	struct sb_pair *attributes; /* the same with one value each: the sum of counts, else the last */
	size_t attribute_count;
	double digit_s; /* what the last digit of its imported time stands for; NAN: it was measured */
	double per_frame_s, per_step_s, per_iteration_s; /* NAN: no such count, or calls without an end */
	/* grouped names: the single names; also threads of a pool */
	struct sb_stage_member {
		const char *name;
		int64_t count;
		double total_s;
	} * members; /* at most SB_MEMBERS_MAX, largest first */
	size_t member_count; /* listed */
	size_t member_total; /* all */
};
#define SB_MEMBERS_MAX 1000
#define SB_COLD_CALLS_LEAST 3 /* fewer do not tell what is usual */
#define SB_COLD_RATIO 3

/* Its own time where every moment is that of the stage the GPU is at when the CPU runs ahead. */
static inline double sb_stage_worked_s(const struct sb_stage *s)
{
	double worked_s = s->self_s - s->gpu_behind_s + s->gpu_late_s;

	return worked_s > 0 ? worked_s : 0;
}

/* The same of its covered time, with the stages inside it. */
static inline double sb_stage_real_s(const struct sb_stage *s)
{
	return s->covered_s + s->moved_s > 0 ? s->covered_s + s->moved_s : 0;
}

/* Its first call, where that took many times as long as the others do: a warm-up. 0: there is none. */
static inline double sb_stage_cold_s(const struct sb_stage *s)
{
	return s->count >= SB_COLD_CALLS_LEAST && s->first_call_s > SB_COLD_RATIO * s->time.median
		       ? s->first_call_s
		       : 0;
}

/* Of the calls that are judged. */
static inline const struct sb_gpu_counters *sb_stage_judged_counters(const struct sb_stage *s)
{
	return s->judged.warm ? &s->warm_counters : &s->counters;
}

/* Samples of a whole call at least; NULL: there are none. Those of steps:N are mostly of cold calls. */
static inline const struct sb_gpu_counters *sb_stage_samples(const struct sb_stage *s)
{
	const struct sb_gpu_counters *c = &s->sampled_counters;

	return c->source && c->covered_s * (double)s->count >= s->total_s ? c : NULL;
}

/* Every outermost call, whole or not. */
static inline int64_t sb_stage_calls(const struct sb_stage *s)
{
	return s->count + s->open_count + s->cut_count;
}

struct sb_model;
/* The part of its time that the run waits for: covered_s, but of requests at the same time only those that
 * followed one another until the last one ended. */
double sb_stage_in_turn_s(const struct sb_model *model, const struct sb_stage *s);
/* It is a step or denoising, or inside of one. */
bool sb_stage_is_in_steps(const struct sb_model *model, const struct sb_stage *s);

/* Some of its calls have no GPU time: captured, too frequent, without a context. */
static inline bool sb_stage_gpu_partial(const struct sb_stage *s)
{
	return s->gpu_span_count > 0 && s->gpu_span_count < s->count;
}

/* Calls ran at the same time so much that it shows in a number with one digit. */
static inline bool sb_stage_at_once(const struct sb_stage *s)
{
	return s->at_once_mean >= 1.05;
}

/* Its total is more than the wall time it covers. */
static inline bool sb_stage_overlaps(const struct sb_stage *s)
{
	return s->before_run || isfinite(s->at_once_mean);
}

/* False: the time of some call is not all there, its frames are. */
static inline bool sb_stage_has_rate(const struct sb_stage *s)
{
	return s->state != SB_STAGE_UNTIMED && !s->open_count && !s->cut_count;
}
double sb_stage_attr_total(const struct sb_stage *s, const char *key); /* NaN: none */
bool sb_stage_attr_is_count(const char *key); /* frames, steps, bytes: worth summing */

enum sb_time_kind {
	SB_TIME_STAGE = 0,
	SB_TIME_STARTUP,
	SB_TIME_ITSELF,
	SB_TIME_SMALLER,
	SB_TIME_ELSEWHERE,
	SB_TIME_UNATTRIBUTED
};

struct sb_stages_panel {
	double wall_s;
	double unattributed_s; /* wall time that no stage of any track covers */
	double unattributed_ratio; /* the same of wall_s; NAN: that is 0 */
	double overlap_s; /* what the top-level stages' covered times add up to beyond their union */
	double inside_s; /* wall time that the stages side by side cover */
	double inside_sum_s; /* their covered times added up */
	bool has_generations;
	double generations_s; /* wall time in which at least one of them ran, to a millionth; 0: none did */
	double startup_end_s; /* when the first generation began, or the first stage that is not set-up; NAN: no
				 set-up came before */
	double startup_unattributed_s; /* before that: no stage covers it */
	double work_end_s; /* when the last stage that is not set-up ended; known where startup_end_s is */
	struct sb_stage *stages; /* a parent before its children, siblings by total */
	size_t stage_count;
	struct sb_place *unattributed; /* Python functions that ran in unattributed_s, see model_python.h */
	size_t unattributed_count;
	/* where the wall time goes: the start-up, then the largest first, then smaller ones together,
	 * then what stages of other threads alone cover, then what is unattributed */
	struct sb_time_part {
		const char *name; /* NULL: no single stage */
		enum sb_time_kind kind;
		int64_t stage; /* index of stages; -1: no single stage */
		int64_t stage_count; /* of SMALLER */
		double part_s;
		double ratio; /* of the wall time */
	} * parts;
	size_t part_count;
	struct sb_uncovered {
		double t_s, duration_s;
	} * gaps; /* the longest times of unattributed_s, longest first, at most 20 */
	size_t gap_count;
	struct sb_uncovered
		once; /* of them: see sb_stages_find_once(); 0 long: there is none; not of the report */
	double once_more_s; /* than its peers, which it is longer */
	double parts_overlap_s; /* work at the same time: what the parts add up to beyond wall_s */
	/* stages that share a name, whatever they are inside of, as one row each; largest total first */
	struct sb_same_name {
		struct sb_stage all; /* without attributes and members */
		int64_t *stages; /* indices of stages */
		size_t stage_count; /* at least two */
	} * same_name;
	size_t same_name_count;
	int64_t *
		by_name; /* where names are shared: a stage of each name, the largest total of a name first */
	size_t by_name_count;
	const char **largest; /* names that matter most, at most 8, in the order in which they began */
	size_t largest_count;
	uint32_t *by_total; /* indices of stages, largest total first */
	const char **bottlenecks; /* names, largest self time first */
	size_t bottleneck_count;
	bool two_bottlenecks; /* another stage is one beside the largest */
	struct sb_stage_share {
		uint32_t track, stage;
		int64_t begin_ns; /* of the generation */
		int64_t called_ns; /* in its calls */
		int64_t behind_ns; /* of that: the GPU was still at earlier work; its parts' too */
		int64_t late_ns; /* after them, the GPU was still at it */
	} * shares; /* of generations by track and begin; not of the report: they take theirs from it */
	size_t share_count;
	bool combined; /* rows of one name under different parents were merged */
	bool on_main; /* some stage other than set-up ran on the main thread */
};

/* Enough overlap at the top level to be seen in the shares. */
static inline bool sb_stages_overlap(const struct sb_stages_panel *s)
{
	return s->overlap_s >= s->wall_s * 0.0005 && s->overlap_s > 0;
}

/* ---- iterations, generations ---- */
struct sb_iterations {
	const char *name;
	uint32_t role; /* ITERATION, STEP, BLOCK or GENERATION */
	struct sb_stats all;
	struct sb_stats warm; /* without the warm-up; of steps the warm calls, see warm_calls.h */
	bool steps_warm; /* those of steps; not of the report */
	int64_t warmup_count;
	double warmup_s;
	int64_t marked_warmup_count; /* in zones of warm-up; in none of these statistics */
	double per_second; /* warm.count / warm.total: of the iterations themselves, not of what lies between */
	double fps; /* frames a second, where a text says it; NAN: not known */
	bool aside; /* as a text reports it: no part of the run's time, and no stage */
	int64_t outlier_count; /* slower than its peers, see slow.h */
	struct sb_outlier {
		int64_t index;
		double t_s, duration_s, peer_s; /* its peers' median */
		bool warm; /* it is among the iterations of warm; not of the report */
	} * outliers; /* the largest, at most 20 */
	size_t outlier_listed;
	double *series_s; /* durations in order; of more than series_count the worst of each stride: for pictures */
	size_t series_count;
	struct sb_distribution distribution; /* of every duration that was kept */
	double *sample_s; /* every n-th duration in order: for statistics; series_s itself where that is whole */
	size_t sample_count;
	double *sample_sum_s; /* what each of them stands for: itself and those up to the next; NULL: itself alone */
	size_t sample_stride; /* how many that are; the last may have fewer */
	size_t sample_of; /* all of them */
};
void sb_iterations_add_slow(struct sb_iterations *iterations, struct sb_outlier slow);

struct sb_iterations_panel {
	struct sb_iterations *all;
	size_t count;
};

struct sb_generation {
	const char *name;
	double begin_s, end_s, wall_s; /* wall: from begin to end */
	int64_t frames, width, height, steps, blocks; /* -1: unknown */
	double fps; /* frames over its wall time */
	double step_median_s, step_max_s; /* of its steps; NAN: it has none */
	int64_t faster_count; /* finished ones that took less time; -1: none finished */
	int64_t *stages; /* indices of stages, where the CPU ran ahead of the GPU in it; see model_stages.c */
	double *stage_s;
	size_t stage_count;
	double denoise_s, vae_s; /* wall time of its steps (or denoise stages), of its VAE decodes */
	double machine_s; /* its share of the wall time: those that ran at once share it */
	double energy_wh,
		cost; /* summed over the GPUs, shared out likewise; cost: in gpu_cost_per_hour's currency */
	double utilization_percent; /* mean of the busiest GPU */
	struct sb_gpu_counters counters;
	bool open, cut; /* not ended; cut by a border: not in the panel's time */
	const char *state; /* "open", "cut", "failed", "cached"; NULL: whole */
	/* of one that failed: the kind of the error, its words, the program's line, the innermost stage; NULL: not known */
	const char *error, *error_message, *error_place, *error_stage;
	const char *failure; /* the same in one line; NULL: it did not fail */
	uint32_t track; /* of its zone */
};
#define SB_WARM_LEAST 3 /* generations: of so many the first is the cold one */
struct sb_generations_panel {
	bool whole_run; /* no generation was marked: the run counts as one */
	double union_s; /* wall time with at least one of them */
	double total_s; /* each counted in full */
	double in_turn_ratio; /* some ran at the same time: the part of total_s in those that followed one another
				 until the last one ended, which the run waits for; NAN: none did */
	struct sb_generation *all;
	size_t count; /* at most 10 000; the whole run is one */
	size_t listed; /* those that were marked */
	int64_t median; /* index of the warm one that took the middle time, of two the longer; -1: none is listed */
	int64_t total; /* all of them */
	int64_t unfinished_count, failed_count; /* open or cut; ended by an error */
	int64_t video_count; /* of the others: one each, as many as were made in a batch, or none (latents) */
	int64_t image_count; /* of those that made images instead */
	struct sb_stats time; /* of those that began and ended in the selected part, without an error */
};

/* ---- collectives: where ranks meet, and leave together ---- */
struct sb_collectives_panel {
	struct sb_collective {
		const char *name;
		int64_t occurrence; /* in its group, else of that name, from 0 */
		double begin_s, end_s; /* begin: when the rank came */
		const char *group; /* "gloo:0-3:0"; NULL: not known */
		double hidden_s; /* of an asynchronous one: until the program waited for it */
		double bytes; /* 0: not known */
		double apart_s; /* since the one before it: loading code, and what strobe itself did */
		int64_t root; /* of those that have one */
		int64_t call_begin_ns, call_end_ns; /* the zone it was started or waited for in */
		uint32_t track; /* of that zone */
		bool enqueued; /* the call returned before the exchange, whose kernels are not known */
	} * all; /* in order; at most SB_COLLECTIVES_MAX, chosen by group and number alike on every rank */
	size_t count;
	int64_t total;
};
#define SB_COLLECTIVES_MAX 2048

/* ---- sampled stacks: shares of samples, never times ---- */
struct sb_functions_panel {
	struct sb_function {
		const char *name;
		const char *file; /* NULL: not known */
		uint32_t line; /* seen most often */
		const char *stage; /* in which it was seen most often; NULL: in none */
		uint64_t self_count, total_count; /* total: with what it calls */
		double self_ratio, total_ratio;
	} * all; /* the 20 seen most often themselves, without waits of threads beside the work */
	size_t count;
	uint64_t sample_count; /* all stacks */
	uint64_t waiting_count; /* of them: of threads beside the main one that only waited, in no stage */
	struct sb_function *waiting; /* the functions of these; shares are of their time */
	size_t waiting_listed;
	struct sb_native_thread { /* all threads of that name */
		const char *name;
		double cpu_s;
	} * natives; /* most first, at most 20 */
	size_t native_count;
};

/* ---- hot_lines: the program's lines that time was spent at, from samples that weigh their time ---- */
struct sb_lines_panel {
	struct sb_line {
		const char *function, *file; /* the innermost that is no library's */
		uint32_t line;
		const char *text; /* of the source, where it is at hand; NULL: it is not */
		bool changed; /* the source is at hand and was changed since the run began */
		const char *inner, *inner_file; /* the library's function it was in; NULL: itself */
		const char *stage; /* the innermost; NULL: none */
		bool between; /* that stage is a generation or a step itself: none of its parts */
		bool main; /* on the main thread */
		uint32_t track; /* of its thread */
		bool maker; /* on the thread that makes the generations, where one makes them all */
		bool library; /* no frame of the stack is the program's: function and file are a library's */
		double total_s; /* what its samples weigh */
		double generation_s, step_s; /* of that inside warm generations, inside their steps */
		double module_s,
			hook_s; /* of generation_s, or of total_s where nothing is generated: inside a
					    call of a module of torch's; of that in a hook on one */
		bool hook; /* torch's line that called it says that it is a hook */
		double work_s; /* of total_s; without generations: after the start-up */
		double loop_s; /* without generations: of the thread that calls most, in no stage, after the start-up and
				  before the last stage ended; without stages.once */
		uint64_t loop_count; /* its samples */
		double among_s; /* inside warm generations, from their first step's begin to their last one's */
		double outside_s; /* outside all generations, after the first began; where several threads make
				     them, those of its own */
		double outside_from_s, outside_to_s; /* when; INFINITY and 0: never */
		uint64_t warm_count, outside_count; /* samples of generation_s, of outside_s */
		double from_s, to_s;
		uint64_t sample_count;
		double cpu_s, cpu_of_s; /* CPU time that its thread used, of samples that weigh cpu_of_s */
		uint64_t stood_count,
			ran_count; /* while the sampler had the GIL, its thread stood still, or could run */
		uint64_t without_count; /* the main thread had it when it was to look */
	} * all; /* the largest in generations and between them first */
	size_t count;
};

/* Their keys in the report: model_stages.c. */
extern const struct sb_fields sb_stages_fields, sb_iterations_fields, sb_generations_fields,
	sb_functions_fields, sb_line_fields;

#endif
