/* libFuzzer: a recording into every format that is exported. Chrome's is read back by
 * the JSON reader, the packed one by the recording reader. */
#include "recording_input.h"

#include "base/jsondom.h"
#include "exchange/export.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_chrome(const char *path)
{
	struct sb_jsondom_doc *doc = NULL;

	if (sb_jsondom_read(path, 1u << 26, &doc))
		abort();
	sb_jsondom_free(doc);
}

static void check_packed(const char *path)
{
	struct sb_run *run;

	if (sb_run_open(path, NULL, &run))
		abort();
	sb_run_close(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	struct sb_run *run = input_run(0, data, size);
	struct sb_marker marker = { "id", "high", "issue", "do", 0, INT64_MAX };
	struct sb_markers markers = { &marker, 1 };
	struct sb_export_summary summary;

	if (!*path)
		snprintf(path, sizeof path, "%s/strobe-fuzz-%ld",
			access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (long)getpid());
	for (size_t i = 0; run && sb_exporters[i]; i++) {
		if (sb_export(sb_exporters[i], run, &markers, path, &summary))
			continue;
		if (!strcmp(sb_exporters[i]->name, "chrome"))
			check_chrome(path);
		if (!strcmp(sb_exporters[i]->name, "packed"))
			check_packed(path);
	}
	unlink(path);
	sb_run_close(run);
	return 0;
}
