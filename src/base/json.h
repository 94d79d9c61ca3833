/* Writes JSON into a buffer; it takes care of commas, nesting and escapes. */
#ifndef SB_BASE_JSON_H
#define SB_BASE_JSON_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_json {
	struct sb_buf *out;
	unsigned depth;
	bool pretty;
	bool first[64]; /* per depth: nothing written yet */
	bool after_key;
};

void sb_json_init(struct sb_json *j, struct sb_buf *out, bool pretty);

/* key is NULL inside arrays. */
void sb_json_object_begin(struct sb_json *j, const char *key);
void sb_json_object_end(struct sb_json *j);
void sb_json_array_begin(struct sb_json *j, const char *key);
void sb_json_array_end(struct sb_json *j);
void sb_json_string(struct sb_json *j, const char *key, const char *value); /* NULL: null */
void sb_json_string_n(struct sb_json *j, const char *key, const char *value, size_t size);
void sb_json_int(struct sb_json *j, const char *key, int64_t value);
void sb_json_uint(struct sb_json *j, const char *key, uint64_t value);
void sb_json_bool(struct sb_json *j, const char *key, bool value);
void sb_json_null(struct sb_json *j, const char *key);
/* The shortest text that reads back as the same double; NaN and infinities
 * become null. */
void sb_json_double(struct sb_json *j, const char *key, double value);
/* Rounded to a number of decimals, for series where size matters. */
void sb_json_fixed(struct sb_json *j, const char *key, double value, int decimals);
/* Writes text that is already JSON. */
void sb_json_raw(struct sb_json *j, const char *key, const char *json);

/* A quoted, escaped string, harmless on a terminal. Bytes that are not UTF-8 become U+FFFD. */
void sb_json_quote(struct sb_buf *out, const char *text, size_t size);

/* Bytes of the valid UTF-8 character at text, 0 if there is none. */
size_t sb_utf8_length(const char *text, size_t size);
/* True if the character of length bytes at text moves a terminal's cursor, ends a line or changes the
 * direction of writing: U+0000 to U+001F, U+007F to U+009F (among them CSI), U+200E, U+200F, U+2028 to
 * U+202E, U+2060 to U+206F. */
bool sb_utf8_is_control(const char *text, size_t length);

#endif
