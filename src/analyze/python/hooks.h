/* Whether a module of torch's called a function as a hook or as its forward: the line of torch's that called it says so. */
#ifndef SB_ANALYZE_PYTHON_HOOKS_H
#define SB_ANALYZE_PYTHON_HOOKS_H

#include "analyze/model.h"
#include "run/run.h"

enum sb_hook {
	SB_HOOK_NOT,
	SB_HOOK_PROBABLE, /* torch's source is not at hand, and the name is none of a forward: it may wrap one */
	SB_HOOK_CERTAIN
};

#define SB_HOOKS_SEEN 16

struct sb_hooks { /* zeroed: nothing was read yet */
	struct {
		const char *file;
		uint32_t line;
		enum sb_hook is;
	} seen[SB_HOOKS_SEEN];
	uint32_t count;
};

/* file, line: of torch's module.py, where it called; called: the name of the function. Equal files have
 * equal pointers, which have to stay. */
enum sb_hook sb_hook_called(struct sb_hooks *h, const struct sb_run *run, struct sb_model *model,
	const char *file, uint32_t line, const char *called);

#endif
