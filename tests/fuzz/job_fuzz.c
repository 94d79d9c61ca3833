/* libFuzzer: any bytes as the page of a job, or as what such a page holds. What is unpacked is opened as a job; nothing
 * may be written but recordings, below the folder that was given. The first byte says what the rest is. */
#include "base/buf.h"
#include "base/filename.h"
#include "exchange/deflate.h"
#include "exchange/out.h"
#include "exchange/share.h"
#include "run/brief.h"
#include "run/catalogue.h"
#include "run/job.h"
#include "run/job_parts.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AS_JOB, AS_PAGE_OF_JOB, AS_PAGE, WAYS }; /* the bytes; wrapped as a page; a page themselves */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char top[64], folder[80], page[80];

static int empty(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return at->level < 1 ? 0 : remove(path);
}

/* Everything below the folder is "run.….strobe", alone or in "rank_<N>". */
static int check(const char *path, const struct stat *st, int type, struct FTW *at)
{
	const char *name = path + at->base;

	if (at->level == 0)
		return 0;
	if (type == FTW_D ? at->level != 1 || !sb_catalogue_is_rank(name)
			  : type != FTW_F || at->level > 2 || strncmp(name, "run.", 4) ||
				    !sb_ends_with(name, ".strobe"))
		abort();
	return 0;
}

/* Beside the folder and the input there is nothing. */
static int check_top(const char *path, const struct stat *st, int type, struct FTW *at)
{
	if (at->level == 1 && strcmp(path, folder) && strcmp(path, page))
		abort();
	return 0;
}

static void make_folders(void)
{
	snprintf(top, sizeof top, "%s/strobe-fuzz-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(top))
		abort();
	snprintf(folder, sizeof folder, "%s/job", top);
	snprintf(page, sizeof page, "%s/page", top);
	if (mkdir(folder, 0700))
		abort();
}

static void remove_folders(void)
{
	nftw(top, empty, 8, FTW_DEPTH | FTW_PHYS);
	rmdir(top);
}

static void put_base64(struct sb_buf *out, const uint8_t *bytes, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		uint32_t word = (uint32_t)bytes[i] << 16;

		word |= i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0;
		word |= i + 2 < size ? bytes[i + 2] : 0;
		for (int k = 0; k < 4; k++)
			sb_buf_putc(out, i + (size_t)k > size ? '=' : digits[word >> (18 - 6 * k) & 63]);
	}
}

/* A page around the bytes, packed as the tool does it. */
static int wrap(const uint8_t *data, size_t size, struct sb_buf *out)
{
	struct sb_buf packed = { 0 };
	struct sb_deflate *z = NULL;
	struct sb_out to;
	char path[96];
	int err;

	snprintf(path, sizeof path, "%s.gz", page);
	err = sb_out_open(&to, path);
	if (err)
		return err;
	err = sb_deflate_new(&to, &z);
	if (!err) {
		sb_deflate_write(z, data, size);
		err = sb_deflate_end(z);
	}
	err = sb_out_close(&to, !err) || err;
	if (!err)
		err = sb_buf_read_file(&packed, path, 1u << 24);
	unlink(path);
	sb_buf_puts(out, "<!doctype html><!--strobe:job--><script id=\"strobe-job\" data-encoding=\"gzip\">");
	put_base64(out, (const uint8_t *)sb_buf_text(&packed), packed.size);
	sb_buf_puts(out, "</script></html>");
	sb_buf_done(&packed);
	return err;
}

static int write_input(const void *bytes, size_t size)
{
	int fd = open(page, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int err = fd < 0 || write(fd, bytes, size) != (ssize_t)size;

	if (fd >= 0)
		close(fd);
	return err;
}

static int unpack(int way, const uint8_t *data, size_t size)
{
	struct sb_buf wrapped = { 0 };
	int err;

	if (way == AS_PAGE_OF_JOB)
		err = wrap(data, size, &wrapped) || write_input(sb_buf_text(&wrapped), wrapped.size);
	else
		err = write_input(data, size);
	sb_buf_done(&wrapped);
	if (err)
		return err;
	(void)sb_share_is_job(page);
	return way == AS_JOB ? sb_share_job_unpack(page, folder, "page") : sb_share_open_job(page, folder);
}

static void open_ranks(void)
{
	struct sb_job_parts parts = { 0 };
	struct sb_job job = { 0 };

	if (!sb_job_find(folder, &job))
		for (size_t i = 0; i < job.rank_count; i++) {
			struct sb_run_brief brief;

			(void)sb_run_brief_read(job.ranks[i], &brief);
		}
	sb_job_done(&job);
	if (!sb_job_parts_find(folder, &parts))
		for (size_t i = 0; i < parts.count; i++) {
			struct sb_run *run = NULL;

			if (!sb_run_open_folder(parts.all[i].path, &run))
				sb_run_close(run);
		}
	sb_job_parts_done(&parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int err;

	if (!*top) {
		make_folders();
		atexit(remove_folders);
	}
	if (!size)
		return 0;
	err = unpack(data[0] % WAYS, data + 1, size - 1);
	nftw(top, check_top, 8, FTW_PHYS);
	nftw(folder, check, 8, FTW_PHYS);
	if (!err)
		open_ranks();
	nftw(folder, empty, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}
