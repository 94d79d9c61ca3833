/* What a command is: one const entry per command, from which the parser,
 * --help, the man pages and the shell completion are all derived. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum { EXIT_OK = 0, EXIT_CHECK = 1, EXIT_USAGE = 2, EXIT_COMMAND = 3 /* what was to be judged failed */ };

struct command_option {
	const char *name; /* without the dashes */
	char letter; /* 0: none */
	const char *arg; /* "N", "FILE"…; NULL: a switch */
	const char *help;
	bool optional_arg; /* --name or --name=ARG */
	bool repeated; /* may be given several times */
};

struct args;
struct sb_buf;

struct command {
	const char *name;
	const char *usage; /* after "strobe NAME ": "[OPTIONS] RUN" */
	const char *summary; /* one line, no full stop */
	const char *description; /* paragraphs for --help and the man page */
	void (*list_choices)(struct sb_buf *out); /* lines before the description, from a table; NULL: none */
	const char *examples; /* lines */
	const char *exit_status; /* of the man page; NULL: 0 and EXIT_USAGE alone */
	size_t own_option_count; /* options after that are settings; 0: there are none */
	const struct command_option *options; /* ends with a NULL name */
	bool passes_command; /* everything after "--" is the user's command */
	int (*run)(struct args *args); /* returns the exit code */
};

extern const struct command *const commands[]; /* NULL-terminated */

/* ---- what the user typed ---- */
struct args {
	const struct command *command;
	int count; /* positional arguments */
	char **values;
	const struct command_option *
		detached; /* stands before the first of them, and takes a value only behind '='; NULL: none does */
	char **after_dashes; /* NULL-terminated, what followed "--"; NULL: nothing */
	struct given {
		const struct command_option *option;
		const char *value;
	} * given;
	size_t given_count, given_capacity;
};

/* Complains about a word before "--" that is no option. */
int args_complain_stray(const struct args *args);
bool args_has(const struct args *args, const char *name);
const char *args_value(const struct args *args, const char *name); /* the last; NULL */
/* The i-th occurrence of a repeated option; NULL past the end. */
const char *args_nth(const struct args *args, const char *name, size_t i);
/* A number in a range, a whole number in a range. Where the option is not given the
 * value stays as it is; a wrong one is complained about: false. */
bool args_number(const struct args *args, const char *name, double lowest, double highest, double *out_value);
bool args_count(const struct args *args, const char *name, size_t lowest, size_t highest, size_t *out_count);

/* ---- talking to the user ---- */
/* "strobe NAME: message" on stderr, and the exit code to return. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same with the library's own last message. */
int complain_last(void);
/* Colour on a terminal only, never with NO_COLOR. */
bool terminal_has_colour(int fd);
/* COLUMNS, else the terminal's width, else 100. */
int terminal_columns(int fd);

#endif
