/* Builds each thing once, however many ask: the first asks the worker, the
 * others wait with it, and who comes within a second gets the same again. */
#include "serve/state.h"

#include "base/error.h"
#include "report/page/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIVE_FRESH_S 1.0
#define ENDED_FRESH_S 10.0

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct sb_answer *find(struct sb_server *s, const char *key)
{
	for (struct sb_answer *a = s->answers; a; a = a->next)
		if (!strcmp(a->key, key))
			return a;
	return NULL;
}

static void answer_free(struct sb_answer *a)
{
	sb_job_free(a->job);
	free(a->key);
	free(a);
}

/* Forgets the oldest answer nobody waits for when there are too many. */
static void make_room(struct sb_server *s)
{
	struct sb_answer **oldest = NULL;
	size_t count = 0;

	for (struct sb_answer **p = &s->answers; *p; p = &(*p)->next) {
		count++;
		if (!(*p)->asked && (!oldest || (*p)->built_s < (*oldest)->built_s))
			oldest = p;
	}
	if (count > SB_ANSWERS_MAX && oldest) {
		struct sb_answer *gone = *oldest;

		*oldest = gone->next;
		answer_free(gone);
	}
}

static struct sb_answer *find_or_add(struct sb_server *s, const char *key)
{
	struct sb_answer *a = find(s, key);

	if (a)
		return a;
	make_room(s);
	a = calloc(1, sizeof *a);
	if (!a || !(a->key = strdup(key))) {
		free(a);
		return NULL;
	}
	a->next = s->answers;
	s->answers = a;
	return a;
}

static bool fresh(const struct sb_answer *a)
{
	double age_s = now_s() - a->built_s;

	if (!a->job)
		return false;
	return age_s < (a->job->kind == SB_JOB_REPORT && !a->job->live ? ENDED_FRESH_S : LIVE_FRESH_S);
}

static void reply_page(struct evhttp_request *r, const struct sb_job *job)
{
	struct sb_buf page = { 0 };
	struct sb_page p = { .kind = job->kind == SB_JOB_DIFF ? "diff" : "report",
		.json = job->body.data,
		.json_size = job->body.size };
	char live[4096] = "";
	char *id = NULL;

	/* The timeline follows by itself; the report inside is the first picture. */
	if (job->kind == SB_JOB_REPORT)
		id = evhttp_uriencode(job->key + strlen("runs/"), -1, 0);
	if (id)
		snprintf(live, sizeof live, "/api/runs/%s", id);
	free(id);
	p.live = live;
	if (sb_page_write(&p, &page))
		sb_reply_problem(r, 500, sb_error_message());
	else
		sb_reply(r, 200, "text/html; charset=utf-8", page.data, page.size);
	sb_buf_done(&page);
}

static void reply_with(struct evhttp_request *r, enum sb_want want, const struct sb_job *job)
{
	if (job->err) {
		sb_reply_problem(r, 500, job->message);
		return;
	}
	switch (want) {
	case SB_WANT_PAGE: reply_page(r, job); break;
	case SB_WANT_JSON: sb_reply(r, 200, "application/json", job->body.data, job->body.size); break;
	case SB_WANT_TIMELINE:
		sb_reply(r, 200, "application/octet-stream", job->timeline.data, job->timeline.size);
		break;
	case SB_WANT_METRICS:
		sb_reply(r, 200, "text/plain; version=0.0.4; charset=utf-8", job->body.data, job->body.size);
		break;
	case SB_WANT_EVENTS: break;
	}
}

static void on_close(struct evhttp_connection *connection, void *argument)
{
	sb_answers_forget(argument, connection);
}

static void wait_for(struct sb_server *s, struct evhttp_request *r, enum sb_want want, const char *key)
{
	struct sb_waiter *w = calloc(1, sizeof *w);

	if (!w || !(w->key = strdup(key))) {
		free(w);
		sb_reply_problem(r, 503, "no memory");
		return;
	}
	w->request = r;
	w->connection = evhttp_request_get_connection(r);
	w->want = want;
	w->next = s->waiters;
	s->waiters = w;
	s->waiter_count++;
	evhttp_connection_set_closecb(w->connection, on_close, s);
}

void sb_answer(struct sb_server *s, struct evhttp_request *r, enum sb_want want, enum sb_job_kind kind,
	const char *key, const char *path, const char *other)
{
	struct sb_answer *a = find_or_add(s, key);

	if (!a) {
		if (r)
			sb_reply_problem(r, 503, "no memory");
		return;
	}
	if (fresh(a)) {
		if (r)
			reply_with(r, want, a->job);
		else
			sb_stream_send(s, a->job);
		return;
	}
	if (r && s->waiter_count >= SB_WAITERS_MAX) {
		sb_reply_problem(r, 503, "too many are waiting; ask again");
		return;
	}
	if (!a->asked && sb_worker_ask(s->worker, kind, key, path, other)) {
		if (r)
			sb_reply_problem(r, 503, sb_error_message());
		return;
	}
	a->asked = true;
	if (r)
		wait_for(s, r, want, key);
}

static void answer_waiters(struct sb_server *s, const struct sb_job *job)
{
	for (struct sb_waiter **p = &s->waiters; *p;) {
		struct sb_waiter *w = *p;

		if (strcmp(w->key, job->key)) {
			p = &w->next;
			continue;
		}
		*p = w->next;
		s->waiter_count--;
		evhttp_connection_set_closecb(w->connection, NULL, NULL);
		reply_with(w->request, w->want, job);
		free(w->key);
		free(w);
	}
}

void sb_answers_take(struct sb_server *s)
{
	struct sb_job *job;

	while ((job = sb_worker_take(s->worker))) {
		struct sb_answer *a = find_or_add(s, job->key);

		answer_waiters(s, job);
		sb_stream_send(s, job);
		if (!a) {
			sb_job_free(job);
			continue;
		}
		sb_job_free(a->job);
		a->job = job;
		a->built_s = now_s();
		a->asked = false;
	}
}

void sb_answers_forget(struct sb_server *s, struct evhttp_connection *gone)
{
	for (struct sb_waiter **p = &s->waiters; *p;) {
		struct sb_waiter *w = *p;

		if (w->connection != gone) {
			p = &w->next;
			continue;
		}
		*p = w->next;
		s->waiter_count--;
		sb_request_gone(w->request);
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
	while (s->waiters) {
		struct sb_waiter *next = s->waiters->next;

		free(s->waiters->key);
		free(s->waiters);
		s->waiters = next;
	}
}
