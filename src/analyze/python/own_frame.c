/* Which frame of a sampled stack is the program's: neither torch's, the standard library's nor, where the program called it,
 * an installed package's. */
#include "analyze/python/own_frame.h"

#include "base/python_file.h"

#include <string.h>

/* The program's frame that called into an installed package: between two generations, and in a callback, which a package
 * called in turn. Elsewhere the package's own line says more. */
static uint32_t find_caller(const char *const *files, uint32_t count, uint32_t own, bool in_generation)
{
	uint32_t i = own, outer;

	while (i < count && (sb_python_is_package(files[i]) || sb_python_is_library(files[i])))
		i++;
	for (outer = i; outer < count && !sb_python_is_package(files[outer]);)
		outer++;
	return i < count && (!in_generation || outer < count) ? i : own;
}

uint32_t sb_own_frame(const char *const *files, uint32_t count, bool in_generation)
{
	uint32_t own = 0;

	while (own < count && sb_python_is_library(files[own]))
		own++;
	own = own < count ? own : 0;
	return sb_python_is_package(files[own]) ? find_caller(files, count, own, in_generation) : own;
}

/* A decorator of torch's (no_grad) may stand between the two. */
uint32_t sb_module_frame(const char *const *files, uint32_t count, uint32_t frame)
{
	for (uint32_t i = frame + 1; i < count; i++) {
		if (!strstr(files[i], "/torch/nn/modules/module.py"))
			continue;
		while (--i > frame && sb_python_is_library(files[i]))
			;
		return i;
	}
	return UINT32_MAX;
}
