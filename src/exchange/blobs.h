/* Variable-sized companions of sorted records: appended to an unlinked file,
 * read back by offset, mostly in order. Small amounts never leave memory. */
#ifndef SB_EXCHANGE_BLOBS_H
#define SB_EXCHANGE_BLOBS_H

#include <stddef.h>
#include <stdint.h>

#define SB_BLOB_MAX 4096u

struct sb_blobs;

int sb_blobs_new(const char *folder, struct sb_blobs **out_blobs);
void sb_blobs_free(struct sb_blobs *b); /* takes NULL */
/* size is at most SB_BLOB_MAX. */
int sb_blobs_add(struct sb_blobs *b, const void *bytes, size_t size, uint64_t *out_offset);
/* After the last add; NULL on failure, valid until the next call. */
const void *sb_blobs_get(struct sb_blobs *b, uint64_t offset, size_t size);

#endif
