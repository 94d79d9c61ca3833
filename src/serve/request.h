/* Parses the head of an HTTP request: method, path and headers. Works on text
 * alone, without a socket, and trusts nothing in it. */
#ifndef SB_SERVE_REQUEST_H
#define SB_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#define SB_REQUEST_HEAD_MAX 16384u

enum sb_method { SB_METHOD_GET, SB_METHOD_HEAD, SB_METHOD_OTHER };

/* Texts point into the head that was parsed; NULL: not given. */
struct sb_request {
	enum sb_method method;
	bool keep_alive;
	const char *path; /* as sent, still encoded; begins with '/' */
	const char *query; /* after the '?'; NULL: none */
	const char *host, *origin, *cookie, *authorization, *accept;
};

/* Bytes of the head with its empty line; 0: it is not complete yet. */
size_t sb_request_head_size(const char *text, size_t size);
/* Parses a complete head in place. Returns 0, or the status to refuse it with. */
int sb_request_parse(char *head, size_t size, struct sb_request *out_request);

/* Decodes %XX; false: it does not fit, or holds a NUL or half a code. */
bool sb_request_decode(const char *text, size_t text_size, char *out, size_t size);
/* Encodes all but letters, digits and "-_.~"; cut where it does not fit. */
void sb_request_encode(const char *text, char *out, size_t size);
/* A parameter's decoded value; false: there is none that fits. */
bool sb_request_parameter(const char *query, const char *key, char *out, size_t size);
/* The query without a parameter, all others as they were; "" when none is left. */
void sb_request_without(const char *query, const char *key, char *out, size_t size);

#endif
