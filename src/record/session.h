/* Opening a session where the caller says: what `strobe run` needs for itself. */
#ifndef SB_RECORD_SESSION_H
#define SB_RECORD_SESSION_H

#include "record/settings.h"

/* Opens a session that writes run_dir/file_name. The folder exists. */
int sb_session_open(const struct sb_settings *settings, const char *run_dir, const char *file_name);

/* Ends it; no report is started. */
int sb_session_close(void);

#endif
