/* What looks like a credential, in text that is about to be recorded. */
#ifndef SB_BASE_SECRET_H
#define SB_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#define SB_SECRET_MASK "***" /* what replaces a credential */

/* True for names such as HF_TOKEN, apiKey, --db-password; false for max_tokens,
 * pad_token, sort_key. Leading dashes do not count. */
bool sb_secret_name(const char *name, size_t size);

/* Copies text with these replaced: the value after a secret name ("TOKEN=…",
 * "--token …", "Authorization: …", "?sig=…"), the password in a URL, and what has the
 * form of a well-known token. Cuts what does not fit. Allocates nothing. Returns how
 * many were replaced. */
size_t sb_secret_mask(const char *text, char *out, size_t size);

/* The same for the argument at this place of a command line, where blanks and signs end nothing and the
 * words before it say what it is: "--password" "a b$c", "mysql" "-pX". Shells and the environment are the same:
 * { "NAME=value", NULL }. */
size_t sb_secret_mask_argument(char *const *command, size_t at, char *out, size_t size);

/* Enough room for any text, or argument, of this length. */
size_t sb_secret_room(size_t length);

#endif
