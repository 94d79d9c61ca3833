/* Damage inside chunks, seen while their words are read. */
#include "run/pass.h"

#define HOLE_WORDS 64u /* a sector; a record cut short by the end leaves one zero */

/* Zeros end a chunk. But nothing follows them, and a full chunk ends with a PAD:
 * a run of them elsewhere is a sector or a page that was lost. */
static bool is_hole(const struct sb_reader *r, const struct sb_chunk *chunk, const struct sb_cursor *c)
{
	const struct sb_chunk *next = chunk + 1;
	size_t zeros = 0, left = c->why == SB_CURSOR_ZERO ? (size_t)(c->end - c->at) : 0;

	while (zeros < left && !c->at[zeros])
		zeros++;
	if (zeros < HOLE_WORDS || !r->head.closed)
		return false;
	return zeros < left || (next < r->chunks + r->chunk_count && next->stream == chunk->stream &&
				       next->writer == chunk->writer);
}

static bool is_last_of_writer(const struct sb_reader *r, const struct sb_chunk *chunk)
{
	const struct sb_chunk *next = chunk + 1;

	return next == r->chunks + r->chunk_count || next->stream != chunk->stream ||
	       next->writer != chunk->writer;
}

void sb_engine_note_damage(struct sb_engine *e, const struct sb_chunk *chunk, const struct sb_cursor *c)
{
	struct sb_reader *r = e->p->reader;
	size_t bytes = sb_cursor_bad_bytes(c);
	enum sb_damage kind = c->why == SB_CURSOR_BAD_KIND ? SB_DAMAGE_WORD : SB_DAMAGE_LENGTH;

	e->index->pass.unfollowed_chunks += c->why == SB_CURSOR_ZERO && c->at >= c->end && !r->head.closed &&
					    is_last_of_writer(r, chunk);
	if (!e->first_pass)
		return;
	if (!bytes && is_hole(r, chunk, c)) {
		bytes = (size_t)(c->end - c->at) * sizeof *c->at;
		kind = SB_DAMAGE_HOLE;
	}
	if (bytes)
		sb_reader_damage(
			r, kind, bytes, sb_reader_chunk_offset(r, chunk) + r->head.chunk_bytes - bytes);
}

bool sb_engine_is_misplaced(struct sb_engine *e, const struct sb_chunk *chunk, const struct sb_record *r,
	const uint64_t *chunk_end)
{
	uint64_t bytes = (1 + (uint64_t)r->words) * sizeof *r->payload;

	if (sb_record_belongs(r->type, (enum sb_stream)chunk->stream))
		return false;
	if (e->first_pass)
		sb_reader_damage(e->p->reader, SB_DAMAGE_STREAM, bytes,
			sb_reader_chunk_offset(e->p->reader, chunk) + e->p->reader->head.chunk_bytes -
				(uint64_t)(chunk_end - (r->payload - 1)) * sizeof *r->payload);
	return true;
}
