/* Each name is demangled once, and found again by its address. */
#include "gpu/kernel_name.h"

#include "record/put.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 8192u
#define NAME_MOST 960u /* bytes: with its number it fits a recorded name, which is never cut then */

/* CUPTI gives the same address for the same kernel, until its module is unloaded
 * and another takes the place: so the bytes are compared too. */
static struct {
	const char *address;
	char *copy;
	uint32_t id;
} cache[SLOTS];

typedef char *(*demangle_function)(const char *, char *, size_t *, int *);

/* C++'s own, where some library of the program brought it. */
static demangle_function demangler(void)
{
	static demangle_function found;
	static bool looked;
	void *library;

	if (looked)
		return found;
	looked = true;
	found = (demangle_function)dlsym(RTLD_DEFAULT, "__cxa_demangle");
	if (!found) {
		library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD);
		found = library ? (demangle_function)dlsym(library, "__cxa_demangle") : NULL;
	}
	return found;
}

/* Templates make names of any length; a number keeps apart what does not fit a name. */
static uint32_t intern_whole(const char *name)
{
	char text[NAME_MOST + 32];
	uint64_t hash = 0xcbf29ce484222325u;

	if (strlen(name) <= NAME_MOST)
		return sb_name_intern(name, NULL);
	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
	snprintf(text, sizeof text, "%.*s... #%016llx", (int)NAME_MOST, name, (unsigned long long)hash);
	return sb_name_intern(text, NULL);
}

static uint32_t intern(const char *mangled)
{
	demangle_function demangle = strncmp(mangled, "_Z", 2) ? NULL : demangler();
	char *plain = demangle ? demangle(mangled, NULL, NULL, NULL) : NULL;
	uint32_t id = intern_whole(plain ? plain : mangled);

	free(plain);
	return id;
}

uint32_t sb_kernel_name(const char *mangled)
{
	uint32_t slot;

	if (!mangled)
		return SB_NAME_OTHER;
	slot = (uint32_t)(((uintptr_t)mangled >> 3) * 0x9e3779b97f4a7c15u >> 51) & (SLOTS - 1);
	if (cache[slot].address == mangled && !strcmp(cache[slot].copy, mangled))
		return cache[slot].id;
	free(cache[slot].copy);
	cache[slot].copy = strdup(mangled);
	cache[slot].address = cache[slot].copy ? mangled : NULL;
	cache[slot].id = intern(mangled);
	return cache[slot].id;
}
