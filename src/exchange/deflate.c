/* gzip out, with zlib. */
#include "exchange/deflate.h"

#include "base/error.h"

#include <stdlib.h>
#include <zlib.h>

#define PART_BYTES (32u << 10)
#define GZIP_WINDOW (15 + 16)

struct sb_deflate {
	z_stream stream;
	struct sb_out *out;
	unsigned char part[PART_BYTES];
};

int sb_deflate_new(struct sb_out *out, struct sb_deflate **out_deflate)
{
	struct sb_deflate *z = calloc(1, sizeof *z);

	if (!z || deflateInit2(&z->stream, 6, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(z);
		return sb_fail(STROBE_ENOMEM, "no memory to compress");
	}
	z->out = out;
	*out_deflate = z;
	return 0;
}

static void pump(struct sb_deflate *z, int flush)
{
	do {
		z->stream.next_out = z->part;
		z->stream.avail_out = PART_BYTES;
		deflate(&z->stream, flush);
		sb_out_write(z->out, z->part, PART_BYTES - z->stream.avail_out);
	} while (!z->stream.avail_out);
}

void sb_deflate_write(struct sb_deflate *z, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	while (size) {
		unsigned part = size > 1u << 20 ? 1u << 20 : (unsigned)size;

		z->stream.next_in = (unsigned char *)(uintptr_t)at;
		z->stream.avail_in = part;
		pump(z, Z_NO_FLUSH);
		at += part;
		size -= part;
	}
}

int sb_deflate_end(struct sb_deflate *z)
{
	if (!z)
		return 0;
	z->stream.avail_in = 0;
	pump(z, Z_FINISH);
	deflateEnd(&z->stream);
	free(z);
	return 0;
}
