/* Where a recording goes: a new folder of the user's own, made here. */
#ifndef SB_RECORD_RUNDIR_H
#define SB_RECORD_RUNDIR_H

#include "base/folder.h"
#include "record/settings.h"

#include <stdbool.h>
#include <stddef.h>

/* Makes <output_dir>/<name>-<YYYYmmdd-HHMMSS>-<pid>/ (mode 0700), never an old one; with several ranks,
 * a new rank_<N>/ inside the job's folder (jobdir.h). Points <output_dir>/last at it. out_path is absolute
 * only if output_dir is; out_folder proves later that it is still the same folder. out_attempt: which start
 * of its job this is, from 1; 0: no job. */
int sb_rundir_make(const struct sb_settings *settings, char *out_path, size_t size,
	struct sb_folder *out_folder, int *out_attempt);

/* Takes back a folder that sb_rundir_make() made and in which nothing was recorded:
 * its run.strobe, itself when it is then empty, and <output_dir>/last points at the
 * newest run again. */
void sb_rundir_discard(const char *path, const struct sb_folder *folder);

/* mkdir -p for one folder's parents and itself. */
int sb_rundir_ensure(const char *path, unsigned mode);

#endif
