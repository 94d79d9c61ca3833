/* A small HTTP client. Speaks 1.0: the answer ends where the connection does. */
#include "exchange/http.h"

#include "base/error.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX (256u << 20)

static int no_answer(const struct sb_http_request *r, const char *what)
{
	return sb_fail(STROBE_EIO, "%s:%s: %s: %s", r->host, r->port, what, strerror(errno));
}

static int connect_to(const struct sb_http_request *r, double timeout_s, int *out_fd)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	struct timeval t = { (time_t)timeout_s,
		(suseconds_t)((timeout_s - (double)(time_t)timeout_s) * 1e6) };
	int failed = getaddrinfo(r->host, r->port, &hints, &list), fd = -1;

	if (failed)
		return sb_fail(STROBE_EIO, "%s:%s: %s", r->host, r->port, gai_strerror(failed));
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
		if (connect(fd, a->ai_addr, a->ai_addrlen)) {
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

static int send_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

static int receive_all(int fd, struct sb_buf *out)
{
	for (;;) {
		char *to = sb_buf_reserve(out, 65536);
		ssize_t n = to ? recv(fd, to, 65536, 0) : -1;

		if (n < 0 && to && errno == EINTR)
			continue;
		if (n < 0 || out->size > ANSWER_BYTES_MAX)
			return -1;
		if (!n)
			return 0;
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
	int fd = -1, err = connect_to(r, timeout_s, &fd);

	sb_buf_printf(&head, "POST %s HTTP/1.0\r\nHost: %s:%s\r\nContent-Length: %zu\r\n%s\r\n", r->path,
		r->host, r->port, r->body_size, r->headers);
	if (!err && (send_all(fd, sb_buf_text(&head), head.size) || send_all(fd, r->body, r->body_size)))
		err = no_answer(r, "the connection broke while sending");
	if (!err && receive_all(fd, &answer))
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
