/* What the server's parts share: server.c opens and routes, answers.c keeps what
 * was built and who waits for it, stream.c sends reports that keep coming. */
#ifndef SB_SERVE_STATE_H
#define SB_SERVE_STATE_H

#include "serve/listing.h"
#include "serve/server.h"
#include "serve/worker.h"

#include <event2/event.h>
#include <event2/http.h>
#include <stdbool.h>

#define SB_WAITERS_MAX 256u
#define SB_LISTENERS_MAX 128u
#define SB_ANSWERS_MAX 16u

enum sb_want { SB_WANT_PAGE, SB_WANT_JSON, SB_WANT_TIMELINE, SB_WANT_METRICS, SB_WANT_EVENTS };

struct sb_answer {
	struct sb_job *job; /* NULL: being built for the first time */
	char *key;
	double built_s;
	bool asked;
	struct sb_answer *next;
};

struct sb_waiter {
	struct evhttp_request *request;
	struct evhttp_connection *connection;
	char *key;
	enum sb_want want;
	struct sb_waiter *next;
};

struct sb_listener {
	struct evhttp_request *request;
	struct evhttp_connection *connection;
	char *id, *path;
	bool asked; /* in this tick */
	struct sb_listener *next;
};

struct sb_server {
	struct sb_server_options options;
	struct event_base *base;
	struct evhttp *http;
	struct event *on_int, *on_term, *on_done, *on_tick;
	struct sb_worker *worker;
	uint16_t port;
	struct sb_answer *answers;
	struct sb_waiter *waiters;
	size_t waiter_count;
	struct sb_listener *listeners;
	size_t listener_count;
};

/* ---- server.c ---- */
void sb_reply(struct evhttp_request *r, int code, const char *type, const void *body, size_t size);
void sb_reply_problem(struct evhttp_request *r, int code, const char *message);
/* Headers every answer has. */
void sb_reply_headers(struct evhttp_request *r, const char *type);

/* Its connection is gone. evhttp leaves a request that is not answered yet to
 * whoever holds it, and takes its connection away from it first. */
static inline void sb_request_gone(struct evhttp_request *r)
{
	if (!evhttp_request_get_connection(r))
		evhttp_request_free(r);
}

/* ---- answers.c ---- */
/* Answers now, or as soon as it is built. path NULL: there is no such thing. */
void sb_answer(struct sb_server *s, struct evhttp_request *r, enum sb_want want, enum sb_job_kind kind,
	const char *key, const char *path, const char *other);
void sb_answers_take(struct sb_server *s); /* the worker has finished something */
void sb_answers_forget(struct sb_server *s, struct evhttp_connection *gone);
void sb_answers_done(struct sb_server *s);

/* ---- stream.c ---- */
void sb_stream_open(struct sb_server *s, struct evhttp_request *r, const struct sb_listed *run);
void sb_stream_tick(struct sb_server *s);
void sb_stream_send(struct sb_server *s, const struct sb_job *job);
void sb_stream_forget(struct sb_server *s, struct evhttp_connection *gone);
void sb_stream_done(struct sb_server *s);

#endif
