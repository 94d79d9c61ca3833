/* Without zlib: the bytes as they are, which readers of gzip'ed protobuf take too. */
#include "exchange/deflate.h"

#include "base/error.h"

#include <stdlib.h>

struct sb_deflate {
	struct sb_out *out;
};

int sb_deflate_new(struct sb_out *out, struct sb_deflate **out_deflate)
{
	struct sb_deflate *z = malloc(sizeof *z);

	if (!z)
		return sb_fail(STROBE_ENOMEM, "no memory");
	z->out = out;
	*out_deflate = z;
	return 0;
}

void sb_deflate_write(struct sb_deflate *z, const void *bytes, size_t size)
{
	sb_out_write(z->out, bytes, size);
}

int sb_deflate_end(struct sb_deflate *z)
{
	free(z);
	return 0;
}
