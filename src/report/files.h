/* The report files of a run folder. */
#ifndef SB_REPORT_FILES_H
#define SB_REPORT_FILES_H

#include "run/run.h"
#include "report/panels/panel.h"

enum sb_report_file {
	SB_FILE_JSON = 1, /* profiling_report.json */
	SB_FILE_TEXT = 2, /* timing_summary.txt */
	SB_FILE_HTML = 4, /* profiling_report.html */
	SB_FILE_MEMORY = 8, /* memory_log.json */
	SB_FILE_ALL = 15
};

/* Writes the files asked for into folder, each whole or not at all, readable by
 * the owner only. */
int sb_report_files_write(
	struct sb_run *run, const struct sb_model *model, const char *folder, unsigned files);

#endif
