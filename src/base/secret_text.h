/* A text that is copied with its credentials replaced. */
#ifndef SB_BASE_SECRET_TEXT_H
#define SB_BASE_SECRET_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct sb_secret_program;

struct sb_secret_text {
	const char *at; /* what follows of the text */
	char *out;
	size_t used, size, count; /* of out; replaced */
	const struct sb_secret_program *program; /* the last one that was named, or NULL */
};

void sb_secret_copy(struct sb_secret_text *t, size_t n);
void sb_secret_hide(struct sb_secret_text *t, size_t n);

/* How many characters of a name follow: letters, digits, '-', '_' and '.'. */
size_t sb_secret_name_size(const char *text);

/* true, none, off: no value that anyone hides. */
bool sb_secret_is_plain(const char *value, size_t size);

#endif
