/* Every part of the report, in the order of reading. */
#include "report/panels/panel.h"

extern const struct sb_panel sb_panel_session;
extern const struct sb_panel sb_panel_stages;
extern const struct sb_panel sb_panel_unattributed;
extern const struct sb_panel sb_panel_garbage;
extern const struct sb_panel sb_panel_iterations;
extern const struct sb_panel sb_panel_functions;
extern const struct sb_panel sb_panel_line_profile;
extern const struct sb_panel sb_panel_marks;
extern const struct sb_panel sb_panel_recording;
extern const struct sb_panel sb_panel_generations;
extern const struct sb_panel sb_panel_video;
extern const struct sb_panel sb_panel_models;
extern const struct sb_panel sb_panel_streaming;
extern const struct sb_panel sb_panel_cache;
extern const struct sb_panel sb_panel_memory;
extern const struct sb_panel sb_panel_residency;
extern const struct sb_panel sb_panel_slow_moments;
extern const struct sb_panel sb_panel_memory_picture;
extern const struct sb_panel sb_panel_out_of_memory;
extern const struct sb_panel sb_panel_outputs;
extern const struct sb_panel sb_panel_chat;
extern const struct sb_panel sb_panel_padding;
extern const struct sb_panel sb_panel_metrics;
extern const struct sb_panel sb_panel_gpu;
extern const struct sb_panel sb_panel_readings;
extern const struct sb_panel sb_panel_strategies;
extern const struct sb_panel sb_panel_hardware;
extern const struct sb_panel sb_panel_advice;

const struct sb_panel *const sb_panels[] = {
	&sb_panel_session,
	&sb_panel_stages,
	&sb_panel_unattributed,
	&sb_panel_iterations,
	&sb_panel_generations,
	&sb_panel_video,
	&sb_panel_chat,
	&sb_panel_padding,
	&sb_panel_outputs,
	&sb_panel_models,
	&sb_panel_streaming,
	&sb_panel_cache,
	&sb_panel_slow_moments,
	&sb_panel_out_of_memory,
	&sb_panel_memory,
	&sb_panel_residency,
	&sb_panel_memory_picture,
	&sb_panel_metrics,
	&sb_panel_gpu,
	&sb_panel_hardware,
	&sb_panel_functions,
	&sb_panel_line_profile,
	&sb_panel_garbage,
	&sb_panel_readings,
	&sb_panel_advice,
	&sb_panel_strategies,
	&sb_panel_marks,
	&sb_panel_recording,
	NULL,
};
