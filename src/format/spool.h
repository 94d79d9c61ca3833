/* A recording on a node-local disk, and the pointer file in its run folder that
 * says where it is. */
#ifndef SB_FORMAT_SPOOL_H
#define SB_FORMAT_SPOOL_H

#include <stddef.h>

#define SB_SPOOL_SUFFIX ".spool" /* run.strobe.spool points at what will be run.strobe */
#define SB_SPOOL_PREFIX "strobe-" /* how a spool's own file name begins */

/* Opens the recording that a pointer in this folder names, if strobe wrote both for
 * this user: both are the user's own regular files, the recording is private and its
 * header says that it belongs into this very folder. A descriptor and its path, or
 * -1: pointers that another user wrote are never followed. */
int sb_spool_follow(int folder, const char *pointer, char *out_path, size_t size);

#endif
