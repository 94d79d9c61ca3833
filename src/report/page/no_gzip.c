/* A build without zlib: the page carries its data unpacked. */
#include "report/page/gzip.h"

#include "base/error.h"

int sb_gzip(const void *bytes, size_t size, struct sb_buf *out)
{
	(void)bytes;
	(void)size;
	(void)out;
	return sb_fail(STROBE_ENOTSUP, "this build has no zlib");
}
