/* A shared page in: the recording or the job inside it. */
#include "exchange/import.h"

#include "base/error.h"
#include "base/whole_write.h"
#include "exchange/inflate.h"
#include "exchange/share.h"
#include "format/gathered.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENCODED "\" data-encoding=\"gzip\">"
#define RECORDING_MARKER "id=\"strobe-recording" ENCODED
#define JOB_MARKER "id=\"strobe-job" ENCODED
#define JOB_COMMENT \
	"<!--strobe:job-->" /* behind the doctype: the page of a job is known by its first bytes */
#define UNPACKED_MOST (4ull << 30) /* twice what max_run_bytes is by default */
#define PART_BYTES (64u << 10)
#define END_BYTES 7 /* "</html>" */

struct page {
	struct sb_foreign *source;
	const char *path;
	char bytes[PART_BYTES];
	size_t at, count;
	uint32_t bits; /* of base64 digits, not yet whole bytes */
	int bit_count;
	bool ended;
	bool cut; /* the page ended inside the recording */
	char tail[8]; /* the last bytes that are no space: "</html>" of a whole page */
	size_t tail_size;
};

static bool is_page(const char *bytes, size_t size)
{
	size_t i = 0;

	while (i < size && isspace((unsigned char)bytes[i]))
		i++;
	return size - i >= 14 && !strncasecmp(bytes + i, "<!doctype html", 14);
}

/* The next byte; -1: the end, -2: a failure. */
static int next(struct page *p)
{
	if (p->at == p->count) {
		ssize_t n = sb_foreign_read(p->source, p->bytes, sizeof p->bytes);

		if (n <= 0)
			return n < 0 ? -2 : -1;
		p->at = 0;
		p->count = (size_t)n;
	}
	return (unsigned char)p->bytes[p->at++];
}

static void keep_tail(struct page *p, int c)
{
	if (isspace(c))
		return;
	if (p->tail_size == END_BYTES)
		memmove(p->tail, p->tail + 1, --p->tail_size);
	p->tail[p->tail_size++] = (char)c;
}

static int fail_cut(const struct page *p)
{
	return sb_fail(STROBE_EFORMAT, "'%s' is cut off: the page ends too early; fetch it again", p->path);
}

static int fail_without_recording(const struct page *p)
{
	if (p->tail_size != END_BYTES || strncasecmp(p->tail, "</html>", END_BYTES))
		return fail_cut(p);
	return sb_fail(STROBE_EFORMAT,
		"'%s' is a page without a recording in it: 'strobe share RUN -o FILE' makes one with it",
		p->path);
}

/* No part of the marker begins like the marker but its first byte: one pass is enough. */
static int find_marker(struct page *p, const char *marker)
{
	size_t matched = 0;
	int c;

	while (marker[matched]) {
		c = next(p);
		if (c == -1)
			return fail_without_recording(p);
		if (c < 0)
			return STROBE_EIO;
		keep_tail(p, c);
		matched = c == marker[matched] ? matched + 1 : c == marker[0];
	}
	return 0;
}

static int digit_of(int c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Bytes of the base64 text; it ends at "<" or "=". */
static ssize_t read_packed(void *self, char *to, size_t size)
{
	struct page *p = self;
	size_t done = 0;

	while (done < size && !p->ended) {
		int c = next(p), digit = digit_of(c);

		if (c == -2)
			return -1;
		if (c < 0 || c == '<' || c == '=') {
			p->ended = true;
			p->cut = c == -1;
		} else if (digit >= 0) {
			p->bits = p->bits << 6 | (uint32_t)digit;
			p->bit_count += 6;
		} else if (!isspace(c)) {
			sb_fail(STROBE_EFORMAT, "the recording in '%s' is damaged: a byte that is not base64",
				p->path);
			return -1;
		}
		if (p->bit_count >= 8) {
			p->bit_count -= 8;
			to[done++] = (char)(p->bits >> p->bit_count);
		}
	}
	return (ssize_t)done;
}

static bool begins_with(const char *bytes, size_t size, const char *magic)
{
	return size >= strlen(magic) && !memcmp(bytes, magic, strlen(magic));
}

enum content { CONTENT_NONE, CONTENT_GATHERED, CONTENT_PACKED, CONTENT_JOB };

static enum content content_of(const char *bytes, size_t size)
{
	if (begins_with(bytes, size, SB_GATHERED_MAGIC))
		return CONTENT_GATHERED;
	if (begins_with(bytes, size, SB_SHARE_MAGIC))
		return CONTENT_PACKED;
	return begins_with(bytes, size, SB_SHARE_JOB_MAGIC) ? CONTENT_JOB : CONTENT_NONE;
}

static int unzip(struct sb_inflate *z, int fd, const char *path, const char *to, enum content *out_content)
{
	static _Thread_local char bytes[PART_BYTES];
	uint64_t total = 0;
	ssize_t n;
	int err = 0;

	while (!err && (n = sb_inflate_read(z, bytes, sizeof bytes)) > 0) {
		if (!total)
			*out_content = content_of(bytes, (size_t)n);
		if (*out_content == CONTENT_NONE)
			return sb_fail(STROBE_EFORMAT, "'%s' does not contain a recording", path);
		total += (uint64_t)n;
		if (total > UNPACKED_MOST)
			return sb_fail(STROBE_EFORMAT, "the recording in '%s' is larger than 4 GiB", path);
		err = sb_write_whole(fd, bytes, (size_t)n) ? 0 : sb_fail_errno("cannot write '%s'", to);
	}
	if (!err && n < 0)
		return STROBE_EFORMAT;
	if (!err && !total)
		err = sb_fail(STROBE_EFORMAT, "the recording in '%s' is empty", path);
	return err;
}

static int unpack(const char *path, const char *strobe_path)
{
	char packed[4096];
	int fd, err;

	if ((size_t)snprintf(packed, sizeof packed, "%s.packed", strobe_path) >= sizeof packed)
		return sb_fail(STROBE_EINVAL, "'%s': the name is too long", strobe_path);
	if (rename(strobe_path, packed))
		return sb_fail_errno("cannot write '%s'", packed);
	fd = open(strobe_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	err = fd < 0 ? sb_fail_errno("cannot write '%s'", strobe_path)
		     : sb_share_unpack(packed, strobe_path, path, UNPACKED_MOST);
	if (fd >= 0)
		close(fd);
	unlink(packed);
	return err;
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* What the page holds behind a marker, into a file that is there. */
static int read_page(struct sb_foreign *source, const char *path, const char *marker, const char *to,
	enum content *out_content)
{
	struct page *p = calloc(1, sizeof *p);
	struct sb_inflate *z = NULL;
	int fd = -1, err;

	if (!p)
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", path);
	p->source = source;
	p->path = path;
	err = find_marker(p, marker);
	if (!err)
		err = sb_inflate_new(path, read_packed, p, &z);
	if (!err) {
		fd = open(to, O_WRONLY | O_TRUNC | O_CLOEXEC);
		err = fd < 0 ? sb_fail_errno("cannot write '%s'", to) : unzip(z, fd, path, to, out_content);
	}
	if (p->cut)
		err = fail_cut(p);
	if (fd >= 0)
		close(fd);
	sb_inflate_free(z);
	free(p);
	return err;
}

static int import_page(struct sb_foreign *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	enum content content = CONTENT_NONE;
	int err = read_page(source, path, RECORDING_MARKER, strobe_path, &content);

	if (!err && content == CONTENT_PACKED)
		err = unpack(path, strobe_path);
	else if (!err && content == CONTENT_JOB)
		err = sb_fail(STROBE_EFORMAT, "the recording in '%s' is damaged", path);
	out_summary->recording_bytes = err ? 0 : size_of(strobe_path);
	return err;
}

/* ---- the page of a job ---- */

static bool is_job_page(const char *bytes, size_t size)
{
	static const char mark[] = "<!doctype html>" JOB_COMMENT;

	return begins_with(bytes, size, mark);
}

bool sb_share_is_job(const char *path)
{
	struct sb_foreign *source = NULL;
	const char *bytes;
	struct stat st;
	size_t size;
	bool is;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || sb_foreign_open(path, &source))
		return false;
	size = sb_foreign_peek(source, &bytes);
	is = is_job_page(bytes, size);
	sb_foreign_close(source);
	return is;
}

/* The job's bytes lie in the folder for a while, under a name that is no recording's. */
int sb_share_open_job(const char *path, const char *folder)
{
	enum content content = CONTENT_NONE;
	struct sb_foreign *source = NULL;
	char packed[4096];
	int fd, err;

	if ((size_t)snprintf(packed, sizeof packed, "%s/job.packed", folder) >= sizeof packed)
		return sb_fail(STROBE_EINVAL, "'%s': the name is too long", folder);
	fd = open(packed, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return sb_fail_errno("cannot write '%s'", packed);
	close(fd);
	err = sb_foreign_open(path, &source);
	if (!err)
		err = read_page(source, path, JOB_MARKER, packed, &content);
	if (!err)
		err = sb_share_job_unpack(packed, folder, path);
	sb_foreign_close(source);
	unlink(packed);
	return err;
}

/* A job is a folder, which is not what an import writes: the commands unpack a file, but not what a pipe brings. */
static int refuse_job(struct sb_foreign *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	return sb_fail(STROBE_EINVAL, "'%s' is the page of a job: save it to a file and name that", path);
}

const struct sb_importer sb_share_importer = { "shared page", is_page, import_page };
const struct sb_importer sb_share_job_importer = { "shared job", is_job_page, refuse_job };
