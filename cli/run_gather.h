/* The files of processes that have ended, gathered into one: a run of many short
 * workers has few files, and not more bytes than its budget. */
#ifndef CLI_RUN_GATHER_H
#define CLI_RUN_GATHER_H

#include "base/folder.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct run_gather {
	const char *folder;
	const struct sb_folder *folder_id;
	pid_t command; /* whose file keeps its name */
	uint64_t most_bytes; /* of all of them together */
	uint64_t bytes;
	unsigned dropped_count; /* recordings beyond most_bytes */
	int fd; /* the gathered file; 0: not begun */
};

/* Looks through the folder. Begins once there are many small files of processes that
 * have ended; what cannot be gathered stays where it is. */
void run_gather_finished(struct run_gather *gather);
/* Says in the recording how many processes found no room for theirs. False: none. */
bool run_gather_say_refused(const struct run_gather *gather);
/* Says in the recording what was dropped. */
void run_gather_end(struct run_gather *gather);

#endif
