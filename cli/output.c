/* Opens standard output or the --output file, and writes the result there. */
#include "output.h"

#include "command.h"

#include "base/newfile.h"
#include "monitor/display.h"
#include "report/label.h"
#include "report/page/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int output_make_page(const char *kind, struct sb_buf *text)
{
	struct sb_buf json = *text;
	int err;

	*text = (struct sb_buf){ 0 };
	err = sb_page_wrap(kind, &json, text);
	sb_buf_done(&json);
	return err ? complain_last() : EXIT_OK;
}

const char *output_format_of(const char *path)
{
	static const struct {
		const char *ending, *format;
	} endings[] = { { ".json", "json" }, { ".html", "html" }, { ".htm", "html" }, { ".md", "markdown" },
		{ ".csv", "csv" }, { ".txt", "text" } };
	const char *dot = path ? strrchr(path, '.') : NULL;

	for (size_t i = 0; dot && i < sizeof endings / sizeof endings[0]; i++)
		if (!strcmp(dot, endings[i].ending))
			return endings[i].format;
	return NULL;
}

const char *output_format(const struct args *args)
{
	const char *given = args_value(args, "format");

	return given ? given : output_format_of(args_value(args, "output"));
}

int output_put(const struct sb_buf *text, const char *path)
{
	if (sb_buf_failed(text))
		return complain("no memory");
	if (path)
		return sb_buf_write_file(text, path, 0600) ? complain_last() : EXIT_OK;
	fputs(sb_buf_text(text), stdout);
	return EXIT_OK;
}

int output_check(const char *path)
{
	struct sb_newfile file;
	struct stat st;
	int err;

	/* a pipe would wait for its reader */
	if (!path || (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return EXIT_OK;
	err = sb_newfile_open(&file, path, 0600);
	sb_newfile_close(&file, false);
	return err ? complain_last() : EXIT_OK;
}

void output_words_of(FILE *to, const char *format, va_list args)
{
	char *text = NULL;
	size_t n;

	if (vasprintf(&text, format, args) < 0)
		return;
	for (const char *at = text; *at; at += n) {
		bool harmless;

		n = sb_label_character(at, &harmless);
		if (harmless || *at == '\n' || *at == '\t')
			fwrite(at, 1, n, to);
		else
			fputc('?', to);
	}
	free(text);
}

void output_words(FILE *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	output_words_of(to, format, args);
	va_end(args);
}

void output_say_apart(const char *text)
{
	struct sb_buf line = { 0 };

	sb_display_lead(&line, STDERR_FILENO);
	sb_buf_puts(&line, text);
	fputs(sb_buf_text(&line), stderr);
	sb_buf_done(&line);
}
