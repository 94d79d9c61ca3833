/* Server-sent events: a report every two seconds while the run records, then
 * "end". A reader too slow to take one misses it and gets a later one. */
#include "serve/state.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BACKLOG_MAX (2u << 20)

static void listener_free(struct sb_listener *l)
{
	free(l->id);
	free(l->path);
	free(l);
}

static void on_close(struct evhttp_connection *connection, void *argument)
{
	sb_stream_forget(argument, connection);
}

void sb_stream_open(struct sb_server *s, struct evhttp_request *r, const struct sb_listed *run)
{
	struct sb_listener *l;

	if (s->listener_count >= SB_LISTENERS_MAX) {
		sb_reply_problem(r, 503, "too many live pages are open");
		return;
	}
	l = calloc(1, sizeof *l);
	if (!l || !(l->id = strdup(run->id)) || !(l->path = strdup(run->path))) {
		if (l)
			listener_free(l);
		sb_reply_problem(r, 503, "no memory");
		return;
	}
	l->request = r;
	l->connection = evhttp_request_get_connection(r);
	l->next = s->listeners;
	s->listeners = l;
	s->listener_count++;
	sb_reply_headers(r, "text/event-stream");
	evhttp_connection_set_closecb(l->connection, on_close, s);
	evhttp_connection_set_timeout(l->connection, 600);
	evhttp_send_reply_start(r, 200, "OK");
	sb_stream_tick(s);
}

static struct sb_listener *next_to_ask(struct sb_server *s)
{
	struct sb_listener *l = s->listeners;

	while (l && l->asked)
		l = l->next;
	return l;
}

/* Asks for one report per run that somebody watches. An answer at hand is sent
 * at once and may end listeners: the search starts anew each time. */
void sb_stream_tick(struct sb_server *s)
{
	struct sb_listener *l;

	for (l = s->listeners; l; l = l->next)
		l->asked = false;
	while ((l = next_to_ask(s))) {
		char key[1024], path[4096];

		snprintf(key, sizeof key, "runs/%s", l->id);
		snprintf(path, sizeof path, "%s", l->path);
		for (struct sb_listener *same = l; same; same = same->next)
			same->asked |= !strcmp(same->id, l->id);
		sb_answer(s, NULL, SB_WANT_EVENTS, SB_JOB_REPORT, key, path, NULL);
	}
}

static void put_lines(struct evbuffer *out, const char *text, size_t size)
{
	while (size) {
		const char *end = memchr(text, '\n', size);
		size_t line = end ? (size_t)(end - text) : size;

		evbuffer_add(out, "data: ", 6);
		evbuffer_add(out, text, line);
		evbuffer_add(out, "\n", 1);
		text += line + (end != NULL);
		size -= line + (end != NULL);
	}
}

static bool is_behind(const struct sb_listener *l)
{
	struct bufferevent *b = evhttp_connection_get_bufferevent(l->connection);

	return b && evbuffer_get_length(bufferevent_get_output(b)) > BACKLOG_MAX;
}

static void send_event(struct evhttp_request *r, const char *event, const char *text, size_t size)
{
	struct evbuffer *out = evbuffer_new();

	if (!out)
		return;
	evbuffer_add_printf(out, "event: %s\n", event);
	put_lines(out, text, size);
	evbuffer_add(out, "\n", 1);
	evhttp_send_reply_chunk(r, out);
	evbuffer_free(out);
}

static void end_listener(struct sb_listener *l)
{
	send_event(l->request, "end", "{}", 2);
	evhttp_connection_set_closecb(l->connection, NULL, NULL);
	evhttp_send_reply_end(l->request);
	listener_free(l);
}

void sb_stream_send(struct sb_server *s, const struct sb_job *job)
{
	if (job->kind != SB_JOB_REPORT)
		return;
	for (struct sb_listener **p = &s->listeners; *p;) {
		struct sb_listener *l = *p;

		if (strncmp(job->key, "runs/", 5) || strcmp(job->key + 5, l->id)) {
			p = &l->next;
			continue;
		}
		if (!job->err && !is_behind(l))
			send_event(l->request, "report", job->body.data, job->body.size);
		if (!job->err && job->live) {
			p = &l->next;
			continue;
		}
		*p = l->next;
		s->listener_count--;
		end_listener(l);
	}
}

void sb_stream_forget(struct sb_server *s, struct evhttp_connection *gone)
{
	for (struct sb_listener **p = &s->listeners; *p;) {
		struct sb_listener *l = *p;

		if (l->connection != gone) {
			p = &l->next;
			continue;
		}
		*p = l->next;
		s->listener_count--;
		sb_request_gone(l->request);
		listener_free(l);
	}
}

void sb_stream_done(struct sb_server *s)
{
	while (s->listeners) {
		struct sb_listener *next = s->listeners->next;

		listener_free(s->listeners);
		s->listeners = next;
	}
}
