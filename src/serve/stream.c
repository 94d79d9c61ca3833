/* Server-sent events: a report every two seconds while the run records and a
 * "state" in between, so that a page knows a silent server from a quiet run;
 * then "end" with how the run ended. A reader too slow to take one misses it
 * and gets a later one; the last one is never missed. */
#include "serve/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void listener_free(struct sb_listener *l)
{
	free(l->id);
	free(l);
}

static void put_lines(struct sb_buf *out, const char *text, size_t size)
{
	while (size) {
		const char *end = memchr(text, '\n', size);
		size_t line = end ? (size_t)(end - text) : size;

		sb_buf_puts(out, "data: ");
		sb_buf_add(out, text, line);
		sb_buf_putc(out, '\n');
		text += line + (end != NULL);
		size -= line + (end != NULL);
	}
}

/* NULL: no memory; the caller drops it. */
static struct sb_blob *event_of(struct sb_server *s, const char *event, const char *text, size_t size)
{
	struct sb_buf out = { 0 };

	sb_buf_printf(&out, "event: %s\n", event);
	put_lines(&out, text, size);
	sb_buf_putc(&out, '\n');
	sb_connections_make_room(&s->connections, out.size);
	return sb_blob_new(&out, &s->connections.held_bytes);
}

static struct sb_blob *state_event(struct sb_server *s, const char *event, enum sb_run_state state)
{
	char text[64];
	int size = snprintf(text, sizeof text, "{\"state\": \"%s\"}", sb_run_state_text(state));

	return event_of(s, event, text, (size_t)size);
}

/* What an answer has to say: made once, before it is sent to anyone, as making room
 * for it may close slow listeners. */
struct news {
	struct sb_blob *report; /* the answer's; NULL: there is none */
	struct sb_blob *state;
	bool last;
};

static void news_of(struct sb_server *s, struct sb_answer *a, struct news *out_news)
{
	bool good = a->status == 200;

	if (good && !a->event)
		a->event = event_of(s, "report", a->body->data, a->body->size);
	out_news->last = !good || a->state != SB_RUN_LIVE;
	out_news->report = good ? a->event : NULL;
	out_news->state = state_event(s, out_news->last ? "end" : "state", good ? a->state : SB_RUN_UNKNOWN);
}

/* Ends the connection after the last word; its listener must be forgotten already. */
static void tell(struct sb_connection *c, const struct news *news)
{
	if (news->report)
		sb_connection_send(c, news->report);
	if (news->last)
		sb_connection_end_stream(c, news->state);
	else if (news->state)
		sb_connection_send(c, news->state);
}

void sb_stream_open(struct sb_server *s, struct sb_connection *c, struct sb_answer *a)
{
	struct sb_listener *l = NULL;
	struct news news;

	if (s->listener_count >= SB_LISTENERS_MAX) {
		sb_connection_problem(c, 503, "too many live pages are open");
		return;
	}
	l = calloc(1, sizeof *l);
	if (!l || !(l->id = strdup(a->id))) {
		free(l);
		sb_connection_problem(c, 503, "no memory");
		return;
	}
	news_of(s, a, &news);
	l->connection = c;
	if (!sb_connection_stream(c) || news.last) {
		listener_free(l);
	} else {
		l->next = s->listeners;
		s->listeners = l;
		s->listener_count++;
	}
	if (c->request.method != SB_METHOD_HEAD)
		tell(c, &news);
	sb_blob_drop(news.state);
}

static struct sb_listener *next_to_ask(struct sb_server *s)
{
	struct sb_listener *l = s->listeners;

	while (l && l->asked)
		l = l->next;
	return l;
}

/* Asks for one report per run that is being watched. An answer at hand is sent
 * at once and may end listeners: the search starts anew each time. */
void sb_stream_tick(struct sb_server *s)
{
	struct sb_listener *l;

	for (l = s->listeners; l; l = l->next)
		l->asked = false;
	while ((l = next_to_ask(s))) {
		char id[600];

		snprintf(id, sizeof id, "%s", l->id);
		for (struct sb_listener *same = l; same; same = same->next)
			same->asked |= !strcmp(same->id, id);
		sb_answer(s, NULL, SB_WANT_EVENTS, SB_TASK_REPORT, id, "");
	}
}

void sb_stream_send(struct sb_server *s, struct sb_answer *a)
{
	struct news news;

	if (a->kind != SB_TASK_REPORT || !s->listeners)
		return;
	news_of(s, a, &news);
	for (struct sb_listener *l = s->listeners, *next; l; l = next) {
		struct sb_connection *c = l->connection;

		next = l->next;
		if (strcmp(a->id, l->id))
			continue;
		if (news.last)
			sb_stream_forget(s, c);
		tell(c, &news);
	}
	sb_blob_drop(news.state);
}

void sb_stream_pulse(struct sb_server *s, struct sb_answer *a)
{
	struct sb_blob *state = state_event(s, "state", SB_RUN_LIVE);

	for (struct sb_listener *l = s->listeners; l && state; l = l->next)
		if (!strcmp(a->id, l->id))
			sb_connection_send(l->connection, state);
	sb_blob_drop(state);
}

void sb_stream_forget(struct sb_server *s, const struct sb_connection *gone)
{
	for (struct sb_listener **p = &s->listeners; *p;) {
		struct sb_listener *l = *p;

		if (l->connection != gone) {
			p = &l->next;
			continue;
		}
		*p = l->next;
		s->listener_count--;
		listener_free(l);
	}
}

void sb_stream_done(struct sb_server *s)
{
	while (s->listeners)
		sb_stream_forget(s, s->listeners->connection);
}
