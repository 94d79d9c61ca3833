/* Folders that are needed for a while and removed with all that is in them. */
#ifndef SB_BASE_SCRATCH_H
#define SB_BASE_SCRATCH_H

#include <stddef.h>

/* Makes a new folder of the user's own, "<where>/.strobe-<what>-XXXXXX", which no list of runs shows. where NULL:
 * among temporary files, not hidden. */
int sb_scratch_make(const char *where, const char *what, char *out_folder, size_t size);
/* Removes the folder and everything below it; follows no link. "": nothing. */
void sb_scratch_remove(const char *folder);

#endif
