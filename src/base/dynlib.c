/* dlopen() and dlsym() behind a table. Says what a library lacks; the caller decides whether it matters. */
#include "base/dynlib.h"

#include <dlfcn.h>
#include <stdlib.h>

void *sb_dynlib_from_environment(const char *variable, bool *out_set)
{
	const char *path = secure_getenv(variable);

	*out_set = path && *path;
	return *out_set ? dlopen(path, RTLD_NOW) : NULL;
}

const char *sb_dynlib_resolve(
	void *library, const struct sb_dynlib_entry *entries, size_t count, void *out_table)
{
	for (size_t i = 0; i < count; i++) {
		void *symbol = dlsym(library, entries[i].name);

		if (!symbol && !entries[i].optional)
			return entries[i].name;
		*(void **)((char *)out_table + entries[i].offset) = symbol;
	}
	return NULL;
}
