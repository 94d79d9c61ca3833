/* Limits on connections, with a clock of our own. */
#include <stddef.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#ifdef STROBE_HAVE_EVENT
#include "serve/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct fixture {
	struct event_base *base;
	struct sb_connections all;
	double now_s;
	struct sb_connection *asked; /* the last request; answered unless it is to wait */
	bool wait;
	size_t asked_count, gone_count;
	struct sb_blob *body; /* the answer; NULL: "hello" */
};

static void on_request(void *self, struct sb_connection *c)
{
	struct fixture *f = self;

	f->asked = c;
	f->asked_count++;
	c->trusted = true;
	if (f->wait)
		sb_connection_wait(c);
	else if (f->body)
		sb_connection_reply_blob(c, "text/plain", f->body);
	else
		sb_connection_reply(c, 200, "text/plain", NULL, "hello", 5);
}

static void on_gone(void *self, struct sb_connection *c)
{
	((struct fixture *)self)->gone_count++;
}

static double now_s(void *self)
{
	return ((struct fixture *)self)->now_s;
}

static int set_up(void **state)
{
	struct sb_connection_limits limits = { .count = 4,
		.held_bytes = 1 << 20,
		.head_s = 10,
		.idle_s = 20,
		.stall_s = 30,
		.bytes_per_s = 1 << 20 };
	struct fixture *f = calloc(1, sizeof *f);

	f->now_s = 1000;
	f->base = event_base_new();
	sb_connections_init(&f->all, f->base, &limits,
		&(struct sb_connection_calls){
			.self = f, .request = on_request, .gone = on_gone, .now_s = now_s });
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	sb_connections_done(&f->all);
	event_base_free(f->base);
	free(f);
	return 0;
}

/* A client; the server's end is taken over by the connections. */
static int come(struct fixture *f)
{
	struct sockaddr_storage peer = { .ss_family = AF_UNIX };
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	sb_connections_add(&f->all, ends[1], (struct sockaddr *)&peer, sizeof peer);
	return ends[0];
}

static void turn(struct fixture *f)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(f->base, EVLOOP_NONBLOCK);
}

static void put(struct fixture *f, int client, const char *text)
{
	assert_int_equal(write(client, text, strlen(text)), strlen(text));
	turn(f);
}

static bool is_closed(struct fixture *f, int client)
{
	char bytes[65536];
	ssize_t got;

	turn(f);
	while ((got = read(client, bytes, sizeof bytes)) > 0)
		continue;
	return !got || errno == ECONNRESET;
}

static size_t take(struct fixture *f, int client, char *text, size_t size)
{
	size_t have = 0;

	for (int i = 0; i < 100 && have + 1 < size; i++) {
		ssize_t got = read(client, text + have, size - 1 - have);

		have += got > 0 ? (size_t)got : 0;
		turn(f);
	}
	text[have] = '\0';
	return have;
}

/* The whole answer, its length as it says, then the end. */
static bool is_told_503(struct fixture *f, int client)
{
	char text[4096];
	const char *length, *body;

	take(f, client, text, sizeof text);
	length = strstr(text, "\r\nContent-Length: ");
	body = strstr(text, "\r\n\r\n");
	return !strncmp(text, "HTTP/1.1 503 ", 13) && strstr(text, "\r\nConnection: close\r\n") && length &&
	       body && strtoul(length + 18, NULL, 10) == strlen(body + 4) && is_closed(f, client);
}

static void requests_are_answered_one_after_the_other(void **state)
{
	struct fixture *f = *state;
	int client = come(f);
	char text[4096];

	put(f, client, "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
	take(f, client, text, sizeof text);
	assert_int_equal(f->asked_count, 2);
	assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(text, "Content-Length: 5\r\n\r\nhello"));
	assert_false(is_closed(f, client));
	close(client);
	turn(f);
	assert_int_equal(f->all.count, 0);
}

static void head_gets_no_body(void **state)
{
	struct fixture *f = *state;
	int client = come(f);
	char text[4096];

	put(f, client, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
	take(f, client, text, sizeof text);
	assert_non_null(strstr(text, "Content-Length: 5\r\n\r\n"));
	assert_null(strstr(text, "hello"));
	close(client);
}

static void a_head_that_never_ends_has_ten_seconds(void **state)
{
	struct fixture *f = *state;
	int client = come(f);

	for (int i = 0; i < 9; i++) {
		put(f, client, "G"); /* a byte a second does not help */
		f->now_s += 1;
		sb_connections_sweep(&f->all);
		assert_int_equal(f->all.count, 1);
	}
	f->now_s += 1;
	sb_connections_sweep(&f->all);
	assert_int_equal(f->all.count, 0);
	assert_true(is_closed(f, client));
	close(client);
}

static void a_head_too_long_is_refused(void **state)
{
	struct fixture *f = *state;
	int client = come(f);
	char text[4096], line[1024];

	memset(line, 'x', sizeof line);
	line[sizeof line - 1] = '\0';
	put(f, client, "GET / HTTP/1.1\r\n");
	for (int i = 0; i < 16; i++)
		put(f, client, line);
	take(f, client, text, sizeof text);
	assert_non_null(strstr(text, "HTTP/1.1 431 "));
	assert_int_equal(f->asked_count, 0);
	assert_int_equal(f->all.count, 0);
	close(client);
}

static void the_slowest_gives_way_when_all_places_are_taken(void **state)
{
	struct fixture *f = *state;
	int clients[4], next;
	char text[1024];

	for (int i = 0; i < 4; i++) {
		clients[i] = come(f);
		put(f, clients[i], "GET / HT");
		f->now_s += 1;
	}
	next = come(f);
	assert_int_equal(f->all.count, 4);
	assert_true(is_told_503(f, clients[0]));
	assert_false(is_closed(f, clients[1]));
	put(f, next, "GET / HTTP/1.1\r\n\r\n");
	take(f, next, text, sizeof text);
	assert_non_null(strstr(text, "hello"));
	for (int i = 0; i < 4; i++)
		close(clients[i]);
	close(next);
}

/* libevent takes all that wait at the port in one turn. */
static void those_who_gave_way_hold_no_descriptor(void **state)
{
	struct fixture *f = *state;
	int clients[64], lowest = dup(0), next;

	for (int i = 0; i < 64; i++)
		clients[i] = come(f);
	next = dup(0);
	assert_true(next <= lowest + 64 + 4 + 1);
	close(lowest);
	close(next);
	for (int i = 0; i < 64; i++)
		close(clients[i]);
}

/* One who has asked for something and may see it keeps its place longer. */
static void strangers_give_way_first(void **state)
{
	struct fixture *f = *state;
	int owner = come(f), strangers[3], next;
	char text[1024];

	put(f, owner, "GET / HTTP/1.1\r\n\r\n");
	take(f, owner, text, sizeof text);
	f->now_s += 5;
	for (int i = 0; i < 3; i++)
		strangers[i] = come(f);
	next = come(f);
	assert_false(is_closed(f, owner));
	assert_true(is_closed(f, strangers[0]));
	for (int i = 0; i < 3; i++)
		close(strangers[i]);
	close(owner);
	close(next);
}

static void who_waits_for_an_answer_is_never_thrown_out(void **state)
{
	struct fixture *f = *state;
	int clients[4], next;

	f->wait = true;
	for (int i = 0; i < 4; i++) {
		clients[i] = come(f);
		put(f, clients[i], "GET / HTTP/1.1\r\n\r\n");
	}
	f->now_s += 1e6;
	sb_connections_sweep(&f->all);
	assert_int_equal(f->all.count, 4);
	next = come(f);
	assert_true(is_told_503(f, next));
	close(clients[0]);
	turn(f);
	assert_int_equal(f->gone_count, 1); /* told, so that nobody answers it */
	for (int i = 1; i < 4; i++)
		close(clients[i]);
	close(next);
}

static void fill_body(struct fixture *f, size_t size)
{
	struct sb_buf bytes = { 0 };

	memset(sb_buf_reserve(&bytes, size), 'b', size);
	bytes.size = size;
	f->body = sb_blob_new(&bytes, &f->all.held_bytes);
	assert_non_null(f->body);
}

static void readers_of_one_body_hold_it_once(void **state)
{
	struct fixture *f = *state;
	int clients[4];

	fill_body(f, 900 << 10);
	for (int i = 0; i < 4; i++) {
		clients[i] = come(f);
		put(f, clients[i], "GET / HTTP/1.1\r\n\r\n");
	}
	assert_int_equal(f->all.held_bytes, 900 << 10);
	assert_int_equal(f->body->holders, 5);
	sb_blob_drop(f->body);
	for (int i = 0; i < 4; i++)
		close(clients[i]);
	turn(f);
	assert_int_equal(f->all.held_bytes, 0);
}

static void readers_who_never_read_are_dropped_for_room_and_in_time(void **state)
{
	struct fixture *f = *state;
	int slow = come(f), slower = come(f);

	fill_body(f, 900 << 10);
	put(f, slower, "GET / HTTP/1.1\r\n\r\n");
	f->now_s += 1;
	put(f, slow, "GET / HTTP/1.1\r\n\r\n");
	sb_blob_drop(f->body);
	f->body = NULL;
	sb_connections_make_room(&f->all, 100 << 10); /* there is room for it */
	assert_int_equal(f->all.count, 2);
	sb_connections_make_room(&f->all, 900 << 10); /* both hold the same bytes */
	assert_int_equal(f->all.count, 0);
	assert_int_equal(f->all.held_bytes, 0);
	assert_int_equal(f->all.dropped_count, 2);
	close(slow);
	close(slower);
	slow = come(f);
	fill_body(f, 900 << 10);
	put(f, slow, "GET / HTTP/1.1\r\n\r\n");
	sb_blob_drop(f->body);
	f->now_s += 30;
	sb_connections_sweep(&f->all);
	assert_int_equal(f->all.count, 1); /* 30 s, and one for its bytes */
	f->now_s += 1;
	sb_connections_sweep(&f->all);
	assert_int_equal(f->all.count, 0);
	assert_int_equal(f->all.held_bytes, 0);
	close(slow);
}

static void a_slow_listener_misses_events_and_is_dropped_in_time(void **state)
{
	struct fixture *f = *state;
	int client = come(f);

	f->wait = true;
	put(f, client, "GET /events HTTP/1.1\r\n\r\n");
	assert_true(sb_connection_stream(f->asked));
	fill_body(f, 900 << 10);
	assert_true(sb_connection_send(f->asked, f->body));
	turn(f);
	for (int i = 0; i < 30; i++) { /* its backlog does not grow, its time runs */
		f->now_s += 1;
		assert_false(sb_connection_send(f->asked, f->body));
	}
	assert_int_equal(f->body->holders, 2);
	f->now_s += 1;
	sb_connections_sweep(&f->all);
	assert_int_equal(f->gone_count, 1);
	assert_int_equal(f->body->holders, 1);
	sb_blob_drop(f->body);
	close(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(requests_are_answered_one_after_the_other, set_up, tear_down),
		cmocka_unit_test_setup_teardown(head_gets_no_body, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_head_that_never_ends_has_ten_seconds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_head_too_long_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_slowest_gives_way_when_all_places_are_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(those_who_gave_way_hold_no_descriptor, set_up, tear_down),
		cmocka_unit_test_setup_teardown(strangers_give_way_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			who_waits_for_an_answer_is_never_thrown_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(readers_of_one_body_hold_it_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			readers_who_never_read_are_dropped_for_room_and_in_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_slow_listener_misses_events_and_is_dropped_in_time, set_up, tear_down),
	};

	signal(SIGPIPE, SIG_IGN); /* as the server does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

/* This build has no server. */
int main(void)
{
	return 0;
}
#endif
