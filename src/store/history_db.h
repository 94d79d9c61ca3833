/* What the files of the history share. No other file includes this. */
#ifndef SB_STORE_HISTORY_DB_H
#define SB_STORE_HISTORY_DB_H

#include "store/history.h"

#include <sqlite3.h>

struct sb_history {
	sqlite3 *db;
	char path[4096];
	unsigned naps_left; /* how long it may still wait for other processes */
};

/* The message of SQLite's last error, and a code. */
int sb_history_fail(const struct sb_history *h);
/* Compiles a statement; the caller finalizes it. */
int sb_history_prepare(struct sb_history *h, const char *sql, sqlite3_stmt **out_statement);

/* ---- history_ranks.c ---- */
/* The ranks of a job, in tables that older histories do not have. */
int sb_history_add_ranks(struct sb_history *h, const struct sb_facts *f, int64_t id);
int sb_history_read_ranks(struct sb_history *h, struct sb_facts *f, int64_t id);
int sb_history_count_ranks(struct sb_history *h, int64_t id, int64_t *out_count);

/* ---- history_sizes.c ---- */
/* What generations of each size needed, in a table that older histories do not have. */
int sb_history_add_sizes(struct sb_history *h, const struct sb_facts *f, int64_t id);

/* Of ranks that were added one by one, the first stands for its job. For "runs r". */
#define SB_HISTORY_SHOWN                                                                         \
	"(r.rank <= 0 OR NOT EXISTS (SELECT 1 FROM runs f WHERE f.rank = 0 AND f.dir <> '' AND " \
	"replace(f.dir, '/rank_0', '') = replace(r.dir, '/rank_' || r.rank, '')))"

#endif
