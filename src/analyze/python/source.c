/* The program's source, where it is at hand: the report is mostly made where the program ran. */
#include "analyze/python/source.h"

#include "base/buf.h"

#include <string.h>
#include <sys/stat.h>

#define SOURCE_MOST (4u << 20)
#define LINE_MOST 160

static bool is_here(const char *file, struct stat *out_stat)
{
	size_t length = strlen(file);

	if (length < 4 || strcmp(file + length - 3, ".py") != 0 || *file != '/')
		return false;
	return stat(file, out_stat) == 0 && S_ISREG(out_stat->st_mode);
}

static bool is_later(const struct timespec *t, uint64_t real_ns)
{
	uint64_t seconds = real_ns / 1000000000u;

	if (t->tv_sec < 0 || (uint64_t)t->tv_sec != seconds)
		return t->tv_sec > 0 && (uint64_t)t->tv_sec > seconds;
	return (uint64_t)t->tv_nsec > real_ns % 1000000000u;
}

/* The inode's time, too: an older file may have been moved into the place. */
bool sb_source_changed(const char *file, uint64_t since_real_ns)
{
	struct stat st;

	return is_here(file, &st) &&
	       (is_later(&st.st_mtim, since_real_ns) || is_later(&st.st_ctim, since_real_ns));
}

static bool read_source(const char *file, struct sb_buf *out)
{
	struct stat st;

	return is_here(file, &st) && sb_buf_read_regular(out, file, SOURCE_MOST) == 0;
}

const char *sb_source_line(struct sb_model *model, const char *file, uint32_t line)
{
	struct sb_buf source = { 0 };
	const char *at, *end, *text = NULL;

	if (!line || !read_source(file, &source)) {
		sb_buf_done(&source);
		return NULL;
	}
	at = sb_buf_text(&source);
	for (uint32_t i = 1; at && i < line; i++) {
		const char *newline = strchr(at, '\n');

		at = newline ? newline + 1 : NULL;
	}
	if (at) {
		at += strspn(at, " \t");
		end = at + strcspn(at, "\n#");
		while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
			end--;
		if (end > at)
			text = sb_model_printf(
				model, "%.*s", end - at > LINE_MOST ? LINE_MOST : (int)(end - at), at);
	}
	sb_buf_done(&source);
	return text;
}

static bool defines(const char *line, const char *name)
{
	size_t size = strlen(name);

	line += strspn(line, " \t");
	line += strncmp(line, "async ", 6) == 0 ? 6 : 0;
	return strncmp(line, "def ", 4) == 0 && strncmp(line + 4, name, size) == 0 && line[4 + size] == '(';
}

uint32_t sb_source_line_of(const char *file, const char *function)
{
	const char *dot = strrchr(function, '.'), *name = dot ? dot + 1 : function;
	struct sb_buf source = { 0 };
	uint32_t found = 0, count = 0, line = 1;

	if (read_source(file, &source))
		for (const char *at = sb_buf_text(&source); at; line++) {
			const char *newline = strchr(at, '\n');

			if (defines(at, name)) {
				found = line;
				count++;
			}
			at = newline ? newline + 1 : NULL;
		}
	sb_buf_done(&source);
	return count == 1 ? found : 0;
}
