/* Copies outputs into the run's folder. */
#include "report/outputs.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/filename.h"
#include "run/content.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Copies one under its own name, numbered where another has that. out_name "": it could not be copied. */
static void copy(const char *folder, const struct sb_output *one, char *out_name, size_t size)
{
	char to[PATH_MAX];

	*out_name = 0;
	for (int i = 1; i < 100 && !*out_name; i++) {
		char name[300];

		if (i == 1)
			snprintf(name, sizeof name, "%.200s", sb_filename_of(one->path));
		else
			snprintf(name, sizeof name, "%d-%.200s", i, sb_filename_of(one->path));
		if ((size_t)snprintf(to, sizeof to, "%s/outputs/%s", folder, name) >= sizeof to)
			return;
		if (access(to, F_OK)) {
			if (!sb_content_copy(one->path, to))
				snprintf(out_name, size, "%s", name);
			return;
		}
	}
}

static void keep_copies(const char *folder, struct sb_model *model, struct sb_output *names)
{
	double left = sb_model_setting_number(model, "keep_output_bytes");
	char path[PATH_MAX], whole[PATH_MAX], name[300];

	left = isnan(left) ? 64 << 20 : left;
	for (size_t i = 0; i < model->outputs.count; i++) {
		struct sb_output *one = &model->outputs.all[i];
		struct stat st;

		if (strcmp(one->state, "written") || !(one->bytes <= left) || stat(one->path, &st) ||
			!S_ISREG(st.st_mode))
			continue;
		snprintf(path, sizeof path, "%.*s/outputs", PATH_MAX - 20, folder);
		if ((mkdir(path, 0700) && errno != EEXIST) || lstat(path, &st) || !S_ISDIR(st.st_mode))
			return;
		copy(folder, one, name, sizeof name);
		if (!*name)
			continue;
		left -= one->bytes;
		names[i].kept = sb_model_text(model, name);
		if (realpath(path, whole))
			one->kept = sb_model_printf(model, "%s/%s", whole, name);
	}
}

int sb_report_outputs_keep(const struct sb_run *run, struct sb_model *model)
{
	struct sb_outputs_panel file = { .count = model->outputs.count };
	struct sb_buf out = { 0 };
	struct sb_json json;
	char path[PATH_MAX];
	int err;

	if (!run->folder || run->live || run->is_cut || !model->outputs.count ||
		(size_t)snprintf(path, sizeof path, "%s/" SB_OUTPUTS_FILE, run->folder) >= sizeof path ||
		!access(path, F_OK))
		return 0;
	file.all = sb_model_alloc(model, file.count * sizeof *file.all);
	if (!file.all)
		return sb_fail(STROBE_ENOMEM, "no memory to keep the outputs");
	memcpy(file.all, model->outputs.all, file.count * sizeof *file.all);
	keep_copies(run->folder, model, file.all);
	sb_json_init(&json, &out, true);
	sb_fields_write(&sb_outputs_file_fields, &file, NULL, &json);
	sb_buf_putc(&out, '\n');
	err = sb_buf_write_own_file(&out, path, 0600);
	sb_buf_done(&out);
	return err;
}
