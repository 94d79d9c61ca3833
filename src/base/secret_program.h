/* Programs that take a credential with an option whose name does not say so. */
#ifndef SB_BASE_SECRET_PROGRAM_H
#define SB_BASE_SECRET_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

struct sb_secret_program {
	const char *name, *options; /* separated by blanks */
	bool glued, next; /* where the value may stand: "-pX", "-p X" */
	bool user; /* the value is "user:password" */
};

/* NULL: the name is of none. A folder before it does not count. */
const struct sb_secret_program *sb_secret_program_find(const char *name, size_t size);

/* Whether the word is one of its options; *out_glued: how much of the word is the value, 0: the next word is it. */
bool sb_secret_program_takes(
	const struct sb_secret_program *program, const char *word, size_t size, size_t *out_glued);

#endif
