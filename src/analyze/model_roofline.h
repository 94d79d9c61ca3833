/* The report model, how near a stage comes to what the GPU can do. */
#ifndef SB_ANALYZE_MODEL_ROOFLINE_H
#define SB_ANALYZE_MODEL_ROOFLINE_H

#include "stats/fields.h"

#include <stddef.h>
#include <stdint.h>

/* What holds the GPU up, reading by reading. */
enum sb_gpu_bound {
	SB_BOUND_TENSOR,
	SB_BOUND_FP32,
	SB_BOUND_DRAM,
	SB_BOUND_SM, /* its processors work, none of the others is near its peak: latency, other pipes */
	SB_BOUND_LAUNCH, /* kernels too small or too far apart */
	SB_BOUND_HOST, /* the GPU has nothing to do */
	SB_BOUND_COPIES, /* over PCIe, while the processors have little to do; weights move, while they idle */
	SB_BOUND_COMMUNICATION, /* over NVLink, the same */
	SB_BOUNDS
};

#define SB_CALLS_WARM "warm" /* see warm_calls.h */
#define SB_CALLS_COLD "cold" /* all of them: none is warm */

struct sb_stage_work {
	double flops; /* counted, of all its calls; NAN: none */
	int64_t uncounted_count; /* model calls that could not be counted */
	const char *why; /* the first of them; NULL: all were */
	const char *precision; /* of most of the operations; NULL: not known */
	int64_t cached_count; /* of those, calls in steps that a cache served: the rate is of the others */
	const char *calls; /* that the rate is of: SB_CALLS_WARM or SB_CALLS_COLD; NULL: none */
	int64_t call_count;
	double rate_flops; /* of those calls, what the GPU did; all of it where nothing else did any */
	double time_s; /* theirs: GPU span where it is known for all of them, else the covered wall time */
	double moves_s; /* of that, weights move */
	double tflops; /* achieved: TFLOP/s over time_s */
	double peak_tflops; /* of this GPU and precision; NAN: not in the table */
	double mfu_ratio; /* tflops / peak */
	double work_mfu_ratio; /* the same without moves_s; NAN: no weights move */
	double floor_s; /* rate_flops at the peak rate */
	double cpu_flops; /* of flops, in models on the CPU */
	const char *
		mfu_why; /* why a rate has no MFU though this GPU's peak is known; NULL: it has one, or none has */
	double bytes; /* moved to and from DRAM, from the counters; NAN: not counted */
	double intensity; /* FLOP per byte; NAN */
	struct sb_bound_share {
		const char *bound; /* "tensor"... */
		double ratio; /* of the time of the readings */
	} * bounds; /* largest first */
	size_t bound_count;
	const char *bound; /* the largest, or two of half each: "tensor and DRAM"; NULL: not known */
	const char *bound_calls; /* that it holds of: SB_CALLS_WARM or SB_CALLS_COLD; NULL: not known */
	const char *bound_basis; /* "counters", "samples", "rate", "trace", "zones"; NULL: not known */
	const char *bound_why; /* why it is not known, and what tells it; NULL: known, or no work of a GPU */
};

/* All its operations are of models on the CPU: no peak of a GPU is theirs. Calls that were not counted may be a GPU's. */
bool sb_stage_work_on_cpu(const struct sb_stage_work *work);

struct sb_efficiency_panel { /* the stages' work in short */
	struct sb_efficiency {
		const char *stage;
		double flops, tflops, mfu_percent, bytes; /* as in sb_stage_work */
		const char *bound, *bound_why; /* the largest alone; NULL: not known, and why */
		double floor_s;
		const char *calls;
		double moves_s, work_mfu_percent;
	} * all; /* of the stages that were counted or bounded, in their order */
	size_t count;
};

struct sb_roofline_panel { /* this GPU's ceilings */
	const char *gpu, *source; /* NULL: not in the table */
	const char *mfu_why; /* why no stage has an MFU; NULL: some have */
	bool on_cpu; /* the run's models ran on the CPU alone: what the GPU did is of others */
	double gb_per_s;
	struct sb_ceiling {
		const char *precision;
		double tflops;
	} * ceilings;
	size_t ceiling_count;
	bool present; /* some stage was counted or bounded */
};

/* Calls of a stage, see warm_calls.h. A row of several paths is cold in the first call of one of them alone: what came first
 * in the others is apart. */
enum sb_call_kind { SB_CALL_WARM, SB_CALL_FIRST, SB_CALL_COLD, SB_CALL_KINDS };

/* See warm_generations.h. */
struct sb_warm_generations {
	struct sb_warm_span { /* by process and begin */
		uint32_t process, track;
		int64_t begin_ns, end_ns;
		bool warm;
	} * all; /* every generation; where none of its process is warm by itself, they count as warm */
	struct sb_warm_span
		*cold_steps; /* the first of each generation that has several, and the cold ones */
	struct sb_warm_span *served_steps; /* a cache served them: they leave out what others compute */
	size_t count, cold_step_count, served_step_count;
	bool found;
};

/* What calls did while the GPU was traced, with the zones inside them. */
struct sb_traced_calls {
	int64_t count;
	double kernel_count;
	double time_s; /* theirs: GPU spans where they have some */
	double busy_s, kernel_s,
		communication_s; /* the GPU's, each moment once: kernels and copies, kernels, those of ranks */
	double moves_idle_s; /* the GPU idled while weights moved; on each of several GPUs */
};

/* What model calls of a path add up to, with the zones inside it. */
struct sb_path_flops {
	struct sb_flop_sums {
		double flops, cpu_flops; /* of flops, in models on the CPU */
		int64_t uncounted_count, cached_count; /* of those, in steps that a cache served */
		const char *why, *precision;
		double precision_flops; /* of the shape that precision is of */
	} * all; /* by path; NULL: none */
	struct sb_call_flops {
		double of[SB_CALL_KINDS], cpu_of[SB_CALL_KINDS];
		int64_t cached_of[SB_CALL_KINDS]; /* calls of models in steps that a cache served */
		double open, cpu_open; /* of the call that is open, by what has ended inside it */
		int64_t cached_open;
		int64_t unnumbered_count; /* calls that do not say with which shape */
	} * calls; /* by path; NULL: none */
	uint32_t path_count;
};

extern const char *const sb_gpu_bound_names[SB_BOUNDS];
extern const struct sb_fields sb_stage_work_fields, sb_roofline_fields, sb_efficiency_fields;

#endif
