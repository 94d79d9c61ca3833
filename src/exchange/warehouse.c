/* Reaching the warehouse: its address, its statements, its tables. */
#include "exchange/warehouse.h"

#include "base/buf.h"
#include "base/error.h"
#include "exchange/http.h"
#include "exchange/https.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SCHEMA_VERSION 3
#define PLAIN "clickhouse://"
#define TLS "https://"
#define SHAPE "clickhouse://HOST:PORT/DATABASE, or https://HOST:PORT/DATABASE"
#define TIMEOUT_S 60.0
#define LEAST_S 1.0 /* for a try, whatever is left */
#define CREDENTIALS_BYTES_MAX 4096

/* Rows carry the version of the load they belong to; the row in `runs` comes
 * last and makes them count. Equal rows (a batch that was sent twice) merge into
 * one; rows of other versions never touch each other. Buckets are those of base/histogram.h: sumMap adds
 * them up over ranks, and quantiles follow with the same error. */
static const char *const tables[] = {
	"CREATE TABLE IF NOT EXISTS %s.runs (job String, run String, version UInt64, rank Int32, world_size "
	"Int32, name String, "
	"host String, start DateTime, start_ns UInt64, complete UInt8, damage String, metric_key "
	"Array(String), "
	"metric_value Array(Float64), tag_key Array(String), tag_value Array(String)) "
	"ENGINE = ReplacingMergeTree(version) PARTITION BY toYYYYMM(start) ORDER BY (job, run)",
	"CREATE TABLE IF NOT EXISTS %s.stages (job String, run String, version UInt64, start DateTime, rank "
	"Int32, place UInt32, "
	"parent Int32, stage_key String, name String, code String, depth UInt16, role UInt8, state UInt8, "
	"calls UInt64, "
	"total_s Float64, self_s Float64, min_s Float64, max_s Float64, bucket Array(UInt32), bucket_calls "
	"Array(UInt64)) "
	"ENGINE = ReplacingMergeTree(version) PARTITION BY toYYYYMM(start) ORDER BY (job, run, version, "
	"place)",
	"CREATE TABLE IF NOT EXISTS %s.steps (job String, run String, version UInt64, start DateTime, rank "
	"Int32, kind String, "
	"step_index UInt32, duration_s Float64, weight UInt32 DEFAULT 1, sum_s Float64 DEFAULT duration_s) "
	"ENGINE = ReplacingMergeTree(version) PARTITION BY toYYYYMM(start) ORDER BY (job, run, version, "
	"kind, step_index)",
	"CREATE TABLE IF NOT EXISTS %s.samples (job String, run String, version UInt64, start DateTime, rank "
	"Int32, source String, "
	"device Int32, metric String, t_s Float64, value Float64) "
	"ENGINE = ReplacingMergeTree(version) PARTITION BY toYYYYMM(start) ORDER BY (job, run, version, "
	"source, device, metric, t_s)",
	"CREATE TABLE IF NOT EXISTS %s.gpu_kernels (job String, run String, version UInt64, start DateTime, "
	"rank Int32, name String, "
	"calls UInt64, total_s Float64) "
	"ENGINE = ReplacingMergeTree(version) PARTITION BY toYYYYMM(start) ORDER BY (job, run, version, "
	"name)",
	"CREATE TABLE IF NOT EXISTS %s.meetings (job String, run String, version UInt64, start DateTime, "
	"rank Int32, name String, "
	"occurrence UInt32, start_ns UInt64, begin_s Float64, end_s Float64) "
	"ENGINE = ReplacingMergeTree(version) PARTITION BY toYYYYMM(start) ORDER BY (job, run, version, "
	"name, occurrence)",
};
static const char *const names[] = { "runs", "stages", "steps", "samples", "gpu_kernels", "meetings" };

/* ---- the address -------------------------------------------------------- */

bool sb_warehouse_is_url(const char *text)
{
	return !strncmp(text, PLAIN, strlen(PLAIN)) || !strncmp(text, TLS, strlen(TLS));
}

static bool is_name(const char *text)
{
	if (!*text || (*text >= '0' && *text <= '9'))
		return false;
	for (; *text; text++)
		if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
			    (*text >= '0' && *text <= '9') || *text == '_'))
			return false;
	return true;
}

static bool copy(char *to, size_t size, const char *from, size_t length)
{
	if (length >= size)
		return false;
	memcpy(to, from, length);
	to[length] = 0;
	return true;
}

static int read_parameters(const char *text, struct sb_warehouse *w)
{
	while (*text) {
		size_t size = strcspn(text, "&");
		bool ok;

		if (!strncmp(text, "job=", 4))
			ok = copy(w->job, sizeof w->job, text + 4, size - 4);
		else if (!strncmp(text, "cluster=", 8))
			ok = copy(w->cluster, sizeof w->cluster, text + 8, size - 8) && is_name(w->cluster);
		else
			return sb_fail(STROBE_EINVAL,
				"a warehouse takes ?job=ID and ?cluster=NAME, not '%.*s'", (int)size, text);
		if (!ok)
			return sb_fail(STROBE_EINVAL, "'%.*s' is too long or not a name", (int)size, text);
		text += size + (text[size] == '&');
	}
	return 0;
}

static int read_credentials(struct sb_warehouse *w)
{
	const char *user = getenv("STROBE_CLICKHOUSE_USER"), *password = getenv("STROBE_CLICKHOUSE_PASSWORD");
	const char *path = getenv("STROBE_CLICKHOUSE_FILE");
	struct sb_buf file = { 0 };
	int err = 0;

	snprintf(w->user, sizeof w->user, "%s", user ? user : "");
	snprintf(w->password, sizeof w->password, "%s", password ? password : "");
	if (path && *path) {
		char *rest, *line;

		err = sb_buf_read_file(&file, path, CREDENTIALS_BYTES_MAX);
		rest = file.data;
		line = rest ? strsep(&rest, "\r\n") : NULL;
		if (!err && line)
			snprintf(w->user, sizeof w->user, "%s", line);
		if (rest)
			rest += strspn(rest, "\r\n");
		line = rest ? strsep(&rest, "\r\n") : NULL;
		if (!err && line)
			snprintf(w->password, sizeof w->password, "%s", line);
	}
	sb_buf_done(&file);
	if (!err && (strpbrk(w->user, "\r\n") || strpbrk(w->password, "\r\n")))
		err = sb_fail(STROBE_EINVAL, "the warehouse's user and password must each be one line");
	return err;
}

static int no_address(const char *url)
{
	return sb_fail(STROBE_EINVAL, "a warehouse is " SHAPE ", not '%s'", url);
}

static int read_address(const char *url, struct sb_warehouse *w)
{
	const char *at = url + strlen(w->tls ? TLS : PLAIN), *slash = strchr(at, '/');
	const char *question = strchr(at, '?'), *colon;
	size_t size;

	if (!slash || slash == at || (question && question < slash))
		return no_address(url);
	if (memchr(at, '@', (size_t)(slash - at)))
		return sb_fail(STROBE_EINVAL,
			"credentials do not belong in the address, where others can read them: set "
			"STROBE_CLICKHOUSE_USER and STROBE_CLICKHOUSE_PASSWORD, or STROBE_CLICKHOUSE_FILE");
	colon = memchr(at, ':', (size_t)(slash - at));
	size = (size_t)((colon ? colon : slash) - at);
	if (!size || !copy(w->host, sizeof w->host, at, size) ||
		(colon && !copy(w->port, sizeof w->port, colon + 1, (size_t)(slash - colon - 1))) ||
		!copy(w->database, sizeof w->database, slash + 1,
			question ? (size_t)(question - slash - 1) : strlen(slash + 1)) ||
		!is_name(w->database))
		return no_address(url);
	return question ? read_parameters(question + 1, w) : 0;
}

int sb_warehouse_open(const char *url, struct sb_warehouse *out_warehouse)
{
	struct sb_warehouse w = { .port = "8123", .retry_s = 30 };
	const char *retry = getenv("STROBE_CLICKHOUSE_RETRY_S"), *ca = getenv("STROBE_CLICKHOUSE_CA");
	int err;

	if (!sb_warehouse_is_url(url))
		return no_address(url);
	w.tls = !strncmp(url, TLS, strlen(TLS));
	if (w.tls)
		snprintf(w.port, sizeof w.port, "8443");
	if (ca && !copy(w.ca_path, sizeof w.ca_path, ca, strlen(ca)))
		return sb_fail(STROBE_EINVAL, "STROBE_CLICKHOUSE_CA names too long a path");
	err = read_address(url, &w);
	if (!err)
		err = read_credentials(&w);
	if (retry && *retry)
		w.retry_s = strtod(retry, NULL);
	if (!err)
		*out_warehouse = w;
	return err;
}

/* ---- statements --------------------------------------------------------- */

void sb_warehouse_quote(struct sb_buf *out, const char *text)
{
	sb_buf_putc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			sb_buf_putc(out, '\\');
		sb_buf_putc(out, *text);
	}
	sb_buf_putc(out, '\'');
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void nap(double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	nanosleep(&t, NULL);
}

static int refused(const struct sb_warehouse *w, int status, const struct sb_buf *answer)
{
	const char *text = sb_buf_text(answer);

	if (status == 401 || status == 403 || strstr(text, "Code: 193") || strstr(text, "Code: 192") ||
		strstr(text, "Code: 516"))
		return sb_fail(STROBE_EPERM,
			"the warehouse at %s:%s does not accept user '%s'; set STROBE_CLICKHOUSE_USER and "
			"STROBE_CLICKHOUSE_PASSWORD",
			w->host, w->port, *w->user ? w->user : "default");
	return sb_fail(STROBE_EIO, "the warehouse at %s:%s refused (HTTP %d): %.300s", w->host, w->port,
		status, text);
}

static int post(const struct sb_warehouse *w, const struct sb_http_request *r, double left_s, int *out_status,
	struct sb_buf *out_answer)
{
	double timeout_s = left_s < LEAST_S ? LEAST_S : left_s < TIMEOUT_S ? left_s : TIMEOUT_S;

	sb_buf_clear(out_answer);
	return w->tls ? sb_https_post(r, w->ca_path, timeout_s, out_status, out_answer)
		      : sb_http_post(r, timeout_s, out_status, out_answer);
}

/* Away, or starting up and shutting down. A certificate that is refused stays so. */
static bool is_worth_another_try(int err, int status)
{
	return err == STROBE_EIO || (!err && (status == 502 || status == 503));
}

int sb_warehouse_query(const struct sb_warehouse *w, const char *sql, const void *body, size_t size,
	struct sb_buf *out, uint64_t *retries)
{
	struct sb_buf path = { 0 }, headers = { 0 }, answer = { 0 };
	struct sb_http_request r = { w->host, w->port, NULL, NULL, body, size };
	double until_s = now_s() + w->retry_s, pause_s = 0.1;
	int status = 0, err;

	sb_buf_puts(&path, "/?query=");
	sb_http_escape(&path, sql);
	if (*w->user)
		sb_buf_printf(
			&headers, "X-ClickHouse-User: %s\r\nX-ClickHouse-Key: %s\r\n", w->user, w->password);
	r.path = sb_buf_text(&path);
	r.headers = sb_buf_text(&headers);
	for (;;) {
		/* the tries count, not only the naps between them */
		err = post(w, &r, until_s - now_s(), &status, &answer);
		if (!is_worth_another_try(err, status) || now_s() + pause_s >= until_s)
			break;
		nap(pause_s);
		pause_s = pause_s < 2 ? pause_s * 2 : 2;
		if (retries)
			++*retries;
	}
	if (!err && status != 200)
		err = refused(w, status, &answer);
	if (!err && out)
		sb_buf_add(out, sb_buf_text(&answer), answer.size);
	sb_buf_done(&path);
	sb_buf_done(&headers);
	sb_buf_done(&answer);
	return err;
}

/* An engine that fails in the middle of an answer says so in the answer. */
static int check_columns(const struct sb_buf *answer, size_t from, unsigned columns)
{
	const char *line = sb_buf_text(answer) + from;

	while (*line) {
		size_t size = strcspn(line, "\n");
		unsigned fields = 1;

		for (size_t i = 0; i < size; i++)
			fields += line[i] == '\t';
		if (fields != columns)
			return sb_fail(STROBE_EIO, "the warehouse's answer is incomplete: %.*s",
				size < 300 ? (int)size : 300, line);
		line += size + (line[size] == '\n');
	}
	return 0;
}

int sb_warehouse_ask(
	const struct sb_warehouse *w, const struct sb_buf *sql, unsigned columns, struct sb_buf *out)
{
	size_t from = out->size;
	int err;

	if (sql->failed)
		return sb_fail(STROBE_ENOMEM, "no memory for the warehouse's question");
	err = sb_warehouse_query(w, "", sb_buf_text(sql), sql->size, out, NULL);
	return err ? err : check_columns(out, from, columns);
}

/* ---- tables ------------------------------------------------------------- */

const char *sb_warehouse_table(const struct sb_warehouse *w, const char *table, char *out, size_t size)
{
	snprintf(out, size, "%s.%s%s", w->database, table, *w->cluster ? "_all" : "");
	return out;
}

/* Schema 2 had neither weights nor sums. */
static int add_weights(const struct sb_warehouse *w, const char *table)
{
	struct sb_buf sql = { 0 }, answer = { 0 };
	int err;

	sb_buf_printf(&sql,
		"SELECT count(), sum(name = 'weight') FROM system.columns WHERE database = '%s' AND table = "
		"'%s'",
		w->database, table);
	err = sb_warehouse_ask(w, &sql, 2, &answer);
	if (!err && strtol(sb_buf_text(&answer), NULL, 10) && strstr(sb_buf_text(&answer), "\t0")) {
		sb_buf_clear(&sql);
		sb_buf_printf(&sql,
			"ALTER TABLE %s.%s ADD COLUMN weight UInt32 DEFAULT 1, ADD COLUMN sum_s Float64 "
			"DEFAULT duration_s",
			w->database, table);
		err = sb_warehouse_query(w, sb_buf_text(&sql), "", 0, NULL, NULL);
	}
	sb_buf_done(&sql);
	sb_buf_done(&answer);
	return err;
}

static int check_version(const struct sb_warehouse *w)
{
	struct sb_buf answer = { 0 };
	char sql[256];
	long version;
	int err;

	snprintf(sql, sizeof sql, "SELECT max(version) FROM %s.strobe_schema", w->database);
	err = sb_warehouse_query(w, sql, "", 0, &answer, NULL);
	version = strtol(sb_buf_text(&answer), NULL, 10);
	sb_buf_done(&answer);
	if (!err && version > SCHEMA_VERSION)
		return sb_fail(STROBE_EFORMAT,
			"database '%s' was made by a newer strobe (schema %ld, this one knows %d)",
			w->database, version, SCHEMA_VERSION);
	if (err || version == SCHEMA_VERSION)
		return err;
	err = version ? add_weights(w, "steps") : 0;
	if (!err && version)
		err = add_weights(w, "steps_all");
	if (err)
		return err;
	snprintf(sql, sizeof sql, "INSERT INTO %s.strobe_schema (version) VALUES (%d)", w->database,
		SCHEMA_VERSION);
	return sb_warehouse_query(w, sql, "", 0, NULL, NULL);
}

static int distribute(const struct sb_warehouse *w)
{
	int err = 0;

	for (size_t i = 0; i < sizeof names / sizeof names[0] && !err; i++) {
		char sql[512];

		snprintf(sql, sizeof sql,
			"CREATE TABLE IF NOT EXISTS %s.%s_all AS %s.%s ENGINE = Distributed(%s, %s, %s)",
			w->database, names[i], w->database, names[i], w->cluster, w->database, names[i]);
		err = sb_warehouse_query(w, sql, "", 0, NULL, NULL);
	}
	return err;
}

int sb_warehouse_prepare(const struct sb_warehouse *w)
{
	char sql[2048];
	int err;

	snprintf(sql, sizeof sql, "CREATE DATABASE IF NOT EXISTS %s", w->database);
	err = sb_warehouse_query(w, sql, "", 0, NULL, NULL);
	snprintf(sql, sizeof sql,
		"CREATE TABLE IF NOT EXISTS %s.strobe_schema (version UInt32, made DateTime DEFAULT now()) "
		"ENGINE = MergeTree ORDER BY version",
		w->database);
	if (!err)
		err = sb_warehouse_query(w, sql, "", 0, NULL, NULL);
	if (!err)
		err = check_version(w);
	for (size_t i = 0; i < sizeof tables / sizeof tables[0] && !err; i++) {
		snprintf(sql, sizeof sql, tables[i], w->database);
		err = sb_warehouse_query(w, sql, "", 0, NULL, NULL);
	}
	if (!err && *w->cluster)
		err = distribute(w);
	return err;
}
