/* What generations of each size needed, in the history: a text for each run, by the report's own fields. */
#include "store/history_db.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/jsondom.h"

#include <stdlib.h>
#include <string.h>

static const char table[] =
	"CREATE TABLE IF NOT EXISTS sizes (run INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,"
	" json TEXT NOT NULL)";

int sb_history_add_sizes(struct sb_history *h, const struct sb_facts *f, int64_t id)
{
	int err = sqlite3_exec(h->db, table, NULL, NULL, NULL) == SQLITE_OK ? 0 : sb_history_fail(h);
	struct sb_buf text = { 0 };
	sqlite3_stmt *s = NULL;
	struct sb_json j;

	sb_json_init(&j, &text, false);
	sb_fields_write(&sb_sizes_fields, &f->sizes, NULL, &j);
	if (!err && text.failed)
		err = sb_fail(STROBE_ENOMEM, "no memory for the history");
	if (!err)
		err = sb_history_prepare(h, "INSERT OR REPLACE INTO sizes VALUES (?, ?)", &s);
	if (!err) {
		sqlite3_bind_int64(s, 1, id);
		sqlite3_bind_text(s, 2, sb_buf_text(&text), -1, SQLITE_TRANSIENT);
		if (sqlite3_step(s) != SQLITE_DONE)
			err = sb_history_fail(h);
	}
	sqlite3_finalize(s);
	sb_buf_done(&text);
	return err;
}

static void *give(void *model, size_t size)
{
	return sb_model_alloc(model, size);
}

static int read_sizes(const char *text, struct sb_facts *f)
{
	struct sb_model *m = calloc(1, sizeof *m);
	struct sb_jsondom_doc *doc = NULL;
	int err = m ? sb_jsondom_parse("the history's sizes", text, strlen(text), &doc)
		    : sb_fail(STROBE_ENOMEM, "no memory for the history");

	if (!err) {
		sb_fields_read(&sb_sizes_fields, sb_jsondom_root(doc), give, m, &m->sizes);
		err = m->failed ? sb_fail(STROBE_ENOMEM, "no memory for the history")
				: sb_facts_take_sizes(f, &m->sizes);
	}
	sb_jsondom_free(doc);
	sb_model_free(m);
	return err;
}

static int read_run(sqlite3_stmt *s, struct sb_facts **out_run)
{
	struct sb_facts *f = sb_facts_new("history");
	int err;

	if (!f)
		return STROBE_ENOMEM;
	f->name = sb_facts_text(f, (const char *)sqlite3_column_text(s, 0));
	f->host = sb_facts_text(f, (const char *)sqlite3_column_text(s, 1));
	f->start_real_ns = (uint64_t)sqlite3_column_int64(s, 2);
	f->id = sb_facts_text(f, (const char *)sqlite3_column_text(s, 4));
	err = read_sizes((const char *)sqlite3_column_text(s, 3), f);
	if (err) {
		sb_facts_free(f);
		return err;
	}
	*out_run = f;
	return 0;
}

static bool has_sizes(struct sb_history *h)
{
	return sqlite3_table_column_metadata(h->db, NULL, "sizes", "json", NULL, NULL, NULL, NULL, NULL) ==
	       SQLITE_OK;
}

int sb_history_sizes(struct sb_history *h, size_t limit, struct sb_facts ***out_runs, size_t *out_count)
{
	struct sb_facts **runs = calloc(limit + 1, sizeof *runs);
	int got = SQLITE_DONE, err = runs ? 0 : sb_fail(STROBE_ENOMEM, "no memory for the history");
	sqlite3_stmt *s = NULL;
	size_t count = 0;

	if (!err && has_sizes(h))
		err = sb_history_prepare(h,
			"SELECT name, host, start_ns, json, session FROM sizes JOIN runs ON runs.id = "
			"sizes.run "
			"ORDER BY start_ns DESC, id DESC LIMIT ?",
			&s);
	if (s)
		sqlite3_bind_int64(s, 1, (sqlite3_int64)limit);
	while (!err && s && (got = sqlite3_step(s)) == SQLITE_ROW)
		if (!(err = read_run(s, &runs[count])))
			count++;
	if (!err && s && got != SQLITE_DONE)
		err = sb_history_fail(h);
	sqlite3_finalize(s);
	for (size_t i = 0; err && i < count; i++)
		sb_facts_free(runs[i]);
	if (err) {
		free(runs);
		return err;
	}
	*out_runs = runs;
	*out_count = count;
	return 0;
}
