/* HTTP connections within limits: how many at once, how long for a head, how long
 * without reading the answer, how many bytes may wait in all. Where a limit is
 * reached the connection that has been idle longest is closed, so that slow clients
 * never keep the next one out. */
#ifndef SB_SERVE_CONNECTION_H
#define SB_SERVE_CONNECTION_H

#include "serve/blob.h"
#include "serve/request.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct sb_connection_limits {
	size_t count; /* connections at once */
	size_t held_bytes; /* of answers that wait to be read, all together */
	double head_s; /* from the first byte to the whole head */
	double idle_s; /* between two requests */
	double stall_s; /* to take an answer; more for long ones: */
	double bytes_per_s; /* the least a reader must take */
};

enum sb_connection_state {
	SB_CONNECTION_READING, /* for a request */
	SB_CONNECTION_WAITING, /* for its answer */
	SB_CONNECTION_WRITING,
	SB_CONNECTION_STREAMING /* events that keep coming */
};

struct sb_connection {
	struct sb_connections *all;
	struct sb_connection *next, *before;
	struct bufferevent *io;
	enum sb_connection_state state;
	double due_s; /* when its time is up; 0: never */
	double since_s; /* in this state */
	bool trusted; /* a request of it was allowed */
	bool peer_asked,
		peer_is_owner; /* the server's: whether it looked up the peer's user, and whether that is its own */
	struct sb_request request; /* texts are valid until the answer */
	char *head;
	struct sockaddr_storage peer;
	uint64_t ended_count; /* requests answered */
};

/* What the connections call; all must be set. */
struct sb_connection_calls {
	void *self;
	/* A request is complete: answer it now or later. */
	void (*request)(void *self, struct sb_connection *c);
	/* It closes while it waits or streams: forget it. */
	void (*gone)(void *self, struct sb_connection *c);
	double (*now_s)(void *self);
};

struct sb_connections {
	struct event_base *base;
	struct sb_connection_limits limits;
	struct sb_connection_calls calls;
	struct sb_connection *first, *last; /* oldest first */
	size_t count;
	size_t held_bytes; /* of all blobs, cached ones too */
	uint64_t accepted_count, dropped_count, refused_count; /* dropped: by a limit */
};

void sb_connections_init(struct sb_connections *all, struct event_base *base,
	const struct sb_connection_limits *limits, const struct sb_connection_calls *calls);
void sb_connections_done(struct sb_connections *all); /* closes every one */
/* Takes over fd; answers 503 and closes it where there is no place. */
void sb_connections_add(struct sb_connections *all, int fd, const struct sockaddr *peer, socklen_t size);
/* Closes what is overdue. Call it every second. */
void sb_connections_sweep(struct sb_connections *all);
/* Closes one connection: one that asks for nothing (with 503), else a slow reader; of these the one that has waited
 * longest. False: all are in use. */
bool sb_connections_spare(struct sb_connections *all);
/* Closes slow readers until so many bytes more can be held. */
void sb_connections_make_room(struct sb_connections *all, size_t bytes);

int sb_connection_fd(const struct sb_connection *c); /* its socket */
/* Sends an answer. headers: further lines, each with its CRLF; "" or NULL: none. HEAD gets no body. */
void sb_connection_reply(struct sb_connection *c, int code, const char *type, const char *headers,
	const void *body, size_t size);
/* Sends 200 with a body that others may share. */
void sb_connection_reply_blob(struct sb_connection *c, const char *type, struct sb_blob *body);
/* Sends an error with its message as plain text. */
void sb_connection_problem(struct sb_connection *c, int code, const char *message);
/* Says that its answer is being made: no limit of time until then. */
void sb_connection_wait(struct sb_connection *c);
/* Sends the headers of an event stream; false: that was all (HEAD). */
bool sb_connection_stream(struct sb_connection *c);
/* Sends one event; false: the reader has not taken the one before, and misses this one. */
bool sb_connection_send(struct sb_connection *c, struct sb_blob *event);
/* Sends the last event, however much is still to be taken, and closes the stream when all is sent. */
void sb_connection_end_stream(struct sb_connection *c, struct sb_blob *last);

#endif
