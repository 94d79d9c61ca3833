/* A file that appears whole or not at all: written under a new temporary name beside its own, then
 * renamed. Devices, pipes and the like are written as they are. A link of another user is refused, and no
 * existing file is written to. */
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

/* For a name that strobe chose, not the user: a link, a pipe or a socket there goes, because it would lead
 * elsewhere or wait. It was unpacked with the folder, or is a trap. */
void sb_newfile_make_way(const char *path);

/* Renames (keep) or removes what was written. Also cleans up after a failed open. Returns 0, or why there
 * is no file. */
int sb_newfile_close(struct sb_newfile *f, bool keep);

/* The same for a file that another function wrote under a temporary name: flushed to the disk, then
 * renamed. The temporary file is gone afterwards in any case. */
int sb_newfile_move(const char *temporary, const char *path);

/* Flushes a file to the disk; otherwise its name may survive a power failure without its content. True
 * also where there is no disk. False with errno set. */
bool sb_newfile_flush(int fd);

#endif
