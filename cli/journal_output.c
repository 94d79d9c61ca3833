/* A journal in the form that was asked for. */
#include "journal_output.h"

#include "command.h"
#include "output.h"

#include "base/buf.h"
#include "report/journal/journal.h"

#include <string.h>
#include <unistd.h>

int journal_output(const struct args *args, const struct sb_journal *j, const char *format)
{
	const char *path = args_value(args, "output");
	struct sb_buf out = { 0 };
	int code = 0;

	if (args_has(args, "template"))
		sb_journal_template(j, &out);
	else if (!strcmp(format, "text"))
		sb_journal_text(j, path ? 120 : terminal_columns(STDOUT_FILENO), &out);
	else if (!strcmp(format, "markdown"))
		sb_journal_markdown(j, &out);
	else
		sb_journal_json(j, &out);
	if (!args_has(args, "template") && !strcmp(format, "html"))
		code = output_make_page("journal", &out);
	if (!code)
		code = output_put(&out, path);
	sb_buf_done(&out);
	return code;
}
