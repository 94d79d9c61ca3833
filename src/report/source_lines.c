/* Writes source_lines.json. */
#include "report/source_lines.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "run/folder_files.h"

#include <limits.h>
#include <stdio.h>

int sb_report_source_lines_keep(const struct sb_run *run, const struct sb_model *model)
{
	struct sb_buf out = { 0 };
	struct sb_json json;
	char path[PATH_MAX];
	int err;

	if (!run->folder || run->live || run->is_cut || model->source.count == model->source.kept_count)
		return 0;
	if ((size_t)snprintf(path, sizeof path, "%s/" SB_SOURCE_LINES_FILE, run->folder) >= sizeof path)
		return sb_fail(STROBE_EINVAL, "the name of the folder is too long: %.60s...", run->folder);
	sb_json_init(&json, &out, true);
	sb_fields_write(&sb_source_file_fields, &model->source, NULL, &json);
	sb_buf_putc(&out, '\n');
	err = sb_buf_write_own_file(&out, path, 0600);
	sb_buf_done(&out);
	return err;
}
