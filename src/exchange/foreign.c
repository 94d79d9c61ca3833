/* Front-to-back reading, with a look at the first bytes and a progress call. */
#include "exchange/foreign.h"

#include "base/error.h"
#include "exchange/ahead.h"
#include "exchange/inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRESS_STEP_BYTES (4u << 20)
/* A smaller file is read before a thread has started. */
#define AHEAD_LEAST_BYTES (512u * 1024)

struct sb_foreign {
	int fd;
	char path[1024];
	uint64_t total_bytes, told_bytes;
	_Atomic uint64_t done_bytes; /* the thread that reads ahead counts, too */
	sb_progress_fn *progress;
	void *progress_self;
	struct sb_inflate *inflate;
	struct sb_ahead *ahead; /* NULL: bytes are read when they are wanted */
	char peeked[4096];
	size_t peeked_count, peeked_used;
	bool read_ahead; /* once the first bytes are taken; some only look at those */
	bool raw_peek; /* peeked holds raw bytes still to be unpacked */
};

static ssize_t read_raw(void *self, char *to, size_t size)
{
	struct sb_foreign *s = self;
	ssize_t n;

	if (s->raw_peek && s->peeked_used < s->peeked_count) {
		n = (ssize_t)(s->peeked_count - s->peeked_used);
		if ((size_t)n > size)
			n = (ssize_t)size;
		memcpy(to, s->peeked + s->peeked_used, (size_t)n);
		s->peeked_used += (size_t)n;
		return n;
	}
	do
		n = read(s->fd, to, size);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		sb_fail_errno("cannot read '%s'", s->path);
	else
		s->done_bytes += (uint64_t)n;
	return n;
}

static void tell_progress(struct sb_foreign *s)
{
	uint64_t done_bytes = s->done_bytes;

	if (!s->progress || done_bytes - s->told_bytes < PROGRESS_STEP_BYTES)
		return;
	s->told_bytes = done_bytes;
	s->progress(s->progress_self, done_bytes, s->total_bytes);
}

static ssize_t read_content(void *self, char *to, size_t size)
{
	struct sb_foreign *s = self;

	return s->inflate ? sb_inflate_read(s->inflate, to, size) : read_raw(s, to, size);
}

static int fill_peek(struct sb_foreign *s)
{
	s->peeked_count = s->peeked_used = 0;
	while (s->peeked_count < sizeof s->peeked) {
		ssize_t n = read_content(s, s->peeked + s->peeked_count, sizeof s->peeked - s->peeked_count);

		if (n < 0)
			return STROBE_EIO;
		if (n == 0)
			break;
		s->peeked_count += (size_t)n;
	}
	return 0;
}

/* The unpacker takes the raw peek in its first read; then the peek is content. */
static int unpack(struct sb_foreign *s)
{
	char first[sizeof s->peeked];
	size_t count = 0;
	ssize_t n;
	int err = sb_inflate_new(s->path, read_raw, s, &s->inflate);

	if (err)
		return err;
	s->raw_peek = true;
	do {
		n = sb_inflate_read(s->inflate, first + count, sizeof first - count);
		if (n < 0)
			return STROBE_EFORMAT;
		count += (size_t)n;
	} while (n && count < sizeof first);
	s->raw_peek = false;
	s->peeked_used = 0;
	s->peeked_count = count;
	memcpy(s->peeked, first, count);
	return 0;
}

/* A pipe can make the thread wait for ever: only files. */
static bool is_worth_reading_ahead(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_size >= AHEAD_LEAST_BYTES;
}

int sb_foreign_open(const char *path, struct sb_foreign **out_source)
{
	struct sb_foreign *s = calloc(1, sizeof *s);
	struct stat st;
	int err = 0;

	if (!s)
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", path);
	snprintf(s->path, sizeof s->path, "%s", path);
	s->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
				  : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (s->fd < 0 || fstat(s->fd, &st))
		err = sb_fail_errno("cannot open '%s'", path);
	else if (S_ISDIR(st.st_mode))
		err = sb_fail(STROBE_EFORMAT, "'%s' is a folder, not a file", path);
	else
		err = fill_peek(s);
	if (!err) {
		s->total_bytes = (uint64_t)st.st_size;
		if (s->peeked_count >= 2 && !memcmp(s->peeked, "\x1f\x8b", 2))
			err = unpack(s);
		s->read_ahead = is_worth_reading_ahead(&st);
	}
	if (err) {
		sb_foreign_close(s);
		return err;
	}
	*out_source = s;
	return 0;
}

void sb_foreign_close(struct sb_foreign *s)
{
	if (!s)
		return;
	sb_ahead_free(s->ahead); /* first: its thread uses the rest */
	sb_inflate_free(s->inflate);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

void sb_foreign_on_progress(struct sb_foreign *s, sb_progress_fn *progress, void *self)
{
	s->progress = progress;
	s->progress_self = self;
}

size_t sb_foreign_peek(struct sb_foreign *s, const char **out_bytes)
{
	*out_bytes = s->peeked + s->peeked_used;
	return s->peeked_count - s->peeked_used;
}

static void start_ahead(struct sb_foreign *s)
{
	if (!s->read_ahead)
		return;
	s->read_ahead = false;
	s->ahead = sb_ahead_new(read_content, s);
}

/* What follows the first bytes. */
static ssize_t read_on(struct sb_foreign *s, char *to, size_t size)
{
	ssize_t n;

	start_ahead(s);
	n = s->ahead ? sb_ahead_read(s->ahead, to, size) : read_content(s, to, size);
	tell_progress(s);
	return n;
}

ssize_t sb_foreign_read(void *source, char *to, size_t size)
{
	struct sb_foreign *s = source;
	size_t left = s->peeked_count - s->peeked_used;

	if (!left)
		return read_on(s, to, size);
	if (left > size)
		left = size;
	memcpy(to, s->peeked + s->peeked_used, left);
	s->peeked_used += left;
	return (ssize_t)left;
}

bool sb_foreign_lend(void *source, const char *unread, size_t unread_size, struct sb_jsonin_lent *out_lent)
{
	struct sb_foreign *s = source;

	if (s->peeked_used < s->peeked_count)
		return false;
	start_ahead(s);
	tell_progress(s);
	return s->ahead && sb_ahead_lend(s->ahead, unread, unread_size, out_lent);
}

int sb_foreign_read_all(struct sb_foreign *source, const char *path, size_t most_bytes, struct sb_buf *out)
{
	for (;;) {
		char *to = sb_buf_reserve(out, 65536);
		ssize_t n = to ? sb_foreign_read(source, to, 65536) : -1;

		if (!to || out->size > most_bytes)
			return sb_fail(STROBE_ENOMEM, "'%s' is too large for a report", path);
		if (n < 0)
			return STROBE_EIO;
		if (n == 0)
			return 0;
		out->size += (size_t)n;
	}
}
