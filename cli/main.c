/* Picks the command and runs it. The only place that exits. */
#include "args.h"
#include "help.h"
#include "inherited.h"
#include "job_page.h"
#include "output.h"
#include "progress.h"
#include "run_arg.h"
#include "exchange/warehouse_wait.h"
#include "record/settings.h"
#include "strobe.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *command_name;

/* A file that gets no larger (ulimit -f) is an error of its writer, who takes back what is half written. */
static void outlive_file_limit(void)
{
	signal(SIGXFSZ, SIG_IGN);
}

int complain(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	flockfile(stderr);
	progress_make_way();
	fprintf(stderr, command_name ? "strobe %s: " : "strobe%s: ", command_name ? command_name : "");
	va_start(args, format);
	output_words_of(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	funlockfile(stderr);
	return EXIT_USAGE;
}

int complain_last(void)
{
	return complain("%s", strobe_error());
}

static const struct command *find_command(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

/* People type a format where the command goes. */
static int no_command(const char *typed)
{
	static const char *const formats[] = { "html", "json", "md", "text", NULL };
	const char *names[64], *nearest;
	size_t count = 0;

	for (const char *const *f = formats; *f; f++)
		if (!strcmp(typed, *f))
			return complain("there is no command '%s'; did you mean 'strobe report --format %s'?",
				typed, *f);
	for (const struct command *const *c = commands; *c && count < 64; c++)
		names[count++] = (*c)->name;
	nearest = strlen(typed) > 2 ? sb_setting_nearest_of(typed, names, count) : NULL;
	if (nearest)
		return complain("there is no command '%s'; did you mean 'strobe %s'?", typed, nearest);
	return complain("there is no command '%s'; 'strobe --help' lists them", typed);
}

static void say_that_it_waits(const struct sb_warehouse *w)
{
	complain("the warehouse at %s:%s has not answered yet; waiting for %.0f s at most "
		 "(STROBE_CLICKHOUSE_RETRY_S)",
		w->host, w->port, w->retry_s);
}

static int run_command(const struct command *command, int argc, char **argv)
{
	struct args args;
	int code;

	command_name = command->name;
	run_arg_install_importer();
	job_page_install();
	sb_warehouse_on_wait(say_that_it_waits);
	code = args_parse(&args, command, argc, argv);
	if (!code && args_has(&args, "help"))
		help_print(command);
	else if (!code)
		code = command->run(&args);
	args_done(&args);
	job_page_done();
	if ((fflush(stdout) || ferror(stdout)) && !code)
		code = complain("cannot write to standard output");
	return code;
}

int main(int argc, char **argv)
{
	const struct command *command;

	inherited_note();
	outlive_file_limit();
	if (argc < 2) {
		help_print_all();
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		command = argc > 2 ? find_command(argv[2]) : NULL;
		if (command)
			help_print(command);
		else
			help_print_all();
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("strobe %s\n", STROBE_VERSION);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--generate") && argc > 2)
		return help_generate(argv[2], argc > 3 ? argv[3] : NULL);
	command = find_command(argv[1]);
	if (!command)
		return no_command(argv[1]);
	return run_command(command, argc - 1, argv + 1);
}
