/* Sorts zones by line and time, then walks them with a stack. */
#include "exchange/nested.h"

#include "base/error.h"
#include "base/extsort.h"
#include "base/map.h"
#include "base/room.h"
#include "exchange/blobs.h"
#include "exchange/out.h"

#include <stdlib.h>
#include <string.h>

#define SORT_BYTES (16u << 20)
#define ATTRS_MAX 24u /* of one zone */
#define TEXT_LIMIT 512u

struct record {
	uint64_t line, begin, depth; /* the key: kind and number of the line; begin is biased, so that times
	                                before the run sort first */
	int64_t end_ns;
	uint64_t number, attrs_at;
	uint32_t name, role, flags, attrs_size;
	uint32_t path;
	uint32_t stream; /* a launch: index of its stream's line + 1; attrs_at is when the work began */
};
#define BIAS ((uint64_t)1 << 63)
#define LAUNCH_DEPTH UINT32_MAX /* after the zones that began in the same moment */
#define KIND_SHIFT 32 /* in record.line, above its number */

struct walk {
	struct sb_run *run;
	const struct sb_nested_visitor *visitor;
	struct sb_extsort *sort;
	struct sb_blobs *blobs;
	struct sb_map line_of; /* packed line -> index of lines */
	struct sb_nested_line *lines;
	size_t line_count, line_room;
	uint64_t number;
	int err;
	struct sb_nested_zone *stack;
	size_t depth, room;
};

/* ---- collecting ---- */

static uint64_t line_number(struct walk *w, const struct sb_nested_line *line)
{
	uint64_t key = (uint64_t)line->kind << 62 | (uint64_t)(line->process & 0x3fff) << 48 |
		       (line->kind == SB_NESTED_STREAM
				       ? (uint64_t)(line->device & 0xffff) << 32 | line->stream
				       : line->track);
	uint32_t number;

	if (sb_map_get(&w->line_of, key, &number))
		return (uint64_t)line->kind << KIND_SHIFT | number;
	number = (uint32_t)w->line_count;
	if (!SB_MAKE_ROOM(w->lines, w->line_count, w->line_room) || !sb_map_put(&w->line_of, key, number)) {
		w->err = sb_fail(STROBE_ENOMEM, "no memory to export");
		return 0;
	}
	w->lines[w->line_count++] = *line;
	return (uint64_t)line->kind << KIND_SHIFT | number;
}

static char *put_attr(char *at, const struct sb_run_attr *a)
{
	at = sb_put_json_string(at, a->key, 128);
	*at++ = ':';
	switch (a->type) {
	case STROBE_TYPE_FLOAT: return sb_put_double(at, a->f);
	case STROBE_TYPE_STRING: return sb_put_json_string(at, a->s, TEXT_LIMIT);
	case STROBE_TYPE_BOOL: return a->i ? SB_PUT(at, "true") : SB_PUT(at, "false");
	default: return sb_put_i64(at, a->i);
	}
}

/* As many as fit a blob, whole. */
static void keep_attrs(struct walk *w, const struct sb_zone *z, struct record *r)
{
	char text[SB_BLOB_MAX + 6 * (128 + TEXT_LIMIT) + 64], *at = text, *whole = text;

	for (uint32_t i = 0; i < z->attr_count && i < ATTRS_MAX; i++) {
		if (at > text)
			*at++ = ',';
		at = put_attr(at, &z->attrs[i]);
		if (at - text > (ptrdiff_t)SB_BLOB_MAX)
			break;
		whole = at;
	}
	r->attrs_size = (uint32_t)(whole - text);
	if (r->attrs_size && !w->err)
		w->err = sb_blobs_add(w->blobs, text, r->attrs_size, &r->attrs_at);
}

static void take_zone(void *self, const struct sb_zone *z)
{
	struct walk *w = self;
	struct sb_nested_line line = { z->flags & SB_ZONE_SPAN ? SB_NESTED_SPANS : SB_NESTED_TRACK,
		z->process, z->track, 0, 0 };
	struct record r = { .begin = (uint64_t)z->begin_ns + BIAS,
		.depth = z->depth,
		.end_ns = z->end_ns,
		.name = z->name,
		.role = z->role,
		.flags = z->flags,
		.path = z->path,
		.number = ++w->number };

	if (w->err)
		return;
	r.line = line_number(w, &line);
	if (w->visitor->with_attrs && z->attr_count)
		keep_attrs(w, z, &r);
	if (!w->err)
		w->err = sb_extsort_add(w->sort, &r);
}

/* Moves GPU work from its stream into the line that launched it. */
static void put_at_launch(struct walk *w, const struct sb_event *ev, struct record *r)
{
	struct sb_nested_line line = { SB_NESTED_TRACK, ev->process, ev->gpu.launch_track, 0, 0 };

	r->stream = (uint32_t)r->line + 1;
	r->line = line_number(w, &line);
	r->attrs_at = (uint64_t)ev->t_ns;
	r->begin = (uint64_t)ev->gpu.launch_ns + BIAS;
	r->depth = LAUNCH_DEPTH;
}

static void take_event(void *self, const struct sb_event *ev)
{
	struct walk *w = self;
	struct sb_nested_line line = { SB_NESTED_STREAM, ev->process, 0, ev->gpu.device, ev->gpu.stream };
	struct record r = { .begin = (uint64_t)ev->t_ns + BIAS,
		.end_ns = ev->t_ns + ev->gpu.duration_ns,
		.name = ev->name,
		.number = ++w->number };

	if (w->err || ev->gpu.kind == SB_GPU_ZONE || ev->gpu.kind == SB_GPU_SYNC)
		return;
	r.line = line_number(w, &line);
	if (w->visitor->launched && ev->gpu.launch_ns != INT64_MIN && ev->gpu.launch_track != UINT32_MAX)
		put_at_launch(w, ev, &r);
	if (!w->err)
		w->err = sb_extsort_add(w->sort, &r);
}

/* ---- walking ---- */

static void close_top(struct walk *w)
{
	w->depth--;
	if (w->visitor->close)
		w->visitor->close(w->visitor->self, &w->stack[w->depth]);
}

static void close_until(struct walk *w, int64_t t_ns)
{
	while (w->depth && w->stack[w->depth - 1].end_ns <= t_ns)
		close_top(w);
}

static bool open_zone(struct walk *w, const struct record *r)
{
	struct sb_nested_zone *top = w->depth ? &w->stack[w->depth - 1] : NULL;
	struct sb_nested_zone z = { .number = r->number,
		.parent = top ? top->number : 0,
		.begin_ns = (int64_t)(r->begin - BIAS),
		.end_ns = r->end_ns,
		.name = r->name,
		.role = r->role,
		.flags = r->flags,
		.path = r->path,
		.attrs = "",
		.attrs_size = r->attrs_size };

	if (top && z.end_ns > top->end_ns)
		z.end_ns = top->end_ns; /* crosses the end of what is around it */
	if (r->attrs_size) {
		z.attrs = sb_blobs_get(w->blobs, r->attrs_at, r->attrs_size);
		if (!z.attrs)
			return false;
	}
	if (!SB_MAKE_ROOM(w->stack, w->depth, w->room)) {
		sb_fail(STROBE_ENOMEM, "no memory to export");
		return false;
	}
	w->stack[w->depth++] = z;
	w->visitor->open(w->visitor->self, &w->stack[w->depth - 1]);
	return true;
}

static void hand_launch(struct walk *w, const struct record *r)
{
	const struct sb_nested_zone *around = w->depth ? &w->stack[w->depth - 1] : NULL;
	struct sb_nested_zone work = { .number = r->number,
		.parent = around ? around->number : 0,
		.begin_ns = (int64_t)r->attrs_at,
		.end_ns = r->end_ns,
		.name = r->name,
		.attrs = "" };

	w->visitor->launched(w->visitor->self, &w->lines[r->stream - 1], &work, around);
}

static int walk_sorted(struct walk *w)
{
	const struct sb_nested_line *line = NULL;
	const struct record *r;

	while ((r = sb_extsort_next(w->sort))) {
		if (line != &w->lines[r->line & UINT32_MAX]) {
			close_until(w, INT64_MAX);
			line = &w->lines[r->line & UINT32_MAX];
			w->visitor->line(w->visitor->self, line);
		}
		close_until(w, line->kind == SB_NESTED_SPANS ? INT64_MAX : (int64_t)(r->begin - BIAS));
		if (r->stream)
			hand_launch(w, r);
		else if (!open_zone(w, r))
			return STROBE_EIO;
	}
	close_until(w, INT64_MAX);
	return sb_extsort_error(w->sort);
}

int sb_nested_visit(struct sb_run *run, const struct sb_nested_visitor *visitor)
{
	struct walk w = { .run = run, .visitor = visitor };
	struct sb_visitor collect = { .self = &w,
		.roles = SB_EVERY_ZONE,
		.zone = take_zone,
		.kinds = 1u << SB_EVENT_GPU,
		.event = take_event };
	int err = sb_extsort_new(sizeof(struct record), SORT_BYTES, sb_extsort_folder(), &w.sort);

	if (!err)
		err = sb_blobs_new(sb_extsort_folder(), &w.blobs);
	if (!err)
		err = sb_run_visit(run, &collect, 1);
	if (!err)
		err = w.err;
	if (!err)
		err = sb_extsort_finish(w.sort);
	if (!err)
		err = walk_sorted(&w);
	sb_extsort_free(w.sort);
	sb_blobs_free(w.blobs);
	sb_map_done(&w.line_of);
	free(w.lines);
	free(w.stack);
	return err;
}
