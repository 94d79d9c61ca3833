/* The progress line of an import, once it takes longer than a second. */
#ifndef CLI_IMPORT_PROGRESS_H
#define CLI_IMPORT_PROGRESS_H

#include "exchange/import.h"

struct import_progress {
	const char *path;
	double begin_s;
	bool shown;
};

/* Sets the progress fields of options. */
void import_progress_begin(struct import_progress *p, const char *path, struct sb_import_options *options);
void import_progress_end(struct import_progress *p);

#endif
