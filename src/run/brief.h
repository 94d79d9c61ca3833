/* A run in brief: its name and host, when it began and how it ended, from the headers of its recordings
 * alone. */
#ifndef SB_RUN_BRIEF_H
#define SB_RUN_BRIEF_H

#include <stdbool.h>
#include <stdint.h>

struct sb_run_brief {
	char name[128]; /* the session's */
	char host[64];
	uint64_t start_real_ns;
	uint64_t
		duration_ns; /* from its first recording's start to the last one's end, or while it was known alive */
	uint64_t frames; /* that left the pipeline, else of blocks that began; 0: none were counted */
	uint64_t steps; /* that began */
	uint64_t bytes; /* on the disk */
	uint32_t pid;
	int32_t rank; /* -1: none */
	int32_t world_size; /* 0: not known */
	bool several_ranks; /* recordings of more than one rank lie together */
	bool packed; /* every recording is */
	bool live;
	bool closed; /* its main recording was stopped in order */
	bool failed; /* and its process then ended with a failure */
};

/* path: a run's folder or one recording. False: it has no recording that can be read. */
bool sb_run_brief_read(const char *path, struct sb_run_brief *out_brief);
struct sb_file_header;
/* The same of one recording, from its header; bytes and packed are not known. */
struct sb_run_brief sb_run_brief_of(const struct sb_file_header *head);
/* Lets it last at least until the end of that recording. */
void sb_run_brief_extend(struct sb_run_brief *brief, const struct sb_file_header *head);
/* "live", "ended", or "killed": not closed, and no process records into it. */
const char *sb_run_brief_state(const struct sb_run_brief *brief);
/* Whether two runs, by their starts and durations, may have run at once; clocks of hosts may be a minute apart. */
bool sb_runs_overlap(
	uint64_t start_a_ns, uint64_t duration_a_ns, uint64_t start_b_ns, uint64_t duration_b_ns);

#endif
