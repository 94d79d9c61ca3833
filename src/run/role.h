/* The words for enum strobe_role, in reports, exports and metrics. */
#ifndef SB_RUN_ROLE_H
#define SB_RUN_ROLE_H

#include <stdint.h>

extern const char *const sb_role_names[]; /* by role; ends with SB_NAMES_END */
const char *sb_role_name(uint32_t role); /* NULL: an ordinary stage, or unknown */

#endif
