/* Every part of the report, in the order of reading. */
#include "report/sections/section.h"

extern const struct sb_section sb_section_session;
extern const struct sb_section sb_section_stages;
extern const struct sb_section sb_section_iterations;
extern const struct sb_section sb_section_functions;
extern const struct sb_section sb_section_happenings;
extern const struct sb_section sb_section_recording;
extern const struct sb_section sb_section_generations;
extern const struct sb_section sb_section_video;
extern const struct sb_section sb_section_models;
extern const struct sb_section sb_section_streaming;
extern const struct sb_section sb_section_cache;
extern const struct sb_section sb_section_memory;
extern const struct sb_section sb_section_metrics;
extern const struct sb_section sb_section_gpu;
extern const struct sb_section sb_section_advice;

const struct sb_section *const sb_sections[] = {
	&sb_section_session,
	&sb_section_stages,
	&sb_section_iterations,
	&sb_section_generations,
	&sb_section_video,
	&sb_section_models,
	&sb_section_streaming,
	&sb_section_cache,
	&sb_section_memory,
	&sb_section_metrics,
	&sb_section_gpu,
	&sb_section_functions,
	&sb_section_advice,
	&sb_section_happenings,
	&sb_section_recording,
	NULL,
};
