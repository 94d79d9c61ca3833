/* Hooks on modules: see hooks.h. A module has few lines that call; each is read once. */
#include "analyze/python/hooks.h"

#include "analyze/python/source.h"

#include <string.h>

static enum sb_hook read_line(
	const struct sb_run *run, struct sb_model *model, const char *file, uint32_t line)
{
	const char *text = sb_source_line(run, model, file, line);

	if (!text)
		return SB_HOOK_PROBABLE;
	return strstr(text, "hook(") ? SB_HOOK_CERTAIN : SB_HOOK_NOT;
}

static enum sb_hook is_called_there(
	struct sb_hooks *h, const struct sb_run *run, struct sb_model *model, const char *file, uint32_t line)
{
	enum sb_hook is;

	for (uint32_t i = 0; i < h->count; i++)
		if (h->seen[i].file == file && h->seen[i].line == line)
			return h->seen[i].is;
	is = read_line(run, model, file, line);
	if (h->count < SB_HOOKS_SEEN) {
		h->seen[h->count].file = file;
		h->seen[h->count].line = line;
		h->seen[h->count++].is = is;
	}
	return is;
}

enum sb_hook sb_hook_called(struct sb_hooks *h, const struct sb_run *run, struct sb_model *model,
	const char *file, uint32_t line, const char *called)
{
	enum sb_hook is = is_called_there(h, run, model, file, line);

	if (is == SB_HOOK_PROBABLE && (strstr(called, "forward") || strstr(called, "__call__")))
		return SB_HOOK_NOT;
	return is;
}
