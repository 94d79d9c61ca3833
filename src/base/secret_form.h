/* Credentials that are known by their form, whatever stands before them. */
#ifndef SB_BASE_SECRET_FORM_H
#define SB_BASE_SECRET_FORM_H

#include <stdbool.h>
#include <stddef.h>

/* Where in a word of letters, digits, '-', '_' and '.' the token of a well-known service
 * begins; size: nowhere. */
size_t sb_secret_form_find(const char *word, size_t size);

/* Long, of letters and digits mixed, unlike a word. */
bool sb_secret_form_random(const char *value, size_t size);

#endif
