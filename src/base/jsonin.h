/*
 * Reads JSON as a stream of tokens, in memory that does not depend on the size
 * of the input. Strict (RFC 8259), depth-limited, and exact about where an
 * error is. Not a tree: base/jsondom.h builds one from it for small documents.
 */
#ifndef SB_BASE_JSONIN_H
#define SB_BASE_JSONIN_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SB_JSONIN_DEPTH_MAX 512u
#define SB_JSONIN_NUMBER_MAX 4096u /* characters of one number */

enum sb_jsonin_token {
	SB_JSONIN_ERROR = -1, /* the thread's message says what and where */
	SB_JSONIN_END = 0, /* the document is complete and nothing follows it */
	SB_JSONIN_OBJECT,
	SB_JSONIN_OBJECT_END,
	SB_JSONIN_ARRAY,
	SB_JSONIN_ARRAY_END,
	SB_JSONIN_KEY, /* text, size; the value is the next token */
	SB_JSONIN_STRING,
	SB_JSONIN_NUMBER,
	SB_JSONIN_TRUE,
	SB_JSONIN_FALSE,
	SB_JSONIN_NULL
};

/* mantissa * 10^exponent. Digits past the 19th are only counted. */
struct sb_jsonin_number {
	uint64_t mantissa;
	int32_t exponent;
	bool negative;
	bool inexact; /* more digits than the mantissa holds */
};

/* Bytes read, 0 at the end, -1 with the thread's message set. */
typedef ssize_t sb_jsonin_read_fn(void *source, char *to, size_t size);

/* Bytes of the source's own, until the next call. SB_JSONIN_AFTER bytes behind them can be written to. */
struct sb_jsonin_lent {
	char *bytes;
	size_t size;
	uint64_t lines; /* newlines in them */
};
#define SB_JSONIN_UNREAD_MAX SB_JSONIN_NUMBER_MAX
#define SB_JSONIN_AFTER 64u /* they are looked at in steps of 16 bytes, up to 48 from their end on */
/* Lends the next bytes where it can, with the unread ones right in front of them: nothing is copied but
 * these. False: nothing has changed, the bytes must be read. */
typedef bool sb_jsonin_lend_fn(
	void *source, const char *unread, size_t unread_size, struct sb_jsonin_lent *out_lent);

struct sb_jsonin {
	/* ---- the current token, valid until the next call ---- */
	const char *text; /* KEY, STRING: decoded, not NUL-terminated; NUMBER: as written */
	size_t size;
	bool cut; /* the string was longer than string_limit; the rest was checked and dropped */
	struct sb_jsonin_number number;
	uint64_t token_offset; /* of the token's first byte */
	unsigned depth; /* containers open after this token */

	/* ---- set after init ---- */
	bool any_bytes; /* controls and what is no UTF-8 become U+FFFD in strings, and are counted */
	uint64_t replaced_bytes;
	sb_jsonin_lend_fn *lend; /* NULL: everything is read */

	/* ---- private ---- */
	sb_jsonin_read_fn *read;
	void *source;
	const char *name;
	char *own; /* for bytes that are not lent */
	char *buffer; /* own, or lent */
	char *position; /* next unread byte */
	char *end; /* a NUL is here */
	uint64_t buffer_offset; /* of buffer[0] in the input */
	uint64_t lines; /* newlines before end */
	struct sb_buf scratch;
	size_t string_limit;
	int state;
	int err;
	bool at_eof;
	bool between_elements;
	uint64_t nesting[SB_JSONIN_DEPTH_MAX / 64]; /* bit set: an object */
};

/* name is what messages call the input. Strings keep at most string_limit bytes. */
int sb_jsonin_init(
	struct sb_jsonin *p, const char *name, size_t string_limit, sb_jsonin_read_fn *read, void *source);
void sb_jsonin_done(struct sb_jsonin *p);

enum sb_jsonin_token sb_jsonin_next(struct sb_jsonin *p);
/* The same in less time, for a caller that knows where it is: inside an object, before a key or the end, ... */
enum sb_jsonin_token sb_jsonin_next_member(struct sb_jsonin *p);
/* ... after a key, ... */
enum sb_jsonin_token sb_jsonin_next_value(struct sb_jsonin *p);
/* ... or inside an array, before an element or the end. */
enum sb_jsonin_token sb_jsonin_next_element(struct sb_jsonin *p);

/* As sb_jsonin_next_value, for one that is not wanted: a number's value is not set. */
enum sb_jsonin_token sb_jsonin_pass_value(struct sb_jsonin *p);

/* Passes over the value that token begins: nothing for a scalar, everything to
 * the matching end for a container. Checked as strictly as if it were read. */
int sb_jsonin_skip_container(struct sb_jsonin *p, enum sb_jsonin_token token);
static inline int sb_jsonin_skip(struct sb_jsonin *p, enum sb_jsonin_token token)
{
	return token >= SB_JSONIN_STRING ? 0 : sb_jsonin_skip_container(p, token);
}

/* For the caller's own errors about the current token: sets the message
 * "'NAME' line L, byte B: …" and returns STROBE_EFORMAT. */
int sb_jsonin_fail(struct sb_jsonin *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* True if the only error was that the input ended between two elements of the outermost array: the Chrome
 * trace format allows that. */
bool sb_jsonin_ended_between_elements(const struct sb_jsonin *p);

/* ---- numbers ---- */
/* The nearest double, as strtod would have it. */
double sb_jsonin_double(const struct sb_jsonin *p);
/* True and the value when it is a whole number that fits. */
bool sb_jsonin_int(const struct sb_jsonin_number *n, int64_t *out_value);
/* value * 10^shift, rounded half away from zero; false when it does not fit. */
bool sb_jsonin_scaled_slowly(const struct sb_jsonin_number *n, int shift, int64_t *out_value);
static inline bool sb_jsonin_scaled(const struct sb_jsonin_number *n, int shift, int64_t *out_value)
{
	if (n->exponent + shift || n->mantissa > INT64_MAX)
		return sb_jsonin_scaled_slowly(n, shift, out_value);
	*out_value = n->negative ? -(int64_t)n->mantissa : (int64_t)n->mantissa;
	return true;
}
/* A number written inside a string, whole text; false when it is not one. */
bool sb_jsonin_parse_number(const char *text, size_t size, struct sb_jsonin_number *out_number);

#endif
