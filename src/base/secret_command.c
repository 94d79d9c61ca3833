/* Credentials in the arguments of a command: the words before one say what it is, and it ends where it ends. */
#include "base/secret.h"

#include "base/secret_form.h"
#include "base/secret_name.h"
#include "base/secret_program.h"
#include "base/secret_text.h"

#include <ctype.h>
#include <string.h>

static void hide_rest(struct sb_secret_text *t)
{
	sb_secret_hide(t, strlen(t->at));
}

static bool is_value(enum sb_secret_value known, const char *value)
{
	size_t size = strlen(value);

	return known == SB_SECRET_SURE ? !sb_secret_is_plain(value, size)
				       : known == SB_SECRET_MAYBE && sb_secret_form_random(value, size);
}

/* "-x", "--word", "--word=…": no value of the option before it. */
static bool is_option(const char *argument)
{
	size_t dashes = strspn(argument, "-"), name = sb_secret_name_size(argument);

	return dashes && dashes < 3 && isalpha((unsigned char)argument[dashes]) &&
	       (!argument[name] || argument[name] == '=');
}

/* "--token" "…" */
static bool is_value_of_option(const char *option, const char *argument)
{
	if (option[0] != '-' || strpbrk(option, "= \t\n:/") || is_option(argument))
		return false;
	return is_value(sb_secret_value_of(option, strlen(option)), argument);
}

/* "NAME=…", "--option=…", "--env=NAME=…": all that follows is the value. */
static bool hide_assigned(struct sb_secret_text *t)
{
	const char *at = t->at;
	size_t name;

	for (;; at += name + 1) {
		at += *at == '+'; /* of hydra */
		name = sb_secret_name_size(at);
		if (!name || at[name] != '=')
			return false;
		if (is_value(sb_secret_value_of(at, name), at + name + 1))
			break;
	}
	sb_secret_copy(t, (size_t)(at + name + 1 - t->at));
	hide_rest(t);
	return true;
}

/* Behind "-H", "--header=": where the header begins; NULL: the argument is none. */
static const char *header_of(const char *before, const char *argument)
{
	static const char *const options[] = { "-H", "--header", "--proxy-header", NULL };

	for (const char *const *o = options; *o; o++) {
		size_t n = strlen(*o);

		if (!strcmp(before, *o))
			return argument;
		if (!strncmp(argument, *o, n) && (n == 2 || argument[n] == '='))
			return argument + n + (n > 2);
	}
	return NULL;
}

/* "-H" "X-Api-Key: …", "--header=Authorization: …" */
static bool hide_header(struct sb_secret_text *t, const char *before)
{
	const char *header = header_of(before, t->at), *value;
	size_t name = header ? sb_secret_name_size(header) : 0;

	if (!name || header[name] != ':')
		return false;
	value = header + name + 1 + strspn(header + name + 1, " ");
	if (!is_value(sb_secret_value_of(header, name), value))
		return false;
	sb_secret_copy(t, (size_t)(value - t->at));
	hide_rest(t);
	return true;
}

/* "-pX" of any program: no number, path or word has a letter, a digit and a sign as passwords do. */
static bool is_password_of_unknown(const char *argument)
{
	bool letter = false, digit = false;

	if (strncmp(argument, "-p", 2) || !strpbrk(argument, "!$%^&*#?@~"))
		return false;
	for (const char *c = argument + 2; *c; c++) {
		letter |= !!isalpha((unsigned char)*c);
		digit |= !!isdigit((unsigned char)*c);
	}
	return letter && digit;
}

/* The last program of the table that was named before. */
static const struct sb_secret_program *program_of(char *const *command, size_t at)
{
	while (at) {
		const char *word = command[--at];
		const struct sb_secret_program *program = sb_secret_program_find(word, strlen(word));

		if (program)
			return program;
	}
	return NULL;
}

/* "mysql" "-pX", "curl" "-u" "me:X": where the value begins; NULL: it is none. */
static const char *value_of_program(char *const *command, size_t at)
{
	const struct sb_secret_program *program = program_of(command, at);
	const char *argument = command[at], *value = NULL;
	size_t glued;

	if (program && sb_secret_program_takes(program, argument, strlen(argument), &glued) && glued)
		value = argument + strlen(argument) - glued;
	else if (program &&
		 sb_secret_program_takes(program, command[at - 1], strlen(command[at - 1]), &glued) && !glued)
		value = argument;
	if (value && program->user)
		value = strchr(value, ':') ? strchr(value, ':') + 1 : NULL;
	return value ? value : is_password_of_unknown(argument) ? argument + 2 : NULL;
}

static bool hide_of_program(struct sb_secret_text *t, char *const *command, size_t at)
{
	const char *value = value_of_program(command, at);

	if (!value)
		return false;
	sb_secret_copy(t, (size_t)(value - t->at));
	hide_rest(t);
	return true;
}

size_t sb_secret_mask_argument(char *const *command, size_t at, char *out, size_t size)
{
	struct sb_secret_text t = { .at = command[at], .out = out, .size = size };
	const char *before = at ? command[at - 1] : "";

	if (is_value_of_option(before, command[at]) ||
		(!strcmp(before, "login") && is_value(SB_SECRET_MAYBE, command[at])))
		hide_rest(&t);
	else if (!strcmp(before, "-c") || /* of a shell */
		 (!hide_assigned(&t) && !hide_header(&t, before) && !hide_of_program(&t, command, at)))
		return sb_secret_mask(command[at], out, size);
	out[t.used] = 0;
	return t.count;
}
