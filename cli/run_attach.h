/* What makes an unmodified program record: its environment. */
#ifndef CLI_RUN_ATTACH_H
#define CLI_RUN_ATTACH_H

#include "record/settings.h"

#include <stdbool.h>

struct run_attach {
	const struct sb_settings *settings;
	const struct sb_settings_origin *origin;
	const char *run_dir; /* absolute */
	bool python_hook;
	const char *stages_seen; /* where Python programs say what they found; "": no stage is asked for */
	const char *display_asked; /* where programs ask for the live display; "": they cannot */
};

/* The child's environment: ours, with strobe's variables. Freed by the caller
 * with run_attach_free(). NULL: no memory. Says in the recording what could not
 * be attached. */
char **run_attach_environment(const struct run_attach *attach);
/* Ours, with recording off; a Python program still finds the package it imports. */
char **run_attach_nothing(bool python_hook);
void run_attach_free(char **environment);

/* Where the parts are installed; false when they are not there. */
bool run_attach_find_library(char *out, size_t size);
bool run_attach_find_hook(char *out, size_t size);

#endif
