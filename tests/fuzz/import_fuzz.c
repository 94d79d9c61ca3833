/* libFuzzer: any bytes as a file to import: a trace, a stage log, a profile, a shared page. What
 * is imported must be a sound recording. */
#include "exchange/import.h"
#include "format/reader.h"
#include "run/run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_recording(const char *path)
{
	struct sb_reader *r = NULL;

	if (sb_reader_open(path, &r))
		abort();
	for (int kind = 0; kind < SB_DAMAGE_KINDS; kind++)
		if (r->damage[kind].count)
			abort();
	sb_reader_close(r);
}

/* A recording that a page had inside is taken as it is: it may be damaged, and is read like any. */
static void open_taken(const char *path)
{
	struct sb_run *run = NULL;

	if (!sb_run_open(path, NULL, &run))
		sb_run_close(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char in[64], out[64];
	struct sb_import_summary summary;
	int fd;

	if (!*in) {
		const char *folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";

		snprintf(in, sizeof in, "%s/strobe-fuzz-%010ld", folder, (long)getpid());
		snprintf(out, sizeof out, "%s/strobe-fuzz-%010ld.strobe", folder, (long)getpid());
	}
	fd = open(in, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
	if (!sb_import_file(in, out, NULL, &summary))
		summary.recording_bytes ? open_taken(out) : check_recording(out);
	else if (!access(out, F_OK))
		abort(); /* a failed import leaves nothing */
	unlink(out);
	unlink(in);
	return 0;
}
