/* The last part of a path, what stands before it, and how it ends. */
#ifndef SB_BASE_FILENAME_H
#define SB_BASE_FILENAME_H

#include <stdbool.h>
#include <stddef.h>

/* "run.strobe" of "runs/t2v/run.strobe"; a part of path itself. */
const char *sb_filename_of(const char *path);
/* "runs/t2v/" of it, and "." of a name alone; cut where it has no room. */
void sb_path_folder(const char *path, char *out, size_t size);
/* True if text ends with `end`, or is equal to it. */
bool sb_ends_with(const char *text, const char *end);

#endif
