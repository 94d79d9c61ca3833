/* Parses a command line against a command's option table: getopt_long does the
 * scanning, the table is the one declaration. */
#include "args.h"

#include "base/numerals.h"
#include "base/room.h"
#include "record/settings.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 128, FIRST_LONG = 256 }; /* a long option's value is past every letter */

static const struct command_option help_option = { "help", 'h', NULL, "show this help", false, false };

/* ---- the table as getopt_long wants it ---- */

struct scanner {
	const struct command_option *rows[OPTIONS_MAX + 1]; /* "help" is the first */
	struct option names[OPTIONS_MAX + 1];
	char letters[3 * OPTIONS_MAX + 3];
	size_t count;
};

static int shape_of(const struct command_option *o)
{
	return !o->arg ? no_argument : o->optional_arg ? optional_argument : required_argument;
}

static void scanner_add(struct scanner *s, const struct command_option *o)
{
	int shape = shape_of(o);
	size_t end = strlen(s->letters);

	s->rows[s->count] = o;
	s->names[s->count] = (struct option){ o->name, shape, NULL, FIRST_LONG + (int)s->count };
	s->count++;
	if (!o->letter)
		return;
	s->letters[end++] = o->letter;
	memset(s->letters + end, ':', (size_t)shape); /* none, one or two */
}

static void scanner_init(struct scanner *s, const struct command *command)
{
	memset(s, 0, sizeof *s);
	strcpy(s->letters, "-:"); /* words in their order; a missing value has its own code */
	scanner_add(s, &help_option);
	for (const struct command_option *o = command->options; o && o->name && s->count < OPTIONS_MAX; o++)
		scanner_add(s, o);
	optind = 0; /* begin anew */
	opterr = 0;
}

static const struct command_option *find_letter(const struct scanner *s, int letter)
{
	for (size_t i = 0; i < s->count; i++)
		if (letter && s->rows[i]->letter == letter)
			return s->rows[i];
	return NULL;
}

static const struct command_option *find_row(const struct scanner *s, int value)
{
	return value >= FIRST_LONG ? s->rows[value - FIRST_LONG] : find_letter(s, value);
}

/* ---- what it found ---- */

static int give(struct args *args, const struct command_option *o, const char *value)
{
	if (!SB_MAKE_ROOM(args->given, args->given_count, args->given_capacity))
		return complain("no memory");
	args->given[args->given_count++] = (struct given){ o, value ? value : "" };
	return 0;
}

/* "--gpu-trace=$SPEC" of a script in which SPEC is not set is not "--gpu-trace". */
static int give_checked(struct args *args, const struct command_option *o, const char *value)
{
	if (o->optional_arg && value && !*value)
		return complain("nothing stands after '--%s='; %s: %s", o->name, o->arg, o->help);
	return give(args, o, value);
}

static int unknown_long(const struct command *c, const char *name, size_t size)
{
	const char *names[OPTIONS_MAX], *nearest;
	char typed[64];
	size_t count = 0;

	for (const struct command_option *o = c->options; o && o->name && count < OPTIONS_MAX; o++)
		names[count++] = o->name;
	snprintf(typed, sizeof typed, "%.*s", (int)(size < sizeof typed ? size : sizeof typed - 1), name);
	nearest = sb_setting_nearest_of(typed, names, count);
	if (nearest)
		return complain("unknown option '--%s'; did you mean '--%s'?", typed, nearest);
	return complain("unknown option '--%s'; see 'strobe %s --help'", typed, c->name);
}

/* getopt_long takes the beginning of a name for the name: a script that relies on
 * that breaks when an option is added, so here a name is typed in full. */
static int check_long(const struct scanner *s, const struct command *c, const char *word)
{
	const char *name = word + 2;
	size_t size = strcspn(name, "=");

	for (size_t i = 0; i < s->count; i++)
		if (strlen(s->rows[i]->name) == size && !strncmp(name, s->rows[i]->name, size))
			return 0;
	return unknown_long(c, name, size);
}

static int needs_value(const struct scanner *s, int value)
{
	const struct command_option *o = find_row(s, value);

	if (value >= FIRST_LONG)
		return complain("option '--%s' needs a value: %s", o->name, o->arg);
	return complain("option '-%c' needs a value: %s", value, o->arg);
}

static int refuse(const struct scanner *s, const struct command *c, int value)
{
	if (value >= FIRST_LONG)
		return complain("option '--%s' takes no value", find_row(s, value)->name);
	return complain("unknown option '-%c'; see 'strobe %s --help'", value, c->name);
}

/* The option just before this word that takes a value only behind '='; NULL: none. */
static const struct command_option *detached(const struct args *args, char *const *word)
{
	const struct given *last = args->given_count ? &args->given[args->given_count - 1] : NULL;
	const char *before = word[-1];

	if (!last || !last->option->optional_arg || strncmp(before, "--", 2) != 0)
		return NULL;
	return strcmp(before + 2, last->option->name) ? NULL : last->option;
}

/* One result of getopt_long; word is what it was looking at. */
static int take(struct args *args, const struct scanner *s, int value, char *const *at)
{
	const char *word = *at;
	int err = 0;

	if (value == 1) {
		if (!args->count)
			args->detached = detached(args, at);
		args->values[args->count++] = optarg;
		return 0;
	}
	if (!strncmp(word, "--", 2))
		err = check_long(s, args->command, word);
	if (err)
		return err;
	if (value == ':')
		return needs_value(s, optopt);
	if (value == '?')
		return refuse(s, args->command, optopt);
	return give_checked(args, find_row(s, value), optarg);
}

/* What follows "--", where it ended the options. */
static void take_rest(struct args *args, int argc, char **argv, int at)
{
	if (at < argc && args->command->passes_command) {
		args->after_dashes = argv + optind;
		return;
	}
	while (optind < argc)
		args->values[args->count++] = argv[optind++];
}

int args_parse(struct args *args, const struct command *command, int argc, char **argv)
{
	struct scanner scanner;
	int at, value, err;

	memset(args, 0, sizeof *args);
	args->command = command;
	args->values = calloc((size_t)argc + 1, sizeof *args->values);
	if (!args->values)
		return complain("no memory");
	scanner_init(&scanner, command);
	for (;;) {
		at = optind ? optind : 1;
		value = getopt_long(argc, argv, scanner.letters, scanner.names, NULL);
		if (value == -1)
			break;
		err = take(args, &scanner, value, argv + at);
		if (err)
			return err;
	}
	take_rest(args, argc, argv, at);
	return 0;
}

int args_complain_stray(const struct args *args)
{
	const char *stray = args->values[0];

	if (!args->after_dashes && args->detached)
		return complain(
			"put '--' before the command: strobe %s [OPTIONS] -- COMMAND … (a value of '--%s' "
			"goes after '=')",
			args->command->name, args->detached->name);
	if (!args->after_dashes)
		return complain("put '--' before the command: strobe %s [OPTIONS] -- %s …",
			args->command->name, stray);
	if (args->detached)
		return complain("'--%s' takes its value after '=': --%s=%s", args->detached->name,
			args->detached->name, stray);
	return complain("'%s' is not an option; put the command after '--'", stray);
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
