/* Parses a command line against a command's option table. */
#include "args.h"

#include "base/numerals.h"
#include "record/settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option help_option = { "help", 'h', NULL, "show this help", false, false };

static const struct option *find_long(const struct command *c, const char *name, size_t size)
{
	if (strlen(help_option.name) == size && !strncmp(name, help_option.name, size))
		return &help_option;
	for (const struct option *o = c->options; o && o->name; o++)
		if (strlen(o->name) == size && !strncmp(o->name, name, size))
			return o;
	return NULL;
}

static const struct option *find_letter(const struct command *c, char letter)
{
	if (letter == help_option.letter)
		return &help_option;
	for (const struct option *o = c->options; o && o->name; o++)
		if (o->letter == letter)
			return o;
	return NULL;
}

static void give(struct args *args, const struct option *o, const char *value)
{
	args->given[args->given_count++] = (struct given){ o, value };
}

static int unknown_long(const struct command *c, const char *name, size_t size)
{
	const char *names[128], *nearest;
	char typed[64];
	size_t count = 0;

	for (const struct option *o = c->options; o && o->name && count < 128; o++)
		names[count++] = o->name;
	snprintf(typed, sizeof typed, "%.*s", (int)size, name);
	nearest = sb_setting_nearest_of(typed, names, count);
	if (nearest)
		return complain("unknown option '--%s'; did you mean '--%s'?", typed, nearest);
	return complain("unknown option '--%s'; see 'strobe %s --help'", typed, c->name);
}

static int parse_long(struct args *args, char **argv, int argc, int *index)
{
	const char *name = argv[*index] + 2;
	const char *equals = strchr(name, '=');
	size_t size = equals ? (size_t)(equals - name) : strlen(name);
	const struct option *o = find_long(args->command, name, size);

	if (!o)
		return unknown_long(args->command, name, size);
	if (!o->arg && equals)
		return complain("option '--%s' takes no value", o->name);
	if (o->arg && !equals && !o->optional_arg) {
		if (*index + 1 >= argc)
			return complain("option '--%s' needs a value: %s", o->name, o->arg);
		give(args, o, argv[++*index]);
		return 0;
	}
	give(args, o, equals ? equals + 1 : "");
	return 0;
}

static int parse_letters(struct args *args, char **argv, int argc, int *index)
{
	for (const char *p = argv[*index] + 1; *p; p++) {
		const struct option *o = find_letter(args->command, *p);

		if (!o)
			return complain(
				"unknown option '-%c'; see 'strobe %s --help'", *p, args->command->name);
		if (!o->arg) {
			give(args, o, "");
			continue;
		}
		if (p[1] || o->optional_arg) {
			give(args, o, p + 1);
		} else if (*index + 1 < argc) {
			give(args, o, argv[++*index]);
		} else {
			return complain("option '-%c' needs a value: %s", *p, o->arg);
		}
		return 0;
	}
	return 0;
}

int args_parse(struct args *args, const struct command *command, int argc, char **argv)
{
	memset(args, 0, sizeof *args);
	args->command = command;
	args->values = calloc((size_t)argc + 1, sizeof *args->values);
	args->given = calloc((size_t)argc * 8 + 8, sizeof *args->given);
	if (!args->values || !args->given)
		return complain("no memory");
	for (int i = 0; i < argc; i++) {
		int err = 0;

		if (!strcmp(argv[i], "--")) {
			if (command->passes_command) {
				args->after_dashes = argv + i + 1;
				break;
			}
			while (++i < argc)
				args->values[args->count++] = argv[i];
			break;
		}
		if (!strncmp(argv[i], "--", 2))
			err = parse_long(args, argv, argc, &i);
		else if (argv[i][0] == '-' && argv[i][1] && strlen(argv[i]) < 64)
			err = parse_letters(args, argv, argc, &i);
		else
			args->values[args->count++] = argv[i];
		if (err)
			return err;
	}
	return 0;
}

void args_done(struct args *args)
{
	free(args->values);
	free(args->given);
}

const char *args_value(const struct args *args, const char *name)
{
	for (size_t i = args->given_count; i-- > 0;)
		if (!strcmp(args->given[i].option->name, name))
			return args->given[i].value;
	return NULL;
}

bool args_has(const struct args *args, const char *name)
{
	return args_value(args, name) != NULL;
}

const char *args_nth(const struct args *args, const char *name, size_t n)
{
	for (size_t i = 0; i < args->given_count; i++)
		if (!strcmp(args->given[i].option->name, name) && n-- == 0)
			return args->given[i].value;
	return NULL;
}

static bool refuse_number(const char *name, const char *text, const char *kind, double lowest, double highest)
{
	char from[32], to[32];

	sb_numerals_write(lowest, from, sizeof from);
	sb_numerals_write(highest, to, sizeof to);
	complain("--%s takes a %s from %s to %s, not '%s'", name, kind, from, to, text);
	return false;
}

static bool read_number(const char *text, double lowest, double highest, double *out_value)
{
	char *end;

	errno = 0;
	*out_value = strtod(text, &end);
	return !errno && end != text && !*end && *out_value >= lowest && *out_value <= highest;
}

bool args_number(const struct args *args, const char *name, double lowest, double highest, double *out_value)
{
	const char *text = args_value(args, name);
	double value;

	if (!text)
		return true;
	if (!read_number(text, lowest, highest, &value))
		return refuse_number(name, text, "number", lowest, highest);
	*out_value = value;
	return true;
}

bool args_count(const struct args *args, const char *name, size_t lowest, size_t highest, size_t *out_count)
{
	const char *text = args_value(args, name);
	double value;

	if (!text)
		return true;
	if (!read_number(text, (double)lowest, (double)highest, &value) || value != floor(value))
		return refuse_number(name, text, "whole number", (double)lowest, (double)highest);
	*out_count = (size_t)value;
	return true;
}
