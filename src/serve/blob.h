/* Bytes that many answers share: made once, never changed, freed by their last holder. */
#ifndef SB_SERVE_BLOB_H
#define SB_SERVE_BLOB_H

#include "base/buf.h"

#include <stddef.h>

struct sb_blob {
	char *data;
	size_t size;
	unsigned holders;
	size_t *held_bytes; /* the owner's count of the bytes of all its blobs */
};

/* Takes the buffer's memory, also when it fails. NULL: no memory, or the buffer had failed. */
struct sb_blob *sb_blob_new(struct sb_buf *bytes, size_t *held_bytes);
struct sb_blob *sb_blob_hold(struct sb_blob *b); /* takes NULL */
void sb_blob_drop(struct sb_blob *b); /* takes NULL */

#endif
