/* Reaching the warehouse: its address, its statements, its tables. */
#include "exchange/warehouse.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/now.h"
#include "exchange/http.h"
#include "exchange/https.h"
#include "exchange/warehouse_schema.h"
#include "exchange/warehouse_wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SCHEMA_VERSION SB_WAREHOUSE_SCHEMA
#define PLAIN "clickhouse://"
#define TLS "https://"
#define SHAPE "clickhouse://HOST:PORT/DATABASE, or https://HOST:PORT/DATABASE"
#define TIMEOUT_S 60.0
#define LEAST_S 1.0 /* for a try, whatever is left */
#define CREDENTIALS_BYTES_MAX 4096

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

const char *sb_warehouse_job_key(const struct sb_warehouse *w, const char *job, char *out, size_t size)
{
	snprintf(out, size, "%s%s%s", w->tenant, *w->tenant ? "/" : "", job);
	return out;
}

static int read_parameters(const char *text, struct sb_warehouse *w)
{
	while (*text) {
		size_t size = strcspn(text, "&");
		bool ok;

		if (!strncmp(text, "tenant=", 7))
			ok = copy(w->tenant, sizeof w->tenant, text + 7, size - 7) && !strchr(w->tenant, '/');
		else if (!strncmp(text, "job=", 4))
			ok = copy(w->job, sizeof w->job, text + 4, size - 4);
		else if (!strncmp(text, "cluster=", 8))
			ok = copy(w->cluster, sizeof w->cluster, text + 8, size - 8) && is_name(w->cluster);
		else if (!strncmp(text, "replicated=", 11))
			ok = w->replicated = size == 12 && text[11] == '1';
		else
			return sb_fail(STROBE_EINVAL,
				"a warehouse takes ?job=ID, ?tenant=NAME, ?cluster=NAME and ?replicated=1, "
				"not '%.*s'",
				(int)size, text);
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

static bool is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && digits <= 5 && !text[digits];
}

/* Where a host ends, at the colon of its port or at end; NULL: it is none. One of IPv6 stands in brackets: [::1] */
static const char *after_host(const char *at, const char *end)
{
	const char *closed = *at == '[' ? memchr(at, ']', (size_t)(end - at)) : at, *colon;

	if (!closed || closed == at + 1)
		return NULL;
	if (closed > at)
		return closed + 1;
	colon = memchr(at, ':', (size_t)(end - at));
	return colon ? colon : end;
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
	colon = after_host(at, slash);
	if (colon == slash)
		colon = NULL;
	else if (!colon || *colon != ':')
		return no_address(url);
	size = (size_t)((colon ? colon : slash) - at);
	if (!size || !copy(w->host, sizeof w->host, at, size) ||
		(colon && !copy(w->port, sizeof w->port, colon + 1, (size_t)(slash - colon - 1))) ||
		!copy(w->database, sizeof w->database, slash + 1,
			question ? (size_t)(question - slash - 1) : strlen(slash + 1)) ||
		!is_port(w->port) || !is_name(w->database))
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
		return sb_fail(STROBE_EINVAL, "the path in STROBE_CLICKHOUSE_CA is too long");
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

/* What the engine says of itself when it will do later: too many parts (252), too many queries at
 * once (202), no room in memory now (241), read-only for now (242), a server of
 * the cluster away (209, 210, 279), the service that coordinates them (999). */
static bool will_do_later(const struct sb_buf *answer)
{
	static const int codes[] = { 252, 202, 241, 242, 209, 210, 279, 999 };
	const char *code = strstr(sb_buf_text(answer), "Code: ");
	long number = code ? strtol(code + 6, NULL, 10) : 0;

	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
		if (number == codes[i])
			return true;
	return false;
}

/* Away, starting up, shutting down, or too busy. A certificate that is refused stays so. */
static bool is_worth_another_try(int err, int status, const struct sb_buf *answer)
{
	return err == STROBE_EIO ||
	       (!err && (status == 502 || status == 503 || (status != 200 && will_do_later(answer))));
}

int sb_warehouse_query(const struct sb_warehouse *w, const char *sql, const void *body, size_t size,
	struct sb_buf *out, uint64_t *retries)
{
	struct sb_buf path = { 0 }, headers = { 0 }, answer = { 0 };
	struct sb_http_request r = { w->host, w->port, NULL, NULL, body, size };
	double until_s = sb_now_s() + w->retry_s, pause_s = 0.1;
	struct sb_warehouse_wait wait;
	int status = 0, err;

	sb_buf_puts(&path, "/?wait_end_of_query=1&query="); /* an error has its status then */
	sb_http_escape(&path, sql);
	if (*w->user)
		sb_buf_printf(
			&headers, "X-ClickHouse-User: %s\r\nX-ClickHouse-Key: %s\r\n", w->user, w->password);
	r.path = sb_buf_text(&path);
	r.headers = sb_buf_text(&headers);
	sb_warehouse_wait_begin(&wait, w);
	for (;;) {
		/* the tries count, not only the naps between them */
		err = post(w, &r, until_s - sb_now_s(), &status, &answer);
		if (!is_worth_another_try(err, status, &answer) || sb_now_s() + pause_s >= until_s)
			break;
		nap(pause_s);
		pause_s = pause_s < 2 ? pause_s * 2 : 2;
		if (retries)
			++*retries;
	}
	sb_warehouse_wait_end(&wait);
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

/* Older schemas had fewer columns; a table that is not there gets them when it is made. */
static int add_columns(const struct sb_warehouse *w, unsigned i, const char *end)
{
	struct sb_buf sql = { 0 }, have = { 0 };
	char table[160];
	int err;

	snprintf(table, sizeof table, "%s.%s%s", w->database, sb_warehouse_table_name(i), end);
	sb_buf_printf(&sql, "SELECT name FROM system.columns WHERE database = '%s' AND table = '%s%s'",
		w->database, sb_warehouse_table_name(i), end);
	err = sb_warehouse_ask(w, &sql, 1, &have);
	sb_buf_clear(&sql);
	if (!err && have.size)
		sb_warehouse_add_columns(i, table, sb_buf_text(&have), &sql);
	if (!err && sql.size)
		err = sb_warehouse_query(w, sb_buf_text(&sql), "", 0, NULL, NULL);
	sb_buf_done(&sql);
	sb_buf_done(&have);
	return err;
}

static int add_all_columns(const struct sb_warehouse *w)
{
	int err = 0;

	for (unsigned i = 0; i < sb_warehouse_table_count() && !err; i++) {
		err = add_columns(w, i, "");
		if (!err)
			err = add_columns(w, i, "_all");
	}
	return err;
}

static int ask_number(const struct sb_warehouse *w, const char *sql, long *out_number)
{
	struct sb_buf answer = { 0 };
	int err = sb_warehouse_query(w, sql, "", 0, &answer, NULL);

	*out_number = err ? 0 : strtol(sb_buf_text(&answer), NULL, 10);
	sb_buf_done(&answer);
	return err;
}

int sb_warehouse_version(const struct sb_warehouse *w, long *out_version)
{
	char sql[256];

	snprintf(sql, sizeof sql, "SELECT max(version) FROM %s.strobe_schema", w->database);
	return ask_number(w, sql, out_version);
}

static int check_version(const struct sb_warehouse *w)
{
	char sql[256];
	long version;
	int err = sb_warehouse_version(w, &version);

	if (!err && version > SCHEMA_VERSION)
		return sb_fail(STROBE_EFORMAT,
			"database '%s' was made by a newer strobe (schema %ld, this one knows %d)",
			w->database, version, SCHEMA_VERSION);
	if (err || version == SCHEMA_VERSION)
		return err;
	err = version ? add_all_columns(w) : 0;
	if (err)
		return err;
	snprintf(sql, sizeof sql, "INSERT INTO %s.strobe_schema (version) VALUES (%d)", w->database,
		SCHEMA_VERSION);
	return sb_warehouse_query(w, sql, "", 0, NULL, NULL);
}

static unsigned ttl_days(void)
{
	const char *text = getenv("STROBE_CLICKHOUSE_TTL_DAYS");

	return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

/* Tables that an operator has made, or an earlier load: then nothing but INSERT is needed. */
static int look_for_tables(const struct sb_warehouse *w, bool *out_ready)
{
	char sql[512];
	long found = 0, version = 0;
	int err;

	snprintf(sql, sizeof sql,
		"SELECT count() FROM system.tables WHERE database = '%s' AND name IN ('strobe_schema', "
		"'%s%s')",
		w->database, "meetings", *w->cluster ? "_all" : "");
	err = ask_number(w, sql, &found);
	if (!err && found == 2)
		err = sb_warehouse_version(w, &version);
	*out_ready = version == SCHEMA_VERSION;
	return err;
}

void sb_warehouse_schema_of(const struct sb_warehouse *w, struct sb_warehouse_schema *out_schema)
{
	*out_schema = (struct sb_warehouse_schema){ .database = w->database,
		.cluster = w->cluster,
		.modern = true,
		.replicated = w->replicated,
		.on_cluster = w->replicated,
		.ttl_days = ttl_days() };
}

int sb_warehouse_prepare(const struct sb_warehouse *w)
{
	struct sb_warehouse_schema s;
	struct sb_buf sql = { 0 }, version = { 0 };
	bool ready = false;
	int err = look_for_tables(w, &ready);

	if (err || ready)
		return err;
	sb_warehouse_schema_of(w, &s);
	err = sb_warehouse_query(w, "SELECT version()", "", 0, &version, NULL);
	s.modern = !err && sb_warehouse_is_modern(sb_buf_text(&version));
	for (unsigned i = 0; i < sb_warehouse_statement_count(&s) && !err; i++) {
		sb_buf_clear(&sql);
		sb_warehouse_statement(&s, i, &sql);
		err = sb_warehouse_query(w, sb_buf_text(&sql), "", 0, NULL, NULL);
		if (!err && i == 1) /* before the tables: a newer schema is left alone */
			err = check_version(w);
	}
	sb_buf_done(&sql);
	sb_buf_done(&version);
	return err;
}
