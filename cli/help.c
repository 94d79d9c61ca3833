/* --help, man pages and completion, derived from the command table. */
#include "help.h"

#include "report/panels/panel.h"
#include "strobe.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void option_label(const struct command_option *o, char *out, size_t size)
{
	char letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof letter, "-%c, ", o->letter);
	snprintf(out, size, "%s--%s%s%s%s", letter, o->name,
		!o->arg           ? ""
		: o->optional_arg ? "[="
				  : "=",
		o->arg ? o->arg : "", o->arg && o->optional_arg ? "]" : "");
}

void help_print_all(void)
{
	printf("strobe shows where the time, memory and money of a video-AI pipeline go.\n\n"
	       "usage: strobe COMMAND [ARG...]\n\n");
	for (const struct command *const *c = commands; *c; c++)
		printf("  %-10s %s\n", (*c)->name, (*c)->summary);
	printf("\nRUN is a run folder, a .strobe file, a trace or stage log, or 'last', 'last~1'...\n"
	       "'strobe COMMAND --help' says more; 'strobe --version' is %s.\n",
		STROBE_VERSION);
}

static bool is_first_setting(const struct command *c, const struct command_option *o)
{
	return c->own_option_count && o == c->options + c->own_option_count;
}

/* The label in its column, or on a line of its own; the words beside or below it. */
static void print_option(const char *label, const char *words)
{
	enum { BESIDE = 31, LONGEST = BESIDE - 3, WIDEST = 100 };
	struct sb_buf text = { 0 };

	sb_text_wrap(&text, words, BESIDE, WIDEST);
	if (strlen(label) <= LONGEST)
		printf("  %-*s %s", LONGEST, label, sb_buf_text(&text) + BESIDE);
	else
		printf("  %s\n%s", label, sb_buf_text(&text));
	sb_buf_done(&text);
}

static void put_description(const struct command *c, struct sb_buf *out)
{
	if (c->list_choices)
		c->list_choices(out);
	if (c->description)
		sb_buf_puts(out, c->description);
}

static void print_description(const struct command *c)
{
	struct sb_buf text = { 0 };

	put_description(c, &text);
	if (text.size)
		printf("\n%s\n", sb_buf_text(&text));
	sb_buf_done(&text);
}

void help_print(const struct command *c)
{
	printf("strobe %s: %s\n\nusage: strobe %s %s\n", c->name, c->summary, c->name, c->usage);
	print_description(c);
	if (c->options && c->options->name)
		printf("\noptions:\n");
	for (const struct command_option *o = c->options; o && o->name; o++) {
		char label[96];

		if (is_first_setting(c, o))
			printf("\nsettings, as in the configuration file (--config) and the environment "
			       "(STROBE_<KEY>):\n");
		option_label(o, label, sizeof label);
		print_option(label, o->help);
	}
	if (c->examples)
		printf("\nexamples:\n%s\n", c->examples);
}

/* Text for roff: no line may begin with a control character, hyphens are literal. */
static void roff(const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
		line_start = *text == '\n';
	}
}

static void roff_section(const char *title, const char *text, bool verbatim)
{
	printf(".SH %s\n%s", title, verbatim ? ".nf\n" : "");
	roff(text);
	printf("\n%s", verbatim ? ".fi\n" : "");
}

static void print_man_description(const struct command *c)
{
	struct sb_buf text = { 0 };

	put_description(c, &text);
	if (text.size)
		roff_section("DESCRIPTION", sb_buf_text(&text), true);
	sb_buf_done(&text);
}

static void print_man(const struct command *c)
{
	printf(".TH STROBE\\-");
	for (const char *p = c->name; *p; p++)
		putchar(toupper((unsigned char)*p));
	printf(" 1 \"\" \"strobe %s\" \"strobe manual\"\n.SH NAME\nstrobe\\-%s \\- ", STROBE_VERSION,
		c->name);
	roff(c->summary);
	printf("\n.SH SYNOPSIS\n.B strobe %s\n", c->name);
	roff(c->usage);
	printf("\n");
	print_man_description(c);
	if (c->options && c->options->name)
		printf(".SH OPTIONS\n");
	for (const struct command_option *o = c->options; o && o->name; o++) {
		char label[96];

		if (is_first_setting(c, o))
			printf(".SH SETTINGS\nAs in the configuration file (\\-\\-config) and the "
			       "environment "
			       "(STROBE_<KEY>).\n");
		option_label(o, label, sizeof label);
		printf(".TP\n.B ");
		roff(label + strspn(label, " "));
		printf("\n");
		roff(o->help);
		printf("\n");
	}
	if (c->examples)
		roff_section("EXAMPLES", c->examples, true);
	roff_section("EXIT STATUS",
		c->exit_status ? c->exit_status
			       : "0 success, 2 an error, which is described on standard error.",
		false);
	printf(".SH SEE ALSO\n.BR strobe (1)\n");
}

static const char *const variables[][2] = {
	{ "COLUMNS", "width of tables and text, also into a pipe; else the terminal's, else 100" },
	{ "NO_COLOR", "no colour, also on a terminal" },
	{ "STROBE_CONFIG", "the configuration file" },
	{ "STROBE_<KEY>", "a setting of the configuration file, such as STROBE_GPU_MONITOR_INTERVAL=0.1" },
	{ "STROBE_HISTORY", "the history's database" },
	{ NULL, NULL },
};

static void print_man_overview(void)
{
	printf(".TH STROBE 1 \"\" \"strobe %s\" \"strobe manual\"\n.SH NAME\nstrobe \\- where the time, "
	       "memory and money of "
	       "a video-AI pipeline go\n.SH SYNOPSIS\n.B strobe\nCOMMAND [ARG...]\n.SH COMMANDS\n",
		STROBE_VERSION);
	for (const struct command *const *c = commands; *c; c++) {
		printf(".TP\n.BR strobe\\-%s (1)\n", (*c)->name);
		roff((*c)->summary);
		printf("\n");
	}
	printf(".SH ENVIRONMENT\n");
	for (const char *const(*v)[2] = variables; (*v)[0]; v++) {
		printf(".TP\n.B %s\n", (*v)[0]);
		roff((*v)[1]);
		printf("\n");
	}
}

static void print_bash(void)
{
	printf("_strobe() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
	       "\tif [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W '");
	for (const struct command *const *c = commands; *c; c++)
		printf("%s ", (*c)->name);
	printf("' -- \"$cur\")); return; fi\n\tcase ${COMP_WORDS[1]} in\n");
	for (const struct command *const *c = commands; *c; c++) {
		printf("\t%s) COMPREPLY=($(compgen -W '--help", (*c)->name);
		for (const struct command_option *o = (*c)->options; o && o->name; o++)
			printf(" --%s", o->name);
		printf("' -- \"$cur\") $(compgen -f -- \"$cur\"));;\n");
	}
	printf("\tesac\n}\ncomplete -o filenames -F _strobe strobe\n");
}

static void print_zsh(void)
{
	printf("#compdef strobe\nif (( CURRENT == 2 )); then\n\t_values command");
	for (const struct command *const *c = commands; *c; c++)
		printf(" '%s[%s]'", (*c)->name, (*c)->summary);
	printf("\nelse\n\tcase $words[2] in\n");
	for (const struct command *const *c = commands; *c; c++) {
		printf("\t%s) _arguments '--help[show help]'", (*c)->name);
		for (const struct command_option *o = (*c)->options; o && o->name; o++)
			printf(" '--%s%s'", o->name, o->arg ? "=" : "");
		printf(" '*:file:_files';;\n");
	}
	printf("\tesac\nfi\n");
}

int help_generate(const char *what, const char *command_name)
{
	if (!strcmp(what, "bash")) {
		print_bash();
		return EXIT_OK;
	}
	if (!strcmp(what, "zsh")) {
		print_zsh();
		return EXIT_OK;
	}
	if (!strcmp(what, "man") && !command_name)
		print_man_overview();
	for (const struct command *const *c = commands; *c; c++) {
		if (strcmp(what, "names") == 0)
			printf("%s\n", (*c)->name);
		else if (command_name && !strcmp(command_name, (*c)->name))
			print_man(*c);
	}
	return EXIT_OK;
}
