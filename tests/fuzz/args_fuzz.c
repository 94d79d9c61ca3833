/* The option parser: the input is a command line, one word per line; its first byte
 * chooses whether "--" begins a command. Everything that was given points into it. */
#include "args.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 256 };

static const struct command_option options[] = {
	{ "format", 'f', "FORMAT", "a value", false, false },
	{ "wait", 'w', NULL, "a switch", false, false },
	{ "gpu-trace", 't', "SPEC", "a value or none", true, false },
	{ "tag", 0, "KEY=VALUE", "several", false, true },
	{ "tags", 'T', NULL, "begins like another", false, false },
	{ "once", '1', NULL, "a digit", false, false },
	{ NULL, 0, NULL, NULL, false, false },
};
static const struct command kinds[] = { { .name = "plain", .options = options },
	{ .name = "passing", .options = options, .passes_command = true }, { .name = "bare" } };

int complain(const char *format, ...)
{
	return format ? EXIT_USAGE : 0;
}

static void check(const struct args *args, const char *text, size_t size)
{
	size_t word_count = (size_t)args->count;

	if (args->given_count > size || word_count > WORDS_MAX)
		abort();
	for (size_t i = 0; i < args->given_count; i++) {
		const char *value = args->given[i].value;

		if (*value && (value < text || value > text + size))
			abort();
		if (!args_has(args, args->given[i].option->name))
			abort();
	}
	for (int i = 0; i < args->count; i++)
		if (args->values[i] < text || args->values[i] > text + size)
			abort();
	if (args->after_dashes && !args->command->passes_command)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *words[WORDS_MAX + 2] = { "command" }, *text, *rest;
	const struct command *command;
	struct args args;
	int count = 1;

	if (!size)
		return 0;
	command = &kinds[data[0] % 3];
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	rest = text;
	for (char *word; count <= WORDS_MAX && (word = strsep(&rest, "\n"));)
		words[count++] = word;
	if (args_parse(&args, command, count, words) == 0)
		check(&args, text, size);
	args_done(&args);
	free(text);
	return 0;
}
