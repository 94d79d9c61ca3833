/* Every analysis, in the order they finish: later ones read what earlier ones
 * found. */
#include "analyze/analysis.h"

extern const struct sb_analysis sb_analysis_touched_devices;
extern const struct sb_analysis sb_analysis_session;
extern const struct sb_analysis sb_analysis_gpu;
extern const struct sb_analysis sb_analysis_idle_functions;
extern const struct sb_analysis sb_analysis_cut_trace;
extern const struct sb_analysis sb_analysis_slow_moments;
extern const struct sb_analysis sb_analysis_slow_watch;
extern const struct sb_analysis sb_analysis_counters;
extern const struct sb_analysis sb_analysis_flops;
extern const struct sb_analysis sb_analysis_stages;
extern const struct sb_analysis sb_analysis_iterations;
extern const struct sb_analysis sb_analysis_stage_lane;
extern const struct sb_analysis sb_analysis_collectives;
extern const struct sb_analysis sb_analysis_collective_kernels;
extern const struct sb_analysis sb_analysis_functions;
extern const struct sb_analysis sb_analysis_lines;
extern const struct sb_analysis sb_analysis_line_profile;
extern const struct sb_analysis sb_analysis_marks;
extern const struct sb_analysis sb_analysis_recording;
extern const struct sb_analysis sb_analysis_series;
extern const struct sb_analysis sb_analysis_system;
extern const struct sb_analysis sb_analysis_pm_samples;
extern const struct sb_analysis sb_analysis_roofline;
extern const struct sb_analysis sb_analysis_video;
extern const struct sb_analysis sb_analysis_failures;
extern const struct sb_analysis sb_analysis_memory;
extern const struct sb_analysis sb_analysis_own_memory;
extern const struct sb_analysis sb_analysis_growth;
extern const struct sb_analysis sb_analysis_alloc_retries;
extern const struct sb_analysis sb_analysis_out_of_memory;
extern const struct sb_analysis sb_analysis_outputs;
extern const struct sb_analysis sb_analysis_parameters;
extern const struct sb_analysis sb_analysis_residency;
extern const struct sb_analysis sb_analysis_sizes;
extern const struct sb_analysis sb_analysis_layers;
extern const struct sb_analysis sb_analysis_operators;
extern const struct sb_analysis sb_analysis_precision;
extern const struct sb_analysis sb_analysis_streaming;
extern const struct sb_analysis sb_analysis_cache;
extern const struct sb_analysis sb_analysis_garbage;
extern const struct sb_analysis sb_analysis_summary;
extern const struct sb_analysis sb_analysis_chat;
extern const struct sb_analysis sb_analysis_padding;
extern const struct sb_analysis sb_analysis_unattributed;

const struct sb_analysis *const sb_analyses[] = {
	&sb_analysis_touched_devices, /* others ask it from their first zone on */
	&sb_analysis_session,
	&sb_analysis_gpu, /* before the stages, which take their busy time from it */
	&sb_analysis_idle_functions, /* it asks the trace when it saw the GPU */
	&sb_analysis_cut_trace,
	&sb_analysis_slow_moments,
	&sb_analysis_counters, /* the same for their counters */
	&sb_analysis_flops,
	&sb_analysis_stages,
	&sb_analysis_iterations,
	&sb_analysis_stage_lane,
	&sb_analysis_collectives,
	&sb_analysis_collective_kernels, /* gives them the GPU's times */
	&sb_analysis_functions,
	&sb_analysis_lines,
	&sb_analysis_line_profile,
	&sb_analysis_marks,
	&sb_analysis_recording,
	&sb_analysis_series,
	&sb_analysis_system,
	&sb_analysis_pm_samples, /* after the series: it compares clocks */
	&sb_analysis_roofline,
	&sb_analysis_video,
	&sb_analysis_slow_watch, /* it counts slow moments, and finds their generations */
	&sb_analysis_failures, /* it tells the generations why */
	&sb_analysis_memory,
	&sb_analysis_own_memory, /* after memory and system: it takes strobe's own from their peaks */
	&sb_analysis_growth,
	&sb_analysis_out_of_memory,
	&sb_analysis_alloc_retries,
	&sb_analysis_outputs,
	&sb_analysis_parameters,
	&sb_analysis_residency,
	&sb_analysis_sizes, /* it reads generations, memory and parameters */
	&sb_analysis_layers,
	&sb_analysis_operators,
	&sb_analysis_precision,
	&sb_analysis_streaming,
	&sb_analysis_cache,
	&sb_analysis_garbage,
	&sb_analysis_summary, /* it reads everything above */
	&sb_analysis_chat,
	&sb_analysis_padding,
	&sb_analysis_unattributed, /* how much there is, the summary says */
	NULL,
};
