/* Recognises source code by its declarations. */
#include "exchange/text_code.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static const char *word_end(const char *s)
{
	while (isalnum((unsigned char)*s) || *s == '_' || *s == '.')
		s++;
	return s;
}

/* "import torch", "import a.b as c, d"; a log's "import torch: 3.2s" is none. */
static bool is_import(const char *s)
{
	const char *end = word_end(s);

	return end > s && (!*end || *end == ',' || *end == ';' || !strncmp(end, " as ", 4));
}

/* "from a.b import c" */
static bool is_from(const char *s)
{
	const char *end = word_end(s);

	return end > s && !strncmp(end, " import ", 8);
}

/* "run(argument", "Name:" */
static bool is_definition(const char *s)
{
	const char *end = word_end(s);

	return end > s && (*end == '(' || (*end == ':' && !end[1]));
}

/* "int x;", "const struct a *b = {" */
static bool is_statement(const char *s)
{
	size_t size = strlen(s);

	return size && (s[size - 1] == ';' || s[size - 1] == '{' || s[size - 1] == '(');
}

static bool is_anything(const char *s)
{
	return *s;
}

bool sb_text_is_code(const char *line)
{
	static const struct {
		const char *word;
		bool (*rest)(const char *rest);
	} forms[] = { { "#!/", is_anything }, { "#include ", is_anything }, { "#define ", is_anything },
		{ "import ", is_import }, { "from ", is_from }, { "def ", is_definition },
		{ "async def ", is_definition }, { "class ", is_definition }, { "static ", is_statement },
		{ "const ", is_statement }, { "struct ", is_statement }, { "int ", is_statement },
		{ "void ", is_statement }, { "export ", is_statement }, { "function ", is_statement } };

	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		size_t size = strlen(forms[i].word);

		if (!strncmp(line, forms[i].word, size))
			return forms[i].rest(line + size);
	}
	return false;
}
