/* Ranks and attempts of a launcher below `strobe run` lie in one folder: RUN/rank_3, RUN.1 and RUN.1/rank_3 name what
 * has no folder of its own. */
#include "run/job.h"

#include "base/filename.h"
#include "run/catalogue.h"
#include "run/members.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_attempt(const char *folder, uint32_t attempt)
{
	struct sb_member *all = NULL;
	size_t count = 0;
	bool found = false;

	if (sb_catalogue_kind(folder, NULL) != SB_CATALOGUE_RUN || sb_members_read(folder, &all, &count))
		return false;
	for (size_t i = 0; i < count && !found && sb_members_attempt(all, count); i++)
		found = all[i].leader && all[i].attempt == attempt;
	free(all);
	return found;
}

bool sb_job_attempt_inside(const char *path, char *out_folder, size_t size, uint32_t *out_attempt)
{
	const char *dot = strrchr(path, '.');
	long number = dot && isdigit((unsigned char)dot[1]) ? strtol(dot + 1, NULL, 10) : 0;
	char folder[PATH_MAX];

	if (number < 1 || number > 99999 || dot[1 + strspn(dot + 1, "0123456789")] || dot == path ||
		sb_catalogue_kind(path, NULL) != SB_CATALOGUE_NONE ||
		(size_t)snprintf(folder, sizeof folder, "%.*s", (int)(dot - path), path) >= size ||
		!has_attempt(folder, (uint32_t)number))
		return false;
	snprintf(out_folder, size, "%s", folder);
	*out_attempt = (uint32_t)number;
	return true;
}

bool sb_job_is_attempt_inside(const char *path, const struct sb_job *job)
{
	char folder[PATH_MAX];
	uint32_t attempt;

	return (job->attempt_count > 1 && sb_catalogue_kind(path, NULL) == SB_CATALOGUE_RUN) ||
	       sb_job_attempt_inside(path, folder, sizeof folder, &attempt);
}

/* attempt 0: the one that counts. */
static bool has_rank(const char *folder, int32_t rank, uint32_t attempt)
{
	struct sb_member *all = NULL;
	size_t count = 0;
	bool found = false;
	uint32_t taken;

	if (sb_catalogue_kind(folder, NULL) != SB_CATALOGUE_RUN || sb_members_read(folder, &all, &count))
		return false;
	taken = sb_members_attempt(all, count);
	for (size_t i = 0; i < count && taken && !found; i++)
		found = all[i].leader && all[i].attempt == (attempt ? attempt : taken) && all[i].rank == rank;
	free(all);
	return found;
}

bool sb_job_rank_inside(
	const char *path, char *out_folder, size_t size, int32_t *out_rank, uint32_t *out_attempt)
{
	const char *name = sb_filename_of(path);
	char *end = NULL, folder[PATH_MAX];
	long rank = sb_catalogue_is_rank(name) ? strtol(name + 5, &end, 10) : -1;
	size_t length = (size_t)(name - path);
	uint32_t attempt = 0;

	if (rank < 0 || rank > INT32_MAX || *end || length >= size)
		return false;
	sb_path_folder(path, out_folder, size);
	while (length > 1 && out_folder[length - 1] == '/')
		out_folder[--length] = 0;
	if (sb_job_attempt_inside(out_folder, folder, sizeof folder, &attempt))
		snprintf(out_folder, size, "%s", folder);
	*out_rank = (int32_t)rank;
	*out_attempt = attempt;
	return has_rank(out_folder, (int32_t)rank, attempt);
}
