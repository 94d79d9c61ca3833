/* Tags and settings of a session, as records. */
#ifndef SB_RECORD_TAGS_H
#define SB_RECORD_TAGS_H

#include "record/settings.h"

/* Writes the job, the tags of the settings and every setting into the session that was just opened. */
void sb_tags_write(const struct sb_settings *settings);

/* A credential in the name of a run would be in the name of its folder. */
void sb_tags_mask_name(struct sb_settings *settings);

/* The present value of the tag "session_id", which compat's sessions set; "": none. For any thread. */
const char *sb_tags_session_id(void);

#endif
