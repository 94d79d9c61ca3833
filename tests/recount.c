/* See recount.h. Asserts instead of returning errors: it is only used by tests. */
#include "recount.h"

#include "format/cursor.h"
#include "format/digest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 4096 };

struct zone {
	uint32_t name, track;
	uint64_t begin, child;
};

struct state {
	struct sb_reader *r;
	uint64_t *buf;
	uint32_t name; /* wanted */
	struct recount *out;
	struct zone open[DEPTH];
	uint32_t depth, track;
	int64_t counted;
	bool counting;
};

static void add(struct recount *out, uint64_t duration, uint64_t self)
{
	out->min_ticks = out->count && out->min_ticks < duration ? out->min_ticks : duration;
	out->max_ticks = out->max_ticks > duration ? out->max_ticks : duration;
	out->count++;
	out->total_ticks += duration;
	out->self_ticks += self;
}

static int top_of(const struct state *s)
{
	for (int i = (int)s->depth - 1; i >= 0; i--)
		if (s->open[i].track == s->track)
			return i;
	return -1;
}

static void end_zone(struct state *s, uint64_t ticks)
{
	int top = top_of(s);
	struct zone z;

	if (top < 0)
		return;
	z = s->open[top];
	memmove(&s->open[top], &s->open[top + 1], (s->depth - (unsigned)top - 1) * sizeof z);
	s->depth--;
	if (z.name == s->name)
		add(s->out, ticks - z.begin, ticks - z.begin - z.child);
	top = top_of(s);
	if (top >= 0)
		s->open[top].child += ticks - z.begin;
}

static void take(struct state *s, const struct sb_record *rec)
{
	switch (rec->kind) {
	case SB_BEGIN:
		assert(s->depth < DEPTH);
		s->open[s->depth++] = (struct zone){ rec->id, s->track, rec->ticks, 0 };
		break;
	case SB_END: end_zone(s, rec->ticks); break;
	case SB_SWITCH: s->track = rec->id; break;
	case SB_COUNT:
		if (s->counting && rec->id == s->name)
			s->counted += rec->value;
		break;
	case SB_LONG:
		if (rec->type == SB_OWNER)
			s->depth = s->track = 0;
		if (rec->type == SB_COUNT64 && s->counting && rec->aux == s->name)
			s->counted += (int64_t)rec->payload[0];
		break;
	default: break;
	}
}

static void take_digest(struct state *s, const struct sb_digest *d)
{
	for (uint32_t i = 0; i < d->node_count; i++) {
		const struct sb_digest_node_slot *sum = &d->nodes[i].sum;

		if (s->counting || d->nodes[i].name != s->name || !sum->count)
			continue;
		if (!s->out->count || sum->min_ticks < s->out->min_ticks)
			s->out->min_ticks = sum->min_ticks;
		if (sum->max_ticks > s->out->max_ticks)
			s->out->max_ticks = sum->max_ticks;
		s->out->count += sum->count;
		s->out->total_ticks += sum->total_ticks;
		s->out->self_ticks += sum->self_ticks;
	}
	for (uint32_t i = 0; s->counting && i < d->sum_count; i++)
		if (!d->sums[i].node && d->sums[i].key == s->name)
			s->counted += d->sums[i].sum.sum_int;
	s->depth = s->track = 0;
	for (uint32_t i = 0; i < d->open_count; i++)
		s->open[s->depth++] = (struct zone){ d->nodes[d->open[i].node - 1].name, d->open[i].track,
			d->open[i].begin_ticks, d->open[i].child_ticks };
	s->track = d->track;
}

static void each_record(struct state *s, const struct sb_chunk *chunk,
	void (*visit)(struct state *, const struct sb_record *))
{
	struct sb_cursor cursor;
	struct sb_record rec;
	size_t words;
	const uint64_t *at = sb_reader_chunk(s->r, chunk, s->buf, &words);

	if (!at)
		return;
	sb_cursor_init(&cursor, at, words, chunk->base_ticks);
	while (sb_cursor_next(&cursor, &rec))
		visit(s, &rec);
	assert(cursor.why == SB_CURSOR_ZERO);
}

static const char *wanted;

static void find_name(struct state *s, const struct sb_record *rec)
{
	size_t size = strlen(wanted);

	if (rec->kind == SB_LONG && rec->type == SB_NAME && (uint32_t)rec->payload[0] == size &&
		!(rec->payload[0] >> 32) && !memcmp(rec->payload + 1, wanted, size))
		s->name = (uint32_t)rec->aux;
}

static void look_up(struct state *s, const char *name)
{
	static const char *const fixed[] = { NULL,
#define TEXT(sym, text) text,
		SB_FIXED_NAMES(TEXT)
#undef TEXT
	};
	struct sb_chunk_range range = sb_reader_range(s->r, SB_STREAM_KEEP, 0);

	wanted = name;
	for (uint32_t i = range.first; i < range.end; i++)
		each_record(s, &s->r->chunks[i], find_name);
	for (uint32_t i = 1; i < sizeof fixed / sizeof fixed[0]; i++)
		if (!strcmp(fixed[i], name))
			s->name = i;
}

static void take_writer(struct state *s, uint32_t writer, struct sb_chunk_range range)
{
	struct sb_digest digest;

	assert(!sb_digest_load(s->r, writer, &digest));
	take_digest(s, &digest);
	for (uint32_t i = range.first; i < range.end; i++)
		if (s->r->chunks[i].seq > digest.folded_seq)
			each_record(s, &s->r->chunks[i], take);
	for (uint32_t i = 0; i < s->depth; i++)
		s->out->open_count += s->open[i].name == s->name;
	sb_digest_done(&digest);
}

static int64_t run(const char *path, const char *name, bool counting, struct recount *out)
{
	struct state *s = calloc(1, sizeof *s);
	int64_t counted;

	memset(out, 0, sizeof *out);
	assert(s && !sb_reader_open(path, &s->r));
	s->buf = malloc(s->r->head.chunk_bytes);
	s->out = out;
	s->counting = counting;
	assert(s->buf);
	look_up(s, name);
	for (uint32_t w = 1; s->name && w <= s->r->head.writer_count + 8; w++)
		take_writer(s, w, sb_reader_range(s->r, SB_STREAM_HOT, w));
	counted = s->counted;
	sb_reader_close(s->r);
	free(s->buf);
	free(s);
	return counted;
}

void recount_file(const char *path, const char *name, struct recount *out)
{
	run(path, name, false, out);
}

int64_t recount_counter(const char *path, const char *name)
{
	struct recount unused;

	return run(path, name, true, &unused);
}

uint64_t recount_lost(const char *path)
{
	struct sb_reader *r;
	uint64_t lost = 0;

	assert(!sb_reader_open(path, &r));
	for (int i = 0; i < SB_LOST_REASONS; i++)
		lost += sb_lost_count(&r->head, (uint32_t)i);
	sb_reader_close(r);
	return lost;
}
