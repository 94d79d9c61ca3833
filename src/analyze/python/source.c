/* The program's source: what the run's folder keeps of it, else the files, which must be those that ran. */
#include "analyze/python/source.h"

#include "base/buf.h"
#include "base/jsondom.h"
#include "run/folder_files.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SOURCE_MOST (4u << 20)

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
bool sb_source_changed(const struct sb_run *run, const char *file)
{
	struct stat st;

	return is_here(file, &st) &&
	       (is_later(&st.st_mtim, run->start_real_ns) || is_later(&st.st_ctim, run->start_real_ns));
}

static bool read_source(const struct sb_run *run, const char *file, struct sb_buf *out)
{
	struct stat st;

	return is_here(file, &st) && !sb_source_changed(run, file) &&
	       sb_buf_read_regular(out, file, SOURCE_MOST) == 0;
}

/* ---- what the run's folder keeps ------------------------------------------ */

static void *take(void *model, size_t size)
{
	return sb_model_alloc(model, size);
}

static void add(struct sb_model *model, struct sb_source_line one)
{
	struct sb_source_panel *to = &model->source;

	if (to->all && to->count < SB_SOURCE_LINES_MOST && one.file)
		to->all[to->count++] = one;
}

static void recall_line(struct sb_model *model, const struct sb_source_line *kept)
{
	add(model,
		(struct sb_source_line){ .file = sb_model_text(model, kept->file),
			.line = kept->line,
			.text = kept->text ? sb_model_printf(model, "%.*s", SB_SOURCE_LINE_MOST, kept->text)
					   : NULL,
			.function = sb_model_text(model, kept->function) });
}

static void recall_file(const struct sb_run *run, struct sb_model *model)
{
	struct sb_source_panel kept = { 0 };
	struct sb_jsondom_doc *doc = NULL;
	struct sb_buf text = { 0 };
	char path[PATH_MAX];

	if (!run->folder ||
		(size_t)snprintf(path, sizeof path, "%s/" SB_SOURCE_LINES_FILE, run->folder) >= sizeof path ||
		sb_buf_read_regular(&text, path, SB_SOURCE_LINES_FILE_MOST) ||
		sb_jsondom_parse(path, text.data, text.size, &doc)) {
		sb_buf_done(&text);
		return;
	}
	sb_fields_read(&sb_source_file_fields, sb_jsondom_root(doc), take, model, &kept);
	for (size_t i = 0; i < kept.count; i++)
		recall_line(model, &kept.all[i]);
	sb_jsondom_free(doc);
	sb_buf_done(&text);
}

static void recall(const struct sb_run *run, struct sb_model *model)
{
	struct sb_source_panel *to = &model->source;

	if (to->recalled)
		return;
	to->recalled = true;
	to->all = sb_model_alloc(model, SB_SOURCE_LINES_MOST * sizeof *to->all);
	recall_file(run, model);
	to->kept_count = to->count;
}

/* function NULL: by its number. */
static const struct sb_source_line *find_kept(const struct sb_run *run, struct sb_model *model,
	const char *file, uint32_t line, const char *function)
{
	recall(run, model);
	for (size_t i = 0; i < model->source.count; i++) {
		const struct sb_source_line *one = &model->source.all[i];

		if (strcmp(one->file, file))
			continue;
		if (function ? one->function && !strcmp(one->function, function)
			     : !one->function && one->line == line)
			return one;
	}
	return NULL;
}

/* ---- lines ---------------------------------------------------------------- */

static const char *read_line(struct sb_model *model, const struct sb_buf *source, uint32_t line)
{
	const char *at = sb_buf_text(source), *end;

	for (uint32_t i = 1; at && i < line; i++) {
		const char *newline = strchr(at, '\n');

		at = newline ? newline + 1 : NULL;
	}
	if (!at)
		return NULL;
	at += strspn(at, " \t");
	end = at + strcspn(at, "\n#");
	while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return end > at ? sb_model_printf(model, "%.*s",
				  end - at > SB_SOURCE_LINE_MOST ? SB_SOURCE_LINE_MOST : (int)(end - at), at)
			: NULL;
}

const char *sb_source_line(const struct sb_run *run, struct sb_model *model, const char *file, uint32_t line)
{
	const struct sb_source_line *kept = line ? find_kept(run, model, file, line, NULL) : NULL;
	struct sb_buf source = { 0 };
	const char *text = NULL;

	if (kept)
		return kept->text;
	if (line && read_source(run, file, &source)) {
		text = read_line(model, &source, line);
		add(model, (struct sb_source_line){ .file = file, .line = line, .text = text });
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

static uint32_t find_definition(const struct sb_buf *source, const char *name)
{
	uint32_t found = 0, count = 0, line = 1;

	for (const char *at = sb_buf_text(source); at; line++) {
		const char *newline = strchr(at, '\n');

		if (defines(at, name)) {
			found = line;
			count++;
		}
		at = newline ? newline + 1 : NULL;
	}
	return count == 1 ? found : 0;
}

uint32_t sb_source_line_of(
	const struct sb_run *run, struct sb_model *model, const char *file, const char *function)
{
	const char *dot = strrchr(function, '.'), *name = dot ? dot + 1 : function;
	const struct sb_source_line *kept = find_kept(run, model, file, 0, function);
	struct sb_buf source = { 0 };
	uint32_t line = 0;

	if (kept)
		return kept->line;
	if (read_source(run, file, &source)) {
		line = find_definition(&source, name);
		add(model, (struct sb_source_line){ .file = file, .line = line, .function = function });
	}
	sb_buf_done(&source);
	return line;
}
