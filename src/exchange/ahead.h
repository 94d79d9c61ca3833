/* Reads a file in a thread of its own, a little ahead of its reader: unpacking
 * and parsing then run side by side. */
#ifndef SB_EXCHANGE_AHEAD_H
#define SB_EXCHANGE_AHEAD_H

#include "base/jsonin.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SB_AHEAD_BLOCK_BYTES (256u * 1024)
#define SB_AHEAD_BLOCKS 4u

struct sb_ahead;

/* Bytes read, 0 at the end, -1 with the message set. Never waits for another process: freeing waits for it. */
typedef ssize_t sb_ahead_read_fn(void *self, char *to, size_t size);

/* Calls read from another thread, until sb_ahead_free. NULL where there is no memory or no thread. */
struct sb_ahead *sb_ahead_new(sb_ahead_read_fn *read, void *self);
void sb_ahead_free(struct sb_ahead *a); /* takes NULL */

/* As read would: what it read in order, then its end or its error with its message. */
ssize_t sb_ahead_read(struct sb_ahead *a, char *to, size_t size);
/* The same bytes without a copy, as sb_jsonin_lend_fn. False at the end and at an error: sb_ahead_read tells. */
bool sb_ahead_lend(
	struct sb_ahead *a, const char *unread, size_t unread_size, struct sb_jsonin_lent *out_lent);

#endif
