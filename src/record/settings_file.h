/* Reading the `profiling:` part of a YAML file. */
#ifndef SB_RECORD_SETTINGS_FILE_H
#define SB_RECORD_SETTINGS_FILE_H

#include "record/settings.h"

/* The file's text, read once: it may be a pipe. Fails when it is not text. */
int sb_settings_file_text(const char *path, struct sb_buf *out_text);
/* Sets what the file says, and only that. The message of a failure has the
 * place, the source line and a caret; an unknown key also the nearest one. Its
 * `preset:` is checked but not applied: see below. */
int sb_settings_read_file(struct sb_settings *s, const char *path, const struct sb_buf *text,
	struct sb_settings_origin *origin);
/* Only the file's `preset:` into out (""), without judging the rest. */
int sb_settings_file_preset(const char *path, const struct sb_buf *text, char *out, size_t size);

#endif
