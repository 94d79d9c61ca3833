/* A shared page in: the recording inside it. */
#include "exchange/import.h"

#include "base/error.h"
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

#define MARKER "id=\"strobe-recording\" data-encoding=\"gzip\">"
#define UNPACKED_MOST (4ull << 30) /* twice what max_run_bytes is by default */
#define PART_BYTES (64u << 10)
#define END_BYTES 7 /* "</html>" */

struct page {
	struct sb_source *source;
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
		ssize_t n = sb_source_read(p->source, p->bytes, sizeof p->bytes);

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
static int find_recording(struct page *p)
{
	size_t matched = 0;
	int c;

	while (matched < sizeof MARKER - 1) {
		c = next(p);
		if (c == -1)
			return fail_without_recording(p);
		if (c < 0)
			return STROBE_EIO;
		keep_tail(p, c);
		matched = c == MARKER[matched] ? matched + 1 : c == MARKER[0];
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

static int write_all(int fd, const char *bytes, size_t size, const char *path)
{
	while (size) {
		ssize_t n = write(fd, bytes, size);

		if (n <= 0)
			return sb_fail_errno("cannot write '%s'", path);
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

static bool begins_with(const char *bytes, size_t size, const char *magic)
{
	return size >= strlen(magic) && !memcmp(bytes, magic, strlen(magic));
}

/* out_packed: these are packed recordings, not one gathered file. */
static int unzip(struct sb_inflate *z, int fd, const char *path, const char *strobe_path, bool *out_packed)
{
	static char bytes[PART_BYTES];
	uint64_t total = 0;
	ssize_t n;
	int err = 0;

	while (!err && (n = sb_inflate_read(z, bytes, sizeof bytes)) > 0) {
		if (!total)
			*out_packed = begins_with(bytes, (size_t)n, SB_SHARE_MAGIC);
		if (!total && !*out_packed && !begins_with(bytes, (size_t)n, SB_GATHERED_MAGIC))
			return sb_fail(STROBE_EFORMAT, "'%s' does not contain a recording", path);
		total += (uint64_t)n;
		if (total > UNPACKED_MOST)
			return sb_fail(STROBE_EFORMAT, "the recording in '%s' is larger than 4 GiB", path);
		err = write_all(fd, bytes, (size_t)n, strobe_path);
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

static int import_page(struct sb_source *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	struct page *p = calloc(1, sizeof *p);
	struct sb_inflate *z = NULL;
	bool packed = false;
	int fd = -1, err;

	if (!p)
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", path);
	p->source = source;
	p->path = path;
	err = find_recording(p);
	if (!err)
		err = sb_inflate_new(path, read_packed, p, &z);
	if (!err) {
		fd = open(strobe_path, O_WRONLY | O_TRUNC | O_CLOEXEC);
		err = fd < 0 ? sb_fail_errno("cannot write '%s'", strobe_path)
			     : unzip(z, fd, path, strobe_path, &packed);
	}
	if (p->cut)
		err = fail_cut(p);
	if (fd >= 0)
		close(fd);
	if (!err && packed)
		err = unpack(path, strobe_path);
	out_summary->recording_bytes = err ? 0 : size_of(strobe_path);
	sb_inflate_free(z);
	free(p);
	return err;
}

const struct sb_importer sb_share_importer = { "shared page", is_page, import_page };
