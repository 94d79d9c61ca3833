/* A build without zlib: says so. */
#include "exchange/inflate.h"

#include "base/error.h"

int sb_inflate_new(const char *name, sb_inflate_read_fn *read, void *self, struct sb_inflate **out_inflate)
{
	(void)read, (void)self, (void)out_inflate;
	return sb_fail(STROBE_ENOTSUP,
		"'%s' is gzip and this strobe was built without zlib; unpack it with gunzip first", name);
}

void sb_inflate_free(struct sb_inflate *z)
{
	(void)z;
}

ssize_t sb_inflate_read(struct sb_inflate *z, char *to, size_t size)
{
	(void)z, (void)to, (void)size;
	return -1;
}
