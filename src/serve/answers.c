/* Builds each thing once, however many ask: the first asks the worker, the
 * others wait with it, and who comes within a second gets the same again. Bodies
 * are shared, so that a thousand readers of one report hold it once. */
#include "serve/state.h"

#include "base/error.h"
#include "report/page/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIVE_FRESH_S 1.0
#define ENDED_FRESH_S 10.0
/* Pages that follow a run may take a twentieth of a core: a report that takes long comes less often. */
#define LIVE_REST_RATIO 20.0
#define LIVE_REST_MAX_S 60.0
#define CACHED_BYTES_MAX (48u << 20)

static struct sb_answer *find(struct sb_server *s, const char *key)
{
	for (struct sb_answer *a = s->answers; a; a = a->next)
		if (!strcmp(a->key, key))
			return a;
	return NULL;
}

static void drop_blobs(struct sb_answer *a)
{
	sb_blob_drop(a->body);
	sb_blob_drop(a->timeline);
	sb_blob_drop(a->page);
	sb_blob_drop(a->event);
	a->body = a->timeline = a->page = a->event = NULL;
}

static void answer_free(struct sb_answer *a)
{
	drop_blobs(a);
	free(a->key);
	free(a->id);
	free(a);
}

static size_t bytes_of(const struct sb_answer *a)
{
	return (a->body ? a->body->size : 0) + (a->timeline ? a->timeline->size : 0) +
	       (a->page ? a->page->size : 0) + (a->event ? a->event->size : 0);
}

/* Forgets the oldest answers without a waiting request while there are too many. */
static void make_room(struct sb_server *s, const struct sb_answer *but)
{
	for (;;) {
		struct sb_answer **oldest = NULL, *gone;
		size_t count = 0, bytes = 0;

		for (struct sb_answer **p = &s->answers; *p; p = &(*p)->next) {
			count++;
			bytes += bytes_of(*p);
			if (!(*p)->asked && *p != but && (!oldest || (*p)->built_s < (*oldest)->built_s))
				oldest = p;
		}
		if (!oldest || (count <= SB_ANSWERS_MAX && bytes <= CACHED_BYTES_MAX))
			return;
		gone = *oldest;
		*oldest = gone->next;
		answer_free(gone);
	}
}

static struct sb_answer *find_or_add(
	struct sb_server *s, enum sb_worker_task_kind kind, const char *key, const char *id)
{
	struct sb_answer *a = find(s, key);

	if (a)
		return a;
	make_room(s, NULL);
	a = calloc(1, sizeof *a);
	if (a) {
		a->kind = kind;
		a->key = strdup(key);
		a->id = strdup(id);
	}
	if (!a || !a->key || !a->id) {
		if (a)
			answer_free(a);
		return NULL;
	}
	a->next = s->answers;
	s->answers = a;
	return a;
}

static bool is_fresh(struct sb_server *s, const struct sb_answer *a)
{
	bool settled = a->kind == SB_TASK_REPORT && a->state != SB_RUN_LIVE;

	return a->built && sb_server_now_s(s) - a->built_s < (settled ? ENDED_FRESH_S : LIVE_FRESH_S);
}

/* Too early to build it again for those who only listen. */
static bool is_resting(struct sb_server *s, const struct sb_answer *a)
{
	double rest_s = (a->built_s - a->asked_s) * LIVE_REST_RATIO;

	return a->built && a->status == 200 && a->state == SB_RUN_LIVE &&
	       sb_server_now_s(s) - a->built_s < (rest_s < LIVE_REST_MAX_S ? rest_s : LIVE_REST_MAX_S);
}

/* ---- replies ---- */

static struct sb_blob *page_of(struct sb_server *s, struct sb_answer *a)
{
	static const char *const kinds[SB_TASK_KINDS] = {
		[SB_TASK_LISTING] = "runs", [SB_TASK_REPORT] = "report", [SB_TASK_DIFF] = "diff"
	};
	struct sb_buf page = { 0 };
	char live[4096] = "", id[2048];
	struct sb_page p = { .kind = a->aggregate ? "aggregate" : kinds[a->kind],
		.live = live,
		.json = a->body->data,
		.json_size = a->body->size };

	if (a->page)
		return a->page;
	/* The timeline follows by itself; the report inside is the first picture. */
	if (a->kind == SB_TASK_REPORT && !a->aggregate) {
		sb_request_encode(a->id, id, sizeof id);
		snprintf(live, sizeof live, "/api/runs/%s", id);
	}
	if (sb_page_write(&p, &page)) {
		sb_buf_done(&page);
		return NULL;
	}
	sb_connections_make_room(&s->connections, page.size);
	a->page = sb_blob_new(&page, &s->connections.held_bytes);
	return a->page;
}

static void reply_blob(struct sb_connection *c, const char *type, struct sb_blob *b)
{
	if (b)
		sb_connection_reply_blob(c, type, b);
	else
		sb_connection_problem(c, 503, "no memory");
}

static void reply_with(struct sb_server *s, struct sb_connection *c, enum sb_want want, struct sb_answer *a)
{
	if (a->status != 200) {
		sb_connection_problem(c, a->status, a->message);
		return;
	}
	switch (want) {
	case SB_WANT_PAGE: reply_blob(c, "text/html; charset=utf-8", page_of(s, a)); break;
	case SB_WANT_JSON: reply_blob(c, "application/json", a->body); break;
	case SB_WANT_TIMELINE: reply_blob(c, "application/octet-stream", a->timeline); break;
	case SB_WANT_METRICS:
		reply_blob(c,
			a->kind == SB_TASK_OPENMETRICS
				? "application/openmetrics-text; version=1.0.0; charset=utf-8"
				: "text/plain; version=0.0.4; charset=utf-8",
			a->body);
		break;
	case SB_WANT_EVENTS: sb_stream_open(s, c, a); break;
	case SB_WANT_PARTS: break;
	}
}

/* ---- waiting ---- */

static void wait_for(struct sb_server *s, struct sb_connection *c, enum sb_want want, const char *key)
{
	struct sb_waiter *w = calloc(1, sizeof *w);

	if (!w || !(w->key = strdup(key))) {
		free(w);
		sb_connection_problem(c, 503, "no memory");
		return;
	}
	w->connection = c;
	w->want = want;
	w->next = s->waiters;
	s->waiters = w;
	s->waiter_count++;
	sb_connection_wait(c);
}

void sb_answer(struct sb_server *s, struct sb_connection *c, enum sb_want want, enum sb_worker_task_kind kind,
	const char *id, const char *other)
{
	char key[1200];
	struct sb_answer *a;

	snprintf(key, sizeof key, "%d/%s/%s", (int)kind, id, other); /* an id has no slash */
	a = find_or_add(s, kind, key, id);
	if (!a) {
		if (c)
			sb_connection_problem(c, 503, "no memory");
		return;
	}
	if (is_fresh(s, a)) {
		if (c)
			reply_with(s, c, want, a);
		else
			sb_stream_send(s, a);
		return;
	}
	if (!c && is_resting(s, a)) {
		sb_stream_pulse(s, a);
		return;
	}
	if (c && s->waiter_count >= SB_WAITERS_MAX) {
		sb_connection_problem(c, 503, "too many are waiting; ask again");
		return;
	}
	if (!a->asked && sb_worker_ask(s->worker, kind, key, id, other)) {
		if (c)
			sb_connection_problem(c, 503, sb_error_message());
		return;
	}
	if (!a->asked)
		a->asked_s = sb_server_now_s(s);
	a->asked = true;
	if (c)
		wait_for(s, c, want, key);
	sb_server_watch_worker(s);
}

static void answer_waiters(struct sb_server *s, struct sb_answer *a)
{
	struct sb_waiter *mine = NULL;

	for (struct sb_waiter **p = &s->waiters; *p;) {
		struct sb_waiter *w = *p;

		if (strcmp(w->key, a->key)) {
			p = &w->next;
			continue;
		}
		*p = w->next;
		w->next = mine;
		mine = w;
		s->waiter_count--;
	}
	while (mine) {
		struct sb_waiter *w = mine;

		mine = w->next;
		reply_with(s, w->connection, w->want, a);
		free(w->key);
		free(w);
	}
}

static void fill(struct sb_server *s, struct sb_answer *a, struct sb_worker_task *task)
{
	drop_blobs(a);
	a->built = true;
	a->asked = false;
	a->built_s = sb_server_now_s(s);
	a->status = task->status;
	a->state = task->state;
	a->aggregate = task->aggregate;
	snprintf(a->message, sizeof a->message, "%s", task->message);
	if (a->status != 200)
		return;
	sb_connections_make_room(&s->connections, task->body.size + task->timeline.size);
	a->body = sb_blob_new(&task->body, &s->connections.held_bytes);
	a->timeline = sb_blob_new(&task->timeline, &s->connections.held_bytes);
	if (!a->body || !a->timeline) {
		a->status = 503;
		snprintf(a->message, sizeof a->message, "no memory");
	}
}

void sb_answers_take(struct sb_server *s)
{
	struct sb_worker_task *task;

	sb_worker_step(s->worker, sb_server_now_s(s));
	sb_server_watch_worker(s);
	while ((task = sb_worker_take(s->worker))) {
		struct sb_answer *a = find(s, task->key);

		if (a) {
			fill(s, a, task);
			sb_stream_send(s, a); /* first: who waits may listen from now on */
			answer_waiters(s, a);
			make_room(s, a);
		}
		sb_worker_task_free(task);
	}
}

void sb_answers_forget(struct sb_server *s, const struct sb_connection *gone)
{
	for (struct sb_waiter **p = &s->waiters; *p;) {
		struct sb_waiter *w = *p;

		if (w->connection != gone) {
			p = &w->next;
			continue;
		}
		*p = w->next;
		s->waiter_count--;
		free(w->key);
		free(w);
	}
}

void sb_answers_done(struct sb_server *s)
{
	while (s->answers) {
		struct sb_answer *next = s->answers->next;

		answer_free(s->answers);
		s->answers = next;
	}
}
