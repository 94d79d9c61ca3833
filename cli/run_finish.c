/* The end of `strobe run`. */
#include "run_finish.h"

#include "command.h"
#include "analyze/model.h"
#include "record/rundir.h"
#include "report/files.h"
#include "report/text.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

void run_finish_spools(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char pointer[PATH_MAX + 300], name[256];
		struct sb_buf spool = { 0 };

		if (!ends_with(entry->d_name, ".strobe.spool"))
			continue;
		snprintf(pointer, sizeof pointer, "%s/%s", folder, entry->d_name);
		snprintf(name, sizeof name, "%.*s", (int)(strlen(entry->d_name) - strlen(".spool")), entry->d_name);
		if (!sb_buf_read_file(&spool, pointer, PATH_MAX) && sb_spool_move(sb_buf_text(&spool), folder, name))
			complain_last();
		sb_buf_done(&spool);
	}
	if (d)
		closedir(d);
}

void run_finish_discard(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char path[PATH_MAX + 300];

		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		if (!strncmp(entry->d_name, "run.strobe", 10))
			unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(folder);
}

static unsigned files_of(const struct sb_settings *s)
{
	unsigned files = SB_FILE_TEXT | SB_FILE_MEMORY;

	if (!s->generate_final_report)
		return 0;
	if (s->report_format & SB_REPORT_JSON)
		files |= SB_FILE_JSON;
	if (s->report_format & SB_REPORT_HTML)
		files |= SB_FILE_HTML;
	return files;
}

static void print_summary(const struct run_finish *f, const struct sb_model *model)
{
	struct sb_text_options how = { .columns = 100, .top = 10, .brief = true };
	struct sb_buf text = { 0 };

	if (!sb_report_text(model, &how, &text))
		fputs(sb_buf_text(&text), stderr);
	sb_buf_done(&text);
	(void)f;
}

static int build(const char *folder, struct sb_run **out_run, struct sb_model **out_model)
{
	struct sb_model_options how = { 0 };
	int err = sb_run_open(folder, NULL, out_run);

	return err ? err : sb_model_build(*out_run, &how, out_model);
}

void run_finish_reports(const struct run_finish *f)
{
	struct sb_run *run = NULL;
	struct sb_model *model = NULL;
	int err = build(f->folder, &run, &model);

	if (!err)
		err = sb_report_files_write(run, model, f->folder, files_of(f->settings));
	if (err)
		complain_last();
	if (!f->quiet) {
		if (model)
			print_summary(f, model);
		else
			fprintf(stderr, "== strobe: %s, %s, %.2f s\n", f->settings->name, f->outcome, f->wall_s);
		if (f->left_behind[0])
			fprintf(stderr, "%s\n", f->left_behind);
		fprintf(stderr, "report: %s\n", f->folder);
	}
	sb_model_free(model);
	sb_run_close(run);
}
