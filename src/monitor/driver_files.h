/* The descriptors that a driver's library holds in the program's table. The program may
 * close them with all others and get their numbers for files of its own. The library is
 * not called after that, not even to shut down: it would close those files. */
#ifndef SB_MONITOR_DRIVER_FILES_H
#define SB_MONITOR_DRIVER_FILES_H

#include "record/descriptor.h"

#include <stdint.h>

enum { SB_DRIVER_FILES_MAX = 64 };

struct sb_driver_files {
	struct sb_descriptor files[SB_DRIVER_FILES_MAX];
	uint32_t count;
};

/* Notes every descriptor of this process whose path begins with path_begin. */
void sb_driver_files_note(struct sb_driver_files *files, const char *path_begin);
/* True if all of them are still open on the same files. */
bool sb_driver_files_are_intact(const struct sb_driver_files *files);

#endif
