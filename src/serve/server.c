/* Opens the port, checks every request, and routes it. */
#include "serve/server.h"

#include "base/error.h"
#include "report/page/page.h"
#include "serve/state.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/keyvalq_struct.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER_BYTES_MAX 16384
#define BODY_BYTES_MAX 1024
#define IDLE_S 20
#define TICK_S 2
#define COOKIE "strobe_token"

/* ---- replies ---- */

void sb_reply_headers(struct evhttp_request *r, const char *type)
{
	struct evkeyvalq *h = evhttp_request_get_output_headers(r);

	evhttp_add_header(h, "Content-Type", type);
	evhttp_add_header(h, "Cache-Control", "no-store");
	evhttp_add_header(h, "X-Content-Type-Options", "nosniff");
	evhttp_add_header(h, "X-Frame-Options", "DENY");
	evhttp_add_header(h, "Referrer-Policy", "no-referrer");
	evhttp_add_header(h, "Cross-Origin-Resource-Policy", "same-origin");
}

static const char *phrase(int code)
{
	switch (code) {
	case 200: return "OK";
	case 302: return "Found";
	case 400: return "Bad Request";
	case 401: return "Unauthorized";
	case 403: return "Forbidden";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	case 503: return "Service Unavailable";
	default: return "Internal Server Error";
	}
}

void sb_reply(struct evhttp_request *r, int code, const char *type, const void *body, size_t size)
{
	struct evbuffer *out = evbuffer_new();

	if (!out) {
		evhttp_send_error(r, 503, NULL);
		return;
	}
	sb_reply_headers(r, type);
	evbuffer_add(out, body, size);
	evhttp_send_reply(r, code, phrase(code), out);
	evbuffer_free(out);
}

void sb_reply_problem(struct evhttp_request *r, int code, const char *message)
{
	char text[640];

	snprintf(text, sizeof text, "%s\n", message);
	sb_reply(r, code, "text/plain; charset=utf-8", text, strlen(text));
}

/* ---- who may ask ---- */

static const char *header(struct evhttp_request *r, const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(r), name);
}

static void query(struct evhttp_request *r, const char *key, char *out, size_t size)
{
	const char *text = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(r));
	struct evkeyvalq values;
	const char *value;

	out[0] = '\0';
	if (!text || evhttp_parse_query_str(text, &values))
		return;
	value = evhttp_find_header(&values, key);
	if (value && strlen(value) < size)
		snprintf(out, size, "%s", value);
	evhttp_clear_headers(&values);
}

/* A token in the address becomes a cookie, and leaves the address. */
static void move_token(struct evhttp_request *r, const char *token, const char *path)
{
	struct evkeyvalq *h = evhttp_request_get_output_headers(r);
	char cookie[512];

	snprintf(cookie, sizeof cookie, COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict", token);
	evhttp_add_header(h, "Set-Cookie", cookie);
	evhttp_add_header(h, "Location", path);
	sb_reply(r, 302, "text/plain", "", 0);
}

/* True: go on. False: answered already. */
static bool has_token(struct sb_server *s, struct evhttp_request *r, const char *path)
{
	const char *bearer = header(r, "Authorization");
	char token[256];

	if (!s->options.guard.token)
		return true;
	if (bearer && !strncmp(bearer, "Bearer ", 7) && sb_guard_token(&s->options.guard, bearer + 7))
		return true;
	if (sb_guard_cookie(header(r, "Cookie"), COOKIE, token, sizeof token) &&
		sb_guard_token(&s->options.guard, token))
		return true;
	query(r, "token", token, sizeof token);
	if (token[0] && sb_guard_token(&s->options.guard, token)) {
		move_token(r, token, path);
		return false;
	}
	evhttp_add_header(evhttp_request_get_output_headers(r), "WWW-Authenticate", "Bearer");
	sb_reply_problem(
		r, 401, "this server wants its token: ?token=... once, or 'Authorization: Bearer ...'");
	return false;
}

static bool may_ask(struct sb_server *s, struct evhttp_request *r)
{
	const char *host = header(r, "Host");
	enum evhttp_cmd_type method = evhttp_request_get_command(r);

	if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
		sb_reply_problem(r, 405, "this server only answers GET");
		return false;
	}
	if (!sb_guard_host(&s->options.guard, host)) {
		sb_reply_problem(r, 403, "this server does not go by that name; --allow-host adds one");
		return false;
	}
	if (!sb_guard_origin(header(r, "Origin"), host)) {
		sb_reply_problem(r, 403, "pages from elsewhere may not ask");
		return false;
	}
	return true;
}

/* ---- routes ---- */

static void serve_listing(struct sb_server *s, struct evhttp_request *r, bool page)
{
	struct sb_listing listing = { 0 };
	struct sb_buf json = { 0 }, out = { 0 };
	struct sb_page p = { .kind = "runs", .live = "" };

	if (sb_listing_scan(s->options.target, &listing)) {
		sb_reply_problem(r, 500, sb_error_message());
		return;
	}
	sb_listing_json(&listing, &json);
	p.json = sb_buf_text(&json);
	p.json_size = json.size;
	if (!page)
		sb_reply(r, 200, "application/json", json.data, json.size);
	else if (sb_page_write(&p, &out))
		sb_reply_problem(r, 500, sb_error_message());
	else
		sb_reply(r, 200, "text/html; charset=utf-8", out.data, out.size);
	sb_buf_done(&json);
	sb_buf_done(&out);
	sb_listing_done(&listing);
}

/* rest: "ID", or "ID/report.json" and the like. */
static void serve_run(struct sb_server *s, struct evhttp_request *r, const char *rest, bool api)
{
	static const struct {
		const char *name;
		enum sb_want want;
	} parts[] = { { "/report.json", SB_WANT_JSON }, { "/timeline", SB_WANT_TIMELINE },
		{ "/events", SB_WANT_EVENTS } };
	struct sb_listing listing = { 0 };
	const struct sb_listed *run = NULL;
	enum sb_want want = SB_WANT_PAGE;
	char id[512], key[600];
	const char *slash = strchr(rest, '/');
	bool known = !slash && !api;

	snprintf(id, sizeof id, "%.*s", slash ? (int)(slash - rest) : (int)strlen(rest), rest);
	for (size_t i = 0; api && slash && i < sizeof parts / sizeof *parts; i++) {
		if (strcmp(slash, parts[i].name))
			continue;
		want = parts[i].want;
		known = true;
	}
	if (known && !sb_listing_scan(s->options.target, &listing))
		run = sb_listing_find(&listing, id);
	snprintf(key, sizeof key, "runs/%s", id);
	if (!run)
		sb_reply_problem(r, 404, "there is no such run here");
	else if (want == SB_WANT_EVENTS)
		sb_stream_open(s, r, run);
	else
		sb_answer(s, r, want, SB_JOB_REPORT, key, run->path, NULL);
	sb_listing_done(&listing);
}

static void serve_diff(struct sb_server *s, struct evhttp_request *r)
{
	struct sb_listing listing = { 0 };
	const struct sb_listed *base, *now;
	char base_id[512], new_id[512], key[1100];

	query(r, "base", base_id, sizeof base_id);
	query(r, "new", new_id, sizeof new_id);
	if (sb_listing_scan(s->options.target, &listing)) {
		sb_reply_problem(r, 500, sb_error_message());
		return;
	}
	base = sb_listing_find(&listing, base_id);
	now = sb_listing_find(&listing, new_id);
	snprintf(key, sizeof key, "diff/%s/%s", base_id, new_id);
	if (!base || !now)
		sb_reply_problem(r, 404, "there is no such run here: /diff?base=ID&new=ID");
	else
		sb_answer(s, r, SB_WANT_PAGE, SB_JOB_DIFF, key, base->path, now->path);
	sb_listing_done(&listing);
}

static void route(struct sb_server *s, struct evhttp_request *r, const char *path)
{
	if (!strcmp(path, "/"))
		serve_listing(s, r, true);
	else if (!strcmp(path, "/api/runs"))
		serve_listing(s, r, false);
	else if (!strcmp(path, "/metrics"))
		sb_answer(s, r, SB_WANT_METRICS, SB_JOB_METRICS, "metrics", s->options.target, NULL);
	else if (!strcmp(path, "/diff"))
		serve_diff(s, r);
	else if (!strncmp(path, "/runs/", 6))
		serve_run(s, r, path + 6, false);
	else if (!strncmp(path, "/api/runs/", 10))
		serve_run(s, r, path + 10, true);
	else
		sb_reply_problem(r, 404, "nothing here; / lists the runs");
}

static void on_request(struct evhttp_request *r, void *argument)
{
	struct sb_server *s = argument;
	const char *raw = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(r));
	char *path;
	size_t size;

	if (!may_ask(s, r))
		return;
	path = evhttp_uridecode(raw && *raw ? raw : "/", 0, &size);
	if (!path || strlen(path) != size) {
		sb_reply_problem(r, 400, "the address makes no sense");
	} else if (!strcmp(path, "/healthz")) {
		sb_reply_problem(r, 200, "ok");
	} else if (has_token(s, r, raw && *raw ? raw : "/")) {
		route(s, r, path);
	}
	free(path);
}

/* ---- life ---- */

static void on_signal(evutil_socket_t fd, short what, void *argument)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(((struct sb_server *)argument)->base);
}

static void on_done(evutil_socket_t fd, short what, void *argument)
{
	uint64_t count;

	(void)what;
	if (read(fd, &count, sizeof count) == (ssize_t)sizeof count)
		sb_answers_take(argument);
}

static void on_tick(evutil_socket_t fd, short what, void *argument)
{
	(void)fd;
	(void)what;
	sb_stream_tick(argument);
}

/* Slow clients hold descriptors: take as many as we may have. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int bind_port(struct sb_server *s)
{
	const char *address = s->options.address;
	struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(s->http, address, s->options.port);
	struct sockaddr_storage at;
	socklen_t size = sizeof at;

	if (!bound)
		return sb_fail_errno("cannot listen on %s port %u", address, s->options.port);
	if (getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&at, &size))
		return sb_fail_errno("cannot ask for the port");
	s->port = ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
						 : ((struct sockaddr_in *)&at)->sin_port);
	return 0;
}

static int set_up(struct sb_server *s)
{
	struct timeval tick = { TICK_S, 0 };
	int err;

	s->base = event_base_new();
	s->http = s->base ? evhttp_new(s->base) : NULL;
	if (!s->http)
		return sb_fail(STROBE_ENOMEM, "no memory to serve");
	evhttp_set_max_headers_size(s->http, HEADER_BYTES_MAX);
	evhttp_set_max_body_size(s->http, BODY_BYTES_MAX);
	evhttp_set_timeout(s->http, IDLE_S);
	evhttp_set_allowed_methods(s->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_gencb(s->http, on_request, s);
	err = bind_port(s);
	if (err)
		return err;
	err = sb_worker_start(&s->worker);
	if (err)
		return err;
	s->on_int = evsignal_new(s->base, SIGINT, on_signal, s);
	s->on_term = evsignal_new(s->base, SIGTERM, on_signal, s);
	s->on_done = event_new(s->base, sb_worker_fd(s->worker), EV_READ | EV_PERSIST, on_done, s);
	s->on_tick = event_new(s->base, -1, EV_PERSIST, on_tick, s);
	if (!s->on_int || !s->on_term || !s->on_done || !s->on_tick || event_add(s->on_int, NULL) ||
		event_add(s->on_term, NULL) || event_add(s->on_done, NULL) || event_add(s->on_tick, &tick))
		return sb_fail(STROBE_ENOMEM, "no memory to serve");
	return 0;
}

int sb_server_open(const struct sb_server_options *options, struct sb_server **out_server)
{
	struct sb_server *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return sb_fail(STROBE_ENOMEM, "no memory to serve");
	s->options = *options;
	if (!s->options.address)
		s->options.address = "127.0.0.1";
	if (!sb_guard_is_loopback(s->options.address) && !s->options.guard.token) {
		free(s);
		return sb_fail(STROBE_EPERM,
			"'%s' can be reached from other machines: choose a token (--token-file, "
			"STROBE_SERVE_TOKEN) or stay on 127.0.0.1",
			options->address);
	}
	signal(SIGPIPE, SIG_IGN);
	raise_file_limit();
	err = set_up(s);
	if (err) {
		sb_server_close(s);
		return err;
	}
	*out_server = s;
	return 0;
}

uint16_t sb_server_port(const struct sb_server *s)
{
	return s->port;
}

int sb_server_run(struct sb_server *s)
{
	if (event_base_dispatch(s->base) < 0)
		return sb_fail(STROBE_EIO, "the event loop failed");
	return 0;
}

void sb_server_close(struct sb_server *s)
{
	struct event *events[4];

	if (!s)
		return;
	events[0] = s->on_int;
	events[1] = s->on_term;
	events[2] = s->on_done;
	events[3] = s->on_tick;
	for (int i = 0; i < 4; i++)
		if (events[i])
			event_free(events[i]);
	sb_worker_stop(s->worker);
	if (s->http)
		evhttp_free(s->http);
	sb_stream_done(s);
	sb_answers_done(s);
	if (s->base)
		event_base_free(s->base);
	free(s);
}
