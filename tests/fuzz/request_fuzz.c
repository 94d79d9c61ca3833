/* libFuzzer: any bytes as an HTTP request to `serve`: its head taken apart, its path and
 * parameters decoded, and the checks of who asks. */
#include "serve/guard.h"
#include "serve/request.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_guard(const struct sb_guard *g, const struct sb_request *r)
{
	char token[32];

	(void)sb_guard_host(g, r->host);
	(void)(r->host && sb_guard_is_loopback(r->host));
	if (sb_guard_origin(r->origin, r->host) && r->origin &&
		(!r->host || strncasecmp(r->origin, "http://", 7)))
		abort();
	if (sb_guard_token(g, r->authorization) && g->token &&
		(!r->authorization || strcmp(r->authorization, g->token)))
		abort();
	if (sb_guard_cookie(r->cookie, "strobe_token", token, sizeof token) && strlen(token) >= sizeof token)
		abort();
}

/* What was encoded is decoded to itself. */
static void check_coding(const char *text)
{
	char encoded[512], decoded[512];

	sb_request_encode(text, encoded, sizeof encoded);
	if (strlen(text) * 3 < sizeof encoded &&
		(!sb_request_decode(encoded, strlen(encoded), decoded, sizeof decoded) ||
			strcmp(decoded, text)))
		abort();
}

static void check_query(const char *query)
{
	char value[64], rest[256], again[64];

	(void)sb_request_parameter(query, "base", value, sizeof value);
	sb_request_without(query, "token", rest, sizeof rest);
	if (strlen(query) < sizeof rest && sb_request_parameter(rest, "token", again, sizeof again))
		abort(); /* the token has left the address */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sb_guard open = { .hosts = { "box.example" }, .host_count = 1 };
	struct sb_guard closed = { .token = "secret" };
	size_t head_size = sb_request_head_size((const char *)data, size);
	char *head = head_size && head_size <= size ? malloc(head_size) : NULL, path[256];
	struct sb_request r;

	if (head_size > size)
		abort();
	if (!head)
		return 0;
	memcpy(head, data, head_size);
	if (!sb_request_parse(head, head_size, &r)) {
		if (!r.path || *r.path != '/')
			abort();
		(void)sb_request_decode(r.path, strlen(r.path), path, sizeof path);
		check_coding(r.path);
		if (r.query)
			check_query(r.query);
		check_guard(&open, &r);
		check_guard(&closed, &r);
	}
	free(head);
	return 0;
}
