/* Writes reports into a run folder. */
#include "report/files.h"

#include "base/error.h"
#include "report/page/html.h"
#include "report/json.h"
#include "report/memory_log.h"
#include "report/raw_data.h"
#include "report/text.h"

#include <limits.h>
#include <stdio.h>

static int make_text(struct sb_run *run, const struct sb_model *model, struct sb_buf *out)
{
	struct sb_text_options options = { .columns = 100, .top = 100 };

	return sb_report_text(model, &options, out);
}

static int make_json(struct sb_run *run, const struct sb_model *model, struct sb_buf *out)
{
	return sb_report_json(model, out);
}

static int make_memory_log(struct sb_run *run, const struct sb_model *model, struct sb_buf *out)
{
	return sb_report_memory_log(model, out);
}

static const struct {
	unsigned file;
	const char *name;
	int (*make)(struct sb_run *run, const struct sb_model *model, struct sb_buf *out);
} files_table[] = {
	{ SB_FILE_JSON, "profiling_report.json", make_json },
	{ SB_FILE_TEXT, "timing_summary.txt", make_text },
	{ SB_FILE_MEMORY, "memory_log.json", make_memory_log },
	{ SB_FILE_HTML, "profiling_report.html", sb_report_html },
	{ SB_FILE_ALL, "raw_profiling_data.json", sb_report_raw_data }, /* when save_raw_data asked for it */
};

int sb_report_files_write(
	struct sb_run *run, const struct sb_model *model, const char *folder, unsigned files)
{
	char path[PATH_MAX];
	int err = 0;

	for (size_t i = 0; !err && i < sizeof files_table / sizeof files_table[0]; i++) {
		struct sb_buf out = { 0 };

		if (!(files & files_table[i].file))
			continue;
		if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, files_table[i].name) >= sizeof path)
			return sb_fail(STROBE_EINVAL, "the name of the folder is too long: %.60s...", folder);
		err = files_table[i].make(run, model, &out);
		if (!err && (out.size || out.failed))
			err = sb_buf_write_own_file(&out, path, 0600);
		sb_buf_done(&out);
	}
	return err;
}
