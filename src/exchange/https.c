/* HTTPS by libcurl, found with dlopen: TLS is nothing to write by hand, and Debian's static archive cannot be linked. */
#include "exchange/https.h"

#include "base/dynlib.h"
#include "base/error.h"
#include "base/now.h"
#include "exchange/curl_abi.h"

#include <dlfcn.h>
#include <string.h>
#include <time.h>

#define PLAIN_ANSWER_S 2.0 /* of a server that has just been reached */
#define API(field, name) SB_DYNLIB_NEEDED(struct curl_api, field, name)

static struct curl_api curl;

static bool resolve(void *library)
{
	static const struct sb_dynlib_entry entries[] = { API(global_init, "curl_global_init"),
		API(version, "curl_version"), API(init, "curl_easy_init"), API(set, "curl_easy_setopt"),
		API(perform, "curl_easy_perform"), API(get, "curl_easy_getinfo"),
		API(words, "curl_easy_strerror"), API(done, "curl_easy_cleanup"),
		API(append, "curl_slist_append"), API(free_list, "curl_slist_free_all") };

	return !sb_dynlib_resolve(library, entries, sizeof entries / sizeof entries[0], &curl) &&
	       !curl.global_init(CURL_GLOBAL_ALL);
}

static bool load(void)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
	bool set;
	void *library = sb_dynlib_from_environment("STROBE_CURL_PATH", &set);

	for (size_t i = 0; i < sizeof names / sizeof names[0] && !library && !set; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library && resolve(library);
}

const char *sb_https_find(void)
{
	static bool tried, found;

	if (!tried)
		found = load();
	tried = true;
	if (found)
		return curl.version();
	sb_fail(STROBE_ENOTSUP, "https:// needs libcurl, which is not on this machine: install it (Debian: "
				"libcurl4), or use clickhouse:// (plain HTTP) inside your network");
	return NULL;
}

/* ---- one transfer ---- */

struct transfer {
	struct sb_buf *body;
	double deadline_s;
};

static size_t take(char *bytes, size_t one, size_t size, void *data)
{
	struct transfer *t = data;

	if (t->body->size + size > SB_HTTP_ANSWER_BYTES_MAX)
		return 0;
	sb_buf_add(t->body, bytes, size);
	return size;
}

/* Bytes that move give time for more, as over plain HTTP. */
static int is_over(void *data, int64_t to_get, int64_t got, int64_t to_send, int64_t sent)
{
	const struct transfer *t = data;

	return sb_now_s() > t->deadline_s + (double)(got + sent) / SB_HTTP_SLOWEST_BYTES_PER_S;
}

static struct curl_list *split_headers(const char *lines)
{
	struct curl_list *list = curl.append(NULL, "Expect:"); /* send the body at once */

	while (*lines) {
		size_t size = strcspn(lines, "\r\n");
		struct sb_buf line = { 0 };

		sb_buf_add(&line, lines, size);
		list = curl.append(list, sb_buf_text(&line));
		sb_buf_done(&line);
		lines += size + strspn(lines + size, "\r\n");
	}
	return list;
}

static void describe(
	curl_handle *c, const struct sb_http_request *r, const char *ca_path, struct transfer *t, char *words)
{
	curl_write *write = take;
	curl_progress *progress = is_over;
	struct sb_buf url = { 0 };

	sb_buf_printf(&url, "https://%s:%s%s", r->host, r->port, r->path);
	curl.set(c, CURL_URL, sb_buf_text(&url)); /* copied */
	sb_buf_done(&url);
	curl.set(c, CURL_PROTOCOLS, (long)CURL_PROTOCOL_HTTPS);
	curl.set(c, CURL_VERIFY_PEER, 1L);
	curl.set(c, CURL_VERIFY_HOST, 2L);
	if (ca_path && *ca_path)
		curl.set(c, CURL_CA_FILE, ca_path);
	curl.set(c, CURL_NOSIGNAL, 1L);
	curl.set(c, CURL_POST, 1L);
	curl.set(c, CURL_POST_FIELDS_SIZE, (int64_t)r->body_size);
	curl.set(c, CURL_POST_FIELDS, r->body_size ? r->body : "");
	curl.set(c, CURL_WRITE_FUNCTION, write);
	curl.set(c, CURL_WRITE_DATA, t);
	curl.set(c, CURL_NOPROGRESS, 0L);
	curl.set(c, CURL_PROGRESS_FUNCTION, progress);
	curl.set(c, CURL_PROGRESS_DATA, t);
	curl.set(c, CURL_ERROR_BUFFER, words);
}

/* Whether plain HTTP is spoken there: then no try through TLS will do. Nothing of the request is said to it. A TLS
 * server may answer plain HTTP too, to say that it is one. */
static bool is_plain(const struct sb_http_request *r)
{
	struct sb_http_request bare = { r->host, r->port, "/", "", "", 0 };
	struct sb_buf answer = { 0 };
	int status;
	bool plain = !sb_http_post(&bare, PLAIN_ANSWER_S, &status, &answer) &&
		     !strstr(sb_buf_text(&answer), "HTTPS");

	sb_buf_done(&answer);
	return plain;
}

static int explain(const struct sb_http_request *r, const char *ca_path, int code, const char *words)
{
	const char *what = *words ? words : curl.words(code);

	if (code == CURL_BAD_CA_FILE)
		return sb_fail(STROBE_EINVAL, "cannot use the certificate authorities in '%s': %s",
			ca_path ? ca_path : "", what);
	if (code == CURL_BAD_CERTIFICATE || code == CURL_BAD_OWN_CERTIFICATE)
		return sb_fail(STROBE_EPERM,
			"the certificate of %s:%s is not accepted: %s; name the file of its authority in "
			"STROBE_CLICKHOUSE_CA",
			r->host, r->port, what);
	if (code == CURL_ABORTED_BY_CALLBACK)
		return sb_fail(
			STROBE_EIO, "%s:%s: no answer in time: the connection timed out", r->host, r->port);
	if (code == CURL_NO_HANDSHAKE && is_plain(r))
		return sb_fail(STROBE_EINVAL,
			"%s:%s speaks plain HTTP, not TLS: use clickhouse://%s:%s/..., or https:// with the "
			"server's TLS port (usually 8443)",
			r->host, r->port, r->host, r->port);
	return sb_fail(STROBE_EIO, "%s:%s: %s", r->host, r->port, what);
}

int sb_https_post(const struct sb_http_request *r, const char *ca_path, double timeout_s, int *out_status,
	struct sb_buf *out_body)
{
	struct transfer t = { out_body, sb_now_s() + timeout_s };
	char words[CURL_ERROR_BYTES] = "";
	curl_handle *c = sb_https_find() ? curl.init() : NULL;
	struct curl_list *headers;
	long status = 0;
	int code;

	if (!c)
		return sb_https_find() ? sb_fail(STROBE_ENOMEM, "no memory for a connection")
				       : STROBE_ENOTSUP;
	headers = split_headers(r->headers);
	describe(c, r, ca_path, &t, words);
	curl.set(c, CURL_HEADERS, headers);
	code = curl.perform(c);
	if (!code)
		curl.get(c, CURL_INFO_STATUS, &status);
	curl.done(c);
	curl.free_list(headers);
	if (code)
		return explain(r, ca_path, code, words);
	*out_status = (int)status;
	return 0;
}
