/* gzip out. A build without zlib has no_deflate.c instead, which gives the bytes as they are. */
#ifndef SB_EXCHANGE_DEFLATE_H
#define SB_EXCHANGE_DEFLATE_H

#include "exchange/out.h"

struct sb_deflate;

int sb_deflate_new(struct sb_out *out, struct sb_deflate **out_deflate);
void sb_deflate_write(struct sb_deflate *z, const void *bytes, size_t size);
/* Writes what is left; frees. Takes NULL. */
int sb_deflate_end(struct sb_deflate *z);

#endif
