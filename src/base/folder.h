/* A folder that files are made in. It is opened without following a link and
 * must be the user's own; later, device and inode prove that a path still names
 * the same folder, so that no descriptor has to be held meanwhile. */
#ifndef SB_BASE_FOLDER_H
#define SB_BASE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

struct sb_folder {
	uint64_t device, inode; /* both 0: not known */
};

/* Who may do what in a folder that strobe writes to. */
enum sb_folder_trust {
	SB_FOLDER_PRIVATE, /* the user's own, and no other user can read it */
	SB_FOLDER_OWN /* the user's own, and no other user can write to it */
};

/* A descriptor of the folder called name below at (AT_FDCWD: as a path), or -1
 * with errno set: ELOOP or ENOTDIR where it is a link or a file, EPERM where it is
 * not as private as asked. */
int sb_folder_open(int at, const char *name, enum sb_folder_trust trust);
/* The same by its path, and only the folder that known names: ESTALE where it is
 * another one. Takes an unknown one as it is. */
int sb_folder_reopen(const char *path, const struct sb_folder *known);
struct sb_folder sb_folder_of(int fd); /* unknown where that fails */

/* A new file, never an old one nor what a link points to: its descriptor, or -1. */
int sb_folder_create(int folder, const char *name, unsigned mode);
/* Opens a regular file for reading; never waits and never follows a link. */
int sb_folder_read(int folder, const char *name);

#endif
