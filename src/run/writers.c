/* The words of every writer in order of time; zones.c does the nesting. */
#include "run/pass.h"

#include "base/error.h"
#include "base/role.h"

#include <stdlib.h>
#include <string.h>

#define SANE_NS ((int64_t)400 * 86400 * 1000000000)

/* The words of one writer, in order. */
struct stream {
	struct sb_chunk_range range; /* what is left */
	uint64_t *buf;
	struct sb_cursor cursor;
	struct sb_record record;
	int64_t now_ns; /* of the record, or of the last one that had a time */
	uint32_t tid;
	uint32_t task;
	struct sb_stack *stack;
	uint64_t words;
	size_t use; /* of index->writers */
};

/* ---- streams ------------------------------------------------------------- */

static struct sb_stack *find_stack(struct sb_engine *e, uint32_t tid, uint32_t task)
{
	uint32_t track = sb_run_track_of(e->run, e->process, tid, task);

	if (task && e->process == e->run->main_process && tid == e->p->reader->head.main_tid)
		e->run->tracks[track].main_task = true;
	return sb_stack_of(e, track);
}

static bool open_chunk(struct sb_engine *e, struct stream *s)
{
	struct sb_reader *r = e->p->reader;

	while (s->range.first < s->range.end) {
		const struct sb_chunk *chunk = &r->chunks[s->range.first++];
		size_t count;
		const uint64_t *words = sb_reader_chunk(r, chunk, s->buf, &count);

		if (!words)
			continue;
		sb_cursor_init(&s->cursor, words, count, chunk->base_ticks);
		if (s->tid != chunk->tid || s->task != chunk->track || !s->stack) {
			s->tid = chunk->tid;
			s->task = chunk->track;
			s->stack = find_stack(e, s->tid, s->task);
		}
		return s->stack != NULL;
	}
	return false;
}

/* The next record and its time; false: no more. */
SB_PASS_INLINE bool stream_next(struct sb_engine *e, struct stream *s)
{
	for (;;) {
		if (sb_cursor_next(&s->cursor, &s->record)) {
			if (s->record.kind <= SB_SWITCH) {
				int64_t t_ns = sb_process_ns(e->p, s->record.ticks);

				if (t_ns > SANE_NS || t_ns < -SANE_NS) {
					s->cursor.why = SB_CURSOR_BAD_KIND;
				} else {
					s->now_ns = t_ns;
					return true;
				}
			} else {
				return true;
			}
		}
		if (s->cursor.end) /* a chunk has been opened */
			sb_engine_note_damage(e, &e->p->reader->chunks[s->range.first - 1], &s->cursor);
		if (!open_chunk(e, s))
			return false;
	}
}

static void switch_task(struct sb_engine *e, struct stream *s, uint32_t task)
{
	s->task = task;
	s->stack = find_stack(e, s->tid, task);
}

static void change_owner(struct sb_engine *e, struct stream *s, uint32_t tid)
{
	switch_task(e, s, 0);
	if (s->stack)
		sb_stack_close_all(e, s->stack, s->now_ns);
	s->tid = tid;
	switch_task(e, s, 0);
}

static void give_count(struct sb_engine *e, struct stream *s)
{
	struct sb_event ev = { .kind = SB_EVENT_COUNT,
		.t_ns = s->now_ns,
		.process = e->process,
		.track = s->stack->track,
		.name = sb_run_name_of(e->run, e->process, s->record.id),
		.path = s->stack->depth ? s->stack->frames[s->stack->depth - 1].path & ~SB_PATH_RECURSIVE : 0,
		.warming = sb_stack_is_warming(s->stack, s->stack->depth),
		.delta = s->record.value };

	sb_event_give(e, &ev);
}

static void give_attr(struct sb_engine *e, struct stream *s)
{
	struct sb_run_attr a = { .type = STROBE_TYPE_INT, .i = s->record.value };

	if (!s->stack->depth)
		return;
	if (s->record.id == SB_NAME_ROLE) {
		sb_stack_role(e, s->stack, sb_role_read((uint64_t)s->record.value));
		return;
	}
	a.key = sb_run_text_of(e->run, e->process, s->record.id);
	sb_stack_attr(e, s->stack, &a);
}

SB_PASS_INLINE void handle(struct sb_engine *e, struct stream *s)
{
	struct sb_pass *pass = &e->index->pass;
	struct sb_event ev;

	s->words++;
	switch (s->record.kind) {
	case SB_BEGIN:
		sb_stack_begin(e, s->stack, sb_run_name_of(e->run, e->process, s->record.id), s->now_ns);
		break;
	case SB_END:
		sb_stack_end(e, s->stack, s->record.id ? sb_run_name_of(e->run, e->process, s->record.id) : 0,
			s->now_ns);
		break;
	case SB_MARK:
		ev = (struct sb_event){ .kind = SB_EVENT_MARK,
			.t_ns = s->now_ns,
			.process = e->process,
			.track = s->stack->track,
			.name = sb_run_name_of(e->run, e->process, s->record.id) };
		sb_event_give(e, &ev);
		break;
	case SB_SWITCH: switch_task(e, s, s->record.id); break;
	case SB_ATTR: give_attr(e, s); break;
	case SB_COUNT: give_count(e, s); break;
	case SB_LONG:
		if (s->record.type == SB_OWNER)
			change_owner(e, s, (uint32_t)s->record.aux);
		else if (!sb_engine_is_misplaced(
				 e, &e->p->reader->chunks[s->range.first - 1], &s->record, s->cursor.end))
			sb_record_give(e, &s->record, s->tid, s->stack, s->now_ns);
		break;
	default: break;
	}
	if (s->now_ns > pass->last_ns)
		pass->last_ns = s->now_ns;
}

/* ---- writers ------------------------------------------------------------- */

/* Puts the zones that were open when the past was folded back on the stacks. */
static void restore_open(
	struct sb_engine *e, struct stream *s, const struct sb_digest *d, const uint32_t *paths)
{
	for (uint32_t i = 0; i < d->open_count; i++) {
		const struct sb_digest_open_zone *o = &d->open[i];
		const struct sb_folded_node *n = &d->nodes[o->node - 1];
		struct sb_stack *stack = sb_stack_of(
			e, sb_run_track_of(e->run, e->process, s->tid, o->track & SB_ID_MAX));
		int64_t begin_ns = sb_process_ns(e->p, o->begin_ticks);
		struct sb_frame *f;

		if (!stack || begin_ns > SANE_NS || begin_ns < -SANE_NS)
			continue;
		sb_stack_begin(e, stack, sb_run_name_of(e->run, e->process, n->name), begin_ns);
		if (!stack->depth)
			continue;
		f = &stack->frames[stack->depth - 1];
		f->path = paths[o->node - 1];
		f->recursion |= (f->path & SB_PATH_RECURSIVE) != 0;
		f->role = n->role;
		f->child_ns = sb_process_duration_ns(e->p, o->child_ticks >> 62 ? 0 : o->child_ticks);
	}
}

/* A writer begins: since when it writes, and what it has folded. */
static void use_begin(struct sb_engine *e, struct stream *s, const struct sb_digest *d)
{
	struct sb_writer_use *use = sb_vec_push(&e->index->writers, sizeof *use);

	if (!use) {
		e->no_memory = true;
		return;
	}
	s->use = e->index->writers.count - 1;
	use->process = e->process;
	use->folded_words = d->folded_words;
	use->first_ns = d->folded_words ? sb_process_ns(e->p, d->first_ticks) : s->now_ns;
	use->last_ns = s->now_ns;
}

static void use_end(struct sb_engine *e, struct stream *s)
{
	struct sb_writer_use *use = (struct sb_writer_use *)e->index->writers.items + s->use;

	use->words = s->words;
	use->main = s->tid == e->p->reader->head.main_tid;
	if (s->now_ns > use->last_ns)
		use->last_ns = s->now_ns;
	e->index->pass.words += s->words;
}

static int start_stream(struct sb_engine *e, struct stream *s, uint32_t writer)
{
	struct sb_reader *r = e->p->reader;
	struct sb_chunk_range digests = sb_reader_range(r, SB_STREAM_DIGEST, writer);
	struct sb_digest d;
	uint32_t *paths;
	int err = sb_digest_load(r, writer, &d);

	if (err)
		return err;
	memset(s, 0, sizeof *s);
	s->range = sb_reader_range(r, SB_STREAM_HOT, writer);
	while (s->range.first < s->range.end && r->chunks[s->range.first].seq <= d.folded_seq)
		s->range.first++;
	if (e->first_pass && s->range.first < s->range.end &&
		r->chunks[s->range.first].seq > d.folded_seq + 1 && !r->damage[SB_DAMAGE_MISSING].count &&
		!r->damage[SB_DAMAGE_CHUNK_HEADER].count)
		sb_reader_damage(r, SB_DAMAGE_MISSING, r->head.chunk_bytes,
			sb_reader_chunk_offset(r, &r->chunks[s->range.first]));
	s->now_ns = s->range.first < s->range.end ? sb_process_ns(e->p, r->chunks[s->range.first].base_ticks)
						  : e->p->start_ns;
	if (d.node_count) {
		s->tid = s->range.first < s->range.end ? r->chunks[s->range.first].tid
						       : r->chunks[digests.first].tid;
		s->stack = sb_stack_of(e, sb_run_track_of(e->run, e->process, s->tid, 0));
		paths = calloc(d.node_count, sizeof *paths);
		if (paths && s->stack) {
			sb_digest_give(e, &d, s->tid, s->stack, paths);
			restore_open(e, s, &d, paths);
			switch_task(e, s, d.track & SB_ID_MAX);
		}
		if (s->now_ns > e->index->pass.folded_until_ns)
			e->index->pass.folded_until_ns = s->now_ns;
		free(paths);
	}
	use_begin(e, s, &d);
	sb_digest_done(&d);
	return 0;
}

static bool give_buffer(struct sb_engine *e, struct stream *s)
{
	s->buf = malloc(e->p->reader->head.chunk_bytes);
	if (!s->buf)
		e->no_memory = true;
	return s->buf != NULL;
}

static void run_alone(struct sb_engine *e, struct stream *s)
{
	if (!give_buffer(e, s))
		return;
	while (!e->no_memory && stream_next(e, s))
		handle(e, s);
	use_end(e, s);
	free(s->buf);
	s->buf = NULL;
}

/* Streams in a heap by time: [0] is the earliest. */
static void sift_down(struct stream **heap, size_t count, size_t i)
{
	for (;;) {
		size_t least = i, left = 2 * i + 1, right = left + 1;
		struct stream *s;

		if (left < count && heap[left]->now_ns < heap[least]->now_ns)
			least = left;
		if (right < count && heap[right]->now_ns < heap[least]->now_ns)
			least = right;
		if (least == i)
			return;
		s = heap[i];
		heap[i] = heap[least];
		heap[least] = s;
		i = least;
	}
}

/* Several writers whose words belong together: a thread's, or a process's whose
 * tasks wander between threads. */
static void run_merged(struct sb_engine *e, struct stream *streams, size_t count)
{
	struct stream **heap = malloc(count * sizeof *heap);
	size_t live = count;

	if (!heap) {
		e->no_memory = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		heap[i] = &streams[i];
	for (size_t i = count; i-- > 0;)
		sift_down(heap, count, i);
	while (live && !e->no_memory) {
		struct stream *s = heap[0];
		bool more;

		if (!s->buf) { /* not begun: now_ns is its first chunk's base */
			more = give_buffer(e, s) && stream_next(e, s);
		} else {
			handle(e, s);
			more = stream_next(e, s);
		}
		if (!more) {
			use_end(e, s);
			free(s->buf);
			s->buf = NULL;
			heap[0] = heap[--live];
		}
		sift_down(heap, live, 0);
	}
	for (size_t i = 0; i < count; i++)
		free(streams[i].buf);
	free(heap);
}

struct writer {
	uint32_t writer, tid;
};

static int by_tid(const void *a, const void *b)
{
	const struct writer *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->writer < y->writer ? -1 : x->writer > y->writer;
}

/* Every writer with zones, those of one thread next to each other. */
static struct writer *list_writers(struct sb_engine *e, uint32_t *out_count)
{
	const struct sb_reader *r = e->p->reader;
	struct writer *all = calloc(r->chunk_count + 1, sizeof *all);
	uint32_t count = 0;
	struct sb_map seen = { 0 };
	uint32_t dummy;

	for (uint32_t i = 0; all && i < r->chunk_count; i++) {
		const struct sb_chunk *c = &r->chunks[i];

		if ((c->stream != SB_STREAM_HOT && c->stream != SB_STREAM_DIGEST) ||
			sb_map_get(&seen, c->writer, &dummy))
			continue;
		sb_map_put(&seen, c->writer, 1);
		all[count++] = (struct writer){ c->writer, c->tid };
	}
	sb_map_done(&seen);
	if (count)
		qsort(all, count, sizeof *all, by_tid);
	*out_count = count;
	return all;
}

int sb_engine_visit_writers(struct sb_engine *e)
{
	uint32_t count;
	struct writer *all = list_writers(e, &count);
	int err = all ? 0 : sb_fail(STROBE_ENOMEM, "no memory to read '%s'", e->p->reader->path);

	for (uint32_t i = 0; !err && i < count;) {
		uint32_t end = i + 1;
		struct stream *streams;

		while (end < count && (e->p->has_tracks || all[end].tid == all[i].tid))
			end++;
		streams = calloc(end - i, sizeof *streams);
		if (!streams) {
			err = sb_fail(STROBE_ENOMEM, "no memory to read '%s'", e->p->reader->path);
			break;
		}
		for (uint32_t k = i; !err && k < end; k++)
			err = start_stream(e, &streams[k - i], all[k].writer);
		if (!err && end - i == 1)
			run_alone(e, &streams[0]);
		else if (!err)
			run_merged(e, streams, end - i);
		free(streams);
		i = end;
	}
	free(all);
	return err;
}
