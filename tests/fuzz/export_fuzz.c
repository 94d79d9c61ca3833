/* libFuzzer: a recording into every format that is exported, and shared. Chrome's and speedscope's are read
 * back by the JSON reader, what is packed or shared by the recording reader. */
#include "recording_input.h"

#include "base/jsondom.h"
#include "exchange/export.h"
#include "exchange/share.h"

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

/* What is given away opens again, whatever was damaged; what fails leaves nothing. */
static void check_shared(struct sb_run *run, const char *path)
{
	struct sb_share_summary summary;
	char shared[80];

	snprintf(shared, sizeof shared, "%s.strobe", path);
	unlink(shared);
	if (!sb_share_write(run, shared, &summary))
		check_packed(shared);
	else if (!access(shared, F_OK))
		abort();
	unlink(shared);
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
		if (!strcmp(sb_exporters[i]->name, "chrome") || !strcmp(sb_exporters[i]->name, "speedscope"))
			check_chrome(path);
		if (!strcmp(sb_exporters[i]->name, "packed"))
			check_packed(path);
	}
	if (run)
		check_shared(run, path);
	unlink(path);
	sb_run_close(run);
	return 0;
}
