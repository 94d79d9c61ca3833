/* The recordings of a folder or file; what is none is imported. */
#include "run/resolve.h"

#include "base/error.h"
#include "base/filename.h"
#include "run/folder_files.h"
#include "run/job.h"
#include "run/run.h"

#include <ctype.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static sb_run_importer *importer;

void sb_run_set_importer(sb_run_importer *function)
{
	importer = function;
}

void sb_recordings_done(struct sb_recordings *r)
{
	sb_recording_paths_done(&r->files);
	if (r->imported)
		unlink(r->imported);
	free(r->imported);
	free(r->folder);
	memset(r, 0, sizeof *r);
}

static int fail_without_recording(const char *path)
{
	char name[256];
	size_t end = strlen(path);

	if (!sb_folder_readable(path, name, sizeof name))
		return sb_fail(STROBE_ENOENT,
			"'%s' holds no recording (no .strobe file): nothing was recorded there", path);
	return sb_fail(STROBE_ENOENT,
		"'%s' holds no recording (no .strobe file): name a file of it, '%s%s%s'", path, path,
		end && path[end - 1] == '/' ? "" : "/", name);
}

static int find_in_folder(const char *path, struct sb_recordings *r)
{
	size_t ranks;
	int err;

	if (sb_catalogue_kind(path, &ranks) == SB_CATALOGUE_JOB)
		return sb_fail(STROBE_ENOENT,
			"'%s' holds %zu ranks: name one of them (%s/rank_0), or see all with 'strobe "
			"aggregate %s'",
			path, ranks, path, path);
	err = sb_catalogue_recordings(path, &r->files);
	if (err)
		return err;
	if (!r->files.count)
		return fail_without_recording(path);
	r->folder = strdup(path);
	r->listed = true;
	return 0;
}

/* FOLDER/rank_3 of a run whose recordings are of several ranks. */
static bool find_rank_inside(const char *path, struct sb_recordings *r)
{
	char folder[PATH_MAX];
	uint32_t attempt;
	int32_t rank;

	if (!sb_job_rank_inside(path, folder, sizeof folder, &rank, &attempt))
		return false;
	r->rank = rank;
	r->attempt = attempt;
	r->listed = true;
	return !sb_catalogue_recordings(folder, &r->files);
}

static int find_by_import(const char *path, struct sb_recordings *r)
{
	char made[PATH_MAX];
	int err;

	if (!importer)
		return sb_fail(STROBE_EFORMAT, "'%s' is not a .strobe recording", path);
	err = importer(path, made, sizeof made);
	if (err)
		return err;
	r->imported = strdup(made);
	return sb_recording_paths_add(&r->files, made);
}

/* Standard input and the shell's <(command): text that a pipe brings. */
static bool is_pipe_name(const char *path)
{
	return !strcmp(path, "-") || !strcmp(path, "/dev/stdin") || !strncmp(path, "/dev/fd/", 8) ||
	       !strncmp(path, "/proc/self/fd/", 14);
}

/* "sheet.txt#2": the second run of a text that has several. */
static bool is_part_of_text(const char *path)
{
	const char *mark = strrchr(path, '#');
	char file[PATH_MAX];
	struct stat st;

	if (!mark || !isdigit((unsigned char)mark[1]) || mark[1 + strspn(mark + 1, "0123456789")])
		return false;
	snprintf(file, sizeof file, "%.*s", (int)(mark - path), path);
	return !stat(file, &st) && S_ISREG(st.st_mode);
}

int sb_recordings_find(const char *path, struct sb_recordings *out_recordings)
{
	struct sb_recordings r = { .rank = -1 };
	struct stat st;
	char *copy;
	int err;

	if (!strcmp(path, "-") || (is_pipe_name(path) && !stat(path, &st) && !S_ISREG(st.st_mode)) ||
		(stat(path, &st) && is_part_of_text(path))) {
		err = find_by_import(path, &r);
		if (err)
			sb_recordings_done(&r);
		else
			*out_recordings = r;
		return err;
	}
	if (stat(path, &st)) {
		int why = errno;

		if (find_rank_inside(path, &r)) {
			*out_recordings = r;
			return 0;
		}
		errno = why;
		return sb_fail_errno("cannot open run '%s'", path);
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return sb_fail(STROBE_EFORMAT, "'%s' is neither a file nor a folder", path);
	if (S_ISDIR(st.st_mode)) {
		err = find_in_folder(path, &r);
	} else if (sb_ends_with(path, ".strobe") || sb_reader_is_recording(path)) {
		copy = strdup(path);
		r.folder = copy ? strdup(dirname(copy)) : NULL;
		free(copy);
		err = sb_recording_paths_add(&r.files, path);
	} else {
		err = find_by_import(path, &r);
	}
	if (err) {
		sb_recordings_done(&r);
		return err;
	}
	*out_recordings = r;
	return 0;
}
