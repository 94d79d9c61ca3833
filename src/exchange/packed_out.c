/* Packed recordings out: the same events in a third of the bytes, still a RUN. */
#include "exchange/export.h"

#include "base/error.h"
#include "format/packed.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int write_packed(struct sb_run *run, const char *path, struct sb_export_summary *summary)
{
	struct stat st;
	int err;

	if (!strcmp(path, "-"))
		return sb_fail(STROBE_EINVAL, "a packed recording is a file, not a stream: name it with -o");
	if (run->process_count != 1)
		return sb_fail(STROBE_ENOTSUP,
			"'%s' holds %u recordings; pack each .strobe file of it by itself", run->path,
			run->process_count);
	if (run->live)
		return sb_fail(STROBE_EBUSY, "'%s' is still being recorded", run->path);
	err = sb_packed_write(run->processes[0].reader, path);
	if (!err && !stat(path, &st))
		summary->bytes = (uint64_t)st.st_size;
	return err;
}

const struct sb_exporter sb_packed_exporter = { .name = "packed",
	.file_name = "run.packed.strobe",
	.summary = "a smaller .strobe file that every command reads",
	.write_file = write_packed };
