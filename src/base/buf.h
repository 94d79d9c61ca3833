/* A growing byte string, always NUL-terminated once it holds anything. Memory
 * failure sticks: check sb_buf_failed() once at the end. */
#ifndef SB_BASE_BUF_H
#define SB_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct sb_buf {
	char *data;
	size_t size;
	size_t capacity;
	bool failed;
};

void sb_buf_done(struct sb_buf *b); /* frees; b may be zeroed or used */
void sb_buf_clear(struct sb_buf *b); /* keeps the memory */
char *sb_buf_reserve(struct sb_buf *b, size_t more); /* NULL when memory is out */
void sb_buf_add(struct sb_buf *b, const void *bytes, size_t size);
void sb_buf_puts(struct sb_buf *b, const char *text);
void sb_buf_putc(struct sb_buf *b, char c);
void sb_buf_printf(struct sb_buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *sb_buf_text(const struct sb_buf *b); /* "" when empty */

static inline bool sb_buf_failed(const struct sb_buf *b)
{
	return b->failed;
}

void sb_buf_put_base64(struct sb_buf *b, const void *data, size_t size);

/* Writes to a temporary name beside path, then renames: no reader ever sees
 * half a file. mode is a new file's permissions, e.g. 0600. */
int sb_buf_write_file(const struct sb_buf *b, const char *path, unsigned mode);

/* The same by a name that strobe chose: no link there is followed. */
int sb_buf_write_own_file(const struct sb_buf *b, const char *path, unsigned mode);

/* Reads a whole file of at most limit bytes into b. */
int sb_buf_read_file(struct sb_buf *b, const char *path, size_t limit);
/* The same of a file that a recording names: one that is not regular is refused, /dev/stdin too. */
int sb_buf_read_regular(struct sb_buf *b, const char *path, size_t limit);

#endif
