/* A file read from front to back, unpacked on the way when it is gzip. */
#ifndef SB_EXCHANGE_FOREIGN_H
#define SB_EXCHANGE_FOREIGN_H

#include "base/buf.h"
#include "base/jsonin.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef void sb_progress_fn(void *self, uint64_t done_bytes, uint64_t total_bytes);

struct sb_foreign;

int sb_foreign_open(const char *path, struct sb_foreign **out_source);
void sb_foreign_close(struct sb_foreign *s); /* takes NULL */
/* Called now and then with the bytes of the file passed so far. */
void sb_foreign_on_progress(struct sb_foreign *s, sb_progress_fn *progress, void *self);

/* The first bytes of the content, without passing over them; at most 4096. */
size_t sb_foreign_peek(struct sb_foreign *s, const char **out_bytes);

/* Bytes read, 0 at the end, -1 with the message set. Fits sb_jsonin_read_fn. */
ssize_t sb_foreign_read(void *source, char *to, size_t size);
/* Fits sb_jsonin_lend_fn. */
bool sb_foreign_lend(void *source, const char *unread, size_t unread_size, struct sb_jsonin_lent *out_lent);

/* The whole of it into out; STROBE_ENOMEM where it is larger than that. */
int sb_foreign_read_all(struct sb_foreign *source, const char *path, size_t most_bytes, struct sb_buf *out);

#endif
