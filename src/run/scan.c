/* Reads a recording's names, threads, schemas, metadata and the rate of its clock. Zones and samples are
 * read by the pass (events.h). */
#include "run/index.h"
#include "base/error.h"
#include "base/room.h"
#include "format/column_name.h"
#include "format/cursor.h"
#include "format/run_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMAS_MAX 8192u

static const char *const fixed_names[] = { "",
#define TEXT_(sym, text) text,
	SB_FIXED_NAMES(TEXT_)
#undef TEXT_
};

struct scan {
	struct sb_run *run;
	uint32_t process;
	/* the best anchor for the clock's rate */
	uint64_t anchor_ticks, anchor_mono_ns;
};

static void scan_name(struct scan *s, const struct sb_record *r)
{
	uint64_t sizes = r->words ? r->payload[0] : 0;
	uint64_t name_size = sizes & UINT32_MAX, code_size = sizes >> 32;
	const char *text = (const char *)(r->payload + 1);
	uint32_t id;

	if (!r->words || name_size + code_size > (uint64_t)(r->words - 1) * 8 || (r->aux & SB_ID_MAX) == 0)
		return;
	if (name_size && *text)
		id = sb_run_name_add(s->run, text, name_size, text + name_size, code_size);
	else
		id = sb_run_name_add(s->run, SB_NO_NAME, strlen(SB_NO_NAME), text + name_size, code_size);
	sb_run_file_name_set(&s->run->processes[s->process], (uint32_t)r->aux & SB_ID_MAX, id);
}

static void scan_schema(struct scan *s, const struct sb_record *r)
{
	struct sb_run *run = s->run;
	struct sb_run_schema schema = { .process = s->process, .id = (uint32_t)r->aux };

	if (run->schema_count >= SCHEMAS_MAX || r->words < 3 || r->payload[2] > r->words - 3 ||
		sb_run_schema_of(run, s->process, schema.id))
		return;
	schema.source = sb_run_text_of(run, s->process, (uint32_t)r->payload[0] & SB_ID_MAX);
	schema.device = (int)r->payload[1] - 1;
	schema.column_count = (uint32_t)r->payload[2];
	schema.columns = calloc(schema.column_count + 1, sizeof *schema.columns);
	if (!schema.columns || !SB_MAKE_ROOM(run->schemas, run->schema_count, run->index->schema_room)) {
		free(schema.columns);
		return;
	}
	for (uint32_t i = 0; i < schema.column_count; i++)
		schema.columns[i] = sb_column_name(
			sb_run_text_of(run, s->process, (uint32_t)r->payload[3 + i] & SB_ID_MAX));
	sb_map_put(&run->index->schemas, (uint64_t)s->process << 40 | schema.id, run->schema_count);
	run->schemas[run->schema_count++] = schema;
}

static void scan_meta(struct scan *s, const struct sb_record *r)
{
	struct sb_run *run = s->run;
	struct sb_run_meta meta = { .process = s->process,
		.scope = (enum sb_meta_scope)(r->aux >> 24 & 255) };
	const char *text;
	size_t size;

	meta.attr.key = sb_run_text_of(run, s->process, (uint32_t)r->aux & SB_ID_MAX);
	meta.attr.type = (enum strobe_type)(r->aux >> 20 & 15);
	if (!r->words)
		return;
	if (meta.attr.type == STROBE_TYPE_STRING) {
		if (!sb_record_text(r, 0, &text, &size))
			return;
		meta.attr.s = sb_run_text_keep(run, text, size);
	} else if (meta.attr.type == STROBE_TYPE_FLOAT) {
		memcpy(&meta.attr.f, r->payload, 8);
	} else if (meta.attr.type == STROBE_TYPE_INT || meta.attr.type == STROBE_TYPE_BOOL) {
		meta.attr.i = (int64_t)r->payload[0];
	} else {
		return;
	}
	if (!SB_MAKE_ROOM(run->metas, run->meta_count, run->index->meta_room))
		return;
	if (!sb_map_put(&run->index->metas, sb_run_meta_hash(meta.scope, meta.attr.key), run->meta_count))
		return;
	run->metas[run->meta_count++] = meta;
	if (meta.scope == SB_META_RUN && !strcmp(meta.attr.key, SB_RUN_TOOL))
		run->processes[s->process].tool = true;
}

static void scan_track_name(struct scan *s, const struct sb_record *r, uint32_t tid, uint32_t task)
{
	const char *text;
	size_t size;
	uint32_t track;

	if (!sb_record_text(r, 0, &text, &size))
		return;
	track = sb_run_track_of(s->run, s->process, tid, task);
	if (track < s->run->track_count)
		s->run->tracks[track].name = sb_run_text_keep(s->run, text, size);
	if (task)
		s->run->processes[s->process].has_tracks = true;
}

/* Later anchors give a better rate; any of them is accurate enough for the time. */
static void scan_anchor(struct scan *s, uint64_t ticks, uint64_t mono_ns, uint64_t width_ns)
{
	if (width_ns < 1000000 && (int64_t)(ticks - s->anchor_ticks) > 0) {
		s->anchor_ticks = ticks;
		s->anchor_mono_ns = mono_ns;
	}
}

/* Records that say when they happened also say how far an unclosed file reaches. */
static void scan_time(struct scan *s, const struct sb_record *r)
{
	const uint32_t timed = 1u << SB_SAMPLE | 1u << SB_SNAPSHOT | 1u << SB_EVENT | 1u << SB_SKIP |
			       1u << SB_MODEL | 1u << SB_PROCESS | 1u << SB_STACK | 1u << SB_ANCHOR;
	struct sb_reader *reader = s->run->processes[s->process].reader;

	if (reader->head.closed || r->type >= 32 || !(timed >> r->type & 1) || !r->words)
		return;
	if ((int64_t)(r->payload[0] - reader->last_ticks) > 0 &&
		r->payload[0] - reader->last_ticks < reader->head.clock_hz * 86400)
		reader->last_ticks = r->payload[0];
}

static void scan_record(struct scan *s, const struct sb_record *r)
{
	scan_time(s, r);
	switch (r->type) {
	case SB_NAME: scan_name(s, r); break;
	case SB_SCHEMA: scan_schema(s, r); break;
	case SB_META: scan_meta(s, r); break;
	case SB_THREAD: scan_track_name(s, r, (uint32_t)r->aux, 0); break;
	case SB_TRACK: scan_track_name(s, r, 0, (uint32_t)r->aux & SB_ID_MAX); break;
	case SB_ANCHOR:
		if (r->words >= 4)
			scan_anchor(s, r->payload[0], r->payload[1], r->payload[3]);
		break;
	case SB_LOST:
		if (r->words >= 1 && r->aux < SB_LOST_REASONS)
			s->run->lost[r->aux] += r->payload[0];
		break;
	default: break;
	}
}

/* NAMEs first: other records refer to names that may be written after them. */
static int scan_keep(struct scan *s)
{
	struct sb_reader *r = s->run->processes[s->process].reader;
	struct sb_chunk_range range = sb_reader_range(r, SB_STREAM_KEEP, 0);
	uint64_t *buf = malloc(r->head.chunk_bytes);

	if (!buf)
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", r->path);
	for (int names = 1; names >= 0; names--)
		for (uint32_t i = range.first; i < range.end; i++) {
			struct sb_cursor c;
			struct sb_record record;
			size_t count;
			const uint64_t *words = sb_reader_chunk(r, &r->chunks[i], buf, &count);

			if (!words)
				continue;
			sb_cursor_init(&c, words, count, r->chunks[i].base_ticks);
			while (sb_cursor_next(&c, &record))
				if (record.kind == SB_LONG && (record.type == SB_NAME) == names)
					scan_record(s, &record);
		}
	free(buf);
	return 0;
}

/* The last word of every writer: how far an unclosed file reaches. */
static void scan_ends(struct sb_reader *r)
{
	uint64_t *buf = malloc(r->head.chunk_bytes);

	for (uint32_t i = 0; buf && i < r->chunk_count; i++) {
		const struct sb_chunk *chunk = &r->chunks[i];
		const struct sb_chunk *next = i + 1 < r->chunk_count ? chunk + 1 : NULL;
		struct sb_cursor c;
		struct sb_record record;
		size_t count;
		const uint64_t *words;

		if (chunk->stream != SB_STREAM_HOT ||
			(next && next->stream == chunk->stream && next->writer == chunk->writer))
			continue;
		words = sb_reader_chunk(r, chunk, buf, &count);
		if (!words)
			continue;
		if ((int64_t)(chunk->base_ticks - r->last_ticks) > 0)
			r->last_ticks = chunk->base_ticks;
		sb_cursor_init(&c, words, count, chunk->base_ticks);
		while (sb_cursor_next(&c, &record))
			if (record.kind <= SB_SWITCH && (int64_t)(record.ticks - r->last_ticks) > 0 &&
				record.ticks - chunk->base_ticks < (uint64_t)1 << 50)
				r->last_ticks = record.ticks;
	}
	free(buf);
}

static void set_rate(struct sb_run_process *p, const struct scan *s)
{
	const struct sb_file_header *h = &p->reader->head;
	double nominal = 1e9 / (double)h->clock_hz;
	double span_ticks = (double)(int64_t)(s->anchor_ticks - h->start_ticks);
	double span_ns = (double)(int64_t)(s->anchor_mono_ns - h->start_mono_ns);

	p->ns_per_tick = nominal;
	if ((h->clock_kind == SB_CLOCK_TSC || h->clock_kind == SB_CLOCK_CNTVCT) && span_ns > 50e6 &&
		fabs(span_ns / span_ticks / nominal - 1) < 0.02)
		p->ns_per_tick = span_ns / span_ticks;
	p->scale = (uint64_t)(p->ns_per_tick * 0x1p40 + 0.5);
	p->origin_ticks = h->start_ticks;
}

int sb_run_scan(struct sb_run *run, uint32_t process)
{
	struct sb_run_process *p = &run->processes[process];
	struct sb_reader *r = p->reader;
	struct scan s = { .run = run,
		.process = process,
		.anchor_ticks = r->head.start_ticks,
		.anchor_mono_ns = r->head.start_mono_ns };
	int err;

	for (uint32_t i = 1; i < SB_NAME_FIXED_END; i++)
		sb_run_file_name_set(
			p, i, sb_run_name_add(run, fixed_names[i], strlen(fixed_names[i]), NULL, 0));
	err = scan_keep(&s);
	if (err)
		return err;
	for (uint32_t i = 0; i < r->chunk_count; i++) {
		const struct sb_chunk *c = &r->chunks[i];

		if (c->anchor_mono_ns)
			scan_anchor(&s, c->base_ticks, c->anchor_mono_ns, c->anchor_width_ns);
		if (c->track)
			p->has_tracks = true;
	}
	if (r->head.closed)
		scan_anchor(&s, r->head.end_ticks, r->head.end_mono_ns, 0);
	else
		scan_ends(r);
	set_rate(p, &s);
	for (uint32_t i = 0; i < SB_LOST_REASONS; i++)
		run->lost[i] += sb_lost_count(&r->head, i);
	return 0;
}
