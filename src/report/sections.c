/* Every part of the report, in the order of reading. */
#include "report/section.h"

extern const struct sb_section sb_section_session;
extern const struct sb_section sb_section_stages;
extern const struct sb_section sb_section_iterations;
extern const struct sb_section sb_section_happenings;
extern const struct sb_section sb_section_recording;

const struct sb_section *const sb_sections[] = {
	&sb_section_session,
	&sb_section_stages,
	&sb_section_iterations,
	&sb_section_happenings,
	&sb_section_recording,
	NULL,
};
