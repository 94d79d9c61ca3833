/* The tool writes command and commit when it opens run.strobe: they are in its first chunk of KEEP. */
#include "format/started.h"

#include "format/cursor.h"
#include "format/packed.h"
#include "format/reader.h"
#include "format/run_keys.h"
#include "strobe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNKS_MOST 4u
#define CHUNK_BYTES_MOST (1u << 20)

struct looking {
	uint32_t command, commit; /* numbers of these names; 0: not seen yet */
	struct sb_started found;
};

static void take_name(struct looking *l, const struct sb_record *r)
{
	uint64_t size = r->words ? r->payload[0] & UINT32_MAX : 0;
	const char *text = (const char *)(r->payload + 1);

	if (!r->words || size > (uint64_t)(r->words - 1) * 8)
		return;
	if (size == strlen(SB_RUN_COMMAND) && !memcmp(text, SB_RUN_COMMAND, size))
		l->command = (uint32_t)r->aux & SB_ID_MAX;
	if (size == strlen(SB_RUN_COMMIT) && !memcmp(text, SB_RUN_COMMIT, size))
		l->commit = (uint32_t)r->aux & SB_ID_MAX;
}

static void take_meta(struct looking *l, const struct sb_record *r)
{
	uint32_t key = (uint32_t)r->aux & SB_ID_MAX;
	const char *text;
	size_t size;

	if ((r->aux >> 24 & 255) != SB_META_RUN || (r->aux >> 20 & 15) != STROBE_TYPE_STRING || !key ||
		!sb_record_text(r, 0, &text, &size))
		return;
	if (key == l->command)
		snprintf(l->found.command, sizeof l->found.command, "%.*s", (int)size, text);
	if (key == l->commit)
		snprintf(l->found.commit, sizeof l->found.commit, "%.*s", (int)size, text);
}

static void look_into(struct looking *l, const struct sb_chunk_header *chunk, size_t words)
{
	struct sb_cursor cursor;
	struct sb_record r;

	if (!chunk->epoch || chunk->epoch & 1 || chunk->stream != SB_STREAM_KEEP)
		return;
	sb_cursor_init(&cursor, (const uint64_t *)(chunk + 1), words, chunk->base_ticks);
	while (sb_cursor_next(&cursor, &r)) {
		if (r.kind != SB_LONG)
			continue;
		if (r.type == SB_NAME)
			take_name(l, &r);
		else if (r.type == SB_META)
			take_meta(l, &r);
	}
}

/* The same of a packed recording: its first chunks of KEEP, wherever they are. */
static void look_through_packed(struct looking *l, int fd, const char *path)
{
	struct sb_file_header head;
	struct sb_chunk_header first;
	struct sb_packed *packed;
	struct stat st;
	uint64_t *chunk;
	uint32_t seen = 0;

	if (fstat(fd, &st) || sb_packed_open(fd, (uint64_t)st.st_size, path, &head, &packed))
		return;
	chunk = malloc(head.chunk_bytes);
	for (uint32_t i = 0; chunk && seen < CHUNKS_MOST && !sb_packed_chunk_header(packed, i, &first); i++) {
		size_t size;

		if (first.stream != SB_STREAM_KEEP)
			continue;
		seen++;
		size = sb_packed_chunk(packed, i, chunk);
		if (size > SB_CHUNK_HEADER_BYTES)
			look_into(
				l, (const struct sb_chunk_header *)chunk, (size - SB_CHUNK_HEADER_BYTES) / 8);
	}
	free(chunk);
	sb_packed_close(packed);
}

static void look_through(struct looking *l, int fd, const char *path)
{
	struct sb_file_header head;
	uint64_t *chunk;

	if (sb_read_at(fd, &head, sizeof head, 0) != sizeof head)
		return;
	if (!memcmp(head.magic, SB_PACKED_MAGIC, sizeof head.magic)) {
		look_through_packed(l, fd, path);
		return;
	}
	if (memcmp(head.magic, SB_MAGIC, sizeof head.magic) || head.chunk_bytes < SB_CHUNK_BYTES_SMALL ||
		head.chunk_bytes > CHUNK_BYTES_MOST || head.chunk_bytes % 8)
		return;
	chunk = malloc(head.chunk_bytes);
	for (uint32_t i = 0; chunk && i < CHUNKS_MOST; i++) {
		size_t size = sb_read_at(
			fd, chunk, head.chunk_bytes, head.header_bytes + (uint64_t)i * head.chunk_bytes);

		if (size <= SB_CHUNK_HEADER_BYTES)
			break;
		look_into(l, (const struct sb_chunk_header *)chunk, (size - SB_CHUNK_HEADER_BYTES) / 8);
	}
	free(chunk);
}

bool sb_started_read(const char *path, enum sb_infile_from from, struct sb_started *out_started)
{
	struct looking l = { 0 };
	int fd;

	if (sb_infile_open(path, from, &fd))
		return false;
	look_through(&l, fd, path);
	close(fd);
	if (!*l.found.command && !*l.found.commit)
		return false;
	*out_started = l.found;
	return true;
}
