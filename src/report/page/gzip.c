/* Packs with zlib. Its absence is no_gzip.c. */
#include "report/page/gzip.h"

#include "base/error.h"

#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* 15 bits, gzip header */

int sb_gzip(const void *bytes, size_t size, struct sb_buf *out)
{
	z_stream z = { 0 };
	size_t bound;
	char *room;

	if (size > UINT32_MAX)
		return sb_fail(STROBE_EINVAL, "too much to pack at once: %zu bytes", size);
	if (deflateInit2(&z, 6, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return sb_fail(STROBE_ENOMEM, "no memory to pack %zu bytes", size);
	bound = deflateBound(&z, size);
	room = sb_buf_reserve(out, bound);
	if (!room) {
		deflateEnd(&z);
		return sb_fail(STROBE_ENOMEM, "no memory to pack %zu bytes", size);
	}
	z.next_in = (Bytef *)bytes;
	z.avail_in = (uInt)size;
	z.next_out = (Bytef *)room;
	z.avail_out = (uInt)bound;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END) {
		deflateEnd(&z);
		return sb_fail(STROBE_EIO, "zlib could not pack %zu bytes", size);
	}
	out->size += bound - z.avail_out;
	deflateEnd(&z);
	return 0;
}
