/* A comparison, printed. */
#include "diff_output.h"
#include "diff_page.h"
#include "output.h"

#include "report/diff/diff.h"

#include <string.h>
#include <unistd.h>

bool diff_output_format(const struct args *args, const char **out_format)
{
	static const char *const formats[] = { "text", "json", "markdown", "html" };
	const char *given = output_format(args);

	if (!given || !strcmp(given, "md"))
		given = given ? "markdown" : "text";
	*out_format = given;
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (!strcmp(given, formats[i]))
			return true;
	complain("--format takes text, json, markdown or html, not '%s'", given);
	return false;
}

static int print_to(
	const struct args *args, const struct sb_comparison *c, const char *format, const char *path)
{
	struct sb_diff_options o = { .columns = path ? 100 : terminal_columns(STDOUT_FILENO),
		.colour = !path && terminal_has_colour(STDOUT_FILENO) };
	struct sb_buf out = { 0 };
	int code = 0;

	o.top = 20;
	if (!args_count(args, "top", 1, 1000000, &o.top))
		return EXIT_USAGE;
	if (!strcmp(format, "text"))
		sb_diff_text(c, &o, &out);
	else if (!strcmp(format, "markdown"))
		sb_diff_markdown(c, &o, &out);
	else if (!strcmp(format, "html"))
		code = diff_page_write(args, c, &out);
	else
		sb_diff_json(c, &out);
	if (!code)
		code = output_put(&out, path);
	sb_buf_done(&out);
	return code;
}

int diff_output_print(const struct args *args, const struct sb_comparison *c, const char *format)
{
	const char *path;
	int code = 0;

	if (!args_nth(args, "output", 1))
		return print_to(args, c, format, args_value(args, "output"));
	for (size_t i = 0; (path = args_nth(args, "output", i)) && !code; i++) {
		const char *own = output_format_of(path);

		code = print_to(args, c, own && strcmp(own, "csv") ? own : format, path);
	}
	return code;
}

/* Where the report does not show it (a file, JSON), a failure is said aloud. */
int diff_output_verdict(const struct args *args, const struct sb_comparison *c, const char *format)
{
	if (!c->failure_count)
		return EXIT_OK;
	if (args_has(args, "output") || args_has(args, "template") || !strcmp(format, "json") ||
		!strcmp(format, "html"))
		for (size_t i = 0; i < c->failure_count; i++)
			complain("FAIL: %s", c->failures[i]);
	return EXIT_CHECK;
}
