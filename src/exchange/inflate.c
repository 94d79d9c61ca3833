/* gzip by zlib: members one after another, as gzip itself allows. */
#include "exchange/inflate.h"

#include "base/error.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define IN_BYTES 65536u

struct sb_inflate {
	z_stream stream;
	const char *name;
	sb_inflate_read_fn *read;
	void *self;
	bool member_open; /* inside a member: the end of the file would be early */
	bool at_end;
	unsigned long long in_bytes;
	char in[IN_BYTES];
};

int sb_inflate_new(const char *name, sb_inflate_read_fn *read, void *self, struct sb_inflate **out_inflate)
{
	struct sb_inflate *z = calloc(1, sizeof *z);

	if (!z || inflateInit2(&z->stream, 15 + 16) != Z_OK) {
		free(z);
		return sb_fail(STROBE_ENOMEM, "no memory to unpack '%s'", name);
	}
	z->name = name;
	z->read = read;
	z->self = self;
	*out_inflate = z;
	return 0;
}

void sb_inflate_free(struct sb_inflate *z)
{
	if (!z)
		return;
	inflateEnd(&z->stream);
	free(z);
}

/* False at the end of the file or on an error. */
static bool feed(struct sb_inflate *z, ssize_t *out_result)
{
	ssize_t n = z->read(z->self, z->in, sizeof z->in);

	*out_result = n;
	if (n < 0)
		return false;
	if (n == 0 && z->member_open) {
		sb_fail(STROBE_EFORMAT, "'%s' byte %llu: the gzip data ends too early", z->name, z->in_bytes);
		*out_result = -1;
		return false;
	}
	z->at_end = n == 0;
	z->in_bytes += (unsigned long long)n;
	z->stream.next_in = (Bytef *)z->in;
	z->stream.avail_in = (uInt)n;
	return n > 0;
}

ssize_t sb_inflate_read(struct sb_inflate *z, char *to, size_t size)
{
	ssize_t result = 0;

	z->stream.next_out = (Bytef *)to;
	z->stream.avail_out = (uInt)size;
	while (z->stream.avail_out == size && !z->at_end) {
		int state;

		if (!z->stream.avail_in && !feed(z, &result))
			return result;
		z->member_open = true;
		state = inflate(&z->stream, Z_NO_FLUSH);
		if (state == Z_STREAM_END) {
			z->member_open = false;
			inflateReset(&z->stream);
		} else if (state != Z_OK && state != Z_BUF_ERROR) {
			sb_fail(STROBE_EFORMAT, "'%s' byte %llu: damaged gzip data (%s)", z->name,
				z->in_bytes - z->stream.avail_in,
				z->stream.msg ? z->stream.msg : "no reason given");
			return -1;
		}
	}
	return (ssize_t)(size - z->stream.avail_out);
}
