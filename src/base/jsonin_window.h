/* The part of the input that jsonin.c looks at, with a NUL after its last byte, and errors at a place in
 * it. For the reader's own files only. */
#ifndef SB_BASE_JSONIN_WINDOW_H
#define SB_BASE_JSONIN_WINDOW_H

#include "base/jsonin.h"

/* Where in the grammar the reader is. */
enum sb_jsonin_state {
	SB_JSONIN_WANT_VALUE, /* at the start, after ':' and after ',' in an array */
	SB_JSONIN_WANT_VALUE_OR_END, /* after '[' */
	SB_JSONIN_WANT_KEY, /* after ',' in an object */
	SB_JSONIN_WANT_KEY_OR_END, /* after '{' */
	SB_JSONIN_AFTER_VALUE,
	SB_JSONIN_FINISHED,
	SB_JSONIN_FAILED
};

/* Moves what is unread to the front and reads more behind it. False at the end
 * of the input, on an error, and when the window is full. */
bool sb_jsonin_refill(struct sb_jsonin *p);
/* Ensures that want bytes can be looked at from the position, if they exist. */
void sb_jsonin_look_ahead(struct sb_jsonin *p, size_t want);

/* Sets the message for the place at, unless there is one already. Returns SB_JSONIN_ERROR. */
enum sb_jsonin_token sb_jsonin_error(struct sb_jsonin *p, const char *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static inline uint64_t sb_jsonin_offset_of(const struct sb_jsonin *p, const char *at)
{
	return p->buffer_offset + (uint64_t)(at - p->buffer);
}

#endif
