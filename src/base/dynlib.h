/* A foreign library's functions, found at run time into a table of pointers. */
#ifndef SB_BASE_DYNLIB_H
#define SB_BASE_DYNLIB_H

#include <stdbool.h>
#include <stddef.h>

struct sb_dynlib_entry {
	size_t offset; /* of a function pointer in the table */
	const char *name;
	bool optional; /* NULL in the table where the library lacks it */
};

/* One line of such a list. */
#define SB_DYNLIB_NEEDED(table, field, name)        \
	{                                           \
		offsetof(table, field), name, false \
	}
#define SB_DYNLIB_OPTIONAL(table, field, name)     \
	{                                          \
		offsetof(table, field), name, true \
	}

/* Opens the library that an environment variable names. NULL if the variable is unset or empty, or names
 * no library: `*out_set` tells which. */
void *sb_dynlib_from_environment(const char *variable, bool *out_set);

/* Fills the table. Returns the first needed name that the library lacks, NULL
 * when it has them all. */
const char *sb_dynlib_resolve(
	void *library, const struct sb_dynlib_entry *entries, size_t count, void *out_table);

#endif
