/* Parsing in place: lines and values get their NUL where they end. Only what a
 * reader of GET needs; anything unusual is refused, not guessed at. */
#include "serve/request.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

size_t sb_request_head_size(const char *text, size_t size)
{
	const char *end = memmem(text, size, "\r\n\r\n", 4);

	return end ? (size_t)(end - text) + 4 : 0;
}

/* "GET /path?query HTTP/1.1" */
static int parse_first_line(char *line, struct sb_request *r)
{
	char *target = strchr(line, ' ');
	char *version = target ? strchr(target + 1, ' ') : NULL;
	char *query;

	if (!version || strncmp(version + 1, "HTTP/1.", 7) || strlen(version + 1) != 8)
		return 400;
	*target++ = *version++ = '\0';
	if (*target != '/' || target[1] == '/' ||
		target[1] == '\\') /* a redirect there would lead elsewhere */
		return 400;
	r->method = !strcmp(line, "GET")    ? SB_METHOD_GET
		    : !strcmp(line, "HEAD") ? SB_METHOD_HEAD
					    : SB_METHOD_OTHER;
	r->keep_alive = version[7] != '0';
	r->path = target;
	query = strchr(target, '?');
	if (query) {
		*query = '\0';
		r->query = query + 1;
	}
	return 0;
}

/* A header given twice would be read one way here and another by a proxy. */
static int keep_header(const char *name, const char *value, struct sb_request *r)
{
	const struct {
		const char *name;
		const char **value;
	} known[] = { { "host", &r->host }, { "origin", &r->origin }, { "cookie", &r->cookie },
		{ "authorization", &r->authorization }, { "accept", &r->accept } };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (strcasecmp(name, known[i].name))
			continue;
		if (*known[i].value)
			return 400;
		*known[i].value = value;
	}
	if (!strcasecmp(name, "connection"))
		r->keep_alive = strcasecmp(value, "close") &&
				(r->keep_alive || !strcasecmp(value, "keep-alive"));
	if (!strcasecmp(name, "transfer-encoding") ||
		(!strcasecmp(name, "content-length") && strcmp(value, "0")))
		return 413;
	return 0;
}

static int parse_header(char *line, struct sb_request *r)
{
	char *colon = strchr(line, ':');
	char *value, *end;

	if (!colon || colon == line || line + strcspn(line, " \t") < colon)
		return 400;
	*colon = '\0';
	value = colon + 1 + strspn(colon + 1, " \t");
	end = value + strlen(value);
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	return keep_header(line, value, r);
}

static bool is_clean(const char *head, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)head[i];

		if (c == '\r'       ? head[i + 1] != '\n'
			: c == '\n' ? !i || head[i - 1] != '\r'
				    : (c < 32 && c != '\t') || c == 127)
			return false;
	}
	return true;
}

int sb_request_parse(char *head, size_t size, struct sb_request *out_request)
{
	struct sb_request r = { 0 };
	char *line = head;
	int refused;

	if (size < 4 || !is_clean(head, size))
		return 400;
	head[size - 4] = '\0';
	for (char *end; line; line = end) {
		end = strstr(line, "\r\n");
		if (end) {
			*end = '\0';
			end += 2;
		}
		refused = line == head ? parse_first_line(line, &r) : parse_header(line, &r);
		if (refused)
			return refused;
	}
	*out_request = r;
	return 0;
}

/* ---- addresses ---- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

bool sb_request_decode(const char *text, size_t text_size, char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < text_size; i++) {
		char c = text[i];

		if (c == '%') {
			int high = i + 1 < text_size ? hex_digit(text[i + 1]) : -1;
			int low = i + 2 < text_size ? hex_digit(text[i + 2]) : -1;

			if (high < 0 || low < 0)
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if (!c || used + 1 >= size)
			return false;
		out[used++] = c;
	}
	out[used] = '\0';
	return true;
}

void sb_request_encode(const char *text, char *out, size_t size)
{
	size_t used = 0;

	for (; *text && used + 4 <= size; text++) {
		if (isalnum((unsigned char)*text) || strchr("-_.~", *text))
			out[used++] = *text;
		else
			used += (size_t)snprintf(out + used, size - used, "%%%02X", (unsigned char)*text);
	}
	out[used] = '\0';
}

/* "key=value&..." : the part at *at, and its key's size; false: no more. */
static bool next_part(const char **at, const char **out_part, size_t *out_size, size_t *out_key)
{
	if (!*at || !**at)
		return false;
	*out_part = *at;
	*out_size = strcspn(*at, "&");
	*out_key = strcspn(*at, "&=");
	*at += *out_size + ((*at)[*out_size] == '&');
	return true;
}

bool sb_request_parameter(const char *query, const char *key, char *out, size_t size)
{
	const char *part;
	size_t part_size, key_size;

	while (next_part(&query, &part, &part_size, &key_size))
		if (key_size == strlen(key) && !memcmp(part, key, key_size) && part_size > key_size)
			return sb_request_decode(part + key_size + 1, part_size - key_size - 1, out, size);
	return false;
}

void sb_request_without(const char *query, const char *key, char *out, size_t size)
{
	const char *part;
	size_t part_size, key_size, used = 0;

	out[0] = '\0';
	while (next_part(&query, &part, &part_size, &key_size)) {
		if (key_size == strlen(key) && !memcmp(part, key, key_size))
			continue;
		if (!part_size || used + part_size + 2 > size)
			continue;
		used += (size_t)snprintf(
			out + used, size - used, "%s%.*s", used ? "&" : "", (int)part_size, part);
	}
}
