/* What the profile_* settings can leave out of a recording. */
#ifndef SB_RECORD_KINDS_H
#define SB_RECORD_KINDS_H

#include "strobe.h"

#include <stdbool.h>

/* The bit of a site's id that says that its kind can be switched off. */
#define SB_SITE_KIND_BIT 0x80000000u
#define SB_SITE_KIND_SHIFT 24

/* True if the settings leave this kind out. Opens an armed session: before that
 * the settings are not known. */
bool sb_kind_is_off(enum strobe_kind kind);

#endif
