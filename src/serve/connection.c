/* One bufferevent each; a head is copied out when it is complete, and the next
 * request waits in the buffer until the answer has been taken. */
#include "serve/connection.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double now_s(const struct sb_connections *all)
{
	return all->calls.now_s(all->calls.self);
}

/* limit_s 0: no limit. */
static void enter(struct sb_connection *c, enum sb_connection_state state, double limit_s)
{
	c->state = state;
	c->since_s = now_s(c->all);
	c->due_s = limit_s > 0 ? c->since_s + limit_s : 0;
}

static size_t unsent_bytes(const struct sb_connection *c)
{
	return evbuffer_get_length(bufferevent_get_output(c->io));
}

/* ---- the list ---- */

static void unlink_from(struct sb_connection *c)
{
	struct sb_connections *all = c->all;

	*(c->before ? &c->before->next : &all->first) = c->next;
	*(c->next ? &c->next->before : &all->last) = c->before;
	all->count--;
}

/* libevent frees a buffer in its next turn; what it holds is given back now. */
static void let_go_of_output(struct sb_connection *c)
{
	struct evbuffer *out = bufferevent_get_output(c->io);

	evbuffer_unfreeze(out, 1);
	evbuffer_drain(out, evbuffer_get_length(out));
}

/* Nor is its descriptor kept till then: many that come at once would run out of them. */
static void let_go_of_descriptor(struct sb_connection *c)
{
	evutil_socket_t fd = bufferevent_getfd(c->io);

	bufferevent_disable(c->io, EV_READ | EV_WRITE);
	bufferevent_setfd(c->io, -1);
	close((int)fd);
}

static void close_connection(struct sb_connection *c)
{
	enum sb_connection_state state = c->state;

	c->state = SB_CONNECTION_WRITING; /* the peer has its answer and asks for nothing more */
	if (state == SB_CONNECTION_WAITING || state == SB_CONNECTION_STREAMING)
		c->all->calls.gone(c->all->calls.self, c);
	unlink_from(c);
	let_go_of_output(c);
	let_go_of_descriptor(c);
	bufferevent_free(c->io);
	free(c->head);
	free(c);
}

static void drop(struct sb_connection *c)
{
	c->all->dropped_count++;
	close_connection(c);
}

/* ---- reading ---- */

static void read_request(struct sb_connection *c);

static void answered(struct sb_connection *c)
{
	free(c->head);
	c->head = NULL;
	c->ended_count++;
	if (!c->request.keep_alive) {
		close_connection(c);
		return;
	}
	enter(c, SB_CONNECTION_READING, c->all->limits.idle_s);
	read_request(c);
}

static void take_head(struct sb_connection *c, size_t size)
{
	struct evbuffer *in = bufferevent_get_input(c->io);
	int refused;

	memset(&c->request, 0, sizeof c->request);
	c->head = malloc(size);
	if (!c->head) {
		drop(c);
		return;
	}
	evbuffer_remove(in, c->head, size);
	refused = sb_request_parse(c->head, size, &c->request);
	if (refused) {
		c->all->refused_count++;
		c->request.keep_alive = false;
		sb_connection_problem(c, refused, "this request makes no sense here");
		return;
	}
	c->all->calls.request(c->all->calls.self, c);
}

static void read_request(struct sb_connection *c)
{
	struct evbuffer *in = bufferevent_get_input(c->io);
	size_t have = evbuffer_get_length(in), size;

	if (c->state != SB_CONNECTION_READING || !have)
		return;
	if (c->ended_count && c->due_s - c->since_s > c->all->limits.head_s) /* the next one has begun */
		enter(c, SB_CONNECTION_READING, c->all->limits.head_s);
	size = sb_request_head_size((const char *)evbuffer_pullup(in, (ev_ssize_t)have), have);
	if (size && size <= SB_REQUEST_HEAD_MAX) {
		take_head(c, size);
	} else if (have >= SB_REQUEST_HEAD_MAX) {
		c->all->refused_count++;
		c->request = (struct sb_request){ .keep_alive = false };
		sb_connection_problem(c, 431, "the head of this request is too long");
	}
}

static void on_read(struct bufferevent *io, void *argument)
{
	(void)io;
	read_request(argument);
}

static void on_written(struct bufferevent *io, void *argument)
{
	struct sb_connection *c = argument;

	(void)io;
	if (unsent_bytes(c))
		return;
	if (c->state == SB_CONNECTION_WRITING)
		answered(c);
	else if (c->state == SB_CONNECTION_STREAMING)
		c->due_s = 0;
}

static void on_event(struct bufferevent *io, short what, void *argument)
{
	(void)io;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT))
		close_connection(argument);
}

/* ---- places ---- */

/* Says why before the end, if it can be said without waiting. What the peer has sent is read
 * first: closing a socket with unread bytes would take the answer back. */
static void send_no_place(int fd)
{
	static const char answer[] = "HTTP/1.1 503 Service Unavailable\r\n"
				     "Content-Type: text/plain; charset=utf-8\r\nRetry-After: 1\r\n"
				     "Connection: close\r\nContent-Length: 34\r\n\r\n"
				     "this server has no place left now\n";
	char unread[SB_REQUEST_HEAD_MAX];

	recv(fd, unread, sizeof unread, MSG_DONTWAIT);
	send(fd, answer, sizeof answer - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
}

/* The higher, the sooner it may be closed; 0: it stays. */
static int spare_class(const struct sb_connection *c)
{
	if (c->state == SB_CONNECTION_READING)
		return c->trusted ? 2 : 3;
	return c->state != SB_CONNECTION_WAITING && unsent_bytes(c) ? 1 : 0;
}

bool sb_connections_spare(struct sb_connections *all)
{
	struct sb_connection *victim = NULL;
	int highest = 0;

	for (struct sb_connection *c = all->first; c && highest < 3; c = c->next) {
		int class = spare_class(c);

		if (class > highest || (class && class == highest && c->since_s < victim->since_s)) {
			victim = c;
			highest = class;
		}
	}
	if (!victim)
		return false;
	if (victim->state == SB_CONNECTION_READING)
		send_no_place(sb_connection_fd(victim));
	drop(victim);
	return true;
}

void sb_connections_make_room(struct sb_connections *all, size_t bytes)
{
	while (all->held_bytes + bytes > all->limits.held_bytes) {
		struct sb_connection *slowest = NULL;

		for (struct sb_connection *c = all->first; c; c = c->next)
			if (c->state >= SB_CONNECTION_WRITING && unsent_bytes(c) &&
				(!slowest || c->since_s < slowest->since_s))
				slowest = c;
		if (!slowest)
			return;
		drop(slowest);
	}
}

void sb_connections_sweep(struct sb_connections *all)
{
	double at_s = now_s(all);
	struct sb_connection *next;

	for (struct sb_connection *c = all->first; c; c = next) {
		next = c->next;
		if (c->due_s > 0 && at_s >= c->due_s)
			drop(c);
	}
}

void sb_connections_init(struct sb_connections *all, struct event_base *base,
	const struct sb_connection_limits *limits, const struct sb_connection_calls *calls)
{
	memset(all, 0, sizeof *all);
	all->base = base;
	all->limits = *limits;
	all->calls = *calls;
}

void sb_connections_done(struct sb_connections *all)
{
	while (all->first)
		close_connection(all->first);
}

void sb_connections_add(struct sb_connections *all, int fd, const struct sockaddr *peer, socklen_t size)
{
	struct sb_connection *c = NULL;

	all->accepted_count++;
	if (all->count < all->limits.count || sb_connections_spare(all))
		c = calloc(1, sizeof *c);
	if (c)
		c->io = bufferevent_socket_new(all->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!c || !c->io) {
		all->dropped_count++;
		free(c);
		send_no_place(fd);
		close(fd);
		return;
	}
	c->all = all;
	memcpy(&c->peer, peer, size < sizeof c->peer ? size : sizeof c->peer);
	c->before = all->last;
	*(all->last ? &all->last->next : &all->first) = c;
	all->last = c;
	all->count++;
	enter(c, SB_CONNECTION_READING, all->limits.head_s);
	bufferevent_setcb(c->io, on_read, on_written, on_event, c);
	bufferevent_setwatermark(c->io, EV_READ, 0, SB_REQUEST_HEAD_MAX);
	bufferevent_enable(c->io, EV_READ | EV_WRITE);
}

int sb_connection_fd(const struct sb_connection *c)
{
	return (int)bufferevent_getfd(c->io);
}

/* ---- answers ---- */

static const char *phrase(int code)
{
	static const struct {
		int code;
		const char *text;
	} phrases[] = { { 200, "OK" }, { 302, "Found" }, { 400, "Bad Request" }, { 401, "Unauthorized" },
		{ 403, "Forbidden" }, { 404, "Not Found" }, { 405, "Method Not Allowed" },
		{ 413, "Content Too Large" }, { 431, "Request Header Fields Too Large" },
		{ 503, "Service Unavailable" } };

	for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
		if (phrases[i].code == code)
			return phrases[i].text;
	return "Internal Server Error";
}

static void put_head(struct sb_connection *c, int code, const char *type, const char *headers, int64_t size)
{
	struct evbuffer *out = bufferevent_get_output(c->io);

	evbuffer_add_printf(out,
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nCache-Control: no-store\r\n"
		"X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
		"Cross-Origin-Resource-Policy: same-origin\r\nConnection: %s\r\n%s",
		code, phrase(code), type, c->request.keep_alive ? "keep-alive" : "close",
		headers ? headers : "");
	if (size >= 0)
		evbuffer_add_printf(out, "Content-Length: %lld\r\n", (long long)size);
	evbuffer_add(out, "\r\n", 2);
}

static void begin_writing(struct sb_connection *c, size_t size)
{
	const struct sb_connection_limits *l = &c->all->limits;

	enter(c, SB_CONNECTION_WRITING, l->stall_s + (double)size / l->bytes_per_s);
}

void sb_connection_reply(struct sb_connection *c, int code, const char *type, const char *headers,
	const void *body, size_t size)
{
	put_head(c, code, type, headers, (int64_t)size);
	if (c->request.method != SB_METHOD_HEAD)
		evbuffer_add(bufferevent_get_output(c->io), body, size);
	begin_writing(c, size);
}

void sb_connection_problem(struct sb_connection *c, int code, const char *message)
{
	char text[700];
	int size = snprintf(text, sizeof text, "%s\n", message);

	sb_connection_reply(c, code, "text/plain; charset=utf-8",
		code == 405   ? "Allow: GET, HEAD\r\n"
		: code == 401 ? "WWW-Authenticate: Bearer\r\n"
			      : NULL,
		text, size < (int)sizeof text ? (size_t)size : sizeof text - 1);
}

static void blob_sent(const void *data, size_t size, void *argument)
{
	(void)data;
	(void)size;
	sb_blob_drop(argument);
}

static void put_blob(struct sb_connection *c, struct sb_blob *b)
{
	if (!b->size)
		return;
	if (evbuffer_add_reference(
		    bufferevent_get_output(c->io), b->data, b->size, blob_sent, sb_blob_hold(b)))
		sb_blob_drop(b);
}

void sb_connection_reply_blob(struct sb_connection *c, const char *type, struct sb_blob *body)
{
	put_head(c, 200, type, NULL, (int64_t)body->size);
	if (c->request.method != SB_METHOD_HEAD)
		put_blob(c, body);
	begin_writing(c, body->size);
}

void sb_connection_wait(struct sb_connection *c)
{
	enter(c, SB_CONNECTION_WAITING, 0);
}

/* ---- events ---- */

bool sb_connection_stream(struct sb_connection *c)
{
	c->request.keep_alive = false;
	put_head(c, 200, "text/event-stream", NULL, -1);
	if (c->request.method == SB_METHOD_HEAD) {
		begin_writing(c, 0);
		return false;
	}
	enter(c, SB_CONNECTION_STREAMING, 0);
	return true;
}

bool sb_connection_send(struct sb_connection *c, struct sb_blob *event)
{
	const struct sb_connection_limits *l = &c->all->limits;

	if (unsent_bytes(c) > SB_REQUEST_HEAD_MAX)
		return false;
	if (c->due_s <= 0) /* else the reader's time already runs */
		enter(c, SB_CONNECTION_STREAMING, l->stall_s + (double)event->size / l->bytes_per_s);
	put_blob(c, event);
	return true;
}

void sb_connection_end_stream(struct sb_connection *c, struct sb_blob *last)
{
	if (last)
		put_blob(c, last);
	begin_writing(c, unsent_bytes(c));
	if (!unsent_bytes(c))
		close_connection(c);
}
