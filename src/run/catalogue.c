/* Names decide: run.*.strobe is a recording of the folder it lies in, rank_<N> a rank of
 * it, any other .strobe file a run of its own where there are runs beside it. */
#include "run/catalogue.h"

#include "base/error.h"
#include "base/filename.h"
#include "base/room.h"
#include "format/spool.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORDING ".strobe"
#define SPOOLED RECORDING SB_SPOOL_SUFFIX
#define PACKED_FOLDER ".packed"
#define PACKED_FILE PACKED_FOLDER RECORDING

/* ---- what a folder is ---------------------------------------------------- */

/* What the names in a folder say. */
struct contents {
	size_t own; /* run.strobe, run.123.strobe, run.strobe.spool */
	size_t loose; /* any other recording */
	size_t packed; /* of those, as `strobe export --to packed` names them */
	size_t ranks;
};

static bool is_recording(const char *name)
{
	return sb_ends_with(name, RECORDING) || sb_ends_with(name, SPOOLED);
}

static bool is_folder_at(int folder, const char *name)
{
	struct stat st;

	return !fstatat(folder, name, &st, 0) && S_ISDIR(st.st_mode);
}

bool sb_catalogue_is_rank(const char *name)
{
	size_t digits = strncmp(name, "rank_", 5) ? 0 : strspn(name + 5, "0123456789");
	const char *rest = name + 5 + digits;

	/* not "rank_5-20261115-210729-5368": a run whose session is called so */
	return digits && (!*rest || *rest == '.');
}

static bool has_sibling(int folder, const char *name, size_t length)
{
	char original[NAME_MAX + 1];

	snprintf(original, sizeof original, "%.*s", (int)length, name);
	return is_folder_at(folder, original);
}

/* A packed copy of a folder that lies beside it. */
static bool is_copy(int folder, const char *name)
{
	static const char *const ends[] = { PACKED_FILE, PACKED_FOLDER };

	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (sb_ends_with(name, ends[i]))
			return has_sibling(folder, name, strlen(name) - strlen(ends[i]));
	return false;
}

/* Without a call where the listing says it: a job has a thousand ranks. */
static bool is_listed_folder(int folder, const struct dirent *e)
{
	return e->d_type == DT_DIR ||
	       ((e->d_type == DT_LNK || e->d_type == DT_UNKNOWN) && is_folder_at(folder, e->d_name));
}

static void count_name(int folder, const struct dirent *e, struct contents *c)
{
	const char *name = e->d_name;

	if (sb_catalogue_is_rank(name) && (sb_ends_with(name, RECORDING) || is_listed_folder(folder, e))) {
		c->ranks += !is_copy(folder, name);
	} else if (is_recording(name)) {
		c->own += !strncmp(name, "run.", 4);
		c->loose += strncmp(name, "run.", 4) != 0;
		c->packed += strncmp(name, "run.", 4) && sb_ends_with(name, PACKED_FILE);
	}
}

static int open_folder(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
}

/* The names in an open folder; NULL: it cannot be read. */
static DIR *names_of(int folder)
{
	int own = open_folder(folder, ".");
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (!d && own >= 0)
		close(own);
	return d;
}

static struct contents look_in(int folder)
{
	struct contents c = { 0 };
	DIR *d = names_of(folder);
	struct dirent *e;

	while (d && (e = readdir(d)))
		count_name(folder, e, &c);
	if (d)
		closedir(d);
	return c;
}

static bool holds_a_run(int folder)
{
	DIR *d = names_of(folder);
	struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d))) {
		struct contents c = { 0 };
		int inside = e->d_name[0] == '.' ? -1 : open_folder(folder, e->d_name);

		if (inside >= 0) {
			c = look_in(inside);
			close(inside);
		}
		found = c.own || c.ranks;
	}
	if (d)
		closedir(d);
	return found;
}

static enum sb_catalogue_kind kind_of_folder(int folder, size_t *out_ranks)
{
	struct contents c = look_in(folder);

	*out_ranks = c.ranks;
	if (c.own)
		return SB_CATALOGUE_RUN;
	if (c.ranks)
		return SB_CATALOGUE_JOB;
	/* packed runs, and what lies beside runs, are runs of their own */
	return !c.loose || c.packed == c.loose || holds_a_run(folder) ? SB_CATALOGUE_RUNS : SB_CATALOGUE_RUN;
}

static enum sb_catalogue_kind kind_at(int at, const char *name, const struct stat *st, size_t *out_ranks)
{
	enum sb_catalogue_kind kind = SB_CATALOGUE_RUNS; /* a folder that may not be read */
	int folder;

	if (S_ISREG(st->st_mode))
		return sb_ends_with(name, RECORDING) ? SB_CATALOGUE_RECORDING : SB_CATALOGUE_FILE;
	if (!S_ISDIR(st->st_mode))
		return SB_CATALOGUE_NONE;
	folder = open_folder(at, name);
	if (folder >= 0) {
		kind = kind_of_folder(folder, out_ranks);
		close(folder);
	}
	return kind;
}

enum sb_catalogue_kind sb_catalogue_kind(const char *path, size_t *out_ranks)
{
	struct stat st;
	size_t ranks = 0;
	enum sb_catalogue_kind kind = stat(path, &st) ? SB_CATALOGUE_NONE
						      : kind_at(AT_FDCWD, path, &st, &ranks);

	if (out_ranks)
		*out_ranks = ranks;
	return kind;
}

/* ---- what is in it ------------------------------------------------------- */

void sb_catalogue_done(struct sb_catalogue *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->entries[i].name);
		free(c->entries[i].path);
	}
	free(c->entries);
	memset(c, 0, sizeof *c);
}

static int add_entry(
	struct sb_catalogue *c, const struct sb_catalogue_entry *entry, const char *folder, const char *name)
{
	struct sb_catalogue_entry *e;

	if (!SB_MAKE_ROOM(c->entries, c->count, c->room))
		return sb_fail(STROBE_ENOMEM, "no memory to list '%s'", folder);
	e = &c->entries[c->count++];
	*e = *entry;
	e->name = strdup(name);
	if (asprintf(&e->path, "%s/%s", folder, name) < 0)
		e->path = NULL;
	return e->name && e->path ? 0 : sb_fail(STROBE_ENOMEM, "no memory to list '%s'", folder);
}

/* False: it is of no interest. */
static bool look_at(int folder, const char *name, struct sb_catalogue_entry *out_entry)
{
	struct stat st;
	size_t ranks = 0;

	if (name[0] == '.' || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) || is_copy(folder, name))
		return false;
	out_entry->changed = st.st_mtim;
	out_entry->link = S_ISLNK(st.st_mode);
	if (out_entry->link && fstatat(folder, name, &st, 0))
		return false;
	out_entry->kind = kind_at(folder, name, &st, &ranks);
	return out_entry->kind != SB_CATALOGUE_NONE && out_entry->kind != SB_CATALOGUE_FILE;
}

/* rank_2 before rank_10. */
static int by_name(const void *a, const void *b)
{
	return strverscmp(
		((const struct sb_catalogue_entry *)a)->name, ((const struct sb_catalogue_entry *)b)->name);
}

int sb_catalogue_list(const char *folder, struct sb_catalogue *out_catalogue)
{
	struct sb_catalogue c = { 0 };
	DIR *d = opendir(folder);
	struct dirent *e;
	int err = 0;

	if (!d)
		return sb_fail_errno("cannot list '%s'", folder);
	while (!err && (e = readdir(d))) {
		struct sb_catalogue_entry entry = { 0 };

		if (look_at(dirfd(d), e->d_name, &entry))
			err = add_entry(&c, &entry, folder, e->d_name);
	}
	closedir(d);
	if (err) {
		sb_catalogue_done(&c);
		return err;
	}
	if (c.count)
		qsort(c.entries, c.count, sizeof *c.entries, by_name);
	*out_catalogue = c;
	return 0;
}

/* ---- a run's recordings -------------------------------------------------- */

void sb_recording_paths_done(struct sb_recording_paths *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->paths[i]);
	free(p->paths);
	memset(p, 0, sizeof *p);
}

int sb_recording_paths_add(struct sb_recording_paths *p, const char *path)
{
	char **more = realloc(p->paths, (p->count + 1) * sizeof *more);

	if (more)
		p->paths = more;
	if (!more || !(p->paths[p->count] = strdup(path)))
		return sb_fail(STROBE_ENOMEM, "no memory to open '%s'", path);
	p->count++;
	return 0;
}

/* A recording that is still, or was left, on a local disk: the pointer file beside
 * where it belongs says where it is. */
static int add_spooled(struct sb_recording_paths *p, int folder, const char *pointer)
{
	char path[PATH_MAX];
	int fd = sb_spool_follow(folder, pointer, path, sizeof path);

	if (fd < 0)
		return 0;
	close(fd);
	return sb_recording_paths_add(p, path);
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int sb_catalogue_recordings(const char *folder, struct sb_recording_paths *out_recordings)
{
	struct sb_recording_paths p = { 0 };
	DIR *d = opendir(folder);
	struct dirent *e;
	int err = 0;

	if (!d)
		return sb_fail_errno("cannot read '%s'", folder);
	while (!err && (e = readdir(d))) {
		char file[PATH_MAX];

		if ((size_t)snprintf(file, sizeof file, "%s/%s", folder, e->d_name) >= sizeof file)
			continue;
		if (sb_ends_with(e->d_name, RECORDING))
			err = sb_recording_paths_add(&p, file);
		else if (sb_ends_with(e->d_name, SPOOLED))
			err = add_spooled(&p, dirfd(d), e->d_name);
	}
	closedir(d);
	if (err) {
		sb_recording_paths_done(&p);
		return err;
	}
	if (p.count)
		qsort(p.paths, p.count, sizeof *p.paths, compare_paths);
	*out_recordings = p;
	return 0;
}
