/* A folder that files are made in. It is opened without following a link and must belong to the user. Its
 * device and inode later prove that a path still names the same folder, so no descriptor is kept open. */
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

/* Opens the folder `name` below `at` (AT_FDCWD: name is a path). Returns a descriptor, or -1 with errno:
 * ELOOP or ENOTDIR if it is a link or a file, EPERM if it is less private than asked. */
int sb_folder_open(int at, const char *name, enum sb_folder_trust trust);
/* The same by path, and only if it is still the folder in `known`: ESTALE if it is another one. An unknown
 * `known` is not checked. */
int sb_folder_reopen(const char *path, const struct sb_folder *known);
struct sb_folder sb_folder_of(int fd); /* unknown where that fails */

/* Makes a new file; never opens an existing one or follows a link. Returns a descriptor, or -1. */
int sb_folder_create(int folder, const char *name, unsigned mode);
/* Opens a regular file for reading; never waits and never follows a link. */
int sb_folder_read(int folder, const char *name);

/* The same in the folder of a path, and to remove a file there, only if it is still the folder in `known`. */
int sb_folder_create_in(const char *path, const struct sb_folder *known, const char *name, unsigned mode);
int sb_folder_read_in(const char *path, const struct sb_folder *known, const char *name);
void sb_folder_remove_in(const char *path, const struct sb_folder *known, const char *name);

#endif
