/* The builder's streams: one buffer per thread and stream, written out when full. */
#include "format/builder_stream.h"

#include "base/error.h"
#include "base/whole_write.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sb_builder_fail(struct sb_builder *b)
{
	if (!b->error)
		b->error = sb_fail_errno("cannot write '%s'", b->path);
}

void sb_builder_write_at(struct sb_builder *b, const void *data, size_t size, uint64_t offset)
{
	if (!b->error && !sb_write_whole_at(b->fd, data, size, offset))
		sb_builder_fail(b);
}

static uint64_t chunk_offset(const struct sb_builder *b, uint32_t index)
{
	return SB_FILE_HEADER_BYTES + (uint64_t)index * b->head.chunk_bytes;
}

void sb_stream_writer_flush(struct sb_stream_writer *w)
{
	struct sb_builder *b = w->builder;

	if (!w->used)
		return;
	memcpy(w->words, &w->head, sizeof w->head);
	memset(w->words + w->used, 0, (b->chunk_words - w->used) * sizeof *w->words);
	sb_builder_write_at(b, w->words, b->head.chunk_bytes, chunk_offset(b, b->chunk_count++));
	w->used = 0;
}

struct sb_stream_writer *sb_stream_writer_new(struct sb_builder *b, enum sb_stream stream, uint32_t tid)
{
	struct sb_stream_writer *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	w->words = malloc(b->head.chunk_bytes);
	if (!w->words) {
		free(w);
		return NULL;
	}
	w->builder = b;
	w->head.epoch = 2;
	w->head.writer = ++b->head.writer_count;
	w->head.tid = tid;
	w->head.stream = (uint16_t)stream;
	w->next = b->writers;
	b->writers = w;
	return w;
}

static void chunk_begin(struct sb_stream_writer *w, uint64_t ticks)
{
	w->base = ticks;
	w->head.seq = ++w->seq;
	w->head.base_ticks = ticks;
	w->head.anchor_mono_ns = 0;
	w->head.track = w->track;
	w->used = SB_CHUNK_HEADER_BYTES / 8;
}

/* Room for a record of so many words: it never straddles chunks. */
static uint64_t *room(struct sb_stream_writer *w, uint32_t words, uint64_t ticks)
{
	struct sb_builder *b = w->builder;
	uint64_t *at;

	if (words > b->chunk_words - SB_CHUNK_HEADER_BYTES / 8) {
		if (!b->error)
			b->error = sb_fail(STROBE_EINVAL, "a record of %u words does not fit a chunk", words);
		return NULL;
	}
	if (w->used && w->used + words > b->chunk_words) {
		if (w->used < b->chunk_words)
			w->words[w->used++] = sb_word(SB_PAD, 0, 0);
		sb_stream_writer_flush(w);
	}
	if (!w->used)
		chunk_begin(w, ticks);
	at = w->words + w->used;
	w->used += words;
	if (ticks > b->last_ticks)
		b->last_ticks = ticks;
	return at;
}

void sb_stream_writer_word(struct sb_stream_writer *w, enum sb_kind kind, uint32_t id, uint64_t ticks)
{
	uint64_t *at;

	if (w->used && (ticks - w->base) >> SB_TICK_BITS) {
		at = room(w, 3, ticks);
		if (!at)
			return;
		at[0] = sb_long(SB_REBASE, 1, 0);
		at[1] = ticks;
		w->base = ticks;
		at += 2;
	} else {
		at = room(w, 1, ticks);
		if (!at)
			return;
	}
	*at = sb_word(kind, id & SB_ID_MAX, ticks - w->base);
}

uint64_t *sb_stream_writer_long(struct sb_stream_writer *w, uint32_t type, uint64_t aux, uint32_t words)
{
	uint64_t *at = room(w, words + 1, w->used ? w->base : w->builder->last_ticks);

	if (!at)
		return NULL;
	at[0] = sb_long(type, words, aux);
	return at + 1;
}

void sb_stream_writer_value(struct sb_stream_writer *w, enum sb_kind kind, uint32_t id, int64_t value)
{
	uint64_t *at = room(w, 1, w->used ? w->base : w->builder->last_ticks);

	if (at)
		*at = sb_word(kind, id & SB_ID_MAX, (uint64_t)value);
}

/* bytes: a length word, then the text padded with zeros. */
static uint32_t text_words(const char *text)
{
	return 1 + (uint32_t)(strnlen(text, SB_STRING_MAX) + 7) / 8;
}

static void put_text(uint64_t *at, const char *text)
{
	size_t size = strnlen(text, SB_STRING_MAX);

	if (size)
		at[(size + 7) / 8] = 0;
	at[0] = size;
	memcpy(at + 1, text, size);
}

void sb_stream_writer_text(struct sb_stream_writer *w, uint32_t type, uint64_t aux, const uint64_t *fixed,
	uint32_t count, const char *text)
{
	uint64_t *at = sb_stream_writer_long(w, type, aux, count + text_words(text));

	if (!at)
		return;
	if (count)
		memcpy(at, fixed, count * sizeof *at);
	put_text(at + count, text);
}

void sb_builder_chunk(
	struct sb_builder *b, const struct sb_chunk_header *header, const void *bytes, size_t size)
{
	uint32_t most = b->head.chunk_bytes - SB_CHUNK_HEADER_BYTES;
	char *chunk = calloc(1, b->head.chunk_bytes);

	if (!chunk) {
		b->error = sb_fail(STROBE_ENOMEM, "no memory to write '%s'", b->path);
		return;
	}
	memcpy(chunk, header, sizeof *header);
	if (size)
		memcpy(chunk + SB_CHUNK_HEADER_BYTES, bytes, size < most ? size : most);
	sb_builder_write_at(b, chunk, b->head.chunk_bytes, chunk_offset(b, b->chunk_count++));
	if (header->writer > b->head.writer_count)
		b->head.writer_count = header->writer;
	free(chunk);
}
