/* What the page of a job holds: the magic, then for each recording the size of its name, its name below the job's
 * folder ("rank_3/run.strobe"), its size and its bytes. A build without zstd puts them in unpacked. */
#include "exchange/share.h"

#include "base/error.h"
#include "base/filename.h"
#include "base/whole_write.h"
#include "run/catalogue.h"
#include "run/job_parts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MOST 200u

/* ---- packing ---- */

static int fail_write(const char *path)
{
	return sb_fail_errno("cannot write '%s'", path);
}

static int add_recording(const char *name, const char *recording, int to, const char *path)
{
	uint64_t size = strlen(name);
	struct sb_reader *reader = NULL;
	char part[PATH_MAX];
	int err = sb_reader_open(recording, &reader);

	if (!err && (size_t)snprintf(part, sizeof part, "%s.part", path) >= sizeof part)
		err = sb_fail(STROBE_EINVAL, "'%s': the name is too long", path);
	if (!err && (!sb_write_whole(to, &size, sizeof size) || !sb_write_whole(to, name, size)))
		err = fail_write(path);
	if (!err)
		err = sb_share_pack_one(reader, to, path, part);
	if (err == STROBE_ENOTSUP)
		err = sb_share_put_file(recording, to, path);
	sb_reader_close(reader);
	return err;
}

static int add_part(const struct sb_job_part *part, int to, const char *path)
{
	struct sb_recording_paths files = { 0 };
	int err = sb_catalogue_recordings(part->path, &files);

	for (size_t i = 0; !err && i < files.count; i++) {
		char name[NAME_MOST + 1];

		if ((size_t)snprintf(name, sizeof name, "%s%s%s", part->name, *part->name ? "/" : "",
			    sb_filename_of(files.paths[i])) >= sizeof name)
			err = sb_fail(STROBE_EINVAL, "'%s': the name is too long", files.paths[i]);
		else
			err = add_recording(name, files.paths[i], to, path);
	}
	sb_recording_paths_done(&files);
	return err;
}

/* Says what to do instead. */
static int check_size(int to, uint64_t most_bytes)
{
	if ((uint64_t)lseek(to, 0, SEEK_CUR) <= most_bytes)
		return 0;
	return sb_fail(STROBE_EINVAL,
		"the recordings of the job take more than %.0f MB packed, and browsers open no page of that "
		"size: send a "
		"rank (JOB/rank_0), or the folder that 'strobe export JOB --to packed' writes",
		(double)most_bytes * 1e-6);
}

int sb_share_job_pack(const char *folder, const char *path, uint64_t most_bytes)
{
	struct sb_job_parts parts = { 0 };
	int to, err = sb_job_parts_find(folder, &parts);

	if (err)
		return err;
	to = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0 || !sb_write_whole(to, SB_SHARE_JOB_MAGIC, strlen(SB_SHARE_JOB_MAGIC)))
		err = fail_write(path);
	for (size_t i = 0; !err && i < parts.count; i++) {
		err = add_part(&parts.all[i], to, path);
		if (!err)
			err = check_size(to, most_bytes);
	}
	if (to >= 0)
		close(to);
	sb_job_parts_done(&parts);
	return err;
}

/* ---- unpacking ---- */

static int fail_damaged(const char *path)
{
	return sb_fail(STROBE_EFORMAT, "the job in '%s' is damaged", path);
}

static bool read_whole(int from, void *to, size_t size)
{
	return read(from, to, size) == (ssize_t)size;
}

/* "run.7.strobe" or "rank_3/run.strobe", and nothing that leads elsewhere. */
static bool is_safe(const char *name)
{
	const char *file = strchr(name, '/');
	size_t digits = strncmp(name, "rank_", 5) ? 0 : strspn(name + 5, "0123456789");

	if (file && (!digits || name + 5 + digits != file))
		return false;
	file = file ? file + 1 : name;
	return !strncmp(file, "run.", 4) && sb_ends_with(file, ".strobe") && !strchr(file, '/');
}

/* A name, with the folder it needs. */
static int read_name(int from, const char *folder, const char *path, char *out, size_t size)
{
	char name[NAME_MOST + 1] = "";
	uint64_t length;
	char *slash;

	if (!read_whole(from, &length, sizeof length) || length > NAME_MOST ||
		!read_whole(from, name, (size_t)length) || !is_safe(name))
		return fail_damaged(path);
	if ((size_t)snprintf(out, size, "%s/%s", folder, name) >= size)
		return sb_fail(STROBE_EINVAL, "'%s': the name is too long", folder);
	slash = strrchr(out, '/');
	*slash = 0;
	mkdir(out, 0700); /* mostly it is there */
	*slash = '/';
	return 0;
}

static int take_recording(int from, const char *folder, const char *path)
{
	char file[PATH_MAX];
	uint64_t size;
	int to, err = read_name(from, folder, path, file, sizeof file);

	if (err)
		return err;
	if (!read_whole(from, &size, sizeof size))
		return fail_damaged(path);
	to = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0)
		return fail_write(file);
	if (!sb_share_pass(from, to, size))
		err = fail_damaged(path);
	close(to);
	return err;
}

static bool has_more(int from)
{
	char byte;
	bool more = read(from, &byte, 1) == 1;

	return more && lseek(from, -1, SEEK_CUR) >= 0;
}

int sb_share_job_unpack(const char *packed, const char *folder, const char *path)
{
	int from = open(packed, O_RDONLY | O_CLOEXEC);
	char magic[8];
	int err = 0;

	if (from < 0)
		return sb_fail_errno("cannot read '%s'", packed);
	if (!read_whole(from, magic, sizeof magic) || memcmp(magic, SB_SHARE_JOB_MAGIC, sizeof magic) != 0 ||
		!has_more(from))
		err = fail_damaged(path);
	while (!err && has_more(from))
		err = take_recording(from, folder, path);
	close(from);
	return err;
}
