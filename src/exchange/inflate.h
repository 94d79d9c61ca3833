/* Unpacks gzip as it is read. A build without zlib has no_inflate.c instead. */
#ifndef SB_EXCHANGE_INFLATE_H
#define SB_EXCHANGE_INFLATE_H

#include <stddef.h>
#include <sys/types.h>

struct sb_inflate;

/* Raw bytes: how many, 0 at the end, -1 with the message set. */
typedef ssize_t sb_inflate_read_fn(void *self, char *to, size_t size);

int sb_inflate_new(const char *name, sb_inflate_read_fn *read, void *self, struct sb_inflate **out_inflate);
void sb_inflate_free(struct sb_inflate *z); /* takes NULL */
ssize_t sb_inflate_read(struct sb_inflate *z, char *to, size_t size);

#endif
