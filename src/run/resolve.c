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
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
	uint32_t attempt;
	int32_t rank;

	return !stat(path, &st) || sb_job_rank_inside(path, folder, sizeof folder, &rank, &attempt) ||
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
