/* RUN on the command line: last, last~1, folders, files, things to import. */
#include "run/resolve.h"

#include "run/run.h"
#include "base/buf.h"
#include "base/error.h"
#include "format/spool.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static sb_run_importer *importer;

void sb_run_set_importer(sb_run_importer *function)
{
	importer = function;
}

const char *sb_run_root(void)
{
	const char *root = getenv("STROBE_OUTPUT_DIR");

	return root && *root ? root : "./strobe-runs";
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static bool is_rank_folder(const char *name)
{
	return !strncmp(name, "rank_", 5) && isdigit((unsigned char)name[5]);
}

/* What a folder holds: recordings, rank folders. */
static void count_folder(const char *path, size_t *out_recordings, size_t *out_ranks)
{
	DIR *d = opendir(path);
	struct dirent *e;

	*out_recordings = *out_ranks = 0;
	while (d && (e = readdir(d))) {
		*out_recordings += ends_with(e->d_name, ".strobe") || ends_with(e->d_name, ".strobe.spool");
		*out_ranks += is_rank_folder(e->d_name);
	}
	if (d)
		closedir(d);
}

/* ---- last ---------------------------------------------------------------- */

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

static bool look_at(const char *root, const char *name, struct candidate *out_candidate)
{
	char path[PATH_MAX];
	struct stat st;
	size_t recordings, ranks;

	if (name[0] == '.' || (size_t)snprintf(path, sizeof path, "%s/%s", root, name) >= sizeof path)
		return false;
	if (lstat(path, &st) || !S_ISDIR(st.st_mode))
		return false;
	count_folder(path, &recordings, &ranks);
	if (!recordings && !ranks)
		return false;
	memset(out_candidate, 0, sizeof *out_candidate);
	snprintf(out_candidate->name, sizeof out_candidate->name, "%s", name);
	out_candidate->changed = st.st_mtim;
	if (!stamp_of(name, out_candidate->stamp)) {
		struct tm tm;

		localtime_r(&st.st_mtim.tv_sec, &tm);
		strftime(out_candidate->stamp, sizeof out_candidate->stamp, "%Y%m%d-%H%M%S", &tm);
	}
	return true;
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
	DIR *d = opendir(root);
	struct candidate *all = NULL;
	size_t count = 0, room = 0;
	struct dirent *e;

	if (!d)
		return sb_fail(STROBE_ENOENT,
			"no runs in '%s': %s; record one with 'strobe run -- COMMAND', or name a run folder "
			"or file",
			root, strerror(errno));
	while ((e = readdir(d))) {
		if (count == room) {
			struct candidate *more = realloc(all, (room ? room * 2 : 16) * sizeof *all);

			if (!more) {
				free(all);
				closedir(d);
				return sb_fail(STROBE_ENOMEM, "no memory to list '%s'", root);
			}
			all = more;
			room = room ? room * 2 : 16;
		}
		count += look_at(root, e->d_name, &all[count]);
	}
	closedir(d);
	if (count)
		qsort(all, count, sizeof *all, newest_first);
	*out_all = all;
	*out_count = count;
	return 0;
}

/* A folder of runs means its newest one. What else a folder may be is left as it is. */
static void take_newest_of(const char *folder, char *out_path, size_t size)
{
	struct candidate *all = NULL;
	size_t count = 0, recordings, ranks;

	count_folder(folder, &recordings, &ranks);
	if (recordings || ranks || list_runs(folder, &all, &count))
		return;
	if (count && strlen(folder) + strlen(all[0].name) + 1 < size) {
		snprintf(out_path, size, "%s/%s", folder, all[0].name);
	}
	free(all);
}

/* Where runs may be that nobody said the folder of: ours, and those of compat's sessions
 * and of the profiling flags. */
static const char *const roots[] = { "./strobe-runs", "./profiling_reports", "./profiling_results", NULL };

/* The folder with the newest run; sb_run_root() where it was chosen or none has one. */
static const char *newest_root(void)
{
	const char *best = sb_run_root(), *chosen = getenv("STROBE_OUTPUT_DIR");
	struct candidate newest;
	bool any = false;

	for (const char *const *root = roots; *root && !(chosen && *chosen); root++) {
		struct candidate *all = NULL;
		size_t count = 0;

		if (access(*root, F_OK) || list_runs(*root, &all, &count))
			continue;
		if (count && (!any || newest_first(&all[0], &newest) < 0)) {
			newest = all[0];
			best = *root;
			any = true;
		}
		free(all);
	}
	return best;
}

static int resolve_last(unsigned long back, char *out_path, size_t size)
{
	const char *root = newest_root();
	struct candidate *all = NULL;
	size_t count = 0;
	int err = list_runs(root, &all, &count);

	if (err)
		return err;
	if (!count)
		err = sb_fail(
			STROBE_ENOENT, "no runs in '%s': record one with 'strobe run -- COMMAND'", root);
	else if (back >= count)
		err = sb_fail(STROBE_ENOENT, "'last~%lu' does not exist: '%s' holds %zu run%s", back, root,
			count, count == 1 ? "" : "s");
	else
		snprintf(out_path, size, "%s/%s", root, all[back].name);
	free(all);
	return err;
}

int sb_run_resolve(const char *spec, char *out_path, size_t size)
{
	char *end;
	unsigned long back = 0;
	struct stat st;

	if (!spec || !*spec)
		spec = "last";
	if (!strncmp(spec, "last", 4) && (!spec[4] || spec[4] == '~') && access(spec, F_OK)) {
		if (spec[4]) {
			back = strtoul(spec + 5, &end, 10);
			if (!isdigit((unsigned char)spec[5]) || *end)
				return sb_fail(
					STROBE_EINVAL, "'%s' is no run: write last, last~1, last~2...", spec);
		}
		return resolve_last(back, out_path, size);
	}
	if ((size_t)snprintf(out_path, size, "%s", spec) >= size)
		return sb_fail(STROBE_EINVAL, "the name of the run is too long: %.60s...", spec);
	if (!stat(spec, &st) && S_ISDIR(st.st_mode))
		take_newest_of(spec, out_path, size);
	return 0;
}

/* ---- files --------------------------------------------------------------- */

void sb_recordings_done(struct sb_recordings *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->paths[i]);
	if (r->imported)
		unlink(r->imported);
	free(r->imported);
	free(r->paths);
	free(r->folder);
	memset(r, 0, sizeof *r);
}

static int add_path(struct sb_recordings *r, const char *path)
{
	char **more = realloc(r->paths, (r->count + 1) * sizeof *more);

	if (more)
		r->paths = more;
	if (!more || !(r->paths[r->count] = strdup(path)))
		return sb_fail(STROBE_ENOMEM, "no memory to open '%s'", path);
	r->count++;
	return 0;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A recording that is still, or was left, on a local disk: the pointer file beside
 * where it belongs says where it is. */
static int add_spooled(struct sb_recordings *r, int folder, const char *pointer)
{
	char path[PATH_MAX];
	int fd = sb_spool_follow(folder, pointer, path, sizeof path);

	if (fd < 0)
		return 0;
	close(fd);
	return add_path(r, path);
}

static int find_in_folder(const char *path, struct sb_recordings *r)
{
	char file[PATH_MAX];
	size_t recordings, ranks;
	struct dirent *e;
	DIR *d;
	int err = 0;

	count_folder(path, &recordings, &ranks);
	if (!recordings && ranks)
		return sb_fail(STROBE_ENOENT,
			"'%s' holds %zu ranks: name one of them (%s/rank_0), or see all with 'strobe "
			"aggregate %s'",
			path, ranks, path, path);
	d = opendir(path);
	if (!d)
		return sb_fail_errno("cannot read '%s'", path);
	while (!err && (e = readdir(d))) {
		if ((size_t)snprintf(file, sizeof file, "%s/%s", path, e->d_name) >= sizeof file)
			continue;
		if (ends_with(e->d_name, ".strobe"))
			err = add_path(r, file);
		else if (ends_with(e->d_name, ".strobe.spool"))
			err = add_spooled(r, dirfd(d), e->d_name);
	}
	closedir(d);
	if (!err && !r->count)
		return sb_fail(STROBE_ENOENT,
			"'%s' holds no recording (no .strobe file): nothing was recorded there", path);
	if (!err)
		qsort(r->paths, r->count, sizeof *r->paths, compare_paths);
	r->folder = strdup(path);
	r->listed = true;
	return err;
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
	return add_path(r, made);
}

/* Standard input and the shell's <(command): text that a pipe brings. */
static bool is_pipe_name(const char *path)
{
	return !strcmp(path, "-") || !strcmp(path, "/dev/stdin") || !strncmp(path, "/dev/fd/", 8) ||
	       !strncmp(path, "/proc/self/fd/", 14);
}

int sb_recordings_find(const char *path, struct sb_recordings *out_recordings)
{
	struct sb_recordings r = { 0 };
	struct stat st;
	char *copy;
	int err;

	if (!strcmp(path, "-") || (is_pipe_name(path) && !stat(path, &st) && !S_ISREG(st.st_mode))) {
		err = find_by_import(path, &r);
		if (err)
			sb_recordings_done(&r);
		else
			*out_recordings = r;
		return err;
	}
	if (stat(path, &st))
		return sb_fail_errno("cannot open run '%s'", path);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return sb_fail(STROBE_EFORMAT, "'%s' is neither a file nor a folder", path);
	if (S_ISDIR(st.st_mode)) {
		err = find_in_folder(path, &r);
	} else if (ends_with(path, ".strobe") || sb_reader_is_recording(path)) {
		copy = strdup(path);
		r.folder = copy ? strdup(dirname(copy)) : NULL;
		free(copy);
		err = add_path(&r, path);
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
	return sb_fail(STROBE_EINVAL, "'%s' is no time: write 10m, 90s, 1.5h or 250ms", text);
}
