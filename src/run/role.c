/* Names by role. */
#include "run/role.h"

#include "stats/fields.h"
#include "strobe.h"

const char *const sb_role_names[] = { [STROBE_ROLE_STAGE] = NULL,
	[STROBE_ROLE_GENERATION] = "generation",
	[STROBE_ROLE_ITERATION] = "iteration",
	[STROBE_ROLE_STEP] = "step",
	[STROBE_ROLE_BLOCK] = "block",
	[STROBE_ROLE_LAYER] = "layer",
	[STROBE_ROLE_IMPORT] = "import",
	[STROBE_ROLE_LOAD] = "load",
	[STROBE_ROLE_COMPILE] = "compile",
	[STROBE_ROLE_OFFLOAD] = "offload",
	[STROBE_ROLE_WARMUP] = "warmup",
	[STROBE_ROLE_FORWARD] = "forward",
	[STROBE_ROLE_COLLECTIVE] = "collective",
	SB_NAMES_END };

const char *sb_role_name(uint32_t role)
{
	return role < sizeof sb_role_names / sizeof *sb_role_names - 1 ? sb_role_names[role] : NULL;
}
