/* Where a session's recording goes. */
#include "record/destination.h"

#include "base/error.h"
#include "base/filename.h"
#include "format/run_keys.h"
#include "format/spool.h"
#include "record/header.h"
#include "record/recorder.h"
#include "record/run_bytes.h"
#include "record/rundir.h"
#include "record/spool.h"
#include "record/tags.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- its folder and name --------------------------------------------------- */

static void name_file(uint32_t n, char *out, size_t size)
{
	if (!REC->under_run && !REC->forked)
		snprintf(out, size, n ? "run.%u.strobe" : "run.strobe", n);
	else
		snprintf(out, size, n ? "run.%ld.%u.strobe" : "run.%ld.strobe", (long)getpid(), n);
}

/* Before an exec() this process may have been another program that left files with its pid. */
static void next_file_name(char *out, size_t size)
{
	char path[sizeof REC->run_dir + 80], spool[sizeof path + 8];

	do {
		name_file(REC->file_count++, out, size);
		snprintf(path, sizeof path, "%s/%s", REC->run_dir, out);
		snprintf(spool, sizeof spool, "%s.spool", path);
	} while (!access(path, F_OK) || !access(spool, F_OK));
}

/* What Python runs: a script, or a whole module (-m); NULL: neither. */
static const char *python_argument(const char *arguments, const char *end, bool *out_module)
{
	for (const char *a = arguments; a < end && *a; a += strlen(a) + 1) {
		if (!strcmp(a, "-c")) /* what follows is no name */
			return NULL;
		*out_module = !strcmp(a, "-m");
		if (*out_module || !strcmp(a, "-X") || !strcmp(a, "-W"))
			a += strlen(a) + 1;
		else if (*a != '-')
			return sb_filename_of(a);
		if (*out_module)
			return a < end && *a ? a : NULL;
	}
	return NULL;
}

/* The command line of a process, words with a 0 after each; 0: not known. */
static size_t read_arguments(const char *file, char *out, size_t size)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, out, size - 2);

	if (fd >= 0)
		close(fd);
	n = n > 0 ? n : 0;
	out[n] = out[n + 1] = 0;
	return (size_t)n;
}

/* A process of multiprocessing (mp.spawn) is a part of the program that started it. */
static bool is_spawned(const char *arguments, size_t size)
{
	static const char code[] = "from multiprocessing.";

	for (const char *a = arguments; a < arguments + size && *a; a += strlen(a) + 1)
		if (!strncmp(a, code, sizeof code - 1))
			return true;
	return false;
}

/* "python3 wan_t2v.py" is called wan_t2v, not python3. */
static void name_after_program(char *out, size_t size)
{
	char arguments[4096], parent[64];
	const char *name = program_invocation_short_name, *found = NULL;
	size_t n = strncmp(name, "python", 6)
			   ? 0
			   : read_arguments("/proc/self/cmdline", arguments, sizeof arguments);
	bool module = false;
	const char *dot;

	if (is_spawned(arguments, n)) {
		snprintf(parent, sizeof parent, "/proc/%ld/cmdline", (long)getppid());
		n = read_arguments(parent, arguments, sizeof arguments);
	}
	if (n)
		found = python_argument(arguments + strlen(arguments) + 1, arguments + n, &module);
	name = found ? found : name;
	dot = found && module ? NULL : strrchr(name, '.');
	snprintf(out, size, "%.*s", dot && dot > name ? (int)(dot - name) : (int)strlen(name), name);
}

/* By its whole path: the program may change its folder, and its children and the
 * report must still find the run. */
static int make_run_dir(void)
{
	char path[sizeof REC->run_dir], whole[PATH_MAX];
	int err = sb_rundir_make(&REC->settings, path, sizeof path, &REC->run_folder, &REC->attempt);

	if (err)
		return err;
	if (realpath(path, whole) && strlen(whole) < sizeof REC->run_dir)
		strcpy(REC->run_dir, whole);
	else
		strcpy(REC->run_dir, path);
	return 0;
}

int sb_destination_choose(void *destination)
{
	struct sb_destination *p = destination;
	const char *given = secure_getenv("STROBE_RUN_DIR");
	int err = 0;

	if (!REC->settings.name[0])
		name_after_program(REC->settings.name, sizeof REC->settings.name);
	sb_tags_mask_name(&REC->settings);
	REC->under_run = given && *given;
	if (REC->under_run) {
		snprintf(REC->run_dir, sizeof REC->run_dir, "%s", given);
		REC->run_folder = (struct sb_folder){ 0, 0 };
	} else if (!REC->forked) { /* a forked child shares its parent's folder */
		REC->file_count = 0;
		err = make_run_dir();
		p->made = !err;
	}
	if (!err)
		next_file_name(p->file_name, sizeof p->file_name);
	return err;
}

int sb_destination_discard(void *unused)
{
	sb_rundir_discard(REC->run_dir, &REC->run_folder);
	return 0;
}

/* ---- the file ------------------------------------------------------------- */

static int create_file(int folder, const struct sb_opening *o, bool spooled, struct sb_descriptor *out)
{
	int fd, err;

	REC->spool_path[0] = 0;
	REC->run_folder = sb_folder_of(folder);
	if (!spooled) {
		fd = sb_folder_create(folder, o->file_name, 0600);
		return sb_descriptor_adopt(out, fd) ? 0 : sb_fail_errno("cannot write '%s'", REC->file_path);
	}
	err = sb_spool_open(folder, o->run_dir, o->file_name, REC->spool_path, sizeof REC->spool_path, &fd);
	if (err)
		return err;
	return sb_descriptor_adopt(out, fd) ? 0 : sb_fail_errno("cannot write '%s'", REC->spool_path);
}

static int open_file(const struct sb_opening *o, bool spooled, struct sb_descriptor *out)
{
	int folder, err;

	if ((size_t)snprintf(REC->file_path, sizeof REC->file_path, "%s/%s", o->run_dir, o->file_name) >=
		sizeof REC->file_path)
		return sb_fail(STROBE_EINVAL, "the folder name is too long: '%.80s...'", o->run_dir);
	if (o->run_dir != REC->run_dir)
		REC->run_folder = (struct sb_folder){ 0, 0 };
	folder = sb_folder_reopen(o->run_dir, &REC->run_folder);
	if (folder < 0 && errno == EPERM)
		return sb_fail(STROBE_EPERM, "the run folder '%s' is not your own, or others may write to it",
			o->run_dir);
	if (folder < 0)
		return sb_fail_errno("cannot open the run folder '%s'", o->run_dir);
	err = create_file(folder, o, spooled, out);
	close(folder);
	return err;
}

static void discard_file(const char *run_dir, const char *file_name)
{
	char pointer[96];
	int folder = sb_folder_reopen(run_dir, &REC->run_folder);

	if (REC->spool_path[0])
		unlink(REC->spool_path);
	if (folder < 0)
		return;
	snprintf(pointer, sizeof pointer, "%s%s", file_name, REC->spool_path[0] ? SB_SPOOL_SUFFIX : "");
	unlinkat(folder, pointer, 0);
	close(folder);
}

/* The file system can do without what failed, a local one cannot. */
static bool cannot_map(int error)
{
	return error == ENODEV || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL ||
	       error == EACCES || error == EPERM;
}

/* strobe run's own recording has the samples for all of them: only its own bound counts. */
static uint64_t run_bound(const struct sb_opening *o)
{
	const struct sb_settings *s = o->settings;

	if (o->run_dir != REC->run_dir)
		return 0;
	return s->max_run_bytes > s->max_trace_bytes ? s->max_run_bytes : s->max_trace_bytes;
}

/* The new extent replaces the old one only when it is whole: a late thread may
 * still look at the old one's header. */
static int open_extent(struct sb_opening *o, bool spooled)
{
	struct sb_extent fresh;
	struct sb_descriptor file;
	int err = open_file(o, spooled, &file);

	REC->run_full = false;
	if (err)
		return err;
	err = sb_extent_open(
		&fresh, &file, o->settings->max_trace_bytes, run_bound(o), REC->forked || REC->under_run);
	if (err) {
		o->unmappable = cannot_map(fresh.error);
		REC->run_full = fresh.run_full;
		sb_extent_close(&fresh);
		discard_file(o->run_dir, o->file_name);
		return err;
	}
	REC->extent = fresh;
	return 0;
}

/* `strobe run` counts it. On a full disk an empty file still has room: it takes no block. */
static void tell_refused(const char *run_dir)
{
	char name[40];
	int folder, file;

	if (REC->run_full) {
		sb_run_bytes_refused(run_dir);
		return;
	}
	folder = sb_folder_reopen(run_dir, &REC->run_folder);
	if (folder < 0)
		return;
	snprintf(name, sizeof name, SB_RUN_DISK_FULL "%ld", (long)getpid());
	file = sb_folder_create(folder, name, 0600);
	if (file >= 0)
		close(file);
	close(folder);
}

int sb_destination_open(void *opening)
{
	struct sb_opening *o = opening;
	bool spooled = sb_rundir_needs_spool(o->run_dir);
	int err = open_extent(o, spooled);
	struct sb_file_header *header;

	if (err && !spooled && o->unmappable && !secure_getenv("STROBE_SPOOL"))
		err = open_extent(o, true);
	if (err == STROBE_ENOSPC && REC->under_run)
		tell_refused(o->run_dir);
	if (err)
		return err;
	header = (struct sb_file_header *)REC->extent.base;
	sb_header_fill(header, REC->extent.chunk_bytes, o->settings, o->run_dir);
	header->main_tid = o->main_tid;
	atomic_store_explicit(&REC->header, header, memory_order_release);
	return 0;
}
