/* What lies in a folder: runs, jobs of ranks, recordings. The one place that decides it;
 * docs/run.md has the rules in words. Reads names only, never a recording. */
#ifndef SB_RUN_CATALOGUE_H
#define SB_RUN_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum sb_catalogue_kind {
	SB_CATALOGUE_NONE, /* nothing, or neither a file nor a folder */
	SB_CATALOGUE_FILE, /* a file that is not named like a recording */
	SB_CATALOGUE_RECORDING, /* a .strobe file, packed or not */
	SB_CATALOGUE_RUN, /* a folder with recordings; may have ranks too, of what it launched */
	SB_CATALOGUE_JOB, /* a folder with ranks and no recording of its own */
	SB_CATALOGUE_RUNS /* any other folder: its runs, if it has any */
};

/* What a path is. out_ranks (may be NULL): the ranks in a run's or job's folder. */
enum sb_catalogue_kind sb_catalogue_kind(const char *path, size_t *out_ranks);
/* rank_<N>, the folder of a rank or its packed recording. */
bool sb_catalogue_is_rank(const char *name);

struct sb_catalogue_entry {
	char *name, *path;
	enum sb_catalogue_kind kind; /* RECORDING, RUN, JOB or RUNS */
	bool link; /* such as "last": names what is listed elsewhere */
	struct timespec changed;
};

struct sb_catalogue {
	struct sb_catalogue_entry *entries; /* by name, rank_2 before rank_10 */
	size_t count, room;
};

/* The folders and recordings of a folder, hidden ones left out. A packed copy (X.packed,
 * X.packed.strobe) beside its run X is that run and not listed again. */
int sb_catalogue_list(const char *folder, struct sb_catalogue *out_catalogue);
void sb_catalogue_done(struct sb_catalogue *c); /* c may be zeroed */

struct sb_recording_paths {
	char **paths;
	size_t count;
};

/* The recordings of a run's folder, in order; those still on a node-local disk are named
 * by where they are. */
int sb_catalogue_recordings(const char *folder, struct sb_recording_paths *out_recordings);
int sb_recording_paths_add(struct sb_recording_paths *p, const char *path);
void sb_recording_paths_done(struct sb_recording_paths *p); /* p may be zeroed */

#endif
