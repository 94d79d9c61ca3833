/* Growing byte strings, and the whole-file reads and writes that use them. */
#include "base/buf.h"

#include "base/error.h"
#include "base/infile.h"
#include "base/newfile.h"
#include "base/numerals.h"
#include "base/whole_write.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sb_buf_done(struct sb_buf *b)
{
	free(b->data);
	memset(b, 0, sizeof *b);
}

void sb_buf_clear(struct sb_buf *b)
{
	b->size = 0;
	if (b->data)
		b->data[0] = 0;
}

char *sb_buf_reserve(struct sb_buf *b, size_t more)
{
	size_t need = b->size + more + 1;
	size_t capacity = b->capacity ? b->capacity : 256;
	char *data;

	if (b->failed)
		return NULL;
	if (need <= b->capacity)
		return b->data + b->size;
	while (capacity < need)
		capacity *= 2;
	data = realloc(b->data, capacity);
	if (!data) {
		b->failed = true;
		return NULL;
	}
	b->data = data;
	b->capacity = capacity;
	return data + b->size;
}

void sb_buf_add(struct sb_buf *b, const void *bytes, size_t size)
{
	char *to = sb_buf_reserve(b, size);

	if (!to)
		return;
	if (size)
		memcpy(to, bytes, size);
	b->size += size;
	b->data[b->size] = 0;
}

void sb_buf_puts(struct sb_buf *b, const char *text)
{
	sb_buf_add(b, text, strlen(text));
}

void sb_buf_putc(struct sb_buf *b, char c)
{
	sb_buf_add(b, &c, 1);
}

void sb_buf_printf(struct sb_buf *b, const char *format, ...)
{
	locale_t before = sb_numerals_enter();
	va_list args, again;
	int size;
	char *to;

	va_start(args, format);
	va_copy(again, args);
	size = vsnprintf(NULL, 0, format, args);
	va_end(args);
	to = size < 0 ? NULL : sb_buf_reserve(b, (size_t)size);
	if (to) {
		vsnprintf(to, (size_t)size + 1, format, again);
		b->size += (size_t)size;
	}
	va_end(again);
	sb_numerals_leave(before);
}

void sb_buf_put_base64(struct sb_buf *out, const void *data, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *bytes = data;
	char *p = sb_buf_reserve(out, (size + 2) / 3 * 4);

	if (!p)
		return;
	for (size_t i = 0; i < size; i += 3) {
		unsigned v = (unsigned)bytes[i] << 16 | (i + 1 < size ? bytes[i + 1] : 0u) << 8 |
			     (i + 2 < size ? bytes[i + 2] : 0u);

		*p++ = digits[v >> 18];
		*p++ = digits[v >> 12 & 63];
		*p++ = i + 1 < size ? digits[v >> 6 & 63] : '=';
		*p++ = i + 2 < size ? digits[v & 63] : '=';
	}
	out->size += (size + 2) / 3 * 4;
	*p = '\0';
}

const char *sb_buf_text(const struct sb_buf *b)
{
	return b->data ? b->data : "";
}

int sb_buf_write_file(const struct sb_buf *b, const char *path, unsigned mode)
{
	struct sb_newfile file;
	int err, closed;

	if (b->failed)
		return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", path);
	err = sb_newfile_open(&file, path, mode);
	if (!err && !sb_write_whole(file.fd, b->data, b->size))
		err = sb_fail_errno("cannot write '%s'", path);
	closed = sb_newfile_close(&file, !err);
	return err ? err : closed;
}

int sb_buf_write_own_file(const struct sb_buf *b, const char *path, unsigned mode)
{
	sb_newfile_make_way(path);
	return sb_buf_write_file(b, path, mode);
}

static int read_from(struct sb_buf *b, const char *path, size_t limit, enum sb_infile_from from)
{
	int fd, err = sb_infile_open(path, from, &fd);

	if (err)
		return err;
	for (;;) {
		char *to = sb_buf_reserve(b, 65536);
		ssize_t n;

		if (!to) {
			err = sb_fail(STROBE_ENOMEM, "no memory to read '%s'", path);
			break;
		}
		n = read(fd, to, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = sb_fail_errno("cannot read '%s'", path);
		if (n <= 0)
			break;
		b->size += (size_t)n;
		b->data[b->size] = 0;
		if (b->size > limit) {
			err = sb_fail(STROBE_EFORMAT, "'%s' is larger than %zu %s: not a file of this kind",
				path, limit % (1 << 20) ? limit : limit >> 20,
				limit % (1 << 20) ? "bytes" : "MiB");
			break;
		}
	}
	close(fd);
	return err;
}

int sb_buf_read_file(struct sb_buf *b, const char *path, size_t limit)
{
	return read_from(b, path, limit, SB_INFILE_STREAM);
}

int sb_buf_read_regular(struct sb_buf *b, const char *path, size_t limit)
{
	return read_from(b, path, limit, SB_INFILE_NAMED);
}
