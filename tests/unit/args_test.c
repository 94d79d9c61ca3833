/* The command-line parser against a table of every shape of option. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "args.h"

#include <stdio.h>
#include <string.h>

static char complaint[512];

int complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(complaint, sizeof complaint, format, arguments);
	va_end(arguments);
	return EXIT_USAGE;
}

static const struct command_option options[] = {
	{ "format", 'f', "FORMAT", "a value", false, false },
	{ "wait", 'w', NULL, "a switch", false, false },
	{ "trace", 't', "SPEC", "a value or none", true, false },
	{ "tag", 0, "KEY=VALUE", "several", false, true },
	{ NULL, 0, NULL, NULL, false, false },
};
static const struct command plain = { .name = "plain", .options = options };
static const struct command passing = { .name = "passing", .options = options, .passes_command = true };

static int parse(struct args *args, const struct command *command, char **words)
{
	int count = 0;

	complaint[0] = 0;
	while (words[count])
		count++;
	return args_parse(args, command, count, words);
}

#define WORDS(...) ((char *[]){ "command", __VA_ARGS__, NULL })
#define REFUSED(command, message, ...)                                                            \
	do {                                                                                      \
		struct args refused_args;                                                         \
		assert_int_equal(parse(&refused_args, &command, WORDS(__VA_ARGS__)), EXIT_USAGE); \
		assert_string_equal(complaint, message);                                          \
		args_done(&refused_args);                                                         \
	} while (0)

static void values_come_with_equals_or_as_the_next_word(void **state)
{
	struct args args;

	(void)state;
	assert_int_equal(parse(&args, &plain,
				 WORDS("a", "--format=text", "-fjson", "b", "-f", "html", "--tag", "x=1",
					 "--tag=y=2")),
		0);
	assert_int_equal(args.count, 2);
	assert_string_equal(args.values[0], "a");
	assert_string_equal(args.values[1], "b");
	assert_string_equal(args_value(&args, "format"), "html");
	assert_string_equal(args_nth(&args, "format", 1), "json");
	assert_string_equal(args_nth(&args, "tag", 1), "y=2");
	assert_null(args_nth(&args, "tag", 2));
	args_done(&args);
	assert_int_equal(parse(&args, &plain, WORDS("--format", "-3", "-")), 0);
	assert_string_equal(args_value(&args, "format"), "-3");
	assert_string_equal(args.values[0], "-");
	args_done(&args);
}

static void letters_are_bundled_however_many(void **state)
{
	char many[3001] = "-";
	struct args args;

	(void)state;
	memset(many + 1, 'w', sizeof many - 2);
	assert_int_equal(parse(&args, &plain, WORDS(many, "-wwfjson")), 0);
	assert_int_equal(args.given_count, 2999 + 3);
	assert_string_equal(args_value(&args, "format"), "json");
	args_done(&args);
}

static void optional_values_are_never_the_next_word(void **state)
{
	struct args args;

	(void)state;
	assert_int_equal(parse(&args, &plain, WORDS("--trace", "all", "-t", "-tsteps:3", "--trace=all")), 0);
	assert_string_equal(args_nth(&args, "trace", 0), "");
	assert_string_equal(args_nth(&args, "trace", 1), "");
	assert_string_equal(args_nth(&args, "trace", 2), "steps:3");
	assert_string_equal(args_nth(&args, "trace", 3), "all");
	assert_string_equal(args.values[0], "all");
	args_done(&args);
}

/* As from "--trace=$SPEC" where SPEC is not set. */
static void nothing_behind_the_sign_is_not_no_value(void **state)
{
	struct args args;

	(void)state;
	assert_int_not_equal(parse(&args, &plain, WORDS("--trace=")), 0);
	args_done(&args);
	assert_int_equal(parse(&args, &plain, WORDS("--format=")), 0); /* that always has a value */
	args_done(&args);
}

static void two_dashes_end_the_options(void **state)
{
	struct args args;

	(void)state;
	assert_int_equal(parse(&args, &plain, WORDS("-w", "--", "--format", "-x")), 0);
	assert_int_equal(args.count, 2);
	assert_string_equal(args.values[1], "-x");
	assert_null(args.after_dashes);
	args_done(&args);
	assert_int_equal(parse(&args, &passing, WORDS("-w", "--", "python", "--format", "--")), 0);
	assert_string_equal(args.after_dashes[0], "python");
	assert_string_equal(args.after_dashes[2], "--");
	assert_null(args.after_dashes[3]);
	assert_false(args_has(&args, "format"));
	args_done(&args);
	assert_int_equal(parse(&args, &passing, WORDS("--format", "--")), 0); /* as its value */
	assert_null(args.after_dashes);
	assert_string_equal(args_value(&args, "format"), "--");
	args_done(&args);
}

static void mistakes_are_named(void **state)
{
	(void)state;
	REFUSED(plain, "option '--format' needs a value: FORMAT", "--format");
	REFUSED(plain, "option '-f' needs a value: FORMAT", "-wf");
	REFUSED(plain, "option '--wait' takes no value", "--wait=yes");
	REFUSED(plain, "unknown option '-x'; see 'strobe plain --help'", "-wx");
	REFUSED(plain, "unknown option '--formt'; did you mean '--format'?", "--formt");
	REFUSED(plain, "unknown option '--zzzzzzzz'; see 'strobe plain --help'", "--zzzzzzzz=3");
	REFUSED(plain, "unknown option '-:'; see 'strobe plain --help'", "-:");
	REFUSED(plain, "unknown option '--'; see 'strobe plain --help'", "--=");
}

/* A script that types less breaks when an option is added. */
static void the_beginning_of_a_name_is_not_the_name(void **state)
{
	(void)state;
	REFUSED(plain, "unknown option '--form'; did you mean '--format'?", "--form=json");
	REFUSED(plain, "unknown option '--form'; did you mean '--format'?", "--form");
	REFUSED(plain, "unknown option '--wai'; did you mean '--wait'?", "--wai");
}

static void help_is_an_option_of_every_command(void **state)
{
	static const struct command bare = { .name = "bare" };
	struct args args;

	(void)state;
	assert_int_equal(parse(&args, &bare, WORDS("-h")), 0);
	assert_true(args_has(&args, "help"));
	args_done(&args);
	assert_int_equal(parse(&args, &plain, WORDS("-wh", "--help")), 0);
	assert_true(args_has(&args, "help"));
	args_done(&args);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_come_with_equals_or_as_the_next_word),
		cmocka_unit_test(letters_are_bundled_however_many),
		cmocka_unit_test(optional_values_are_never_the_next_word),
		cmocka_unit_test(nothing_behind_the_sign_is_not_no_value),
		cmocka_unit_test(two_dashes_end_the_options),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(the_beginning_of_a_name_is_not_the_name),
		cmocka_unit_test(help_is_an_option_of_every_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
