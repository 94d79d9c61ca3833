/* RUN on the command line: last, last~1, folders, files, things to import. */
#include "run/resolve.h"

#include "run/job.h"
#include "run/newest.h"
#include "run/run.h"
#include "base/error.h"
#include "run/folder_files.h"
#include "base/filename.h"

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

static sb_run_job_opener *job_opener;

void sb_run_set_job_opener(sb_run_job_opener *function)
{
	job_opener = function;
}

/* ---- ids ----------------------------------------------------------------- */

/* "train-7.1" is the first attempt alone, whose folder is called train-7. */
static void take_first_attempt(char *path, size_t size)
{
	char folder[PATH_MAX];
	size_t length = strlen(path), ranks = 0;

	if (length < 3 || length >= sizeof folder || strcmp(path + length - 2, ".1"))
		return;
	snprintf(folder, sizeof folder, "%.*s", (int)length - 2, path);
	sb_catalogue_kind(folder, &ranks);
	if (ranks)
		snprintf(path, size, "%s/.", folder);
}

/* "job-9.rank_0", as `strobe mcp` and `serve` call a rank: "job-9/rank_0" where there is such a job. */
static void take_rank_of_id(char *path)
{
	char *name = (char *)(uintptr_t)sb_filename_of(path), *mark = strstr(name, ".rank_"), *next;
	struct stat st;

	while (mark && (next = strstr(mark + 1, ".rank_")))
		mark = next;
	if (!mark || !sb_catalogue_is_rank(mark + 1) || strchr(mark + 1, '.'))
		return;
	*mark = 0;
	*mark = stat(path, &st) || !S_ISDIR(st.st_mode) ? '.' : '/';
}

static bool is_there(const char *path)
{
	char folder[PATH_MAX];
	struct stat st;
	int32_t rank;

	return !stat(path, &st) || sb_job_rank_inside(path, folder, sizeof folder, &rank) ||
	       sb_job_rank_in_node(path, folder, sizeof folder);
}

/* A rank of a job by its own number, whichever node it was on; "JOB/rank_1/." is the node's folder itself. */
static void take_rank_of_node(char *path, size_t size)
{
	char inside[PATH_MAX];

	if (sb_job_rank_in_node(path, inside, sizeof inside))
		snprintf(path, size, "%s", inside);
}

/* An id as `strobe mcp`, `serve` and `history` show it, "wan-20260101-120000-7" or "job-9/rank_0": a run of the folder of
 * runs. Where there is none of that name the path stays as it is. */
static void take_run_of_root(const char *id, char *out_path, size_t size)
{
	const char *chosen = getenv("STROBE_OUTPUT_DIR");
	const char *const one[] = { chosen, NULL };
	char path[PATH_MAX];

	for (const char *const *root = chosen && *chosen ? one : sb_run_roots; *root; root++) {
		if ((size_t)snprintf(path, sizeof path, "%s/%s", *root, id) >= size)
			continue;
		take_rank_of_id(path);
		if (!is_there(path))
			continue;
		snprintf(out_path, size, "%s", path);
		return;
	}
}

/* ---- pages of jobs ------------------------------------------------------- */

/* "wan.html/rank_3": the page, and the rank in it. False: the path does not lead to a file. */
static bool split_page(const char *path, char *out_page, size_t size, const char **out_rank)
{
	const char *name = sb_filename_of(path);
	struct stat st;

	*out_rank = "";
	if ((size_t)snprintf(out_page, size, "%s", path) >= size)
		return false;
	if (name > path && sb_catalogue_is_rank(name) && stat(path, &st)) {
		*out_rank = name;
		out_page[name - path - 1] = 0;
	}
	return !stat(out_page, &st) && S_ISREG(st.st_mode);
}

/* The page of a job becomes the folder that it was, "wan.html/rank_3" a rank in it: 1. Any other path is left as
 * it is: 0. */
static int take_job_of_page(char *path, size_t size)
{
	char page[PATH_MAX], folder[PATH_MAX];
	const char *rank;
	int found;

	if (!job_opener || !split_page(path, page, sizeof page, &rank))
		return 0;
	found = job_opener(page, folder, sizeof folder);
	if (found == 1 && strlen(folder) + strlen(rank) + 2 > size)
		return sb_fail(STROBE_EINVAL, "'%s': the name is too long", folder);
	if (found == 1 && *rank) /* rank lies in path */
		strcat(strcat(folder, "/"), rank);
	if (found == 1)
		snprintf(path, size, "%s", folder);
	return found;
}

bool sb_run_is_in_page(const char *spec)
{
	char path[PATH_MAX];

	return spec && (size_t)snprintf(path, sizeof path, "%s", spec) < sizeof path &&
	       take_job_of_page(path, sizeof path) == 1;
}

/* ---- any RUN ------------------------------------------------------------- */

int sb_run_resolve(const char *spec, char *out_path, size_t size)
{
	char *end;
	unsigned long back = 0;
	struct stat st;
	int page;

	if (!spec || !*spec)
		spec = "last";
	if (!strncmp(spec, "last", 4) && (!spec[4] || spec[4] == '~') && access(spec, F_OK)) {
		if (spec[4]) {
			back = strtoul(spec + 5, &end, 10);
			if (!isdigit((unsigned char)spec[5]) || *end)
				return sb_fail(STROBE_EINVAL,
					"'%s' is not a run: write last, last~1, last~2...", spec);
		}
		return sb_newest_resolve(back, out_path, size);
	}
	if ((size_t)snprintf(out_path, size, "%s", spec) >= size)
		return sb_fail(STROBE_EINVAL, "the name of the run is too long: %.60s...", spec);
	if (stat(spec, &st)) {
		take_first_attempt(out_path, size);
		take_rank_of_id(out_path);
		if (!strcmp(out_path, spec) && *spec != '/')
			take_run_of_root(spec, out_path, size);
	} else if (S_ISDIR(st.st_mode)) {
		sb_newest_take(spec, out_path, size);
	}
	take_rank_of_node(out_path, size);
	page = take_job_of_page(out_path, size);
	return page < 0 ? page : 0;
}

/* ---- files --------------------------------------------------------------- */

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
	int32_t rank;

	if (!sb_job_rank_inside(path, folder, sizeof folder, &rank))
		return false;
	r->rank = rank;
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

int sb_cut_parse_duration(const char *text, int64_t *out_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }, { "m", 60e9 },
		{ "min", 60e9 }, { "h", 3600e9 } };
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end != text && !errno)
		for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
			if (!strcmp(end, units[i].unit) && value * units[i].ns > -9e18 &&
				value * units[i].ns < 9e18) {
				*out_ns = (int64_t)(value * units[i].ns);
				return 0;
			}
	return sb_fail(STROBE_EINVAL, "'%s' is not a duration: write 10m, 90s, 1.5h or 250ms", text);
}
