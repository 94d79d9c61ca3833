/* Opens the port, checks every request, and routes it. Reads no recording
 * itself: that is the worker's. */
#include "serve/server.h"

#include "base/error.h"
#include "base/now.h"
#include "serve/peer.h"
#include "serve/state.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TICK_S 1
#define STREAM_TICKS 2
#define COOKIE "strobe_token"
#define LOG_LINES_MAX 10u /* a minute */
#define DESCRIPTORS_KEPT 64u /* for everything but connections */
#define WORKER_MEMORY_BYTES ((uint64_t)1 << 30)

static const struct sb_connection_limits connection_limits = {
	.count = 512,
	.held_bytes = 96u << 20,
	.head_s = 10,
	.idle_s = 20,
	.stall_s = 20,
	.bytes_per_s = 64u << 10,
};

double sb_server_now_s(struct sb_server *s)
{
	(void)s;
	return sb_now_s();
}

static double now_of(void *self)
{
	return sb_server_now_s(self);
}

/* A few lines a minute; how many were left out comes with the next one. */
static void say(void *self, const char *line)
{
	struct sb_server *s = self;
	double now_s = sb_server_now_s(s);
	char text[1100];

	if (!s->options.log)
		return;
	if (now_s - s->log.since_s >= 60) {
		s->log.since_s = now_s;
		s->log.count = 0;
	}
	if (s->log.count++ >= LOG_LINES_MAX) {
		s->log.left_out++;
		return;
	}
	if (s->log.left_out)
		snprintf(text, sizeof text, "%s (%u lines left out before)", line, s->log.left_out);
	else
		snprintf(text, sizeof text, "%s", line);
	s->log.left_out = 0;
	s->options.log(text);
}

/* ---- who may ask ---- */

/* A token in the address becomes a cookie, and leaves the address. */
static void move_token(struct sb_connection *c, const char *token)
{
	char rest[2048], headers[SB_REQUEST_HEAD_MAX + 2600];

	sb_request_without(c->request.query, "token", rest, sizeof rest);
	snprintf(headers, sizeof headers,
		"Set-Cookie: " COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict\r\nLocation: %s%s%s\r\n", token,
		c->request.path, rest[0] ? "?" : "", rest);
	sb_connection_reply(c, 302, "text/plain", headers, "", 0);
}

/* On loopback: a process of the user who serves. Asked once per connection. */
static bool is_owner(struct sb_server *s, struct sb_connection *c)
{
	struct sockaddr_storage here;
	socklen_t size = sizeof here;
	uid_t uid;
	int fd;

	if (c->peer_asked)
		return c->peer_is_owner;
	c->peer_asked = true;
	fd = sb_connection_fd(c);
	c->peer_is_owner = sb_guard_is_loopback(s->options.address) &&
			   !getsockname(fd, (struct sockaddr *)&here, &size) &&
			   sb_peer_uid((struct sockaddr *)&c->peer, (struct sockaddr *)&here, &uid) &&
			   uid == geteuid();
	return c->peer_is_owner;
}

static bool brings_token(struct sb_server *s, const struct sb_request *r)
{
	char token[256];

	if (r->authorization && !strncmp(r->authorization, "Bearer ", 7) &&
		sb_guard_token(&s->options.guard, r->authorization + 7))
		return true;
	return sb_guard_cookie(r->cookie, COOKIE, token, sizeof token) &&
	       sb_guard_token(&s->options.guard, token);
}

/* True: go on. False: answered already. A token that is set is asked of all. */
static bool may_see(struct sb_server *s, struct sb_connection *c)
{
	char token[256];

	if (!s->options.guard.token) {
		if (is_owner(s, c))
			return true;
		sb_connection_problem(c, 401,
			"only the user who serves may ask, and you are another one or cannot be known: the "
			"server "
			"needs a token for that (--token-file)");
		return false;
	}
	if (brings_token(s, &c->request))
		return true;
	if (sb_request_parameter(c->request.query, "token", token, sizeof token) &&
		sb_guard_token(&s->options.guard, token)) {
		move_token(c, token);
		return false;
	}
	sb_connection_problem(
		c, 401, "this server needs its token: ?token=... once, or 'Authorization: Bearer ...'");
	return false;
}

static bool is_sane(struct sb_server *s, struct sb_connection *c)
{
	const struct sb_request *r = &c->request;

	if (r->method == SB_METHOD_OTHER)
		sb_connection_problem(c, 405, "this server only answers GET");
	else if (!sb_guard_host(&s->options.guard, r->host))
		sb_connection_problem(c, 403, "this server does not go by that name; --allow-host adds one");
	else if (!sb_guard_origin(r->origin, r->host))
		sb_connection_problem(c, 403, "pages from elsewhere may not ask");
	else
		return true;
	return false;
}

/* ---- routes ---- */

/* rest: "ID", or "ID/report.json" and the like. */
static void serve_run(struct sb_server *s, struct sb_connection *c, const char *rest, bool api)
{
	static const char *const parts[SB_WANT_PARTS] = { [SB_WANT_JSON] = "/report.json",
		[SB_WANT_TIMELINE] = "/timeline",
		[SB_WANT_EVENTS] = "/events" };
	size_t size = strcspn(rest, "/");
	int want = api ? SB_WANT_PARTS : SB_WANT_PAGE;
	char id[512];

	for (int i = 0; api && i < SB_WANT_PARTS; i++)
		if (parts[i] && !strcmp(rest + size, parts[i]))
			want = i;
	if (!size || size >= sizeof id || want == SB_WANT_PARTS || (!api && rest[size])) {
		sb_connection_problem(c, 404, "there is no such run here");
		return;
	}
	snprintf(id, sizeof id, "%.*s", (int)size, rest);
	sb_answer(s, c, (enum sb_want)want, SB_TASK_REPORT, id, "");
}

static void serve_diff(struct sb_server *s, struct sb_connection *c)
{
	char base[512], now[512];

	if (!sb_request_parameter(c->request.query, "base", base, sizeof base) || strchr(base, '/') ||
		!sb_request_parameter(c->request.query, "new", now, sizeof now) || strchr(now, '/'))
		sb_connection_problem(c, 404, "there is no such run here: /diff?base=ID&new=ID");
	else
		sb_answer(s, c, SB_WANT_PAGE, SB_TASK_DIFF, base, now);
}

static void serve_metrics(struct sb_server *s, struct sb_connection *c)
{
	const char *accept = c->request.accept;
	bool open = accept && strstr(accept, "application/openmetrics-text");

	sb_answer(s, c, SB_WANT_METRICS, open ? SB_TASK_OPENMETRICS : SB_TASK_METRICS, "", "");
}

static void route(struct sb_server *s, struct sb_connection *c, const char *path)
{
	if (!strcmp(path, "/"))
		sb_answer(s, c, SB_WANT_PAGE, SB_TASK_LISTING, "", "");
	else if (!strcmp(path, "/api/runs"))
		sb_answer(s, c, SB_WANT_JSON, SB_TASK_LISTING, "", "");
	else if (!strcmp(path, "/metrics"))
		serve_metrics(s, c);
	else if (!strcmp(path, "/diff"))
		serve_diff(s, c);
	else if (!strncmp(path, "/runs/", 6))
		serve_run(s, c, path + 6, false);
	else if (!strncmp(path, "/api/runs/", 10))
		serve_run(s, c, path + 10, true);
	else
		sb_connection_problem(c, 404, "nothing here; / lists the runs");
}

static void on_request(void *self, struct sb_connection *c)
{
	struct sb_server *s = self;
	char path[2048];

	if (!is_sane(s, c))
		return;
	if (!sb_request_decode(c->request.path, strlen(c->request.path), path, sizeof path)) {
		sb_connection_problem(c, 400, "the address makes no sense");
	} else if (!strcmp(path, "/healthz")) {
		sb_connection_problem(c, 200, "ok");
	} else if (may_see(s, c)) {
		c->trusted = true;
		route(s, c, path);
	}
}

static void on_gone(void *self, struct sb_connection *c)
{
	sb_answers_forget(self, c);
	sb_stream_forget(self, c);
}

/* ---- life ---- */

static void on_signal(evutil_socket_t fd, short what, void *argument)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(((struct sb_server *)argument)->base);
}

static void on_worker(evutil_socket_t fd, short what, void *argument)
{
	(void)fd;
	(void)what;
	sb_answers_take(argument);
}

void sb_server_watch_worker(struct sb_server *s)
{
	int fd = sb_worker_fd(s->worker);

	if (fd == s->worker_fd && s->on_worker)
		return;
	if (s->on_worker)
		event_free(s->on_worker);
	s->worker_fd = fd;
	s->on_worker = fd >= 0 ? event_new(s->base, fd, EV_READ | EV_PERSIST, on_worker, s) : NULL;
	if (s->on_worker)
		event_add(s->on_worker, NULL);
}

static void on_tick(evutil_socket_t fd, short what, void *argument)
{
	struct sb_server *s = argument;

	(void)fd;
	(void)what;
	evconnlistener_enable(s->port_listener);
	sb_connections_sweep(&s->connections);
	sb_answers_take(s);
	if (++s->tick_count % STREAM_TICKS == 0)
		sb_stream_tick(s);
}

static void on_accept(
	struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer, int size, void *argument)
{
	struct sb_server *s = argument;

	(void)listener;
	sb_connections_add(&s->connections, fd, peer, (socklen_t)size);
}

/* Out of descriptors or memory: the next one to come would fail the same way
 * at once, for ever. One connection gives way, and the port rests until the
 * next tick. */
static void on_accept_error(struct evconnlistener *listener, void *argument)
{
	struct sb_server *s = argument;
	char line[160];

	snprintf(line, sizeof line, "cannot take a connection: %s", strerror(errno));
	say(s, line);
	sb_connections_spare(&s->connections);
	evconnlistener_disable(listener);
}

/* libevent would print to standard error, as often as it likes. */
static void keep_quiet(int severity, const char *message)
{
	(void)severity;
	(void)message;
}

/* Slow clients hold descriptors: take as many as we may have, up to what we use. */
static size_t room_for_connections(size_t wanted)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return wanted;
	if (limit.rlim_cur < wanted + DESCRIPTORS_KEPT) {
		limit.rlim_cur = wanted + DESCRIPTORS_KEPT < limit.rlim_max ? wanted + DESCRIPTORS_KEPT
									    : limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur < wanted + DESCRIPTORS_KEPT)
		wanted = limit.rlim_cur > 2 * DESCRIPTORS_KEPT ? limit.rlim_cur - DESCRIPTORS_KEPT
							       : limit.rlim_cur / 2;
	return wanted ? wanted : 1;
}

static int bind_to(struct sb_server *s, const struct addrinfo *at)
{
	struct sockaddr_storage bound;
	socklen_t size = sizeof bound;

	s->port_listener = evconnlistener_new_bind(s->base, on_accept, s,
		LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 128, at->ai_addr,
		(int)at->ai_addrlen);
	if (!s->port_listener)
		return sb_fail_errno("cannot listen on %s port %u", s->options.address, s->options.port);
	evconnlistener_set_error_cb(s->port_listener, on_accept_error);
	if (getsockname(evconnlistener_get_fd(s->port_listener), (struct sockaddr *)&bound, &size))
		return sb_fail_errno("cannot read the port number");
	s->port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
						    : ((struct sockaddr_in *)&bound)->sin_port);
	return 0;
}

static int bind_port(struct sb_server *s)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	char port[16];
	int err;

	snprintf(port, sizeof port, "%u", s->options.port);
	err = getaddrinfo(s->options.address, port, &hints, &found);
	if (err)
		return sb_fail(
			STROBE_EINVAL, "cannot listen on '%s': %s", s->options.address, gai_strerror(err));
	err = bind_to(s, found);
	freeaddrinfo(found);
	return err;
}

static int set_up(struct sb_server *s)
{
	struct sb_connection_limits limits = connection_limits;
	struct sb_worker_options worker = { .target = s->options.target,
		.task_limit_s = 60,
		.memory_bytes = WORKER_MEMORY_BYTES,
		.answer_bytes = 64u << 20,
		.log = say,
		.log_self = s };
	struct timeval tick = { TICK_S, 0 };
	int err;

	event_set_log_callback(keep_quiet);
	s->base = event_base_new();
	if (!s->base)
		return sb_fail(STROBE_ENOMEM, "no memory to serve");
	limits.count = room_for_connections(limits.count);
	sb_connections_init(&s->connections, s->base, &limits,
		&(struct sb_connection_calls){
			.self = s, .request = on_request, .gone = on_gone, .now_s = now_of });
	err = bind_port(s);
	if (!err)
		err = sb_worker_start(&worker, &s->worker);
	if (err)
		return err;
	sb_server_watch_worker(s);
	s->on_int = evsignal_new(s->base, SIGINT, on_signal, s);
	s->on_term = evsignal_new(s->base, SIGTERM, on_signal, s);
	s->on_tick = event_new(s->base, -1, EV_PERSIST, on_tick, s);
	if (!s->on_int || !s->on_term || !s->on_worker || !s->on_tick || event_add(s->on_int, NULL) ||
		event_add(s->on_term, NULL) || event_add(s->on_tick, &tick))
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
	s->worker_fd = -1;
	s->log.since_s = -1e9;
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
	events[2] = s->on_worker;
	events[3] = s->on_tick;
	for (int i = 0; i < 4; i++)
		if (events[i])
			event_free(events[i]);
	sb_worker_stop(s->worker);
	if (s->port_listener)
		evconnlistener_free(s->port_listener);
	if (s->base)
		sb_connections_done(&s->connections);
	sb_stream_done(s);
	sb_answers_done(s);
	if (s->base)
		event_base_free(s->base);
	free(s);
}
