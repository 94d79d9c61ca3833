/* The runs that a job is made of, for what copies a job whole: a folder per rank, or the one folder in which
 * a launcher's ranks lie together. */
#ifndef SB_RUN_JOB_PARTS_H
#define SB_RUN_JOB_PARTS_H

#include <stddef.h>

struct sb_job_part {
	char *name; /* "rank_3"; "": the job's own folder */
	char *path; /* a RUN */
};

struct sb_job_parts {
	struct sb_job_part *all;
	size_t count; /* 0: the path is no job's */
};

/* path: as for sb_job_find(). Of several attempts only the one that counts. */
int sb_job_parts_find(const char *path, struct sb_job_parts *out_parts);
void sb_job_parts_done(struct sb_job_parts *parts); /* parts may be zeroed */

#endif
