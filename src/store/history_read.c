/* Reading the history: lists, one run, trends, and forgetting. */
#include "store/history_db.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory for the history");
}

static char *column_text(sqlite3_stmt *s, int at)
{
	const char *text = (const char *)sqlite3_column_text(s, at);

	return strdup(text ? text : "");
}

static double column_number(sqlite3_stmt *s, int at)
{
	return sqlite3_column_type(s, at) == SQLITE_NULL ? NAN : sqlite3_column_double(s, at);
}

static void bind_filter(sqlite3_stmt *s, const struct sb_history_filter *f)
{
	if (f->name)
		sqlite3_bind_text(s, 1, f->name, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)f->since_real_ns);
	sqlite3_bind_int64(s, 3, f->limit ? (sqlite3_int64)f->limit : -1);
}

/* Doubles the array when count is a power of two, so that growing by one stays cheap. */
static void *room(void *array, size_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	return realloc(array, (count ? count * 2 : 1) * size);
}

/* ---- lists -------------------------------------------------------------- */

void sb_history_runs_free(struct sb_history_run *runs, size_t count)
{
	for (size_t i = 0; i < count && runs; i++) {
		free(runs[i].session);
		free(runs[i].name);
		free(runs[i].dir);
		free(runs[i].command);
		free(runs[i].host);
	}
	free(runs);
}

static int read_metrics(struct sb_history *h, int64_t id, double *metrics)
{
	sqlite3_stmt *s = NULL;
	int err = sb_history_prepare(h, "SELECT key, value FROM metrics WHERE run = ?", &s);
	int got = SQLITE_DONE;

	for (int i = 0; i < SB_METRIC_COUNT; i++)
		metrics[i] = NAN;
	if (err)
		return err;
	sqlite3_bind_int64(s, 1, id);
	while ((got = sqlite3_step(s)) == SQLITE_ROW)
		for (int i = 0; i < SB_METRIC_COUNT; i++)
			if (!strcmp(sb_metric_infos[i].key, (const char *)sqlite3_column_text(s, 0)))
				metrics[i] = sqlite3_column_double(s, 1);
	if (got != SQLITE_DONE)
		err = sb_history_fail(h);
	sqlite3_finalize(s);
	return err;
}

static int read_run(struct sb_history *h, sqlite3_stmt *s, struct sb_history_run *out_run)
{
	struct sb_history_run r = { .id = sqlite3_column_int64(s, 0),
		.session = column_text(s, 1),
		.name = column_text(s, 2),
		.dir = column_text(s, 3),
		.command = column_text(s, 4),
		.host = column_text(s, 5),
		.start_real_ns = (uint64_t)sqlite3_column_int64(s, 6),
		.complete = sqlite3_column_int(s, 7),
		.rank = sqlite3_column_int64(s, 8),
		.world_size = sqlite3_column_int64(s, 9) };
	int err;

	*out_run = r;
	if (!r.session || !r.name || !r.dir || !r.command || !r.host)
		return no_memory();
	err = sb_history_count_ranks(h, r.id, &out_run->rank_count);
	return err ? err : read_metrics(h, r.id, out_run->metrics);
}

int sb_history_list(struct sb_history *h, const struct sb_history_filter *filter,
	struct sb_history_run **out_runs, size_t *out_count)
{
	struct sb_history_run *runs = NULL;
	size_t count = 0;
	sqlite3_stmt *s = NULL;
	int got = SQLITE_DONE,
	    err = sb_history_prepare(h,
		    "SELECT id, session, name, dir, command, host, start_ns, complete, "
		    "rank, world_size FROM runs r WHERE (?1 IS NULL OR name = ?1) AND "
		    "start_ns >= ?2 AND " SB_HISTORY_SHOWN " ORDER BY start_ns DESC, id DESC LIMIT ?3",
		    &s);

	if (!err)
		bind_filter(s, filter);
	while (!err && (got = sqlite3_step(s)) == SQLITE_ROW) {
		struct sb_history_run *grown = room(runs, count, sizeof *runs);

		if (!grown) {
			err = no_memory();
			break;
		}
		runs = grown;
		err = read_run(h, s, &runs[count++]);
	}
	if (!err && got != SQLITE_DONE)
		err = sb_history_fail(h);
	sqlite3_finalize(s);
	if (err) {
		sb_history_runs_free(runs, count);
		return err;
	}
	*out_runs = runs;
	*out_count = count;
	return 0;
}

/* ---- one run ------------------------------------------------------------ */

static int find_by(struct sb_history *h, const char *sql, const char *text, int64_t number, int64_t *out_id)
{
	sqlite3_stmt *s = NULL;
	int err = sb_history_prepare(h, sql, &s), got;

	if (err)
		return err;
	if (text)
		sqlite3_bind_text(s, 1, text, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(s, 2, number);
	got = sqlite3_step(s);
	if (got == SQLITE_ROW)
		*out_id = sqlite3_column_int64(s, 0);
	else if (got == SQLITE_DONE)
		err = STROBE_ENOENT;
	else
		err = sb_history_fail(h);
	sqlite3_finalize(s);
	return err;
}

int sb_history_find(struct sb_history *h, const char *spec, const char *name, int64_t *out_id)
{
	char *end;
	long long number = strtoll(spec, &end, 10);
	int err;

	if (!strcmp(spec, "best"))
		err = find_by(h,
			"SELECT r.id FROM runs r JOIN metrics m ON m.run = r.id AND m.key = CASE WHEN EXISTS "
			"(SELECT 1 "
			"FROM metrics g WHERE g.run = r.id AND g.key = 'generation_s') THEN 'generation_s' "
			"ELSE 'wall_s' END "
			"WHERE r.complete AND r.name = coalesce(?1, (SELECT name FROM runs ORDER BY start_ns "
			"DESC, id DESC LIMIT 1)) "
			"ORDER BY m.value LIMIT 1",
			name, 0, out_id);
	else if (!strcmp(spec, "last") || !strncmp(spec, "last~", 5))
		err = find_by(h,
			"SELECT id FROM runs WHERE ?1 IS NULL OR name = ?1 ORDER BY start_ns DESC, id DESC "
			"LIMIT 1 OFFSET ?2",
			name, spec[4] ? strtoll(spec + 5, NULL, 10) : 0, out_id);
	else if (*spec && !*end && number > 0)
		err = find_by(h, "SELECT id FROM runs WHERE id = ?2", NULL, number, out_id);
	else
		err = find_by(h,
			"SELECT id FROM runs WHERE substr(session, 1, length(?1)) = ?1 ORDER BY id DESC "
			"LIMIT 1",
			spec, 0, out_id);
	if (err == STROBE_ENOENT)
		return sb_fail(
			STROBE_ENOENT, "the history has no run '%s'; 'strobe history list' shows them", spec);
	return err;
}

static int read_stages(struct sb_history *h, struct sb_facts *f, int64_t id)
{
	sqlite3_stmt *s = NULL;
	int got = SQLITE_DONE, err = sb_history_prepare(h,
				       "SELECT parent, name, code, state, role, count, total_s, self_s, "
				       "mean_s, p95_s FROM stages WHERE run = ? ORDER BY place",
				       &s);

	if (!err)
		sqlite3_bind_int64(s, 1, id);
	while (!err && (got = sqlite3_step(s)) == SQLITE_ROW) {
		struct sb_fact_stage *grown = room(f->stages, f->stage_count, sizeof *grown);
		int64_t parent = sqlite3_column_int64(s, 0);

		if (!grown) {
			err = no_memory();
			break;
		}
		f->stages = grown;
		parent = parent < (int64_t)f->stage_count ? parent : -1;
		f->stages[f->stage_count] = (struct sb_fact_stage){ .parent = parent,
			.depth = parent >= 0 ? f->stages[parent].depth + 1 : 0,
			.name = sb_facts_text(f, (const char *)sqlite3_column_text(s, 1)),
			.code = sb_facts_text(f, (const char *)sqlite3_column_text(s, 2)),
			.state = (enum sb_stage_state)sqlite3_column_int(s, 3),
			.role = (uint32_t)sqlite3_column_int(s, 4),
			.count = sqlite3_column_int64(s, 5),
			.total_s = column_number(s, 6),
			.self_s = column_number(s, 7),
			.first_s = NAN,
			.gpu_span_s = NAN,
			.gpu_busy_s = NAN,
			.time = { .count = sqlite3_column_int64(s, 5),
				.mean = column_number(s, 8),
				.p95 = column_number(s, 9),
				.min = NAN,
				.max = NAN,
				.median = NAN,
				.p99 = NAN,
				.std = NAN,
				.last = NAN } };
		f->stage_count++;
	}
	if (!err && got != SQLITE_DONE)
		err = sb_history_fail(h);
	sqlite3_finalize(s);
	return err ? err : sb_facts_key_stages(f);
}

static int read_pairs(struct sb_history *h, struct sb_facts *f, int64_t id)
{
	sqlite3_stmt *s = NULL;
	int got = SQLITE_DONE,
	    err = sb_history_prepare(h, "SELECT scope, key, value FROM pairs WHERE run = ?", &s);

	if (!err)
		sqlite3_bind_int64(s, 1, id);
	while (!err && (got = sqlite3_step(s)) == SQLITE_ROW)
		err = sb_facts_add_pair(f, (enum sb_fact_scope)sqlite3_column_int(s, 0),
			(const char *)sqlite3_column_text(s, 1), (const char *)sqlite3_column_text(s, 2));
	if (!err && got != SQLITE_DONE)
		err = sb_history_fail(h);
	sqlite3_finalize(s);
	return err;
}

int sb_history_facts(struct sb_history *h, int64_t id, struct sb_facts **out_facts)
{
	struct sb_facts *f = NULL;
	sqlite3_stmt *s = NULL;
	int err = sb_history_prepare(h,
		"SELECT name, session, host, start_ns, rank, world_size, complete FROM runs WHERE id = ?",
		&s);
	char label[64];

	snprintf(label, sizeof label, "history %lld", (long long)id);
	if (!err) {
		sqlite3_bind_int64(s, 1, id);
		if (sqlite3_step(s) != SQLITE_ROW)
			err = sb_fail(STROBE_ENOENT, "the history has no run %lld", (long long)id);
	}
	if (!err && !(f = sb_facts_new(label)))
		err = STROBE_ENOMEM;
	if (!err) {
		f->name = sb_facts_text(f, (const char *)sqlite3_column_text(s, 0));
		f->id = sb_facts_text(f, (const char *)sqlite3_column_text(s, 1));
		f->host = sb_facts_text(f, (const char *)sqlite3_column_text(s, 2));
		f->start_real_ns = (uint64_t)sqlite3_column_int64(s, 3);
		f->rank = sqlite3_column_int64(s, 4);
		f->world_size = sqlite3_column_int64(s, 5);
		f->complete = sqlite3_column_int(s, 6);
		err = read_metrics(h, id, f->metrics);
	}
	sqlite3_finalize(s);
	if (!err)
		err = read_stages(h, f, id);
	if (!err)
		err = read_pairs(h, f, id);
	if (!err)
		err = sb_history_read_ranks(h, f, id);
	if (err) {
		sb_facts_free(f);
		return err;
	}
	*out_facts = f;
	return 0;
}

/* ---- trends ------------------------------------------------------------- */

void sb_history_points_free(struct sb_history_point *points, size_t count)
{
	for (size_t i = 0; i < count && points; i++)
		free(points[i].name);
	free(points);
}

static int read_points(
	struct sb_history *h, sqlite3_stmt *s, struct sb_history_point **out_points, size_t *out_count)
{
	struct sb_history_point *points = NULL;
	size_t count = 0;
	int got, err = 0;

	while (!err && (got = sqlite3_step(s)) == SQLITE_ROW) {
		struct sb_history_point *grown = room(points, count, sizeof *points);

		if (!grown) {
			err = no_memory();
			break;
		}
		points = grown;
		points[count] = (struct sb_history_point){ sqlite3_column_int64(s, 0),
			(uint64_t)sqlite3_column_int64(s, 1), sqlite3_column_double(s, 2),
			column_text(s, 3) };
		if (!points[count++].name)
			err = no_memory();
	}
	if (!err && got != SQLITE_DONE)
		err = sb_history_fail(h);
	if (err) {
		sb_history_points_free(points, count);
		return err;
	}
	for (size_t i = 0; i < count / 2; i++) {
		struct sb_history_point swapped = points[i];

		points[i] = points[count - 1 - i];
		points[count - 1 - i] = swapped;
	}
	*out_points = points;
	*out_count = count;
	return 0;
}

int sb_history_trend(struct sb_history *h, const char *metric, const struct sb_history_filter *filter,
	struct sb_history_point **out_points, size_t *out_count)
{
	static const char of_metric[] =
		"SELECT r.id, r.start_ns, m.value, r.name FROM runs r JOIN metrics m ON m.run = r.id "
		"AND m.key = ?4 WHERE (?1 IS NULL OR r.name = ?1) AND r.start_ns >= ?2 AND " SB_HISTORY_SHOWN
		" ORDER BY r.start_ns DESC, r.id DESC LIMIT ?3";
	static const char of_stage[] =
		"SELECT r.id, r.start_ns, sum(s.total_s), r.name FROM runs r JOIN stages s ON s.run = r.id "
		"AND (s.name = ?4 OR s.code = ?4 OR '[' || s.code || ']' = ?4) AND s.total_s IS NOT NULL "
		"WHERE (?1 IS NULL OR r.name = ?1) AND r.start_ns >= ?2 AND " SB_HISTORY_SHOWN
		" GROUP BY r.id ORDER BY r.start_ns DESC, r.id DESC LIMIT ?3";
	int known = sb_metric_find(metric), err;
	sqlite3_stmt *s = NULL;

	err = sb_history_prepare(h, known >= 0 ? of_metric : of_stage, &s);
	if (!err) {
		bind_filter(s, filter);
		sqlite3_bind_text(
			s, 4, known >= 0 ? sb_metric_infos[known].key : metric, -1, SQLITE_TRANSIENT);
		err = read_points(h, s, out_points, out_count);
	}
	sqlite3_finalize(s);
	return err;
}

/* ---- forgetting --------------------------------------------------------- */

static int forget(struct sb_history *h, int64_t id)
{
	sqlite3_stmt *s = NULL;
	int err = sb_history_prepare(h, "DELETE FROM runs WHERE id = ?", &s);

	if (!err) {
		sqlite3_bind_int64(s, 1, id);
		if (sqlite3_step(s) != SQLITE_DONE)
			err = sb_history_fail(h);
	}
	sqlite3_finalize(s);
	return err;
}

/* How many newer runs of the same name there are. */
static size_t newer(const struct sb_history_run *runs, size_t at)
{
	size_t count = 0;

	for (size_t i = 0; i < at; i++)
		count += !strcmp(runs[i].name, runs[at].name);
	return count;
}

int sb_history_prune(struct sb_history *h, const struct sb_history_prune *what, size_t *out_count)
{
	struct sb_history_run *runs = NULL;
	size_t count = 0, forgotten = 0;
	int err = sb_history_list(h, &(struct sb_history_filter){ 0 }, &runs, &count);

	for (size_t i = 0; i < count && !err; i++) {
		bool old = what->before_real_ns && runs[i].start_real_ns < what->before_real_ns;
		bool surplus = what->keep && newer(runs, i) >= what->keep;
		bool gone = what->gone && *runs[i].dir && access(runs[i].dir, F_OK);

		if (!old && !surplus && !gone)
			continue;
		forgotten++;
		if (!what->dry)
			err = forget(h, runs[i].id);
	}
	sb_history_runs_free(runs, count);
	if (!err)
		*out_count = forgotten;
	return err;
}
