/* Where a recording goes: the run folder, or a spool where it cannot be mapped. */
#ifndef SB_RECORD_RUNDIR_H
#define SB_RECORD_RUNDIR_H

#include "record/settings.h"

#include <stdbool.h>
#include <stddef.h>

/* Makes <output_dir>/<name>-<YYYYmmdd-HHMMSS>-<pid>/ (mode 0700), never an old
 * one; with several ranks, rank_<N>/ inside the job's folder. Points
 * <output_dir>/last at it. */
int sb_rundir_make(const struct sb_settings *settings, char *out_path, size_t size);

/* Takes a run folder back in which nothing was recorded: its run.strobe, itself
 * when it is then empty, and <output_dir>/last points at the newest run again. */
void sb_rundir_discard(const char *path);

/* mkdir -p for one folder's parents and itself. */
int sb_rundir_ensure(const char *path, unsigned mode);

/* True when files there cannot be mapped and written safely: network, FUSE. */
bool sb_rundir_needs_spool(const char *path);

/* A node-local file for a recording that belongs into run_dir, and a pointer
 * file in run_dir that says where it is. Opens it. */
int sb_spool_open(const char *run_dir, const char *file_name, char *out_path, size_t size, int *out_fd);
/* Moves a finished spool home. On failure it stays where it is. */
int sb_spool_move(const char *spool_path, const char *run_dir, const char *file_name);
/* The same for a signal handler: allocates nothing; false with errno set. */
bool sb_spool_rescue(const char *spool_path, const char *run_dir, const char *file_name);

#endif
