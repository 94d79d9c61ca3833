/* A job on disk: its attempts, and the ranks of the one that counts. */
#ifndef SB_RUN_JOB_H
#define SB_RUN_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_job_attempt {
	int number; /* from 1 */
	char *path;
	size_t rank_count, closed_count; /* ranks that are there; that ended in order */
	int64_t world_size; /* 0: not known */
	bool live, taken;
	uint64_t start_real_ns;
};

struct sb_job {
	char **ranks; /* a RUN each: a folder, a recording, or FOLDER/rank_<N> of a run of several */
	size_t rank_count;
	struct sb_job_attempt *attempts; /* in order */
	size_t attempt_count;
};

/* path: a job's folder (rank_<N> in it), or a run's folder whose recordings are of several ranks.
 * FOLDER, FOLDER.2, FOLDER.3 are attempts of one job: FOLDER means the last one that is complete, FOLDER.2
 * and FOLDER/. that attempt alone. FOLDER.1 and FOLDER.2 also name attempts that lie together in one run's
 * folder. Also a folder with the runs of several nodes (nodes.h), or one of these runs: RUN means the job
 * on all nodes, RUN/. that node alone. Anything else: no ranks. */
int sb_job_find(const char *path, struct sb_job *out_job);
/* The same without other nodes' runs. */
int sb_job_find_itself(const char *path, struct sb_job *out_job);
/* The runs of the nodes that make up the job; none: it lies in one folder, or is no job. */
struct sb_nodes;
int sb_job_find_nodes(const char *path, struct sb_nodes *out_nodes);
void sb_job_done(struct sb_job *job); /* job may be zeroed */

enum sb_job_end {
	SB_JOB_RUNS, /* a rank still runs, or cannot be read */
	SB_JOB_PARTLY, /* none runs; ranks of its world are elsewhere or not there yet */
	SB_JOB_ENDED /* all ranks of its world are there and none runs any more, in order or not */
};

/* folder: an attempt of ranks (rank_<N> in it). */
enum sb_job_end sb_job_end_of(const char *folder);

/* True: FOLDER.2 of a job whose first attempt is FOLDER; out_first gets that. */
bool sb_job_is_later_attempt(const char *path, char *out_first, size_t size);

/* True, with FOLDER and 2, for FOLDER.2 if there is no such folder and the recordings of the run FOLDER
 * are of several attempts. */
bool sb_job_attempt_inside(const char *path, char *out_folder, size_t size, uint32_t *out_attempt);
/* True if the job found at path is one of several attempts whose recordings lie together: FOLDER as well
 * as FOLDER.2. */
bool sb_job_is_attempt_inside(const char *path, const struct sb_job *job);
/* True, with FOLDER and N, for FOLDER/rank_<N> if the recordings of the run FOLDER are of several ranks.
 * The attempt is 2 for FOLDER.2/rank_<N>; else 0, the one that counts. */
bool sb_job_rank_inside(
	const char *path, char *out_folder, size_t size, int32_t *out_rank, uint32_t *out_attempt);

/* True, with where the rank lies (JOB/rank_1/rank_3), for JOB/rank_3 if the rank_<N> of the job are such
 * folders, one per node. The node's own folder is then JOB/rank_1/. . The same for FOLDER/rank_3 where the
 * job has no folder (nodes.h). */
bool sb_job_rank_in_node(const char *path, char *out_path, size_t size);

#endif
