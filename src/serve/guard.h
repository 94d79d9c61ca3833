/* Who may ask: checks of the Host, Origin and token of a request, as plain
 * functions of text. A page elsewhere that points its name at this machine (DNS
 * rebinding) fails the Host check; one that asks across origins fails the
 * Origin check. */
#ifndef SB_SERVE_GUARD_H
#define SB_SERVE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#define SB_GUARD_HOSTS_MAX 16

struct sb_guard {
	const char *hosts[SB_GUARD_HOSTS_MAX]; /* names beyond the loopback's own */
	size_t host_count;
	const char *token; /* NULL: none asked for */
};

/* An address that only this machine can reach. */
bool sb_guard_is_loopback(const char *address);
/* "name:port" or "name" of a Host header; NULL fails. */
bool sb_guard_host(const struct sb_guard *g, const char *host);
/* No Origin is fine; one must be "http://HOST" of this request. */
bool sb_guard_origin(const char *origin, const char *host);
/* Takes as long for a wrong token as for a right one. */
bool sb_guard_token(const struct sb_guard *g, const char *token);
/* The value of a cookie in a Cookie header; false: it has none, or too long a one. */
bool sb_guard_cookie(const char *cookies, const char *name, char *out, size_t size);

#endif
