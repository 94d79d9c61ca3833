/* The history file: opening it safely, adding runs. Reading is in
 * history_read.c. */
#include "store/history_db.h"

#include "base/buf.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define APPLICATION_ID 0x53425248 /* "SBRH" */
#define SCHEMA_VERSION 1
#define PATIENT_MS 15000 /* the user asked for the history */
#define HASTY_MS 2000 /* a run is ending: its exit does not wait for others */
#define NAP_MS 20

static const char schema[] =
	"CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL UNIQUE, name TEXT "
	"NOT NULL,"
	" dir TEXT NOT NULL, command TEXT NOT NULL, host TEXT NOT NULL, start_ns INTEGER NOT NULL,"
	" rank INTEGER NOT NULL, world_size INTEGER NOT NULL, complete INTEGER NOT NULL);"
	"CREATE INDEX runs_by_start ON runs (start_ns);"
	"CREATE TABLE metrics (run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE, key TEXT NOT "
	"NULL,"
	" value REAL NOT NULL, PRIMARY KEY (run, key)) WITHOUT ROWID;"
	"CREATE TABLE stages (run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE, place INTEGER NOT "
	"NULL,"
	" parent INTEGER NOT NULL, name TEXT NOT NULL, code TEXT, state INTEGER NOT NULL, role INTEGER NOT "
	"NULL,"
	" count INTEGER NOT NULL, total_s REAL, self_s REAL, mean_s REAL, p95_s REAL,"
	" PRIMARY KEY (run, place)) WITHOUT ROWID;"
	"CREATE TABLE pairs (run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE, scope INTEGER NOT "
	"NULL,"
	" key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run, scope, key)) WITHOUT ROWID;";

bool sb_history_path(char *out_path, size_t size)
{
	const char *own = getenv("STROBE_HISTORY"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	int n;

	if (own && *own) {
		if (!strcmp(own, "off") || !strcmp(own, "0"))
			return false;
		n = snprintf(out_path, size, "%s", own);
	} else if (data && *data == '/') {
		n = snprintf(out_path, size, "%s/strobe/history.db", data);
	} else if (home && *home) {
		n = snprintf(out_path, size, "%s/.local/share/strobe/history.db", home);
	} else {
		return false;
	}
	return n > 0 && (size_t)n < size;
}

/* ---- small helpers around SQLite ---------------------------------------- */

int sb_history_fail(const struct sb_history *h)
{
	int code = sqlite3_errcode(h->db) & 0xff;

	if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
		return sb_fail(STROBE_EFORMAT,
			"history '%s' is damaged or not a database (%s); nothing was changed: move it "
			"away, or name another with STROBE_HISTORY",
			h->path, sqlite3_errmsg(h->db));
	if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
		return sb_fail(STROBE_EBUSY, "history '%s' is in use by another process", h->path);
	if (code == SQLITE_FULL)
		return sb_fail(STROBE_ENOSPC, "no room for history '%s'", h->path);
	return sb_fail(STROBE_EIO, "history '%s': %s", h->path, sqlite3_errmsg(h->db));
}

static int execute(struct sb_history *h, const char *sql)
{
	return sqlite3_exec(h->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : sb_history_fail(h);
}

int sb_history_prepare(struct sb_history *h, const char *sql, sqlite3_stmt **out_statement)
{
	return sqlite3_prepare_v2(h->db, sql, -1, out_statement, NULL) == SQLITE_OK ? 0 : sb_history_fail(h);
}

static int read_number(struct sb_history *h, const char *sql, int64_t *out_value)
{
	sqlite3_stmt *s = NULL;
	int err = sb_history_prepare(h, sql, &s);

	if (!err && sqlite3_step(s) != SQLITE_ROW)
		err = sb_history_fail(h);
	if (!err)
		*out_value = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return err;
}

/* ---- opening ------------------------------------------------------------ */

static int make_parent(const char *path)
{
	char folder[4096];

	snprintf(folder, sizeof folder, "%s", path);
	for (char *p = folder + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		if (mkdir(folder, 0700) && errno != EEXIST)
			return sb_fail_errno("cannot make '%s' for the history", folder);
		*p = '/';
	}
	return 0;
}

/* Checks whose file it is before anything is written. */
static int check_owner(struct sb_history *h, bool *out_fresh)
{
	int64_t application = 0, version = 0, tables = 0;
	int err = read_number(h, "PRAGMA application_id", &application);

	if (!err)
		err = read_number(h, "PRAGMA user_version", &version);
	if (!err)
		err = read_number(h, "SELECT count(*) FROM sqlite_master", &tables);
	if (err)
		return err;
	*out_fresh = !application && !version && !tables;
	if (*out_fresh)
		return 0;
	if (application != APPLICATION_ID)
		return sb_fail(STROBE_EFORMAT,
			"'%s' is a database, but not a strobe history; nothing was changed", h->path);
	if (version > SCHEMA_VERSION)
		return sb_fail(STROBE_EFORMAT,
			"history '%s' was written by a newer strobe (version %d, this one knows %d); "
			"nothing was changed",
			h->path, (int)version, SCHEMA_VERSION);
	return 0;
}

/* Two processes may both find the file fresh: the second waits, looks again. */
static int create(struct sb_history *h)
{
	bool fresh = false;
	char sql[128];
	int err = execute(h, "BEGIN IMMEDIATE");

	if (!err)
		err = check_owner(h, &fresh);
	if (!err && fresh)
		err = execute(h, schema);
	snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID,
		SCHEMA_VERSION);
	if (!err && fresh)
		err = execute(h, sql);
	if (!err)
		return execute(h, "COMMIT");
	sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}

/* In one transaction: another process may be making the tables right now, and
 * half of what it does must not be seen. */
static int look(struct sb_history *h, bool *out_fresh)
{
	int err = execute(h, "BEGIN");

	if (!err)
		err = check_owner(h, out_fresh);
	if (sqlite3_get_autocommit(h->db) == 0)
		sqlite3_exec(h->db, err ? "ROLLBACK" : "COMMIT", NULL, NULL, NULL);
	return err;
}

/* Another process holds it: wait once more, within the total this history may wait. */
static int wait_a_little(void *self, int tries)
{
	const struct timespec nap = { 0, NAP_MS * 1000000 };
	struct sb_history *h = self;

	(void)tries;
	if (!h->naps_left)
		return 0;
	h->naps_left--;
	nanosleep(&nap, NULL);
	return 1;
}

/* Changing the mode needs the file alone, and SQLite does not wait for that. */
static int use_wal(struct sb_history *h)
{
	int err;

	do {
		err = execute(h, "PRAGMA journal_mode = WAL");
	} while (err == STROBE_EBUSY && wait_a_little(h, 0));
	return err;
}

static int prepare_file(struct sb_history *h)
{
	bool fresh;
	int err;

	sqlite3_busy_handler(h->db, wait_a_little, h);
	err = look(h, &fresh);
	if (!err && fresh)
		err = use_wal(h);
	if (!err && fresh)
		err = create(h);
	if (!err)
		err = execute(h, "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL");
	return err;
}

/* SQLite would make it readable for everybody; its journals get the file's permissions. */
static int make_private(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat st;

	if (fd >= 0)
		close(fd);
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return sb_fail(STROBE_EINVAL, "history '%s' is %s, not a file", path,
			S_ISDIR(st.st_mode) ? "a folder" : "a device, a pipe or a socket");
	return 0;
}

static int open_within(const char *path, unsigned wait_ms, struct sb_history **out_history)
{
	struct sb_history *h = calloc(1, sizeof *h);
	int err = 0;

	if (!h)
		return sb_fail(STROBE_ENOMEM, "no memory for the history");
	h->naps_left = wait_ms / NAP_MS;
	if (path)
		snprintf(h->path, sizeof h->path, "%s", path);
	else if (!sb_history_path(h->path, sizeof h->path))
		err = sb_fail(STROBE_ENOENT,
			"no place for the history: STROBE_HISTORY is off, or there is no HOME");
	if (!err)
		err = make_parent(h->path);
	if (!err)
		err = make_private(h->path);
	if (!err && sqlite3_open_v2(h->path, &h->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
			    SQLITE_OK)
		err = h->db ? sb_history_fail(h) : sb_fail(STROBE_ENOMEM, "no memory for the history");
	if (!err)
		err = prepare_file(h);
	if (err) {
		sb_history_close(h);
		return err;
	}
	*out_history = h;
	return 0;
}

int sb_history_open(const char *path, struct sb_history **out_history)
{
	return open_within(path, PATIENT_MS, out_history);
}

void sb_history_close(struct sb_history *h)
{
	if (!h)
		return;
	sqlite3_close(h->db);
	free(h);
}

/* ---- adding ------------------------------------------------------------- */

static int step(struct sb_history *h, sqlite3_stmt *s)
{
	int done = sqlite3_step(s);

	sqlite3_reset(s);
	return done == SQLITE_DONE ? 0 : sb_history_fail(h);
}

static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
	if (text)
		sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_null(s, at);
}

static void bind_double(sqlite3_stmt *s, int at, double value)
{
	if (isnan(value))
		sqlite3_bind_null(s, at);
	else
		sqlite3_bind_double(s, at, value);
}

/* Imports have no session id: name and start distinguish them. */
static void session_of(const struct sb_facts *f, const char *run_dir, char *out, size_t size)
{
	const char *id = *f->id ? f->id : run_dir && *run_dir ? run_dir : f->label;
	int n = snprintf(out, size, "%s/%s@%llu", id, f->name, (unsigned long long)f->start_real_ns);

	if (f->rank >= 0 && n > 0 && (size_t)n < size)
		snprintf(out + n, size - (size_t)n, "/rank_%lld", (long long)f->rank);
}

/* A run that is added again keeps its id; everything else is replaced. */
static int forget_session(struct sb_history *h, const char *session, int64_t *out_id)
{
	sqlite3_stmt *s = NULL;
	int err = sb_history_prepare(h, "SELECT id FROM runs WHERE session = ?", &s);

	*out_id = 0;
	if (!err) {
		bind_text(s, 1, session);
		if (sqlite3_step(s) == SQLITE_ROW)
			*out_id = sqlite3_column_int64(s, 0);
	}
	sqlite3_finalize(s);
	s = NULL;
	if (!err && *out_id)
		err = sb_history_prepare(h, "DELETE FROM runs WHERE session = ?", &s);
	if (!err && *out_id) {
		bind_text(s, 1, session);
		err = step(h, s);
	}
	sqlite3_finalize(s);
	return err;
}

static int add_run(struct sb_history *h, const struct sb_facts *f, const char *run_dir, int64_t *out_id)
{
	const char *command = "";
	char session[4200];
	sqlite3_stmt *s = NULL;
	int64_t known;
	int err;

	session_of(f, run_dir, session, sizeof session);
	for (size_t i = 0; i < f->pair_count; i++)
		if (f->pairs[i].scope == SB_FACT_COMMAND && !strcmp(f->pairs[i].key, "command"))
			command = f->pairs[i].value;
	err = forget_session(h, session, &known);
	if (!err)
		err = sb_history_prepare(h,
			"INSERT INTO runs (session, name, dir, command, host, start_ns, rank, world_size, "
			"complete, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			&s);
	if (!err) {
		bind_text(s, 1, session);
		bind_text(s, 2, f->name);
		bind_text(s, 3, run_dir ? run_dir : "");
		bind_text(s, 4, command);
		bind_text(s, 5, f->host);
		sqlite3_bind_int64(s, 6, (sqlite3_int64)f->start_real_ns);
		sqlite3_bind_int64(s, 7, f->rank);
		sqlite3_bind_int64(s, 8, f->world_size);
		sqlite3_bind_int(s, 9, f->complete);
		if (known)
			sqlite3_bind_int64(s, 10, known);
		err = step(h, s);
		*out_id = sqlite3_last_insert_rowid(h->db);
	}
	sqlite3_finalize(s);
	return err;
}

static int add_metrics(struct sb_history *h, const struct sb_facts *f, int64_t id)
{
	sqlite3_stmt *s = NULL;
	int err = sb_history_prepare(h, "INSERT INTO metrics VALUES (?, ?, ?)", &s);

	for (int i = 0; i < SB_METRIC_COUNT && !err; i++) {
		if (isnan(f->metrics[i]))
			continue;
		sqlite3_bind_int64(s, 1, id);
		bind_text(s, 2, sb_metric_infos[i].key);
		sqlite3_bind_double(s, 3, f->metrics[i]);
		err = step(h, s);
	}
	sqlite3_finalize(s);
	return err;
}

static int add_stages(struct sb_history *h, const struct sb_facts *f, int64_t id)
{
	sqlite3_stmt *s = NULL;
	int err = sb_history_prepare(h, "INSERT INTO stages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &s);

	for (size_t i = 0; i < f->stage_count && !err; i++) {
		const struct sb_fact_stage *stage = &f->stages[i];

		sqlite3_bind_int64(s, 1, id);
		sqlite3_bind_int64(s, 2, (sqlite3_int64)i);
		sqlite3_bind_int64(s, 3, stage->parent);
		bind_text(s, 4, stage->name);
		bind_text(s, 5, stage->code);
		sqlite3_bind_int(s, 6, (int)stage->state);
		sqlite3_bind_int(s, 7, (int)stage->role);
		sqlite3_bind_int64(s, 8, stage->count);
		bind_double(s, 9, stage->total_s);
		bind_double(s, 10, stage->self_s);
		bind_double(s, 11, stage->time.mean);
		bind_double(s, 12, stage->time.p95);
		err = step(h, s);
	}
	sqlite3_finalize(s);
	return err;
}

static int add_pairs(struct sb_history *h, const struct sb_facts *f, int64_t id)
{
	sqlite3_stmt *s = NULL;
	int err = sb_history_prepare(h, "INSERT OR REPLACE INTO pairs VALUES (?, ?, ?, ?)", &s);

	for (size_t i = 0; i < f->pair_count && !err; i++) {
		sqlite3_bind_int64(s, 1, id);
		sqlite3_bind_int(s, 2, (int)f->pairs[i].scope);
		bind_text(s, 3, f->pairs[i].key);
		bind_text(s, 4, f->pairs[i].value);
		err = step(h, s);
	}
	sqlite3_finalize(s);
	return err;
}

int sb_history_add_facts(struct sb_history *h, const struct sb_facts *f, const char *run_dir, int64_t *out_id)
{
	int64_t id = 0;
	int err = execute(h, "BEGIN IMMEDIATE");

	if (err)
		return err;
	err = add_run(h, f, run_dir, &id);
	if (!err)
		err = add_metrics(h, f, id);
	if (!err)
		err = add_stages(h, f, id);
	if (!err)
		err = add_pairs(h, f, id);
	if (!err && f->ranks)
		err = sb_history_add_ranks(h, f, id);
	if (!err && f->sizes.count)
		err = sb_history_add_sizes(h, f, id);
	if (!err)
		err = execute(h, "COMMIT");
	if (err)
		sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
	else if (out_id)
		*out_id = id;
	return err;
}

int sb_history_add_job(const struct sb_facts *f, const char *run_dir)
{
	struct sb_history *h = NULL;
	char path[4096], *dir = run_dir ? realpath(run_dir, NULL) : NULL;
	int err = 0;

	if (sb_history_path(path, sizeof path)) {
		err = open_within(path, HASTY_MS, &h);
		if (!err)
			err = sb_history_add_facts(h, f, dir ? dir : run_dir, NULL);
	}
	sb_history_close(h);
	free(dir);
	return err;
}

int sb_history_add(const struct sb_model *model, const char *run_dir)
{
	struct sb_facts *f = NULL;
	char path[4096];
	int err;

	if (!sb_history_path(path, sizeof path))
		return 0;
	err = sb_facts_of_model(model, run_dir ? run_dir : "", &f);
	if (!err)
		err = sb_history_add_job(f, run_dir);
	sb_facts_free(f);
	return err;
}
