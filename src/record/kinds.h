/* What the profile_* settings can leave out of a recording. */
#ifndef SB_RECORD_KINDS_H
#define SB_RECORD_KINDS_H

#include "strobe.h"

#include "format/wire.h"

#include <stdbool.h>

/* A site's id has the name where a word has it, so that a zone need not shift it (one or two cycles of a zone on x86_64),
 * and above it, behind a bit that says so, a kind that can be switched off. */
#define SB_SITE_NAME ((1u << SB_VALUE_SHIFT) - 1)
#define SB_SITE_KIND_BIT 0x80000000u
#define SB_SITE_KIND_SHIFT 24

/* True if the settings leave this kind out. Opens an armed session: before that
 * the settings are not known. */
bool sb_kind_is_off(enum strobe_kind kind);

#endif
