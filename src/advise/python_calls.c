/* What a line of Python source calls, by name: a loop over numbers in Python reads otherwise than a model that computes. */
#include "advise/python_calls.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum meaning { PYTHON, HOLDS, NEUTRAL, VALUE, OTHER };

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Functions that need no module. */
static const char *const builtins[] = { "float", "int", "bool", "str", "repr", "print", "sorted", "sum",
	"min", "max", "abs", "round", "len", "range", "enumerate", "zip", "list", "dict", "tuple", "set",
	"map", "filter", "format", "isinstance", "iter", "next", "any", "all", "hash", "bytes", "bytearray",
	"divmod", "open", "reversed" };

/* Modules of which nothing computes with tensors. */
static const char *const modules[] = { "math", "json", "hashlib", "zlib", "pickle", "random", "time", "os",
	"re", "logging", "logger", "log", "np", "numpy", "copy", "collections", "itertools", "statistics",
	"struct", "base64", "csv", "io", "sys", "datetime" };

/* Of lists, files, logs and text: of these alone a model has some, too. */
static const char *const methods[] = { "append", "extend", "item", "tolist", "join", "format", "write",
	"insert", "setdefault", "hexdigest", "digest", "info", "debug", "warning", "error", "flush", "dump",
	"dumps", "split", "strip", "encode" };

/* Of tensors, and done at once: they say neither. */
static const char *const views[] = { "detach", "cpu", "flatten", "reshape", "view", "size", "numel", "dim",
	"numpy", "tobytes", "float", "squeeze", "unsqueeze", "get", "keys", "values", "items" };

/* Of tensors and arrays, and little work: in a line that calls Python they are what it is given. */
static const char *const values[] = { "mean", "std", "var", "norm", "min", "max", "sum", "abs", "repeat",
	"clone", "contiguous", "expand", "permute", "transpose", "double", "half", "bfloat16", "type",
	"astype", "long", "int", "copy", "clamp", "mul", "pow", "sqrt", "any", "all", "argmax", "topk",
	"sort", "unbind", "chunk" };

static bool is_among(const char *const *all, size_t count, const char *name, size_t size)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(all[i]) == size && strncmp(all[i], name, size) == 0)
			return true;
	return false;
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static enum meaning meaning_of(const char *name, size_t size)
{
	size_t head = 0, last = size;

	while (head < size && name[head] != '.')
		head++;
	while (last > 0 && name[last - 1] != '.')
		last--;
	if (head == size)
		return is_among(builtins, COUNT(builtins), name, size) ? PYTHON : OTHER;
	if (is_among(modules, COUNT(modules), name, head))
		return PYTHON;
	if (is_among(methods, COUNT(methods), name + last, size - last))
		return HOLDS;
	if (is_among(views, COUNT(views), name + last, size - last))
		return NEUTRAL;
	if (head == 4 && strncmp(name, "self", 4) == 0) /* a module's part may be called "norm" */
		return OTHER;
	return is_among(values, COUNT(values), name + last, size - last) ? VALUE : OTHER;
}

/* Behind the string that begins there. */
static const char *skip_string(const char *at)
{
	char quote = *at++;

	while (*at && *at != quote)
		at += *at == '\\' && at[1] ? 2 : 1;
	return *at ? at + 1 : at;
}

enum sb_calls sb_python_calls(const char *text)
{
	bool seen[OTHER + 1] = { false };

	for (const char *at = text; at && *at && *at != '#';) {
		const char *from = at;

		if (*at == '"' || *at == '\'') {
			at = skip_string(at);
			continue;
		}
		while (from > text && is_of_name(from[-1]))
			from--;
		if (*at == '(' && from < at) {
			seen[meaning_of(from, (size_t)(at - from))] = true;
		}
		at++;
	}
	if (seen[OTHER])
		return SB_CALLS_OTHERS;
	if (seen[PYTHON] || (seen[HOLDS] && !seen[VALUE]))
		return SB_CALLS_PYTHON;
	return seen[HOLDS] || seen[NEUTRAL] || seen[VALUE] ? SB_CALLS_OTHERS : SB_CALLS_NOTHING;
}

/* Conversions of the text; plain: of values that no call makes. */
static int count_conversions(const char *text, bool plain)
{
	static const char *const names[] = { "float(", "int(", "bool(" };
	int count = 0;

	for (size_t i = 0; i < COUNT(names); i++)
		for (const char *at = strstr(text, names[i]); at; at = strstr(at + 1, names[i])) {
			const char *value = at + strlen(names[i]);
			bool word = at > text && is_of_name(at[-1]);

			count += !word && (!plain || value[strcspn(value, "()")] == ')');
		}
	return count;
}

int sb_python_conversions(const char *text)
{
	return count_conversions(text, true);
}

bool sb_python_converts(const char *text)
{
	return count_conversions(text, false) > 0;
}
