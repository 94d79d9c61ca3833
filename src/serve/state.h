/* What the server's parts share: server.c opens and routes, answers.c keeps what
 * was built and who waits for it, stream.c sends reports that keep coming. */
#ifndef SB_SERVE_STATE_H
#define SB_SERVE_STATE_H

#include "serve/connection.h"
#include "serve/server.h"
#include "serve/worker.h"

#include <event2/event.h>
#include <event2/listener.h>
#include <stdbool.h>

#define SB_WAITERS_MAX 256u
#define SB_LISTENERS_MAX 128u
#define SB_ANSWERS_MAX 32u

/* Which part of an answer a connection waits for. */
enum sb_want { SB_WANT_PAGE, SB_WANT_JSON, SB_WANT_TIMELINE, SB_WANT_METRICS, SB_WANT_EVENTS, SB_WANT_PARTS };

/* What is built once for all who ask for it. */
struct sb_answer {
	enum sb_worker_task_kind kind;
	char *key;
	char *id;
	bool built, asked; /* asked: the worker builds it now */
	double asked_s, built_s; /* when */
	int status;
	char message[512];
	enum sb_run_state state;
	bool aggregate; /* of a job */
	struct sb_blob *body, *timeline;
	struct sb_blob *page, *event; /* made from the body when first wanted */
	struct sb_answer *next;
};

/* A connection whose answer is not built yet. */
struct sb_waiter {
	struct sb_connection *connection;
	char *key;
	enum sb_want want;
	struct sb_waiter *next;
};

/* A connection that gets the report again and again. */
struct sb_listener {
	struct sb_connection *connection;
	char *id;
	bool asked; /* in this tick */
	struct sb_listener *next;
};

struct sb_server {
	struct sb_server_options options;
	struct event_base *base;
	struct evconnlistener *port_listener;
	struct event *on_int, *on_term, *on_worker, *on_tick;
	int worker_fd; /* that on_worker watches */
	struct sb_worker *worker;
	uint16_t port;
	struct sb_connections connections;
	struct sb_answer *answers;
	struct sb_waiter *waiters;
	size_t waiter_count;
	struct sb_listener *listeners;
	size_t listener_count;
	uint64_t tick_count;
	struct {
		double since_s;
		unsigned count, left_out;
	} log;
};

/* ---- server.c ---- */
double sb_server_now_s(struct sb_server *s); /* on a clock that never goes back */
/* Watches the worker's descriptor; again after the worker was replaced. */
void sb_server_watch_worker(struct sb_server *s);

/* ---- answers.c ---- */
/* Answers now, or as soon as it is built. c NULL: builds it for the listeners. */
void sb_answer(struct sb_server *s, struct sb_connection *c, enum sb_want want, enum sb_worker_task_kind kind,
	const char *id, const char *other);
void sb_answers_take(struct sb_server *s); /* takes what the worker has finished, and answers with it */
void sb_answers_forget(
	struct sb_server *s, const struct sb_connection *gone); /* the connection no longer waits */
void sb_answers_done(struct sb_server *s); /* frees all answers and waiters */

/* ---- stream.c ---- */
/* Makes the connection a listener of the run, and sends the report as it is. */
void sb_stream_open(struct sb_server *s, struct sb_connection *c, struct sb_answer *a);
void sb_stream_tick(struct sb_server *s); /* asks for new reports of the runs that have listeners */
void sb_stream_send(struct sb_server *s, struct sb_answer *a); /* a new report, to all listeners of its run */
/* Tells the listeners that the run is still live and its report has not changed. */
void sb_stream_pulse(struct sb_server *s, struct sb_answer *a);
void sb_stream_forget(struct sb_server *s, const struct sb_connection *gone); /* it listens no longer */
void sb_stream_done(struct sb_server *s); /* frees all listeners */

#endif
