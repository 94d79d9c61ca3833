/* What the files of the history share. No other file includes this. */
#ifndef SB_STORE_HISTORY_DB_H
#define SB_STORE_HISTORY_DB_H

#include "store/history.h"

#include <sqlite3.h>

struct sb_history {
	sqlite3 *db;
	char path[4096];
	unsigned naps_left; /* that it may still wait for other processes */
};

/* The message of SQLite's last error, and a code. */
int sb_history_fail(const struct sb_history *h);
int sb_history_prepare(struct sb_history *h, const char *sql, sqlite3_stmt **out_statement);

#endif
