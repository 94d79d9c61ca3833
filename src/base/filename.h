/* The last part of a path, and how it ends. */
#ifndef SB_BASE_FILENAME_H
#define SB_BASE_FILENAME_H

#include <stdbool.h>

/* "run.strobe" of "runs/t2v/run.strobe"; a part of path itself. */
const char *sb_filename_of(const char *path);
/* True if text ends with `end`, or is equal to it. */
bool sb_ends_with(const char *text, const char *end);

#endif
