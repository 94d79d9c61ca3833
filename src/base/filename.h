/* The last part of a path. */
#ifndef SB_BASE_FILENAME_H
#define SB_BASE_FILENAME_H

/* "run.strobe" of "runs/t2v/run.strobe"; a part of path itself. */
const char *sb_filename_of(const char *path);

#endif
