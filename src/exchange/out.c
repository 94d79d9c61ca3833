/* The exporters' buffered output. */
#include "exchange/out.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/whole_write.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int sb_out_open(struct sb_out *o, const char *path)
{
	memset(o, 0, sizeof *o);
	o->fd = o->file.fd = -1;
	o->to_stdout = !strcmp(path, "-");
	o->path = strdup(o->to_stdout ? "standard output" : path);
	o->buffer = malloc(SB_OUT_BYTES);
	if (!o->path || !o->buffer) {
		o->err = sb_fail(STROBE_ENOMEM, "no memory to write '%s'", path);
		return sb_out_close(o, false);
	}
	o->at = o->buffer;
	if (!o->to_stdout)
		o->err = sb_newfile_open(&o->file, path, 0600);
	o->fd = o->to_stdout ? STDOUT_FILENO : o->file.fd;
	return o->err ? sb_out_close(o, false) : 0;
}

static void write_all(struct sb_out *o, const char *bytes, size_t size)
{
	if (o->err)
		return;
	if (sb_write_whole(o->fd, bytes, size))
		o->written_bytes += size;
	else
		o->err = sb_fail_errno("cannot write '%s'", o->path);
}

void sb_out_flush(struct sb_out *o)
{
	write_all(o, o->buffer, (size_t)(o->at - o->buffer));
	o->at = o->buffer;
}

void sb_out_write(struct sb_out *o, const void *bytes, size_t size)
{
	const char *from = bytes;

	while (size) {
		size_t n = size < SB_OUT_RECORD_MAX ? size : SB_OUT_RECORD_MAX;

		o->at = sb_out_put(sb_out_room(o, n), from, n);
		from += n;
		size -= n;
	}
}

int sb_out_close(struct sb_out *o, bool keep)
{
	int closed;

	if (keep && o->fd >= 0)
		sb_out_flush(o);
	if (!o->to_stdout) {
		closed = sb_newfile_close(&o->file, keep && !o->err);
		o->err = o->err ? o->err : closed;
	}
	free(o->path);
	free(o->buffer);
	o->path = o->buffer = NULL;
	o->fd = -1;
	return o->err;
}

/* ---- numbers and strings ---- */

static const char digit_pairs[] =
	"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546"
	"4748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596"
	"979899";

static unsigned digits_of(uint64_t value)
{
	static const uint64_t powers[] = { 0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
		1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000,
		1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
		10000000000000000000ull };
	unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
	unsigned about = bits * 1233 >> 12; /* bits * log10(2) */

	return about + (value >= powers[about]);
}

/* Into its place from the last digit on: nothing to copy afterwards. */
char *sb_put_u64(char *to, uint64_t value)
{
	char *end = to + (value ? digits_of(value) : 1), *at = end;

	while (value >= 100) {
		at -= 2;
		memcpy(at, digit_pairs + value % 100 * 2, 2);
		value /= 100;
	}
	if (value >= 10)
		memcpy(at - 2, digit_pairs + value * 2, 2);
	else
		at[-1] = (char)('0' + value);
	return end;
}

char *sb_put_i64(char *to, int64_t value)
{
	if (value >= 0)
		return sb_put_u64(to, (uint64_t)value);
	*to++ = '-';
	return sb_put_u64(to, -(uint64_t)value);
}

char *sb_put_us(char *to, int64_t ns)
{
	uint64_t value = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	unsigned part = (unsigned)(value % 1000);

	if (ns < 0)
		*to++ = '-';
	to = sb_put_u64(to, value / 1000);
	to[0] = '.';
	to[1] = (char)('0' + part / 100);
	memcpy(to + 2, digit_pairs + part % 100 * 2, 2);
	return to + 4;
}

char *sb_put_double(char *to, double value)
{
	int size = 0;

	if (!isfinite(value))
		return SB_PUT(to, "null");
	if (fabs(value) < 1e15 && value == (double)(int64_t)value)
		return sb_put_i64(to, (int64_t)value);
	for (int digits = 9; digits <= 17; digits += digits == 9 ? 6 : 1) {
		size = snprintf(to, 32, "%.*g", digits, value);
		if (strtod(to, NULL) == value)
			break;
	}
	return to + size;
}

char *sb_put_json_string(char *to, const char *text, size_t limit)
{
	struct sb_buf quoted = { 0 };
	size_t size = strnlen(text, limit);

	while (size && size == limit && (text[size] & 0xc0) == 0x80)
		size--;
	sb_json_quote(&quoted, text, size);
	to = quoted.failed ? SB_PUT(to, "\"\"") : sb_out_put(to, quoted.data, quoted.size);
	sb_buf_done(&quoted);
	return to;
}
