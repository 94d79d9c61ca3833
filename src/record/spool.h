/* Recordings that cannot be mapped where they belong: written to a local disk
 * first, moved home when they have ended. */
#ifndef SB_RECORD_SPOOL_H
#define SB_RECORD_SPOOL_H

#include "base/folder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True when files there cannot be mapped and written safely: network, FUSE. */
bool sb_rundir_needs_spool(const char *path);

/* A node-local file for a recording that belongs into run_dir, which folder is a
 * descriptor of, and a pointer file there that says where it is. Opens it. */
int sb_spool_open(
	int folder, const char *run_dir, const char *file_name, char *out_path, size_t size, int *out_fd);
/* How large the user's own recording is that a pointer names; 0: none, or on another
 * machine. */
uint64_t sb_spool_bytes(int folder, const char *pointer);
/* Moves a finished recording from its spool to run_dir. On failure it stays where it is. known: run_dir
 * as it was made; may be zeroed. */
int sb_spool_move(
	const char *spool_path, const char *run_dir, const struct sb_folder *known, const char *file_name);
/* The same for a signal handler: allocates nothing; false with errno set. */
bool sb_spool_rescue(
	const char *spool_path, const char *run_dir, const struct sb_folder *known, const char *file_name);
/* Moves a recording that a killed process left in its spool. spool: a descriptor from
 * sb_spool_follow(); it is closed. */
bool sb_spool_bring_home(int spool, const char *spool_path, int folder, const char *file_name);

#endif
