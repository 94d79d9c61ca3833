/* Every analysis, in the order they finish: later ones read what earlier ones
 * found. */
#include "analyze/model.h"

extern const struct sb_analysis sb_analysis_session;
extern const struct sb_analysis sb_analysis_stages;
extern const struct sb_analysis sb_analysis_iterations;
extern const struct sb_analysis sb_analysis_collectives;
extern const struct sb_analysis sb_analysis_happenings;
extern const struct sb_analysis sb_analysis_recording;

const struct sb_analysis *const sb_analyses[] = {
	&sb_analysis_session,
	&sb_analysis_stages,
	&sb_analysis_iterations,
	&sb_analysis_collectives,
	&sb_analysis_happenings,
	&sb_analysis_recording,
	NULL,
};
