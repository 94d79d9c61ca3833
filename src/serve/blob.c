/* Shared bytes. The count needs no lock: the server has one thread. */
#include "serve/blob.h"

#include <stdlib.h>
#include <string.h>

struct sb_blob *sb_blob_new(struct sb_buf *bytes, size_t *held_bytes)
{
	struct sb_blob *b = bytes->failed ? NULL : calloc(1, sizeof *b);
	char *data;

	if (!b) {
		sb_buf_done(bytes);
		return NULL;
	}
	data = bytes->data ? realloc(bytes->data, bytes->size + 1) : NULL; /* give back the spare room */
	b->data = data ? data : bytes->data;
	b->size = bytes->size;
	b->holders = 1;
	b->held_bytes = held_bytes;
	*held_bytes += b->size;
	memset(bytes, 0, sizeof *bytes);
	return b;
}

struct sb_blob *sb_blob_hold(struct sb_blob *b)
{
	if (b)
		b->holders++;
	return b;
}

void sb_blob_drop(struct sb_blob *b)
{
	if (!b || --b->holders)
		return;
	*b->held_bytes -= b->size;
	free(b->data);
	free(b);
}
