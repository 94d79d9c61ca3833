/* Every run on this machine, over time: one SQLite file that several processes
 * may use at once. Holds numbers, not recordings. */
#ifndef SB_STORE_HISTORY_H
#define SB_STORE_HISTORY_H

#include "compare/facts.h"
#include "stats/fields.h"

struct sb_history;

/* $STROBE_HISTORY, else history.db under the XDG data folder's strobe/. False:
 * there is no home either, or STROBE_HISTORY is "off". */
bool sb_history_path(char *out_path, size_t size);

/* path NULL: the default place, made where missing. A file that is damaged,
 * newer or not strobe's is refused and never touched. STROBE_ENOTSUP in a
 * build without SQLite. */
int sb_history_open(const char *path, struct sb_history **out_history);
void sb_history_close(struct sb_history *h); /* takes NULL */

/* Adds a run, or replaces it where the session is known already. A job is one run with its ranks below it;
 * rows that the ranks had added are removed. run_dir may be NULL. `strobe run` calls it: it opens and
 * closes the default file and waits 2 s at most for other processes (STROBE_EBUSY). Returns 0 also when
 * history is switched off. */
int sb_history_add(const struct sb_model *model, const char *run_dir);
int sb_history_add_job(const struct sb_facts *job, const char *run_dir); /* the same for a job */
int sb_history_add_facts(struct sb_history *h, const struct sb_facts *facts, const char *run_dir,
	int64_t *out_id); /* out_id may be NULL */

struct sb_history_run {
	int64_t id;
	char *session, *name, *dir, *command, *host;
	uint64_t start_real_ns;
	bool complete;
	int64_t rank, world_size; /* rank -1: no rank's; world_size -1: none */
	int64_t rank_count; /* of a job: the ranks below it; 0: a run */
	double metrics[SB_METRIC_COUNT]; /* NaN: absent */
};
extern const struct sb_fields sb_history_run_fields;

struct sb_history_filter {
	const char *name; /* NULL: any */
	uint64_t since_real_ns; /* 0: any */
	size_t limit; /* the newest so many; 0: all */
};

/* Newest first; of ranks that were added one by one, the first of each job. */
int sb_history_list(struct sb_history *h, const struct sb_history_filter *filter,
	struct sb_history_run **out_runs, size_t *out_count);
void sb_history_runs_free(struct sb_history_run *runs, size_t count); /* takes NULL */

/* spec: an id, the start of a session id, "last", "last~2", "best" (the shortest
 * of its name; name NULL: of the newest run's). */
int sb_history_find(struct sb_history *h, const char *spec, const char *name, int64_t *out_id);
/* The facts as they were stored: metrics, stages, tags. */
int sb_history_facts(struct sb_history *h, int64_t id, struct sb_facts **out_facts);

/* Runs that know what generations of some size needed, the newest first: session, name, host, start and sizes, no more. Free
 * each with sb_facts_free, and the list. */
int sb_history_sizes(struct sb_history *h, size_t limit, struct sb_facts ***out_runs, size_t *out_count);

struct sb_history_point {
	int64_t id;
	uint64_t start_real_ns;
	double value;
	char *name;
};

struct sb_history_trend { /* as it is written */
	const char *metric;
	struct sb_history_point *points;
	size_t count;
};
extern const struct sb_fields sb_history_trend_fields;

/* metric: a metric, or a stage's name or code (its total). Oldest first. */
int sb_history_trend(struct sb_history *h, const char *metric, const struct sb_history_filter *filter,
	struct sb_history_point **out_points, size_t *out_count);
void sb_history_points_free(struct sb_history_point *points, size_t count); /* takes NULL */

/* Which runs to remove from the history. */
struct sb_history_prune {
	size_t keep; /* all but the newest so many of each name; 0: none for this reason */
	uint64_t before_real_ns; /* those that started before; 0: none for this reason */
	bool gone; /* those whose folder is gone */
	bool dry; /* only count them */
};
/* Removes them and says how many; their folders stay. */
int sb_history_prune(struct sb_history *h, const struct sb_history_prune *what, size_t *out_count);

#endif
