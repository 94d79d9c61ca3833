/* The pass: every process of a run, its streams one after the other, to every visitor. */
#include "run/events.h"

#include "run/pass.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define SEARCH_MAX (1ull << 28)

/* ---- the other streams ----------------------------------------------------- */

static int visit_stream(struct sb_engine *e, enum sb_stream stream)
{
	struct sb_reader *r = e->p->reader;
	struct sb_chunk_range range = sb_reader_range(r, stream, 0);
	uint64_t *buf = malloc(r->head.chunk_bytes);

	if (!buf)
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", r->path);
	for (uint32_t i = range.first; i < range.end; i++) {
		const struct sb_chunk *chunk = &r->chunks[i];
		uint32_t tid = chunk->tid;
		struct sb_cursor c;
		struct sb_record record;
		size_t count;
		const uint64_t *words = sb_reader_chunk(r, chunk, buf, &count);

		if (!words)
			continue;
		sb_cursor_init(&c, words, count, chunk->base_ticks);
		while (sb_cursor_next(&c, &record)) {
			e->index->pass.words++;
			if (record.kind == SB_LONG && record.type == SB_OWNER)
				tid = (uint32_t)record.aux;
			else if (record.kind == SB_LONG && !sb_engine_is_misplaced(e, chunk, &record, c.end))
				sb_record_give(e, &record, tid, NULL, sb_process_ns(e->p, chunk->base_ticks));
		}
		sb_engine_note_damage(e, chunk, &c);
	}
	free(buf);
	return 0;
}

/* ---- the pass ------------------------------------------------------------ */

static void prepare(struct sb_engine *e)
{
	for (size_t i = 0; i < e->visitor_count; i++) {
		const struct sb_visitor *v = &e->visitors[i];
		uint64_t bit = 1ull << i;

		e->takers[i] = (struct sb_zone_taker){ v->zone, v->self };
		e->long_mask |= v->only_long ? bit : 0;
		e->attrs_mask |= v->only_with_attrs ? bit : 0;
		e->with_attrs_mask |= v->zone && v->any_with_attrs ? bit : 0;
		if (v->zone && v->roles == SB_EVERY_ZONE)
			e->every_mask |= bit;
		else if (v->zone && v->wants_name)
			e->any_name_mask |= bit;
		for (uint32_t role = 0; v->zone && role < 32; role++)
			if (v->roles >> role & 1)
				e->role_mask[role] |= bit;
		if (v->zone_begin)
			e->begin_mask |= bit;
		if (v->gpu_spans)
			e->spans = &e->index->gpu_spans;
		for (uint32_t kind = 0; v->event && kind < SB_EVENT_KINDS; kind++)
			if (v->kinds >> kind & 1)
				e->kind_mask[kind] |= bit;
	}
}

static int visit_process(struct sb_engine *e, uint32_t process)
{
	int err;

	e->process = process;
	e->p = &e->run->processes[process];
	err = visit_stream(e, SB_STREAM_KEEP);
	if (!err)
		err = visit_stream(e, SB_STREAM_DEVICE);
	if (!err)
		err = sb_engine_visit_writers(e);
	for (uint32_t i = 0; i < e->stack_room; i++) {
		if (!err && e->stacks[i])
			sb_stack_close_all(e, e->stacks[i], e->p->end_ns);
		sb_stack_free(e->stacks[i]);
		e->stacks[i] = NULL;
	}
	sb_open_spans_give(e);
	e->index->pass.vanished_chunks += e->p->reader->vanished_count;
	return err;
}

static void engine_done(struct sb_engine *e)
{
	for (uint32_t i = 0; i < e->stack_room; i++)
		sb_stack_free(e->stacks[i]);
	free(e->stacks);
	free(e->name_mask);
	free(e->attrs);
	free(e->text.data);
	free(e->open_spans);
	free(e->ended_spans);
	sb_covered_done(&e->covered);
}

int sb_run_visit(struct sb_run *run, const struct sb_visitor *visitors, size_t count)
{
	struct sb_engine e = { .run = run,
		.index = run->index,
		.visitors = visitors,
		.visitor_count = count,
		.cut = run->is_cut,
		.first_pass = !run->index->visits,
		.search_left = SEARCH_MAX };
	int err = 0;

	if (count > 63)
		return sb_fail(STROBE_EINVAL, "more than 63 visitors in one pass");
	run->index->pass = (struct sb_pass){ .folded_until_ns = INT64_MIN, .last_ns = INT64_MIN };
	run->index->writers.count = 0;
	run->index->attributed_ns = 0;
	run->index->visits++;
	prepare(&e);
	if (e.spans)
		sb_gpu_spans_done(e.spans);
	for (uint32_t i = 0; !err && i < run->process_count; i++)
		err = run->processes[i].tool ? visit_process(&e, i) : 0;
	for (uint32_t i = 0; !err && i < run->process_count; i++)
		err = run->processes[i].tool ? 0 : visit_process(&e, i);
	if (!err && e.no_memory)
		err = sb_fail(STROBE_ENOMEM, "no memory to read '%s'", run->path);
	engine_done(&e);
	return err;
}
