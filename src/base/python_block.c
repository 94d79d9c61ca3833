/* Blocks of Python's source, by their indentation. */
#include "base/python_block.h"

#include "base/buf.h"

#include <ctype.h>
#include <string.h>

#define SOURCE_MOST (4u << 20)

static bool has_name(const char *at, const char *end, const char *name)
{
	size_t size = strlen(name);

	for (const char *c = at; c + size <= end; c++)
		if (!strncmp(c, name, size) && (c == at || !isalnum((unsigned char)c[-1])) && c[-1] != '_' &&
			!isalnum((unsigned char)c[size]) && c[size] != '_')
			return true;
	return false;
}

/* Upwards from the line: what is indented less is around it, until the function that it is in. */
static bool walk_up(const char *text, const char *at, const char *name)
{
	size_t inside = strspn(at, " \t");

	while (at > text && inside) {
		const char *end = at - 1;
		size_t indent;

		for (at = end; at > text && at[-1] != '\n';)
			at--;
		indent = strspn(at, " \t");
		if (indent >= inside || at + indent >= end || at[indent] == '#')
			continue;
		inside = indent;
		if (!strncmp(at + indent, "def ", 4) || !strncmp(at + indent, "async def ", 10))
			return false;
		if (!strncmp(at + indent, "with ", 5) && has_name(at + indent + 5, end, name))
			return true;
	}
	return false;
}

bool sb_python_is_inside_with(const char *file, uint32_t line, const char *name)
{
	struct sb_buf source = { 0 };
	bool found = false;

	if (line && sb_buf_read_regular(&source, file, SOURCE_MOST) == 0) {
		const char *text = sb_buf_text(&source), *at = text;

		for (uint32_t i = 1; at && i < line; i++) {
			at = strchr(at, '\n');
			at = at ? at + 1 : NULL;
		}
		found = at && walk_up(text, at, name);
	}
	sb_buf_done(&source);
	return found;
}
