/* What the rules share with the table of rules. Only they include it. */
#ifndef SB_ADVISE_RULE_H
#define SB_ADVISE_RULE_H

#include "advise/advise.h"
#include "base/vec.h"

struct sb_advisor {
	struct sb_model *model;
	const struct sb_rule_info *rule; /* the rule that is run */
	double limit; /* its threshold in force */
	bool live; /* streaming or target_fps: absolute rules count in full */
	struct sb_vec found; /* struct sb_advice */
	bool failed; /* memory is out */
};

/* Adds a finding of the rule being asked: its issue and what was seen. saves_s NaN: cannot be computed; it
 * is cut to the run's wall time. NULL when memory is out. The rest is the rule's, until the caller changes
 * it. */
struct sb_advice *sb_advisor_find(
	struct sb_advisor *a, double value, double saves_s, const char *issue, const char *evidence);
/* Sets the cause and how sure it is; the finding may be NULL. */
void sb_finding_cause(
	struct sb_advice *f, const char *cause, enum sb_gain_basis basis, enum sb_confidence confidence);
/* Sets the line of the program that causes it. */
void sb_finding_line(struct sb_advice *f, const char *file, uint32_t line);
/* printf into the model's memory. */
#define sb_say(a, ...) sb_model_printf((a)->model, __VA_ARGS__)
/* "2.62 s"; below a tenth "35.1 ms", "12.3 us". */
const char *sb_say_seconds(struct sb_advisor *a, double seconds);

/* A sum over the trace's GPUs as the mean of one, at most the wall time. */
double sb_advise_per_gpu(const struct sb_model *model, double sum_s);

/* One function per rule; it says nothing without its data. */
#define SB_RULES(X)                \
	X(stage_dominates)         \
	X(unattributed)            \
	X(slow_steps)              \
	X(recompiles)              \
	X(graph_breaks)            \
	X(compile_time)            \
	X(data_loading)            \
	X(offload)                 \
	X(model_load)              \
	X(events_dropped)          \
	X(steps_many)              \
	X(step_slow)               \
	X(block_large)             \
	X(fps_low)                 \
	X(bps_low)                 \
	X(first_block)             \
	X(target_fps)              \
	X(dropped_frames)          \
	X(buffer_low)              \
	X(parameters_many)         \
	X(precision_gain)          \
	X(layer_dominates)         \
	X(blocks_dominate)         \
	X(block_variance)          \
	X(patch_embedding)         \
	X(attention)               \
	X(gpu_memory)              \
	X(gpu_utilization)         \
	X(gpu_unused)              \
	X(temperature)             \
	X(throttling)              \
	X(gpu_shared)              \
	X(gpus_idle)               \
	X(scaling)                 \
	X(memory_over_model)       \
	X(fragmentation)           \
	X(memory_kept)             \
	X(swap)                    \
	X(ram_limit)               \
	X(disk_collapse)           \
	X(cache_useless)           \
	X(cache_strict)            \
	X(copies)                  \
	X(pageable_copies)         \
	X(gpu_gaps)                \
	X(small_kernels)           \
	X(attention_math)          \
	X(communication)           \
	X(hidden_sync)             \
	X(allocator_thrash)        \
	X(python_between_steps)    \
	X(python_in_forward)       \
	X(between_generations)     \
	X(slow_export)             \
	X(input_starved)           \
	X(garbage_collection)      \
	X(repeated_work)           \
	X(cfg_wasted)              \
	X(padding)                 \
	X(cache_idle)              \
	X(asked_not_ran)           \
	X(debug_mode)              \
	X(gradients_unused)        \
	X(benchmark_by_size)       \
	X(known_version)           \
	X(gil_contention)          \
	X(thread_oversubscription) \
	X(memory_leak)             \
	X(open_files)              \
	X(out_of_memory)           \
	X(allocator_retries)       \
	X(slow_trend)              \
	X(fallback_attention)      \
	X(fallback_conv)           \
	X(precision_mismatch)      \
	X(quantised_not_used)      \
	X(layout_conversion)       \
	X(kernels_unfused)         \
	X(tiny_tiles)              \
	X(overswap)                \
	X(offload_serial)
#define SB_RULE_DECLARE_(name) void sb_rule_##name(struct sb_advisor *a);
SB_RULES(SB_RULE_DECLARE_)
#undef SB_RULE_DECLARE_

#endif
