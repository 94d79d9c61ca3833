/* Operations, rates and ceilings, key by key. */
#include "analyze/model_roofline.h"

#include <math.h>

const char *const sb_gpu_bound_names[SB_BOUNDS] = { "tensor", "FP32", "DRAM", "SM", "launch", "host",
	"copies", "communication" };

static const struct sb_field bound_rows[] = {
	SB_FIELD(sb_bound_share, bound, "bound", SB_ALWAYS,
		"tensor, FP32, DRAM; SM: its processors work, none of these is near its peak; launch: "
		"kernels "
		"too small or too far apart; copies: between host and GPU, with the time in which the GPU "
		"waits for weights that move; host: nothing to do"),
	SB_FIELD(sb_bound_share, ratio, "share_ratio", SB_ALWAYS,
		"share of the time of the readings, or of the traced time", .range = SB_SHARE),
};
static SB_FIELDS(bound, sb_bound_share, "BoundShare", "What held the GPU up, and for how much of the time.");

SB_FIELD_WHEN(any_work, sb_stage_work, !isnan(it->flops) || it->why || it->bound || it->bound_why)
SB_FIELD_WHEN(has_flops, sb_stage_work, !isnan(it->flops))

static const char *const bases[] = { "counters", "samples", "rate", "trace", "zones", SB_NAMES_END };

static const char *const bound_keys[] = { "tensor", "fp32", "dram", "sm", "launch", "host", "copies",
	"communication", SB_NAMES_END };

static const char *const call_names[] = { SB_CALLS_WARM, SB_CALLS_COLD, SB_NAMES_END };

static const struct sb_field sb_stage_work_fields_rows[] = {
	SB_FIELD(sb_stage_work, flops, "flop_count", SB_KNOWN,
		"floating-point operations of GEMM, attention and convolution, all calls"),
	SB_FIELD(sb_stage_work, uncounted_count, "uncounted_count", SB_SET,
		"model calls that could not be counted: also those in steps that a cache served"),
	SB_FIELD(sb_stage_work, why, "uncounted_why", SB_KNOWN, "why the first of them could not be counted"),
	SB_FIELD(sb_stage_work, precision, "precision", SB_KNOWN, "precision of most of the weights",
		.when = has_flops),
	SB_FIELD_NAMED(sb_stage_work, calls, "rate_calls", SB_KNOWN, call_names,
		"which calls the rate is of. warm: not the first in its process, not in a warm-up, not one "
		"in which strobe's own trace began or ended, not in a step that a cache served; cold: all, "
		"as none is warm"),
	SB_FIELD(sb_stage_work, call_count, "rate_call_count", SB_ALWAYS, "how many they are",
		.when = has_flops),
	SB_FIELD(sb_stage_work, rate_flops, "rate_flop_count", SB_ALWAYS, "their part of flop_count",
		.when = has_flops),
	SB_FIELD(sb_stage_work, time_s, "rate_over_s", SB_KNOWN,
		"their time: the GPU span where all of them have one, else the wall time", .when = has_flops),
	SB_FIELD(sb_stage_work, moves_s, "moves_s", SB_SET,
		"of that time, weights move between host and GPU (zones of an offload)"),
	SB_FIELD(sb_stage_work, tflops, "achieved_tflop_per_s", SB_KNOWN, "rate_flop_count over rate_over_s"),
	SB_FIELD(sb_stage_work, peak_tflops, "peak_tflop_per_s", SB_KNOWN,
		"peak rate of this GPU in that precision, without sparsity"),
	SB_FIELD(sb_stage_work, mfu_ratio, "mfu_ratio", SB_KNOWN, "achieved over peak"),
	SB_FIELD(sb_stage_work, work_mfu_ratio, "work_mfu_ratio", SB_KNOWN,
		"the same over rate_over_s without moves_s: of what the GPU computes, not of the stage"),
	SB_FIELD(sb_stage_work, mfu_why, "mfu_why", SB_KNOWN,
		"why mfu_ratio is absent though the GPU is in the table of peak rates: it ran on the CPU, "
		"this GPU has "
		"no such precision, or more was counted than it can do (then the rate and floor_s are "
		"absent, too)"),
	SB_FIELD(sb_stage_work, floor_s, "floor_s", SB_KNOWN, "rate_flop_count at the peak rate"),
	SB_FIELD(sb_stage_work, bytes, "dram_bytes", SB_KNOWN,
		"moved to and from DRAM: as sampled, else from the counters' mean and the data sheet's "
		"bandwidth"),
	SB_FIELD(
		sb_stage_work, intensity, "flop_per_byte_ratio", SB_KNOWN, "rate_flop_count over dram_bytes"),
	SB_FIELD(sb_stage_work, bound, "bound", SB_KNOWN, "what held the GPU up most of the time"),
	SB_FIELD_NAMED(sb_stage_work, bound_calls, "bound_calls", SB_KNOWN, call_names,
		"which calls that holds of, as rate_calls; cold: none of the warm ones was read, sampled or "
		"traced, or there are none"),
	SB_FIELD_NAMED(sb_stage_work, bound_basis, "bound_basis", SB_KNOWN, bases,
		"counters: the readings inside it; samples: those of --gpu-counters; rate: half of the peak "
		"rate or more was reached; trace: "
		"the gaps between its kernels; zones: for half of its time or more weights move"),
	SB_FIELD(sb_stage_work, bound_why, "bound_why", SB_KNOWN,
		"why bound is absent, and which option tells it"),
	SB_FIELD_LIST(sb_stage_work, bounds, bound_count, "bounds", SB_KNOWN, bound,
		"everything that held the GPU up, the largest share first; from the counters"),
};
SB_FIELDS(sb_stage_work_fields, sb_stage_work, "GpuWork", "How near a stage comes to what the GPU can do.",
	.present = any_work);

bool sb_stage_work_on_cpu(const struct sb_stage_work *w)
{
	return w->cpu_flops > 0 && w->cpu_flops >= w->flops && !w->uncounted_count;
}

static const struct sb_field sb_efficiency_fields_rows[] = {
	SB_FIELD(sb_efficiency, stage, "stage", SB_ALWAYS, "its name"),
	SB_FIELD(sb_efficiency, flops, "flops", SB_KNOWN, "floating-point operations, as flop_count"),
	SB_FIELD(sb_efficiency, tflops, "tflops_per_s", SB_KNOWN, "achieved rate"),
	SB_FIELD(sb_efficiency, mfu_percent, "mfu_percent", SB_KNOWN,
		"achieved rate in percent of this GPU's peak"),
	SB_FIELD_NAMED(sb_efficiency, calls, "rate_calls", SB_KNOWN, call_names,
		"which calls rate, percent and floor_s are of, as in gpu_work"),
	SB_FIELD(sb_efficiency, moves_s, "moves_s", SB_SET, "of their time, weights move"),
	SB_FIELD(sb_efficiency, work_mfu_percent, "work_mfu_percent", SB_KNOWN,
		"mfu_percent without that time"),
	SB_FIELD(sb_efficiency, bytes, "bytes", SB_KNOWN, "moved to and from DRAM"),
	SB_FIELD_NAMED(sb_efficiency, bound, "bound_by", SB_KNOWN, bound_keys,
		"what held the GPU up most of the time; sm: its processors work, and neither tensor cores, "
		"FP32 pipes nor memory are near their peak"),
	SB_FIELD(sb_efficiency, bound_why, "bound_why", SB_KNOWN,
		"why bound_by is absent, and which option tells it"),
	SB_FIELD(sb_efficiency, floor_s, "floor_s", SB_KNOWN, "operations of rate_calls at the peak rate"),
};
SB_FIELDS(sb_efficiency_fields, sb_efficiency, "StageEfficiency", "gpu_work of a stage, in short.");

static const struct sb_field ceiling_rows[] = {
	SB_FIELD(sb_ceiling, precision, "precision", SB_ALWAYS, "fp32, tf32, bf16, fp8..."),
	SB_FIELD(sb_ceiling, tflops, "peak_tflop_per_s", SB_ALWAYS, "peak rate, without sparsity"),
};
static SB_FIELDS(ceiling, sb_ceiling, "Ceiling", "A rate that the GPU cannot exceed.");

SB_FIELD_WHEN(any_roofline, sb_roofline_panel, it->present)

static const struct sb_field sb_roofline_fields_rows[] = {
	SB_FIELD(sb_roofline_panel, gpu, "gpu", SB_KNOWN, "whose ceilings they are"),
	SB_FIELD(sb_roofline_panel, source, "source", SB_KNOWN,
		"where the figures come from; absent: this GPU is not in the table"),
	SB_FIELD(sb_roofline_panel, mfu_why, "mfu_why", SB_KNOWN, "why no stage has an MFU"),
	SB_FIELD(sb_roofline_panel, gb_per_s, "dram_peak_gb_per_s", SB_KNOWN, "its memory's bandwidth"),
	SB_FIELD_LIST(
		sb_roofline_panel, ceilings, ceiling_count, "ceilings", SB_KNOWN, ceiling, "its peak rates"),
};
SB_FIELDS(sb_roofline_fields, sb_roofline_panel, "Roofline", "What this GPU can do at most.",
	.present = any_roofline, SB_FLAG(sb_roofline_panel, present));
