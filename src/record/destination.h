/* Where a session's recording goes: its folder, its name, the file itself. These are
 * errands (errand.h): they touch files. */
#ifndef SB_RECORD_DESTINATION_H
#define SB_RECORD_DESTINATION_H

#include "record/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* The folder of a session that was given none. */
struct sb_destination {
	char file_name[64];
	bool made; /* the folder */
};
int sb_destination_choose(void *destination); /* a struct sb_destination; makes the folder where needed */
int sb_destination_discard(void *unused); /* removes the folder if nothing was recorded in it */

/* The file of a session, and whose it is. */
struct sb_opening {
	const struct sb_settings *settings;
	const char *run_dir;
	const char *file_name;
	uint32_t main_tid;
	bool unmappable; /* the folder's files can be written, but not mapped */
};
int sb_destination_open(void *opening); /* a struct sb_opening: makes and maps the file, fills its header */

#endif
