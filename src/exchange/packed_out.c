/* Writes packed recordings: the same events in a third of the bytes. Every command reads them. */
#include "exchange/export.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/scratch.h"
#include "format/packed.h"
#include "run/folder_files.h"

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

static int check(const struct sb_run *run)
{
	if (run->live)
		return sb_fail(STROBE_EBUSY, "'%s' is still being recorded", run->path);
	if (run->is_cut)
		return sb_fail(STROBE_EINVAL,
			"a recording is packed whole: leave out --from, --until, --last, --generation");
	return 0;
}

/* What the source said goes along; a copy without it is whole, too. */
static void copy_source_lines(const struct sb_run *run, const char *folder)
{
	char from[4096], to[4096];
	struct sb_buf text = { 0 };

	if (run->folder &&
		(size_t)snprintf(from, sizeof from, "%s/" SB_SOURCE_LINES_FILE, run->folder) < sizeof from &&
		(size_t)snprintf(to, sizeof to, "%s/" SB_SOURCE_LINES_FILE, folder) < sizeof to &&
		!sb_buf_read_regular(&text, from, SB_SOURCE_LINES_FILE_MOST))
		sb_buf_write_own_file(&text, to, 0600);
	sb_buf_done(&text);
}

int sb_packed_folder_write(struct sb_run *run, const char *folder, struct sb_export_summary *summary)
{
	int err = check(run);
	char path[4096];

	for (uint32_t i = 0; !err && i < run->process_count; i++) {
		sb_export_recording_path(run->processes[i].reader, i, folder, path, sizeof path);
		err = pack(run->processes[i].reader, path, summary);
	}
	if (!err)
		copy_source_lines(run, folder);
	return err;
}

/* A run of several recordings: a folder with each of them packed under its name. */
static int pack_all(struct sb_run *run, const char *folder, struct sb_export_summary *summary)
{
	int err;

	if (mkdir(folder, 0700))
		return sb_fail_errno("cannot make the folder '%s'", folder);
	err = sb_packed_folder_write(run, folder, summary);
	if (err)
		sb_scratch_remove(folder); /* nothing stays of a failed export */
	return err;
}

static int write_packed(struct sb_run *run, const char *path, struct sb_export_summary *summary)
{
	int err;

	if (!strcmp(path, "-"))
		return sb_fail(STROBE_EINVAL, "a packed recording is a file, not a stream: name it with -o");
	if (run->process_count > 1)
		return pack_all(run, path, summary);
	err = check(run);
	return err ? err : pack(run->processes[0].reader, path, summary);
}

const struct sb_exporter sb_packed_exporter = { .name = "packed",
	.file_name = "run.packed.strobe",
	.summary = "a smaller .strobe file that every command reads",
	.write_file = write_packed };
