/* Parts of the recording half that start and stop with a session: monitors, GPU.
 * src/libstrobe.c lists them; record/ calls them and knows nothing else. */
#ifndef SB_RECORD_MODULE_H
#define SB_RECORD_MODULE_H

#include "record/settings.h"

struct sb_module {
	const char *name;
	/* The session is open and records. Must not fail the session: what does
	 * not work is reported with sb_keep_missing(). NULL entries are fine. */
	void (*start)(const struct sb_settings *settings);
	/* The session is about to close: join threads, write the last records. */
	void (*stop)(void);
	/* The program has said that it is a rank of several. */
	void (*ranked)(const struct sb_settings *settings, int local_rank);
	/* In a forked child: threads are gone, forget them; nothing is recorded yet. */
	void (*forked)(void);
};

extern const struct sb_module *const sb_modules[]; /* NULL-terminated */

#endif
