/* See newest.h. What a folder holds is decided by catalogue.h; which of it is the newest by the time in its name, else by
 * its last change. */
#include "run/newest.h"

#include "base/error.h"
#include "run/catalogue.h"
#include "run/job.h"
#include "run/nodes.h"
#include "run/run.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *sb_run_root(void)
{
	const char *root = getenv("STROBE_OUTPUT_DIR");

	return root && *root ? root : "./strobe-runs";
}

struct candidate {
	char name[NAME_MAX + 1];
	char stamp[32]; /* "YYYYmmdd-HHMMSS" */
	struct timespec changed;
};

/* The "-YYYYmmdd-HHMMSS-pid" at the end of a run folder's name. */
static bool stamp_of(const char *name, char *out_stamp)
{
	const char *pid = strrchr(name, '-');

	if (!pid || pid - name < 16 || pid[-16] != '-' || pid[-7] != '-' || !isdigit((unsigned char)pid[1]))
		return false;
	for (const char *p = pid - 15; p < pid; p++)
		if (!isdigit((unsigned char)*p) && p != pid - 7)
			return false;
	memcpy(out_stamp, pid - 15, 15);
	out_stamp[15] = 0;
	return true;
}

static void describe(const struct sb_catalogue_entry *entry, struct candidate *out_candidate)
{
	snprintf(out_candidate->name, sizeof out_candidate->name, "%s", entry->name);
	out_candidate->changed = entry->changed;
	if (!stamp_of(entry->name, out_candidate->stamp)) {
		struct tm tm;

		localtime_r(&entry->changed.tv_sec, &tm);
		strftime(out_candidate->stamp, sizeof out_candidate->stamp, "%Y%m%d-%H%M%S", &tm);
	}
}

static int newest_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = strcmp(y->stamp, x->stamp);

	if (order)
		return order;
	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec > y->changed.tv_sec ? -1 : 1;
	if (x->changed.tv_nsec != y->changed.tv_nsec)
		return x->changed.tv_nsec > y->changed.tv_nsec ? -1 : 1;
	return strcmp(y->name, x->name);
}

static int list_runs(const char *root, struct candidate **out_all, size_t *out_count)
{
	struct sb_catalogue found = { 0 };
	struct candidate *all;
	size_t count = 0;
	int err = sb_catalogue_list(root, &found);

	if (err == STROBE_ENOMEM)
		return err;
	if (err)
		return sb_fail(STROBE_ENOENT,
			"no runs in '%s': %s; record one with 'strobe run -- COMMAND', or name a run folder "
			"or file",
			root, strerror(errno));
	all = calloc(found.count + 1, sizeof *all);
	for (size_t i = 0; all && i < found.count; i++)
		if (!found.entries[i].link && found.entries[i].kind != SB_CATALOGUE_RUNS)
			describe(&found.entries[i], &all[count++]);
	sb_catalogue_done(&found);
	if (!all)
		return sb_fail(STROBE_ENOMEM, "no memory to list '%s'", root);
	if (count)
		qsort(all, count, sizeof *all, newest_first);
	*out_all = all;
	*out_count = count;
	return 0;
}

/* The newest attempt was not asked for by name: the job is meant. */
static void take_job_of_attempt(char *path, size_t size)
{
	char first[PATH_MAX];

	if (sb_job_is_later_attempt(path, first, sizeof first))
		snprintf(path, size, "%s", first);
}

void sb_newest_take(const char *folder, char *out_path, size_t size)
{
	struct candidate *all = NULL;
	struct sb_nodes nodes = { 0 };
	size_t count = 0;
	bool job;

	if (sb_catalogue_kind(folder, NULL) != SB_CATALOGUE_RUNS)
		return;
	job = !sb_nodes_find(folder, &nodes) && nodes.count;
	sb_nodes_done(&nodes);
	if (job || list_runs(folder, &all, &count))
		return;
	if (count && strlen(folder) + strlen(all[0].name) + 1 < size) {
		snprintf(out_path, size, "%s/%s", folder, all[0].name);
		take_job_of_attempt(out_path, size);
	}
	free(all);
}

#define FOLDERS_MOST 4096
const char *const sb_run_roots[] = { "./strobe-runs", "./profiling_reports", "./profiling_results", NULL };

/* Takes root where its newest run is newer than the newest so far. */
static bool take_if_newer(const char *root, bool any, struct candidate *newest)
{
	struct candidate *all = NULL;
	size_t count = 0;
	bool taken = false;

	if (!access(root, F_OK) && !list_runs(root, &all, &count) && count &&
		(!any || newest_first(&all[0], newest) < 0)) {
		*newest = all[0];
		taken = true;
	}
	free(all);
	return taken;
}

/* Whether strobe left a link 'last' there. */
static bool has_last(const char *root)
{
	char link[NAME_MAX + 24];
	struct stat st;

	snprintf(link, sizeof link, "%s/last", root);
	return !lstat(link, &st) && S_ISLNK(st.st_mode);
}

/* A folder here that a program or a configuration chose for its runs, or for those of its ranks. Takes the one with
 * the newest run, where that is newer than the newest so far. */
static bool take_other_root(bool any, struct candidate *newest, char *out, size_t size)
{
	DIR *here = opendir(".");
	struct dirent *entry;
	bool taken = false;
	int left = FOLDERS_MOST;

	while (here && left-- > 0 && (entry = readdir(here))) {
		char root[NAME_MAX + 16];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(root, sizeof root, "./%s", entry->d_name);
		if (!has_last(root))
			snprintf(root, sizeof root, "./%s/rank_0", entry->d_name);
		if (!has_last(root) || !take_if_newer(root, any || taken, newest))
			continue;
		taken = true;
		snprintf(out, size, "%s", root);
	}
	if (here)
		closedir(here);
	return taken;
}

/* The folder with the newest run; sb_run_root() where it was chosen or none has one. */
static const char *newest_root(void)
{
	static _Thread_local char other[NAME_MAX + 16];
	const char *best = sb_run_root(), *chosen = getenv("STROBE_OUTPUT_DIR");
	struct candidate newest;
	bool any = false;

	for (const char *const *root = sb_run_roots; *root && !(chosen && *chosen); root++) {
		if (take_if_newer(*root, any, &newest)) {
			best = *root;
			any = true;
		}
	}
	if (!(chosen && *chosen) && take_other_root(any, &newest, other, sizeof other))
		best = other;
	return best;
}

/* The newest job, of several nodes, is one run, called by its folder: it stays in place of its nodes. */
static size_t join_nodes(const char *root, struct candidate *all, size_t count)
{
	struct sb_nodes nodes = { 0 };
	size_t kept = 0;
	bool job = !sb_nodes_find(root, &nodes) && nodes.count;

	for (size_t i = 0; i < count && job; i++) {
		char path[PATH_MAX];
		bool node = (size_t)snprintf(path, sizeof path, "%s/%s", root, all[i].name) < sizeof path &&
			    sb_nodes_have(&nodes, path);

		if (node && i)
			continue;
		all[kept++] = all[i];
		if (!i)
			strcpy(all[0].name, ".");
	}
	sb_nodes_done(&nodes);
	return job ? kept : count;
}

int sb_newest_resolve(unsigned long back, char *out_path, size_t size)
{
	const char *root = newest_root();
	struct candidate *all = NULL;
	size_t count = 0;
	int err = list_runs(root, &all, &count);

	if (err)
		return err;
	count = join_nodes(root, all, count);
	if (!count)
		err = sb_fail(
			STROBE_ENOENT, "no runs in '%s': record one with 'strobe run -- COMMAND'", root);
	else if (back >= count)
		err = sb_fail(STROBE_ENOENT, "'last~%lu' does not exist: '%s' holds %zu run%s", back, root,
			count, count == 1 ? "" : "s");
	else if (!strcmp(all[back].name, "."))
		snprintf(out_path, size, "%s", root);
	else
		snprintf(out_path, size, "%s/%s", root, all[back].name);
	free(all);
	if (!err)
		take_job_of_attempt(out_path, size);
	return err;
}
