/* The runs that can be served: found by looking into the folder, never
 * by a path from a request. An id from a request is only compared with theirs. */
#ifndef SB_SERVE_LISTING_H
#define SB_SERVE_LISTING_H

#include "base/buf.h"
#include "run/brief.h"
#include "run/catalogue.h"
#include "stats/fields.h"

#include <stddef.h>

#define SB_LISTING_SHOWN 1000u /* in the list of runs; older ones still have their pages */
#define SB_LISTING_MAX 100000u

struct sb_listed {
	char *id; /* the folder's or file's name */
	char *path;
	char *command, *commit; /* NULL: not known, or not in the list that is shown */
	size_t rank_count; /* of a job: its ranks, which are listed too; 0: a run */
	char *job; /* of a rank of a job that is listed: the job's id; NULL: none */
	uint64_t job_start_real_ns; /* of a rank: when its job began */
	/* Of a rank that lies in one folder with others: its recordings. Of such a job: those of no rank. */
	struct sb_recording_paths files;
	const char *state; /* sb_run_brief_state's */
	struct sb_run_brief brief;
};

struct sb_listing {
	struct sb_listed *runs; /* newest first, a job before its ranks; at most SB_LISTING_MAX */
	size_t count, room;
	size_t left_out; /* beyond SB_LISTING_MAX */
};

/* target: one run (a folder with recordings, a .strobe file, packed or not), a job's
 * folder, or a folder of runs. A folder without any is no error: runs may still come. */
int sb_listing_scan(const char *target, struct sb_listing *out_listing);
void sb_listing_done(struct sb_listing *l); /* l may be zeroed */
const struct sb_listed *sb_listing_find(const struct sb_listing *l, const char *id); /* NULL: none */
/* An attempt that lies in the folder of its run with others (JOB.1), or a rank of it (JOB.1.rank_0): its path, and
 * whether it is one rank. These are not listed: the list has the attempt that counts. */
bool sb_listing_find_attempt(
	const struct sb_listing *l, const char *id, char *out_path, size_t size, bool *out_rank);
extern const struct sb_fields sb_listing_fields;
/* Writes what /api/runs answers (docs/runs.schema.json): the newest SB_LISTING_SHOWN. */
void sb_listing_json(struct sb_listing *l, struct sb_buf *out);

#endif
