/* What a shared page holds: packed recordings one after the other, each behind its size. A third of what gzip makes of
 * them; a build without zstd puts them in as they are. */
#include "exchange/share.h"

#include "base/error.h"
#include "base/whole_write.h"
#include "format/gathered.h"
#include "format/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES (64u << 10)

static int fail_write(const char *path)
{
	return sb_fail_errno("cannot write '%s'", path);
}

static int open_new(const char *path, int *out_fd)
{
	*out_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *out_fd < 0 ? fail_write(path) : 0;
}

bool sb_share_pass(int from, int to, uint64_t size)
{
	static _Thread_local char bytes[COPY_BYTES];

	while (size) {
		ssize_t n = read(from, bytes, size < sizeof bytes ? (size_t)size : sizeof bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || !sb_write_whole(to, bytes, (size_t)n))
			return false;
		size -= (uint64_t)n;
	}
	return true;
}

/* ---- packing ---- */

int sb_share_put_file(const char *from, int to, const char *path)
{
	int fd = open(from, O_RDONLY | O_CLOEXEC), err = 0;
	struct stat st;
	uint64_t size = 0;

	if (fd >= 0 && !fstat(fd, &st))
		size = (uint64_t)st.st_size;
	if (!size || !sb_write_whole(to, &size, sizeof size) || !sb_share_pass(fd, to, size))
		err = fail_write(path);
	if (fd >= 0)
		close(fd);
	return err;
}

int sb_share_pack_one(struct sb_reader *reader, int to, const char *path, const char *part)
{
	int err = sb_packed_write(reader, part);

	if (err)
		return err;
	err = sb_share_put_file(part, to, path);
	unlink(part);
	return err;
}

int sb_share_pack(const struct sb_run *run, const char *path)
{
	char part[4096];
	int fd, err;

	if ((size_t)snprintf(part, sizeof part, "%s.part", path) >= sizeof part)
		return sb_fail(STROBE_EINVAL, "'%s': the name is too long", path);
	err = open_new(path, &fd);
	if (err)
		return err;
	if (!sb_write_whole(fd, SB_SHARE_MAGIC, SB_SHARE_MAGIC_BYTES))
		err = fail_write(path);
	for (uint32_t i = 0; !err && i < run->process_count; i++)
		err = sb_share_pack_one(run->processes[i].reader, fd, path, part);
	close(fd);
	if (err)
		unlink(path);
	return err;
}

/* ---- unpacking ---- */

static int fail_damaged(const char *path)
{
	return sb_fail(STROBE_EFORMAT, "the recording in '%s' is damaged", path);
}

/* A packed recording as a whole one, at the end of the gathered file. */
static int add_whole(
	const char *part, const char *whole, const char *path, int to, uint64_t most, uint64_t *total)
{
	struct sb_reader *reader = NULL;
	int fd = -1, err = sb_reader_open(part, &reader);

	if (err)
		return err == STROBE_ENOTSUP ? err : fail_damaged(path);
	*total += (uint64_t)reader->chunk_count * reader->head.chunk_bytes;
	if (*total > most)
		err = sb_fail(STROBE_EFORMAT, "the recording in '%s' is larger than 4 GiB", path);
	if (!err)
		err = open_new(whole, &fd);
	if (!err)
		err = sb_share_copy(reader, fd);
	if (!err && !sb_gathered_add(to, fd))
		err = fail_damaged(path);
	if (fd >= 0) {
		close(fd);
		unlink(whole);
	}
	sb_reader_close(reader);
	return err;
}

static int take_part(int from, uint64_t size, const char *part, const char *path)
{
	int fd, err = open_new(part, &fd);

	if (err)
		return err;
	if (!sb_share_pass(from, fd, size))
		err = fail_damaged(path);
	close(fd);
	return err;
}

static int unpack_parts(int from, int to, const char *strobe_path, const char *path, uint64_t most)
{
	char part[4096], whole[4096];
	uint64_t size, total = 0;
	int err = 0;

	snprintf(part, sizeof part, "%.4000s.part.strobe", strobe_path);
	snprintf(whole, sizeof whole, "%.4000s.whole", strobe_path);
	while (!err && read(from, &size, sizeof size) == sizeof size) {
		err = take_part(from, size, part, path);
		if (!err)
			err = add_whole(part, whole, path, to, most, &total);
		unlink(part);
	}
	return !err && !total ? fail_damaged(path) : err;
}

int sb_share_unpack(const char *packed, const char *strobe_path, const char *path, uint64_t most)
{
	int from = open(packed, O_RDONLY | O_CLOEXEC), to = open(strobe_path, O_RDWR | O_TRUNC | O_CLOEXEC);
	int err = 0;

	if (from < 0 || to < 0 || lseek(from, SB_SHARE_MAGIC_BYTES, SEEK_SET) < 0 || !sb_gathered_begin(to))
		err = fail_write(strobe_path);
	if (!err)
		err = unpack_parts(from, to, strobe_path, path, most);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return err;
}
