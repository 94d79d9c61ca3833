/* A buffered file that appears whole under its name, or not at all; and the
 * quick number formatting that exporters need. Failures stick. */
#ifndef SB_EXCHANGE_OUT_H
#define SB_EXCHANGE_OUT_H

#include "base/newfile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SB_OUT_BYTES (256u << 10) /* stays in the cache */
#define SB_OUT_RECORD_MAX (64u << 10) /* what one sb_out_room() may ask for */

struct sb_out {
	int fd;
	int err;
	bool to_stdout;
	char *path;
	struct sb_newfile file;
	char *at;
	char *buffer;
	uint64_t written_bytes;
};

/* path "-": standard output. */
int sb_out_open(struct sb_out *o, const char *path);
/* Puts the file in its place; keep false: removes it. Returns the first failure. */
int sb_out_close(struct sb_out *o, bool keep);
void sb_out_flush(struct sb_out *o);
void sb_out_write(struct sb_out *o, const void *bytes, size_t size); /* any size */

/* size bytes to write into; advance o->at past what was used. */
static inline char *sb_out_room(struct sb_out *o, size_t size)
{
	if ((size_t)(o->buffer + SB_OUT_BYTES - o->at) < size)
		sb_out_flush(o);
	return o->at;
}

static inline char *sb_out_put(char *to, const char *bytes, size_t size)
{
	memcpy(to, bytes, size);
	return to + size;
}
#define SB_PUT(to, literal) sb_out_put(to, literal, sizeof literal - 1)

char *sb_put_u64(char *to, uint64_t value);
char *sb_put_i64(char *to, int64_t value);
/* Nanoseconds as microseconds with three decimals: 1234567 -> "1234.567". */
char *sb_put_us(char *to, int64_t ns);
/* A JSON number that reads back as the same double; null when there is none. */
char *sb_put_double(char *to, double value);
/* A quoted JSON string of at most limit bytes of text, cut at a character. */
char *sb_put_json_string(char *to, const char *text, size_t limit);

#endif
