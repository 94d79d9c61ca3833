/* The ranks of jobs in the history: a row of runs for the job, its ranks and the spread of its
 * stages in tables of their own. */
#include "store/history_db.h"

#include "base/error.h"
#include "base/filename.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char tables[] =
	"CREATE TABLE IF NOT EXISTS ranks (run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
	" rank INTEGER NOT NULL, host TEXT NOT NULL, dir TEXT NOT NULL, wall_s REAL, work_s REAL,"
	" behind_s REAL, straggler INTEGER NOT NULL, complete INTEGER NOT NULL, slow_stage TEXT,"
	" PRIMARY KEY (run, rank)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS spreads (run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
	" place INTEGER NOT NULL, min_s REAL, max_s REAL, min_rank INTEGER NOT NULL,"
	" max_rank INTEGER NOT NULL, PRIMARY KEY (run, place)) WITHOUT ROWID;";

static bool has_ranks(struct sb_history *h)
{
	return sqlite3_table_column_metadata(h->db, NULL, "ranks", "rank", NULL, NULL, NULL, NULL, NULL) ==
	       SQLITE_OK;
}

static void bind_number(sqlite3_stmt *s, int at, double value)
{
	if (isnan(value))
		sqlite3_bind_null(s, at);
	else
		sqlite3_bind_double(s, at, value);
}

static double number(sqlite3_stmt *s, int at)
{
	return sqlite3_column_type(s, at) == SQLITE_NULL ? NAN : sqlite3_column_double(s, at);
}

static int step(struct sb_history *h, sqlite3_stmt *s)
{
	int done = sqlite3_step(s);

	sqlite3_reset(s);
	return done == SQLITE_DONE ? 0 : sb_history_fail(h);
}

static int forget(struct sb_history *h, sqlite3_stmt *s, const char *dir, int64_t job)
{
	sqlite3_bind_text(s, 1, dir, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(s, 2, job);
	return step(h, s);
}

/* What the rank itself, or the launcher that started some of the ranks, had added when it ended is in the job's
 * row now. */
static int forget_own_rows(struct sb_history *h, sqlite3_stmt *s, const char *label, int64_t job)
{
	size_t length = (size_t)(sb_filename_of(label) - label);
	char above[PATH_MAX], *dir = realpath(label, NULL);
	int err = dir ? forget(h, s, dir, job) : 0;

	free(dir);
	if (err || length < 2 || length >= sizeof above)
		return err;
	snprintf(above, sizeof above, "%.*s", (int)length - 1, label);
	dir = realpath(above, NULL);
	err = dir ? forget(h, s, dir, job) : 0;
	free(dir);
	return err;
}

static int add_ranks(struct sb_history *h, const struct sb_facts *f, int64_t id)
{
	sqlite3_stmt *s = NULL, *own = NULL;
	int err = sb_history_prepare(h, "INSERT INTO ranks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &s);

	if (!err)
		err = sb_history_prepare(h,
			"DELETE FROM runs WHERE dir = ?1 AND id <> ?2 AND (rank >= 0 OR id IN (SELECT run "
			"FROM ranks))",
			&own);
	for (size_t i = 0; i < f->rank_count && !err; i++) {
		const struct sb_fact_rank *r = &f->ranks[i];
		char *dir = realpath(r->label, NULL);

		sqlite3_bind_int64(s, 1, id);
		sqlite3_bind_int64(s, 2, r->rank);
		sqlite3_bind_text(s, 3, r->host, -1, SQLITE_TRANSIENT);
		sqlite3_bind_text(s, 4, dir ? dir : r->label, -1, SQLITE_TRANSIENT);
		bind_number(s, 5, r->wall_s);
		bind_number(s, 6, r->work_s);
		bind_number(s, 7, r->behind_s);
		sqlite3_bind_int(s, 8, r->straggler);
		sqlite3_bind_int(s, 9, r->complete);
		sqlite3_bind_text(s, 10, r->slow_stage, -1, SQLITE_TRANSIENT);
		err = step(h, s);
		free(dir);
		if (!err)
			err = forget_own_rows(h, own, r->label, id);
	}
	sqlite3_finalize(s);
	sqlite3_finalize(own);
	return err;
}

static int add_spreads(struct sb_history *h, const struct sb_facts *f, int64_t id)
{
	sqlite3_stmt *s = NULL;
	int err = sb_history_prepare(h, "INSERT INTO spreads VALUES (?, ?, ?, ?, ?, ?)", &s);

	for (size_t i = 0; i < f->stage_count && !err; i++) {
		const struct sb_fact_spread *spread = &f->stages[i].spread;

		sqlite3_bind_int64(s, 1, id);
		sqlite3_bind_int64(s, 2, (sqlite3_int64)i);
		bind_number(s, 3, spread->min_s);
		bind_number(s, 4, spread->max_s);
		sqlite3_bind_int64(s, 5, spread->min_rank);
		sqlite3_bind_int64(s, 6, spread->max_rank);
		err = step(h, s);
	}
	sqlite3_finalize(s);
	return err;
}

int sb_history_add_ranks(struct sb_history *h, const struct sb_facts *f, int64_t id)
{
	int err = sqlite3_exec(h->db, tables, NULL, NULL, NULL) == SQLITE_OK ? 0 : sb_history_fail(h);

	if (!err)
		err = add_ranks(h, f, id);
	return err ? err : add_spreads(h, f, id);
}

/* ---- reading ---- */

int sb_history_count_ranks(struct sb_history *h, int64_t id, int64_t *out_count)
{
	sqlite3_stmt *s = NULL;
	int err;

	*out_count = 0;
	if (!has_ranks(h))
		return 0;
	err = sb_history_prepare(h, "SELECT count(*) FROM ranks WHERE run = ?", &s);
	if (!err) {
		sqlite3_bind_int64(s, 1, id);
		if (sqlite3_step(s) == SQLITE_ROW)
			*out_count = sqlite3_column_int64(s, 0);
	}
	sqlite3_finalize(s);
	return err;
}

static struct sb_fact_rank rank_of(struct sb_facts *f, sqlite3_stmt *s)
{
	return (struct sb_fact_rank){ .rank = sqlite3_column_int64(s, 0),
		.host = sb_facts_text(f, (const char *)sqlite3_column_text(s, 1)),
		.label = sb_facts_text(f, (const char *)sqlite3_column_text(s, 2)),
		.wall_s = number(s, 3),
		.work_s = number(s, 4),
		.behind_s = number(s, 5),
		.straggler = sqlite3_column_int(s, 6),
		.complete = sqlite3_column_int(s, 7),
		.slow_stage = sb_facts_text(f, (const char *)sqlite3_column_text(s, 8)) };
}

static bool is_known_host(const struct sb_facts *f, const char *host)
{
	for (size_t i = 0; i < f->rank_count; i++)
		if (!strcmp(f->ranks[i].host, host))
			return true;
	return !*host;
}

static int read_ranks(struct sb_history *h, struct sb_facts *f, int64_t id, int64_t count)
{
	sqlite3_stmt *s = NULL;
	int err = sb_history_prepare(h,
		"SELECT rank, host, dir, wall_s, work_s, behind_s, straggler, complete, slow_stage FROM "
		"ranks "
		"WHERE run = ? ORDER BY rank",
		&s);

	f->ranks = calloc((size_t)count + 1, sizeof *f->ranks);
	if (!err && !f->ranks)
		err = sb_fail(STROBE_ENOMEM, "no memory for the history");
	if (!err)
		sqlite3_bind_int64(s, 1, id);
	while (!err && (int64_t)f->rank_count < count && sqlite3_step(s) == SQLITE_ROW) {
		struct sb_fact_rank r = rank_of(f, s);

		f->host_count += !is_known_host(f, r.host);
		f->ranks[f->rank_count++] = r;
	}
	sqlite3_finalize(s);
	return err;
}

static int read_spreads(struct sb_history *h, struct sb_facts *f, int64_t id)
{
	sqlite3_stmt *s = NULL;
	int err = sb_history_prepare(
		h, "SELECT place, min_s, max_s, min_rank, max_rank FROM spreads WHERE run = ?", &s);

	if (!err)
		sqlite3_bind_int64(s, 1, id);
	while (!err && sqlite3_step(s) == SQLITE_ROW) {
		int64_t place = sqlite3_column_int64(s, 0);

		if (place >= 0 && place < (int64_t)f->stage_count)
			f->stages[place].spread = (struct sb_fact_spread){ number(s, 1), number(s, 2),
				sqlite3_column_int64(s, 3), sqlite3_column_int64(s, 4) };
	}
	sqlite3_finalize(s);
	return err;
}

int sb_history_read_ranks(struct sb_history *h, struct sb_facts *f, int64_t id)
{
	int64_t count;
	int err = sb_history_count_ranks(h, id, &count);

	if (err || !count)
		return err;
	err = read_ranks(h, f, id, count);
	return err ? err : read_spreads(h, f, id);
}
