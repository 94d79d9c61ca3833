/* One HTTP request at a time, over plain TCP, for the warehouse. */
#ifndef SB_EXCHANGE_HTTP_H
#define SB_EXCHANGE_HTTP_H

#include "base/buf.h"

#define SB_HTTP_ANSWER_BYTES_MAX (256u << 20)
#define SB_HTTP_HOST_BYTES 256
#define SB_HTTP_SLOWEST_BYTES_PER_S 65536.0

struct sb_http_request {
	const char *host; /* one of IPv6 in brackets: "[::1]" */
	const char *port;
	const char *path; /* "/?query=..." */
	const char *headers; /* whole lines, each with its line end; may be "" */
	const void *body;
	size_t body_size;
};

/* Returns 0 with the status and the body of the answer, whatever the status; STROBE_EIO if no whole
 * answer came, STROBE_EINVAL if a TLS server answered. Takes at most timeout_s, plus a second for every 64
 * KiB that move; looking up the name is not counted. */
int sb_http_post(
	const struct sb_http_request *request, double timeout_s, int *out_status, struct sb_buf *out_body);

/* Text for a query string. */
void sb_http_escape(struct sb_buf *out, const char *text);

#endif
