/* What builder*.c share: the file, and words into a thread's buffer. Failures
 * stick in the builder. */
#ifndef SB_FORMAT_BUILDER_STREAM_H
#define SB_FORMAT_BUILDER_STREAM_H

#include "base/map.h"
#include "base/strings.h"
#include "format/builder.h"

struct sb_stream_writer {
	struct sb_builder *builder;
	struct sb_stream_writer *next;
	struct sb_chunk_header head;
	uint64_t base;
	uint64_t seq;
	uint32_t track;
	uint32_t used; /* words in the buffer; 0: no chunk begun */
	uint64_t *words; /* a whole chunk, header included */
};

struct sb_builder {
	int fd;
	int error;
	char *path;
	struct sb_file_header head;
	uint32_t chunk_words;
	uint32_t chunk_count;
	uint32_t name_count;
	uint32_t track_count;
	uint32_t schema_count;
	struct sb_strings names; /* "name\0code" */
	struct sb_map ids; /* number in names -> id */
	struct sb_stream_writer *writers;
	struct sb_stream_writer *keep, *device;
	uint64_t last_ticks;
};

static inline uint64_t sb_builder_ticks_at(const struct sb_builder *b, uint64_t t_ns)
{
	return b->head.start_ticks + t_ns;
}

/* errno says why. */
void sb_builder_fail(struct sb_builder *b);
void sb_builder_write_at(struct sb_builder *b, const void *data, size_t size, uint64_t offset);

/* NULL: no memory. */
struct sb_stream_writer *sb_stream_writer_new(struct sb_builder *b, enum sb_stream stream, uint32_t tid);
void sb_stream_writer_flush(struct sb_stream_writer *w);
/* A word with a time, and one with a value instead. */
void sb_stream_writer_word(struct sb_stream_writer *w, enum sb_kind kind, uint32_t id, uint64_t ticks);
void sb_stream_writer_value(struct sb_stream_writer *w, enum sb_kind kind, uint32_t id, int64_t value);
/* Where the payload of a LONG record goes; NULL: it does not fit a chunk. */
uint64_t *sb_stream_writer_long(struct sb_stream_writer *w, uint32_t type, uint64_t aux, uint32_t words);
/* A LONG record of so many fixed words and a text. */
void sb_stream_writer_text(struct sb_stream_writer *w, uint32_t type, uint64_t aux, const uint64_t *fixed,
	uint32_t count, const char *text);

#endif
