/* A small HTTP client. Speaks 1.0: the answer ends where the connection does. */
#include "exchange/http.h"

#include "base/error.h"
#include "base/now.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TLS_ALERT = 0x15, TLS_MAJOR = 3 }; /* how a TLS server begins its answer to plain text */

static int no_answer(const struct sb_http_request *r, const char *what)
{
	return sb_fail(STROBE_EIO, "%s:%s: %s: %s", r->host, r->port, what, strerror(errno));
}

/* ---- waiting, up to a time ---- */

/* 0 once the socket can be read or written; -1, with errno, at the deadline. */
static int wait_for(int fd, short events, double deadline_s)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = events };
		double left_s = deadline_s - sb_now_s();
		int ready = left_s > 0 ? poll(&p, 1, (int)(left_s * 1e3) + 1) : 0;

		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -1;
		if (left_s <= 0) {
			errno = ETIMEDOUT;
			return -1;
		}
	}
}

static int connect_within(int fd, const struct addrinfo *a, double deadline_s)
{
	int failed = 0;
	socklen_t size = sizeof failed;

	if (!connect(fd, a->ai_addr, a->ai_addrlen))
		return 0;
	if (errno != EINPROGRESS || wait_for(fd, POLLOUT, deadline_s) ||
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size))
		return -1;
	errno = failed;
	return failed ? -1 : 0;
}

/* "[::1]" is how an address of IPv6 is written before a port. */
static const char *without_brackets(const char *host, char bare[SB_HTTP_HOST_BYTES])
{
	size_t size = strlen(host);

	if (size < 2 || size > SB_HTTP_HOST_BYTES || host[0] != '[' || host[size - 1] != ']')
		return host;
	memcpy(bare, host + 1, size - 2);
	bare[size - 2] = 0;
	return bare;
}

static int connect_to(const struct sb_http_request *r, double deadline_s, int *out_fd)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	char bare[SB_HTTP_HOST_BYTES];
	int failed, fd = -1;

	failed = getaddrinfo(without_brackets(r->host, bare), r->port, &hints, &list);
	if (failed)
		return sb_fail(STROBE_EIO, "%s:%s: %s", r->host, r->port, gai_strerror(failed));
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
		if (fd >= 0 && connect_within(fd, a, deadline_s)) {
			int error = errno;

			close(fd);
			fd = -1;
			errno = error;
		}
	}
	freeaddrinfo(list);
	if (fd < 0)
		return no_answer(r, "cannot connect");
	*out_fd = fd;
	return 0;
}

/* Bytes that move give time for more: only who stands still, or drips, is given up. */
static void move_deadline(double *deadline_s, ssize_t bytes)
{
	*deadline_s += (double)bytes / SB_HTTP_SLOWEST_BYTES_PER_S;
}

static int send_all(int fd, const char *bytes, size_t size, double *deadline_s)
{
	while (size) {
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && !wait_for(fd, POLLOUT, *deadline_s))
			continue;
		if (n <= 0)
			return -1;
		move_deadline(deadline_s, n);
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

static int receive_all(int fd, struct sb_buf *out, double *deadline_s)
{
	for (;;) {
		char *to = sb_buf_reserve(out, 65536);
		ssize_t n = to ? recv(fd, to, 65536, 0) : -1;

		if (n < 0 && to && errno == EINTR)
			continue;
		if (n < 0 && to && errno == EAGAIN && !wait_for(fd, POLLIN, *deadline_s))
			continue;
		if (n < 0 || out->size > SB_HTTP_ANSWER_BYTES_MAX)
			return -1;
		if (!n)
			return 0;
		move_deadline(deadline_s, n);
		out->size += (size_t)n;
		out->data[out->size] = 0;
	}
}

/* Splits the answer; checks that it is whole where it says how long it is. */
static int take_answer(const struct sb_http_request *r, const struct sb_buf *answer, int *out_status,
	struct sb_buf *out_body)
{
	const char *text = sb_buf_text(answer), *end = strstr(text, "\r\n\r\n"), *length;
	size_t body;

	if (text[0] == TLS_ALERT && text[1] == TLS_MAJOR)
		return sb_fail(STROBE_EINVAL, "%s:%s speaks TLS: use https://%s:%s/...", r->host, r->port,
			r->host, r->port);
	if (!end || sscanf(text, "HTTP/%*d.%*d %d", out_status) != 1)
		return sb_fail(STROBE_EIO, "%s:%s: no HTTP answer", r->host, r->port);
	body = answer->size - (size_t)(end + 4 - text);
	length = strcasestr(text, "\r\nContent-Length:");
	if (length && length < end && strtoull(length + 17, NULL, 10) > body)
		return sb_fail(STROBE_EIO, "%s:%s: the answer was cut off", r->host, r->port);
	sb_buf_add(out_body, end + 4, body);
	return 0;
}

int sb_http_post(const struct sb_http_request *r, double timeout_s, int *out_status, struct sb_buf *out_body)
{
	struct sb_buf head = { 0 }, answer = { 0 };
	double deadline_s = sb_now_s() + timeout_s;
	int fd = -1, err = connect_to(r, deadline_s, &fd);

	sb_buf_printf(&head, "POST %s HTTP/1.0\r\nHost: %s:%s\r\nContent-Length: %zu\r\n%s\r\n", r->path,
		r->host, r->port, r->body_size, r->headers);
	if (!err && (send_all(fd, sb_buf_text(&head), head.size, &deadline_s) ||
			    send_all(fd, r->body, r->body_size, &deadline_s)))
		err = no_answer(r, "the connection broke while sending");
	if (!err && receive_all(fd, &answer, &deadline_s))
		err = no_answer(r, "the connection broke while waiting for the answer");
	if (!err)
		err = take_answer(r, &answer, out_status, out_body);
	if (fd >= 0)
		close(fd);
	sb_buf_done(&head);
	sb_buf_done(&answer);
	return err;
}

void sb_http_escape(struct sb_buf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			strchr("-_.~", c))
			sb_buf_putc(out, (char)c);
		else
			sb_buf_printf(out, "%%%02X", c);
	}
}
