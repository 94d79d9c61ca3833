/* A file that appears whole or not at all: written under a new temporary name beside
 * its own, then renamed. Devices, pipes and the like are written as they are. Another
 * user's link is refused, and nothing that exists is written through. */
#ifndef SB_BASE_NEWFILE_H
#define SB_BASE_NEWFILE_H

#include <stdbool.h>

struct sb_newfile {
	int fd; /* -1: not open */
	char *path; /* links followed: a link keeps pointing at the file */
	int folder; /* where it is; -1: written in place */
	char *temporary; /* the name in folder until it is whole */
};

/* mode is a new file's permissions, e.g. 0600; one that is replaced keeps its own. */
int sb_newfile_open(struct sb_newfile *f, const char *path, unsigned mode);

/* Renames (keep) or removes what was written. Takes what open left behind, also
 * when it failed. Returns 0, or why the file is not there. */
int sb_newfile_close(struct sb_newfile *f, bool keep);

/* The same for a file that another function has written under a temporary name: on the
 * disk first, then renamed. The temporary one is gone afterwards, whatever happens. */
int sb_newfile_move(const char *temporary, const char *path);

/* Puts a file on the disk: else its name may survive a power failure, and what it names
 * may not. True also where there is no disk to flush to. False with errno set. */
bool sb_newfile_flush(int fd);

#endif
