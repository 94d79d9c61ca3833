/* Packed recordings out: the same events in a third of the bytes, still a RUN. */
#include "exchange/export.h"

#include "base/error.h"
#include "base/filename.h"
#include "format/packed.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int pack(struct sb_reader *reader, const char *path, struct sb_export_summary *summary)
{
	struct stat st;
	int err = sb_packed_write(reader, path);

	if (!err && !stat(path, &st))
		summary->bytes += (uint64_t)st.st_size;
	return err;
}

/* Under its own name; those of a gathered file under the one they had. */
static void name_of(
	const struct sb_reader *reader, uint32_t number, const char *folder, char *out, size_t size)
{
	if (reader->base)
		snprintf(out, size, "%s/run.%u.%u.strobe", folder, reader->head.pid, number);
	else
		snprintf(out, size, "%s/%s", folder, sb_filename_of(reader->path));
}

/* A run of several recordings: a folder with each of them packed under its name. */
static int pack_all(struct sb_run *run, const char *folder, struct sb_export_summary *summary)
{
	int err = 0;
	uint32_t done = 0;
	char path[4096];

	if (mkdir(folder, 0700))
		return sb_fail_errno("cannot make the folder '%s'", folder);
	for (; !err && done < run->process_count; done++) {
		name_of(run->processes[done].reader, done, folder, path, sizeof path);
		err = pack(run->processes[done].reader, path, summary);
	}
	for (uint32_t i = 0; err && i < done; i++) { /* nothing stays of a failed export */
		name_of(run->processes[i].reader, i, folder, path, sizeof path);
		unlink(path);
	}
	if (err)
		rmdir(folder);
	return err;
}

static int write_packed(struct sb_run *run, const char *path, struct sb_export_summary *summary)
{
	if (!strcmp(path, "-"))
		return sb_fail(STROBE_EINVAL, "a packed recording is a file, not a stream: name it with -o");
	if (run->live)
		return sb_fail(STROBE_EBUSY, "'%s' is still being recorded", run->path);
	if (run->is_cut)
		return sb_fail(STROBE_EINVAL,
			"a recording is packed whole: leave out --from, --until, --last, --generation");
	return run->process_count == 1 ? pack(run->processes[0].reader, path, summary)
				       : pack_all(run, path, summary);
}

const struct sb_exporter sb_packed_exporter = { .name = "packed",
	.file_name = "run.packed.strobe",
	.summary = "a smaller .strobe file that every command reads",
	.write_file = write_packed };
