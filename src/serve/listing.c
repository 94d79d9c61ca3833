/* Reads only the first 4 KiB of each recording: a thousand runs list in
 * milliseconds. */
#include "serve/listing.h"

#include "run/run.h"
#include "base/error.h"
#include "base/json.h"
#include "format/wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 4096

void sb_listing_done(struct sb_listing *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->runs[i].id);
		free(l->runs[i].path);
	}
	free(l->runs);
	memset(l, 0, sizeof *l);
}

static bool ends_with(const char *name, const char *end)
{
	size_t size = strlen(name), end_size = strlen(end);

	return size > end_size && !strcmp(name + size - end_size, end);
}

static bool read_header(const char *path, struct sb_file_header *out_head, uint64_t *out_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool good;

	if (fd < 0)
		return false;
	good = !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       pread(fd, out_head, sizeof *out_head, 0) == (ssize_t)sizeof *out_head &&
	       !memcmp(out_head->magic, SB_MAGIC, sizeof out_head->magic);
	close(fd);
	if (good)
		*out_bytes = (uint64_t)st.st_blocks * 512;
	return good;
}

static void take_header(struct sb_listed *run, const struct sb_file_header *h)
{
	if (run->name[0] && run->start_real_ns <= h->start_real_ns)
		return;
	snprintf(run->name, sizeof run->name, "%.*s", (int)sizeof h->name - 1, h->name);
	snprintf(run->host, sizeof run->host, "%.*s", (int)sizeof h->host - 1, h->host);
	run->start_real_ns = h->start_real_ns;
	run->pid = h->pid;
	run->rank = h->rank;
}

/* How a run ended is what its own process says, the first to record; the tool's
 * run.strobe speaks only where nobody else did. */
static void take_end(struct sb_listed *run, const struct sb_file_header *h, bool tool)
{
	bool known = run->main_start_ns != 0;

	if (known && (tool > run->main_is_tool ||
			     (tool == run->main_is_tool && run->main_start_ns <= h->start_real_ns)))
		return;
	run->main_is_tool = tool;
	run->main_start_ns = h->start_real_ns;
	run->closed = h->closed != 0;
}

const char *sb_listed_state(const struct sb_listed *run)
{
	return run->live ? "live" : run->closed ? "ended" : "killed";
}

/* Sums up the recordings directly in a folder, or the one file; false: none. */
static bool look_at(const char *path, struct sb_listed *run)
{
	struct sb_file_header head;
	uint64_t bytes;
	bool found = false;
	DIR *dir = opendir(path);

	if (!dir) {
		if (!ends_with(path, ".strobe") || !read_header(path, &head, &bytes))
			return false;
		take_header(run, &head);
		take_end(run, &head, false);
		run->bytes = bytes;
		run->live = sb_run_is_running(&head);
		return true;
	}
	for (struct dirent *e; (e = readdir(dir));) {
		char file[PATH_BYTES];

		if (!ends_with(e->d_name, ".strobe") ||
			snprintf(file, sizeof file, "%s/%s", path, e->d_name) >= (int)sizeof file ||
			!read_header(file, &head, &bytes))
			continue;
		take_header(run, &head);
		take_end(run, &head, !strcmp(e->d_name, "run.strobe"));
		run->bytes += bytes;
		run->live |= sb_run_is_running(&head);
		found = true;
	}
	closedir(dir);
	return found;
}

static int keep(struct sb_listing *l, const struct sb_listed *run, const char *id, const char *path)
{
	if (l->count >= SB_LISTING_MAX) {
		l->left_out++;
		return 0;
	}
	if (l->count == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		struct sb_listed *runs = realloc(l->runs, room * sizeof *runs);

		if (!runs)
			return sb_fail(STROBE_ENOMEM, "no memory to list runs");
		l->runs = runs;
		l->room = room;
	}
	l->runs[l->count] = *run;
	l->runs[l->count].id = strdup(id);
	l->runs[l->count].path = strdup(path);
	l->count++;
	if (!l->runs[l->count - 1].id || !l->runs[l->count - 1].path)
		return sb_fail(STROBE_ENOMEM, "no memory to list runs");
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	const struct sb_listed *x = a, *y = b;

	if (x->start_real_ns != y->start_real_ns)
		return x->start_real_ns > y->start_real_ns ? -1 : 1;
	return strcmp(x->id, y->id);
}

/* A job's folder holds a rank_<N> folder per rank: each is listed as JOB.rank_<N>. */
static int scan_ranks(const char *job, const char *name, struct sb_listing *l)
{
	DIR *dir = opendir(job);
	int err = 0;

	if (!dir)
		return 0;
	for (struct dirent *e; !err && (e = readdir(dir));) {
		struct sb_listed run = { .rank = -1 };
		char path[PATH_BYTES], id[600];
		struct stat st;

		if (strncmp(e->d_name, "rank_", 5) != 0 ||
			snprintf(path, sizeof path, "%s/%s", job, e->d_name) >= (int)sizeof path ||
			snprintf(id, sizeof id, "%s.%s", name, e->d_name) >= (int)sizeof id ||
			lstat(path, &st) || !S_ISDIR(st.st_mode) || !look_at(path, &run))
			continue;
		err = keep(l, &run, id, path);
	}
	closedir(dir);
	return err;
}

/* Links are left out: "last" names a run that is listed already. */
static int scan_folder(const char *folder, struct sb_listing *l)
{
	DIR *dir = opendir(folder);
	int err = 0;

	if (!dir)
		return errno == ENOENT ? 0 : sb_fail_errno("cannot list '%s'", folder);
	for (struct dirent *e; !err && (e = readdir(dir));) {
		struct sb_listed run = { .rank = -1 };
		char path[PATH_BYTES];
		struct stat st;

		if (e->d_name[0] == '.' ||
			snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path ||
			lstat(path, &st) || S_ISLNK(st.st_mode))
			continue;
		err = look_at(path, &run) ? keep(l, &run, e->d_name, path) : scan_ranks(path, e->d_name, l);
	}
	closedir(dir);
	return err;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

int sb_listing_scan(const char *target, struct sb_listing *out_listing)
{
	struct sb_listing l = { 0 };
	struct sb_listed run = { .rank = -1 };
	char clean[PATH_BYTES];
	size_t size = strlen(target);
	int err;

	while (size > 1 && target[size - 1] == '/')
		size--;
	snprintf(clean, sizeof clean, "%.*s", (int)size, target);
	if (look_at(clean, &run))
		err = keep(&l, &run, last_part(clean), clean);
	else
		err = scan_folder(clean, &l);
	if (err) {
		sb_listing_done(&l);
		return err;
	}
	if (l.count)
		qsort(l.runs, l.count, sizeof *l.runs, newest_first);
	*out_listing = l;
	return 0;
}

const struct sb_listed *sb_listing_find(const struct sb_listing *l, const char *id)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->runs[i].id, id))
			return &l->runs[i];
	return NULL;
}

static void put_time(struct sb_json *j, const char *key, uint64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000u);
	struct tm tm;
	char text[40];

	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", &tm))
		return;
	sb_json_string(j, key, text);
}

void sb_listing_json(const struct sb_listing *l, struct sb_buf *out)
{
	size_t shown = l->count < SB_LISTING_SHOWN ? l->count : SB_LISTING_SHOWN;
	struct sb_json j;

	sb_json_init(&j, out, false);
	sb_json_object_begin(&j, NULL);
	sb_json_array_begin(&j, "runs");
	for (size_t i = 0; i < shown; i++) {
		const struct sb_listed *r = &l->runs[i];

		sb_json_object_begin(&j, NULL);
		sb_json_string(&j, "id", r->id);
		sb_json_string(&j, "name", r->name);
		sb_json_string(&j, "host", r->host);
		put_time(&j, "start_time", r->start_real_ns);
		sb_json_string(&j, "state", sb_listed_state(r));
		sb_json_bool(&j, "live", r->live);
		sb_json_uint(&j, "bytes", r->bytes);
		sb_json_uint(&j, "pid", r->pid);
		if (r->rank >= 0)
			sb_json_int(&j, "rank", r->rank);
		sb_json_object_end(&j);
	}
	sb_json_array_end(&j);
	if (l->count > shown || l->left_out)
		sb_json_uint(&j, "left_out_count", l->count - shown + l->left_out);
	sb_json_object_end(&j);
}
