/* The checks. Nothing here allocates or keeps state. */
#include "serve/guard.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

bool sb_guard_is_loopback(const char *address)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (!strcasecmp(address, "localhost"))
		return true;
	if (inet_pton(AF_INET, address, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/* The name part of a Host header: "[::1]:80" and "name:80" lose their port. */
static size_t name_size(const char *host, const char **out_name)
{
	const char *end;

	*out_name = host;
	if (*host == '[') {
		end = strchr(host, ']');
		*out_name = host + 1;
		return end ? (size_t)(end - host - 1) : 0;
	}
	end = strchr(host, ':');
	return end ? (size_t)(end - host) : strlen(host);
}

static bool same(const char *name, size_t size, const char *other)
{
	return strlen(other) == size && !strncasecmp(name, other, size);
}

bool sb_guard_host(const struct sb_guard *g, const char *host)
{
	const char *name;
	size_t size;

	if (!host)
		return false;
	size = name_size(host, &name);
	if (same(name, size, "localhost") || same(name, size, "127.0.0.1") || same(name, size, "::1"))
		return true;
	for (size_t i = 0; i < g->host_count; i++)
		if (same(name, size, g->hosts[i]))
			return true;
	return false;
}

bool sb_guard_origin(const char *origin, const char *host)
{
	if (!origin)
		return true;
	if (!host || strncasecmp(origin, "http://", 7))
		return false;
	return !strcasecmp(origin + 7, host);
}

bool sb_guard_token(const struct sb_guard *g, const char *token)
{
	size_t size, given;
	unsigned char differ;

	if (!g->token)
		return true;
	if (!token)
		return false;
	size = strlen(g->token);
	given = strlen(token);
	differ = size != given;
	for (size_t i = 0; i < size; i++)
		differ |= (unsigned char)(g->token[i] ^ (i < given ? token[i] : 0));
	return !differ;
}

bool sb_guard_cookie(const char *cookies, const char *name, char *out, size_t size)
{
	size_t name_length = strlen(name);

	for (const char *p = cookies; p && *p; p = strchr(p, ';'), p = p ? p + 1 : NULL) {
		size_t length;

		p += strspn(p, " ");
		if (strncmp(p, name, name_length) || p[name_length] != '=')
			continue;
		p += name_length + 1;
		length = strcspn(p, "; ");
		if (length >= size)
			return false;
		memcpy(out, p, length);
		out[length] = '\0';
		return true;
	}
	return false;
}
