/* The facts of one run that can be compared with another run's: its metrics, its
 * stages, its configuration. Flattened from a report model (here) or read back
 * from a report file (exchange/report_in.h); nothing is computed twice. */
#ifndef SB_COMPARE_FACTS_H
#define SB_COMPARE_FACTS_H

#include "analyze/model.h"
#include "base/histogram.h"
#include "base/strings.h"

enum sb_sense { SB_LOWER_IS_BETTER, SB_HIGHER_IS_BETTER, SB_NEUTRAL };

/* symbol, key, words, unit, sense, the smallest change worth a word, whether it adds up over the ranks
 * of a job. What the whole machine or device did (RAM, swap, temperature, clocks, utilisation, disk) is
 * neutral: it never judges a program. It does not add up either: ranks may share a machine. */
#define SB_METRICS(X)                                                                                       \
	X(WALL, "wall_s", "Total", "s", SB_LOWER_IS_BETTER, 0.005, false)                                   \
	X(GENERATION, "generation_s", "Generation (median)", "s", SB_LOWER_IS_BETTER, 0.005, false)         \
	X(STEP, "step_s", "Step (median)", "s", SB_LOWER_IS_BETTER, 0.0001, false)                          \
	X(FIRST_BLOCK, "first_block_s", "First block", "s", SB_LOWER_IS_BETTER, 0.005, false)               \
	X(UNATTRIBUTED, "unattributed_s", "Unattributed", "s", SB_LOWER_IS_BETTER, 0.005, false)            \
	X(COLLECTIVE, "collective_s", "Waiting at collectives", "s", SB_LOWER_IS_BETTER, 0.005, true)       \
	X(OFFLOAD, "offload_s", "Offload", "s", SB_LOWER_IS_BETTER, 0.005, true)                            \
	X(FPS, "fps", "Frames/s end to end", "frames/s", SB_HIGHER_IS_BETTER, 0.005, false)                 \
	X(FPS_COMPUTE, "compute_fps", "Frames/s of compute", "frames/s", SB_HIGHER_IS_BETTER, 0.005, false) \
	X(BPS, "bps", "Blocks/s", "blocks/s", SB_HIGHER_IS_BETTER, 0.005, false)                            \
	X(FRAMES, "frames_count", "Frames", "", SB_NEUTRAL, 0.5, true)                                      \
	X(STEPS, "steps_count", "Steps", "", SB_NEUTRAL, 0.5, true)                                         \
	X(GENERATIONS, "generation_count", "Generations", "", SB_NEUTRAL, 0.5, true)                        \
	X(GPU_MEMORY_PEAK, "gpu_memory_peak_bytes", "Peak GPU memory", "bytes", SB_LOWER_IS_BETTER, 16e6,   \
		false)                                                                                      \
	X(GPU_MEMORY_MEAN, "gpu_memory_mean_bytes", "GPU memory in use, mean", "bytes", SB_NEUTRAL, 16e6,   \
		false)                                                                                      \
	X(GPU_RESERVED_PEAK, "gpu_reserved_peak_bytes", "Peak GPU memory reserved", "bytes",                \
		SB_LOWER_IS_BETTER, 16e6, false)                                                            \
	X(GPU_MEMORY_TOTAL, "gpu_memory_total_bytes", "Total GPU memory", "bytes", SB_NEUTRAL, 16e6, false) \
	X(RAM_PEAK, "ram_peak_bytes", "Peak RAM of the machine", "bytes", SB_NEUTRAL, 16e6, false)          \
	X(RSS_PEAK, "rss_peak_bytes", "Peak process memory", "bytes", SB_LOWER_IS_BETTER, 16e6, true)       \
	X(SWAP_PEAK, "swap_peak_bytes", "Peak swap of the machine", "bytes", SB_NEUTRAL, 16e6, false)       \
	X(PAGE_CACHE_PEAK, "page_cache_peak_bytes", "Peak page cache", "bytes", SB_NEUTRAL, 16e6, false)    \
	X(GPU_UTILIZATION, "gpu_utilization_percent", "GPU utilisation", "%", SB_NEUTRAL, 2, false)         \
	X(GPU_TEMPERATURE, "gpu_temperature_max_c", "GPU temperature (max)", "°C", SB_NEUTRAL, 3, false)    \
	X(GPU_POWER, "gpu_power_w", "GPU power", "W", SB_NEUTRAL, 5, true)                                  \
	X(GPU_CLOCK, "gpu_clock_mhz", "GPU clock", "MHz", SB_NEUTRAL, 20, false)                            \
	X(ENERGY, "energy_wh", "Energy", "Wh", SB_LOWER_IS_BETTER, 0.01, true)                              \
	X(CPU, "cpu_percent", "CPU", "%", SB_NEUTRAL, 2, false)                                             \
	X(PROCESS_CPU, "process_cpu_percent", "CPU of the program", "%", SB_NEUTRAL, 5, true)               \
	X(DISK_READ, "disk_read_bytes_per_s", "Disk reads", "bytes/s", SB_NEUTRAL, 1e6, false)              \
	X(DISK_WRITE, "disk_write_bytes_per_s", "Disk writes", "bytes/s", SB_NEUTRAL, 1e6, false)           \
	X(GPU_BUSY, "gpu_busy_s", "GPU busy", "s", SB_NEUTRAL, 0.005, true)                                 \
	X(GPU_IDLE, "gpu_idle_s", "GPU idle", "s", SB_LOWER_IS_BETTER, 0.005, true)                         \
	X(COPIES, "gpu_copies_s", "GPU copies", "s", SB_LOWER_IS_BETTER, 0.005, true)                       \
	X(COMMUNICATION, "communication_s", "Communication", "s", SB_LOWER_IS_BETTER, 0.005, true)          \
	X(CACHE_HITS, "cache_hit_ratio", "Cache hit rate", "ratio", SB_HIGHER_IS_BETTER, 0.02, false)       \
	X(DROPPED, "dropped_ratio", "Dropped frames", "ratio", SB_LOWER_IS_BETTER, 0.002, false)

enum sb_metric {
#define SB_METRIC_ENUM_(symbol, key, words, unit, sense, least, adds) SB_METRIC_##symbol,
	SB_METRICS(SB_METRIC_ENUM_)
#undef SB_METRIC_ENUM_
		SB_METRIC_COUNT
};

struct sb_metric_info {
	const char *key; /* in JSON, --fail-above, trends */
	const char *words; /* for people */
	const char *unit;
	enum sb_sense sense;
	double least_change;
	bool adds; /* over ranks: a rate or a median does not */
};
extern const struct sb_metric_info sb_metric_infos[SB_METRIC_COUNT];

/* By key, with or without its unit, or "total", "peak_memory"…; -1: none such. */
int sb_metric_find(const char *name);
/* "14.9 GB", "1.59 s", "83.5 %", with the metric's unit. */
void sb_metric_text(enum sb_metric metric, double value, char *out, size_t size);
/* "+6.4 %", "< 0.1 %" of either sign, "+0.0 %" of none. */
void sb_percent_text(double ratio, char *out, size_t size);
/* "+6.4 %", "x 395" from ten times on, "from nothing"; at most 10 columns, except the last. */
void sb_change_text(double base, double now, char *out, size_t size);
/* Whether base is less than a change worth a word, so that the ratio says little. */
bool sb_change_from_little(enum sb_metric metric, double base, double now);

/* Of a job: how a stage's time spreads over its ranks. */
struct sb_fact_spread {
	double min_s, max_s;
	int64_t min_rank, max_rank;
};

struct sb_fact_stage {
	const char *name;
	const char *code; /* NULL: none */
	const char *key; /* the same stage in another run has the same one */
	int64_t parent; /* index, smaller than its own; -1: top level */
	uint32_t depth;
	uint32_t role;
	enum sb_stage_state state;
	const char *reason; /* why skipped; NULL */
	int64_t count;
	double total_s, self_s; /* NaN: untimed */
	double covered_s; /* time of the run in which at least one call ran; 0: not known */
	double in_turn_s; /* the part of it that the run waits for: sb_stage_in_turn_s; 0: not known */
	bool other_thread; /* none of it ran on the main thread, and other stages did */
	bool is_mean; /* of several measurements, as a benchmark prints it: milliseconds count */
	bool aside; /* no part of the run's time */
	double first_s; /* first begin since the run's start; NaN: not known */
	struct sb_stats time; /* of one call */
	double gpu_span_s, gpu_busy_s;
	const struct sb_histogram *calls; /* durations of its calls in ns; NULL: not kept */
	const double *values; /* durations of its calls where they were kept, in order */
	size_t value_count;
	struct sb_pair *attrs;
	size_t attr_count;
	struct sb_fact_spread spread; /* only where the facts have ranks */
};

/* One rank of a job. */
struct sb_fact_rank {
	int64_t rank;
	const char *host, *label;
	double wall_s, work_s,
		behind_s; /* behind: more work than the median rank, of two than the other one */
	bool straggler, complete;
	const char *slow_stage; /* NULL: none */
};

/* What a rank's work is compared with: the median rank; of two ranks the other one. */
static inline const char *sb_rank_compared(size_t rank_count)
{
	return rank_count == 2 ? "the other rank" : "the median rank";
}

/* True if a rank works more than the others by enough to be shown. A rank that only comes later holds
 * them up, too, without working more. */
static inline bool sb_shows_more_work(double behind_s)
{
	return behind_s >= 0.005;
}

enum sb_meet_kind {
	SB_MEET_ALL, /* all come before any leaves */
	SB_MEET_FROM_ROOT, /* broadcast, scatter: the others wait for the root */
	SB_MEET_TO_ROOT, /* reduce, gather: the root waits for the others */
	SB_MEET_SEND,
	SB_MEET_RECV
};

/* One collective of the ranks: a barrier, an all-reduce. Ranks leave it together. */
struct sb_fact_collective {
	const char *name;
	int64_t occurrence; /* in its group, else of that name, from 0 */
	double begin_s, end_s; /* since the run's start: when the rank came, when it went on */
	const char *group; /* "gloo:0-3:0": backend, members, tag; NULL: not known */
	double hidden_s; /* of an asynchronous one: until the program began to wait for it */
	double bytes; /* 0: not known */
	double apart_s; /* since the one before it: loading code, and what strobe itself did */
	enum sb_meet_kind kind;
	int32_t root; /* of those that have one */
	bool late_end; /* it may have been over long before end_s: no rank waited for it */
};

/* A finding of its advice. */
struct sb_fact_finding {
	const char *id, *priority, *issue;
	const char *place; /* "pipeline.py:41", else the stage, the module; "": nowhere in particular */
	double saves_s; /* NaN: not known */
	bool startup;
};

enum sb_fact_scope { SB_FACT_TAG, SB_FACT_SETTING, SB_FACT_SYSTEM, SB_FACT_COMMAND };

struct sb_fact_pair {
	enum sb_fact_scope scope;
	const char *key;
	const char *value; /* as text */
};

struct sb_facts {
	const char *label; /* what the user called it */
	const char *id; /* the session's; "" unknown */
	const char *name;
	const char *host;
	const char *job; /* "" unknown */
	const char *clock; /* runs with the same text have the same clock; "" unknown */
	const char *gpu; /* uuid of its first GPU; NULL: none */
	int64_t rank, local_rank, world_size; /* -1: none */
	uint64_t start_real_ns;
	bool complete;
	bool live; /* still being recorded */
	const char *failure; /* how it failed: "exit 1"; NULL: it did not, or not known */
	const char *damage; /* what of the recording could not be read; NULL: nothing */
	bool foreign; /* from another tool's report: its stages may overlap */
	double metrics[SB_METRIC_COUNT]; /* NaN: absent */
	/* of samples in which the GPU worked; NaN: not sampled, or a report was read back */
	double gpu_busy_clock_mhz, gpu_throttled_ratio, gpu_capped_ratio;
	double others_cpu_ratio; /* of the machine's CPU, taken by other programs; NaN: not sampled */
	double digit_s; /* what the last digit of its times stands for; NaN: they were measured */
	bool of_means; /* a benchmark's text: its times are means of many calls, and milliseconds count */
	double generation_unattributed_s; /* in all generations, in no stage inside; NaN: not known */
	const double *generation_s; /* of each generation, in order */
	size_t generation_count;
	double median_begin_s; /* when the warm generation with the middle time began; NaN: none, or a job */
	int64_t steps_per_chain; /* of the longest loop of steps; -1: not known */
	const double *step_s; /* every step_stride-th */
	const double *step_sum_s; /* of it and those up to the next; NULL: of each alone */
	size_t step_count, step_stride, step_of; /* of: how many steps there were */
	struct sb_fact_stage *stages;
	size_t stage_count;
	struct sb_fact_pair *pairs;
	size_t pair_count;
	struct sb_fact_rank *ranks; /* of a job, whose stages are its median rank's; NULL: one run */
	size_t rank_count, host_count;
	struct sb_output *outputs; /* what it wrote */
	size_t output_count;
	struct sb_fact_finding *findings; /* NULL: not known, as of a job or a line of the history */
	size_t finding_count;
	struct sb_sizes_panel sizes; /* what generations of each size needed */
	struct sb_fact_collective *collectives; /* at most SB_COLLECTIVES_MAX, the same ones on every rank */
	size_t collective_count;
	int64_t collective_total; /* all there were */
	struct sb_stage_lane stage_lane; /* no names: not known, as of a report's JSON */
	/* private */
	struct sb_strings strings;
	double *numbers; /* what values, generation_s, step_s and step_sum_s point into */
	struct sb_histogram *histograms; /* what calls point into */
	size_t histogram_count;
};

/* By the operation's name, as torch.distributed and MPI call them: "collective:all_reduce". */
enum sb_meet_kind sb_meet_kind_of(const char *name);
int sb_facts_of_model(const struct sb_model *model, const char *label, struct sb_facts **out_facts);
void sb_facts_free(struct sb_facts *facts); /* takes NULL */

/* For callers that fill facts from elsewhere: everything is absent at first; texts are copied. */
struct sb_facts *sb_facts_new(const char *label); /* NULL: no memory */
const char *sb_facts_text(struct sb_facts *facts, const char *text); /* NULL stays NULL */
int sb_facts_add_pair(struct sb_facts *facts, enum sb_fact_scope scope, const char *key, const char *value);
/* What generations of each size needed, copied. */
int sb_facts_take_sizes(struct sb_facts *facts, const struct sb_sizes_panel *sizes);
void sb_facts_free_sizes(struct sb_facts *facts); /* sb_facts_free() calls it */
/* Gives every stage its key; names and parents are set. */
int sb_facts_key_stages(struct sb_facts *facts);

#endif
