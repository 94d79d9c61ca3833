/* The options of `strobe run` that are settings, and --print-config. */
#ifndef CLI_RUN_SETTINGS_H
#define CLI_RUN_SETTINGS_H

#include "command.h"
#include "record/settings.h"

enum { RUN_OPTIONS_MAX = 64 };

/* Appends an option per setting of the table to out, which has `used` entries. */
size_t run_settings_options(struct command_option *out, size_t used, size_t limit);
/* File, preset, environment, then flags; complains itself. */
int run_settings_load(
	const struct args *args, struct sb_settings *out_settings, struct sb_settings_origin *out_origin);
/* YAML that can be read back, each line with where its value came from. */
void run_settings_print(
	const struct sb_settings *settings, const struct sb_settings_origin *origin, struct sb_buf *out);

#endif
