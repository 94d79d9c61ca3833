/* Long records become events, spans and attributes: a table of what each type holds. */
#include "run/pass.h"

#include "base/role.h"

#include <stdlib.h>
#include <string.h>

static double double_of(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof d);
	return d;
}

static const char *text_of(struct sb_engine *e, uint64_t id)
{
	return sb_run_text_of(e->run, e->process, (uint32_t)id & SB_ID_MAX);
}

static int64_t ns_of(struct sb_engine *e, uint64_t ticks)
{
	return sb_process_ns(e->p, ticks);
}

static bool inside_cut(const struct sb_engine *e, const struct sb_event *ev)
{
	int64_t end = ev->t_ns + (ev->kind == SB_EVENT_GPU ? ev->gpu.duration_ns : 0);

	switch (ev->kind) {
	case SB_EVENT_MODEL:
	case SB_EVENT_PROCESS:
	case SB_EVENT_CODE_FILE:
	case SB_EVENT_LOST: return true;
	default: return end >= e->run->from_ns && ev->t_ns <= e->run->to_ns;
	}
}

void sb_event_give(struct sb_engine *e, struct sb_event *ev)
{
	uint64_t mask = e->kind_mask[ev->kind];

	if (e->cut && !inside_cut(e, ev))
		return;
	e->index->pass.events++;
	if (e->spans && ev->kind == SB_EVENT_GPU && ev->gpu.kind == SB_GPU_ZONE)
		e->no_memory |= !sb_gpu_spans_add(e->spans, ev);
	for (; mask; mask &= mask - 1) {
		const struct sb_visitor *v = &e->visitors[__builtin_ctzll(mask)];

		v->event(v->self, ev);
	}
}

/* ---- spans --------------------------------------------------------------- */

/* A record, and whose it is; stack is NULL outside the HOT stream. */
struct given {
	const struct sb_record *r;
	uint32_t tid;
	struct sb_stack *stack;
};

static bool take_span(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	const uint64_t *p = g->r->payload;
	struct sb_zone z = { .name = ev->name };
	struct sb_stack *stack = g->stack;
	uint32_t task = (uint32_t)p[3] & SB_ID_MAX;
	uint64_t id = p[0];

	if (!stack || task != e->run->tracks[stack->track].track)
		stack = sb_stack_of(e, sb_run_track_of(e->run, e->process, g->tid, task));
	if (!stack)
		return false;
	z.begin_ns = ns_of(e, p[1]);
	z.end_ns = z.begin_ns + sb_process_duration_ns(e->p, p[2] >> 62 ? 0 : p[2]);
	z.attr_count = sb_engine_read_attrs(e, g->r, 4, &z.role);
	z.attrs = e->attrs;
	if (id && sb_engine_room(e, &e->ended_spans, &e->ended_span_room, e->ended_span_count, sizeof id))
		e->ended_spans[e->ended_span_count++] = id;
	sb_stack_span(e, stack, &z, id == 0);
	return false;
}

static bool take_span_open(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	ev->track = sb_run_track_of(e->run, e->process, g->tid, (uint32_t)g->r->payload[2] & SB_ID_MAX);
	ev->span_id = g->r->payload[0];
	ev->t_ns = ns_of(e, g->r->payload[1]);
	if (sb_engine_room(e, &e->open_spans, &e->open_span_room, e->open_span_count, sizeof *e->open_spans))
		e->open_spans[e->open_span_count++] = (struct sb_open_span){ .id = ev->span_id,
			.process = e->process,
			.track = ev->track,
			.name = ev->name,
			.begin_ns = ev->t_ns };
	return true;
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Spans of this process that began and never ended. */
void sb_open_spans_give(struct sb_engine *e)
{
	if (e->ended_span_count)
		qsort(e->ended_spans, e->ended_span_count, sizeof *e->ended_spans, compare_ids);
	for (uint32_t i = 0; i < e->open_span_count; i++) {
		const struct sb_open_span *o = &e->open_spans[i];
		struct sb_zone z = { .begin_ns = o->begin_ns,
			.end_ns = e->p->end_ns,
			.name = o->name,
			.flags = SB_ZONE_OPEN };
		struct sb_stack *stack;

		if (e->ended_span_count &&
			bsearch(&o->id, e->ended_spans, e->ended_span_count, sizeof o->id, compare_ids))
			continue;
		stack = o->track == UINT32_MAX ? NULL : sb_stack_of(e, o->track);
		if (!stack)
			continue;
		e->index->pass.open_zones++;
		sb_stack_span(e, stack, &z, false);
	}
	e->open_span_count = e->ended_span_count = 0;
}

/* ---- the rest ------------------------------------------------------------ */

static bool take_gpu(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	const struct sb_record *r = g->r;

	ev->gpu.kind = (enum sb_gpu_kind)(r->aux >> 20 & 15);
	ev->gpu.device = (uint32_t)(r->aux >> 24) & 255;
	ev->gpu.flags = (uint32_t)(r->aux >> 32) & 255;
	ev->gpu.duration_ns = sb_process_duration_ns(e->p, r->payload[1] >> 62 ? 0 : r->payload[1]);
	ev->gpu.launch_ns = r->payload[2] ? ns_of(e, r->payload[2]) : INT64_MIN;
	ev->gpu.stream = (uint32_t)(r->payload[3] >> 32);
	ev->gpu.launch_tid = (uint32_t)r->payload[3];
	ev->gpu.launch_track = ev->gpu.launch_tid ? sb_run_track_of(e->run, e->process, ev->gpu.launch_tid, 0)
						  : UINT32_MAX;
	ev->gpu.bytes = ev->gpu.kind != SB_GPU_KERNEL && r->words >= 5 ? (int64_t)r->payload[4] : -1;
	if (ev->gpu.kind == SB_GPU_KERNEL && r->words >= 6)
		ev->gpu.shape = sb_gpu_shape_unpack(r->payload + 4);
	else if (ev->gpu.kind == SB_GPU_KERNEL && r->words == 5)
		sb_gpu_shape_of_name(e->run->names[sb_engine_name(e, r->payload[4])].text, &ev->gpu.shape);
	return true;
}

static bool take_stack(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	const uint64_t *p = g->r->payload;
	uint32_t names[256], lines[256];
	uint32_t count = g->r->words - 3 < 256 ? g->r->words - 3 : 256;

	for (uint32_t i = 0; i < count; i++) {
		names[i] = sb_engine_name(e, p[3 + i]);
		lines[i] = (uint32_t)(p[3 + i] >> 32);
	}
	ev->stack.tid = (uint32_t)p[1];
	ev->stack.weight_ns = (int64_t)(p[1] >> 32) * 1000;
	ev->stack.native = g->r->aux & SB_STACK_NATIVE;
	ev->stack.cpu_ns = ev->stack.native ? ev->stack.weight_ns
			   : p[2] >> 32     ? (int64_t)((p[2] >> 32) - 1) * 1000
					    : -1;
	ev->stack.stood = g->r->aux & SB_STACK_STOOD;
	ev->stack.ran = g->r->aux & SB_STACK_RAN;
	ev->track = sb_run_track_of(e->run, e->process, ev->stack.tid, (uint32_t)p[2] & SB_ID_MAX);
	ev->stack.frame_count = count;
	ev->stack.names = names;
	ev->stack.lines = lines;
	sb_event_give(e, ev); /* here: the names are gone afterwards */
	return false;
}

static bool take_text(struct sb_engine *e, const struct sb_record *r, uint32_t at, struct sb_event *ev)
{
	const char *text;
	size_t size, offset;

	if (!sb_record_text(r, at, &text, &size) || !sb_engine_keep_text(e, text, size, &offset))
		return false;
	ev->text = e->text.data + offset;
	return true;
}

static bool take_sample(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	const struct sb_run_schema *schema = sb_run_schema_of(e->run, e->process, (uint32_t)g->r->aux);

	if (!schema || g->r->words < 1 + schema->column_count)
		return false;
	ev->sample.schema = schema;
	ev->sample.values = (const double *)(g->r->payload + 1);
	return true;
}

static bool take_attr(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	const struct sb_record *r = g->r;
	struct sb_run_attr a = { .type = (enum strobe_type)(r->aux >> 20 & 15) };

	(void)ev;
	if (!g->stack || !g->stack->depth)
		return false;
	if ((r->aux & SB_ID_MAX) == SB_NAME_ROLE) {
		sb_stack_role(e, g->stack, sb_role_read(r->payload[0]));
		return false;
	}
	a.key = text_of(e, r->aux);
	if (a.type == STROBE_TYPE_FLOAT)
		a.f = double_of(r->payload[0]);
	else if (a.type == STROBE_TYPE_INT || a.type == STROBE_TYPE_BOOL)
		a.i = (int64_t)r->payload[0];
	else
		return false;
	sb_stack_attr(e, g->stack, &a);
	return false;
}

static bool take_text_attr(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	const struct sb_record *r = g->r;
	const char *key, *text;
	size_t size;

	if (!g->stack || !g->stack->depth || (r->aux & SB_ID_MAX) == SB_NAME_ROLE)
		return take_attr(e, g, ev);
	key = text_of(e, r->aux);
	if (sb_record_text(r, 0, &text, &size))
		sb_stack_text_attr(e, g->stack, key, text, size);
	return false;
}

static bool take_snapshot(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	const uint64_t *p = g->r->payload;

	ev->track = sb_run_track_of(e->run, e->process, g->tid, 0);
	ev->snapshot.device = (int)(int64_t)p[1];
	ev->snapshot.allocated_bytes = (int64_t)p[2];
	ev->snapshot.reserved_bytes = (int64_t)p[3];
	ev->snapshot.peak_bytes = (int64_t)p[4];
	return true;
}

static bool take_lost(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	(void)e;
	if (g->r->aux >= SB_LOST_REASONS)
		return false;
	ev->lost.reason = (enum sb_lost_reason)g->r->aux;
	ev->lost.count = g->r->payload[0];
	return true;
}

static bool take_event(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	ev->track = sb_run_track_of(e->run, e->process, g->tid, (uint32_t)g->r->payload[1] & SB_ID_MAX);
	ev->attr_count = sb_engine_read_attrs(e, g->r, 2, NULL);
	ev->attrs = e->attrs;
	return true;
}

static bool take_skip(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	ev->track = sb_run_track_of(e->run, e->process, g->tid, (uint32_t)g->r->payload[1] & SB_ID_MAX);
	return take_text(e, g->r, 2, ev);
}

static bool take_cache(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	const uint64_t *p = g->r->payload;

	(void)e;
	ev->cache.kind = (enum strobe_cache_kind)(g->r->aux >> 20 & 15);
	ev->cache.count = (int64_t)p[1];
	ev->cache.size_bytes = (int64_t)p[2];
	ev->cache.score = double_of(p[3]);
	ev->cache.threshold = double_of(p[4]);
	ev->cache.frame = double_of(p[5]);
	ev->cache.chunk = (int64_t)p[6];
	return true;
}

static bool take_streaming(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	const uint64_t *p = g->r->payload;

	(void)e;
	ev->stream = (struct strobe_batch){ (int64_t)p[1], double_of(p[2]), double_of(p[3]),
		double_of(p[4]) };
	return true;
}

static bool take_model(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	const uint64_t *p = g->r->payload;

	ev->model.parameter_count = (int64_t)p[1];
	ev->model.type = sb_engine_name(e, p[2]);
	ev->model.bytes = (int64_t)p[3];
	return true;
}

static bool take_alloc(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	ev->alloc.bytes = (int64_t)g->r->payload[1];
	ev->alloc.context = sb_engine_name(e, g->r->payload[2]);
	return true;
}

static bool take_gauge(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	(void)e;
	ev->value = double_of(g->r->payload[1]);
	return true;
}

static bool take_process(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	const uint64_t *p = g->r->payload;

	ev->child.pid = (uint32_t)g->r->aux;
	ev->child.ppid = (uint32_t)p[1];
	ev->child.started = p[2] != 0;
	ev->child.status = (int64_t)p[3];
	return take_text(e, g->r, 4, ev);
}

static bool take_code_file(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	return take_text(e, g->r, 0, ev);
}

static bool take_count(struct sb_engine *e, const struct given *g, struct sb_event *ev)
{
	(void)e;
	ev->delta = (int64_t)g->r->payload[0];
	return true;
}

/* ---- the table ----------------------------------------------------------- */

enum { NAMED = 1, TIMED = 2 }; /* aux has a name's id; the first word is a time */

static const struct {
	uint8_t least_words; /* of the payload */
	uint8_t has;
	uint8_t kind; /* of the event, enum sb_event_kind; 0 where there is none */
	/* False: there is no event to give, or it was given. NULL: not for a pass. */
	bool (*take)(struct sb_engine *e, const struct given *g, struct sb_event *ev);
} types[] = {
	[SB_ATTR64] = { 1, 0, 0, take_attr },
	[SB_ATTR_STR] = { 1, 0, 0, take_text_attr },
	[SB_SPAN_OPEN] = { 3, NAMED, SB_EVENT_SPAN_OPEN, take_span_open },
	[SB_SPAN] = { 4, NAMED, 0, take_span },
	[SB_GPU] = { 4, NAMED | TIMED, SB_EVENT_GPU, take_gpu },
	[SB_SAMPLE] = { 1, TIMED, SB_EVENT_SAMPLE, take_sample },
	[SB_SNAPSHOT] = { 5, NAMED | TIMED, SB_EVENT_SNAPSHOT, take_snapshot },
	[SB_LOST] = { 1, 0, SB_EVENT_LOST, take_lost },
	[SB_EVENT] = { 2, NAMED | TIMED, SB_EVENT_EVENT, take_event },
	[SB_SKIP] = { 3, NAMED | TIMED, SB_EVENT_SKIPPED, take_skip },
	[SB_CACHE] = { 7, NAMED | TIMED, SB_EVENT_CACHE, take_cache },
	[SB_STREAMING] = { 5, TIMED, SB_EVENT_STREAM, take_streaming },
	[SB_MODEL] = { 4, NAMED | TIMED, SB_EVENT_MODEL, take_model },
	[SB_ALLOC] = { 3, NAMED | TIMED, SB_EVENT_ALLOC, take_alloc },
	[SB_GAUGE] = { 2, NAMED | TIMED, SB_EVENT_GAUGE, take_gauge },
	[SB_PROCESS] = { 5, TIMED, SB_EVENT_PROCESS, take_process },
	[SB_STACK] = { 3, TIMED, SB_EVENT_STACK, take_stack },
	[SB_CODE_FILE] = { 1, NAMED, SB_EVENT_CODE_FILE, take_code_file },
	[SB_COUNT64] = { 1, NAMED, SB_EVENT_COUNT, take_count },
};

void sb_record_give(
	struct sb_engine *e, const struct sb_record *r, uint32_t tid, struct sb_stack *stack, int64_t now_ns)
{
	bool known = r->type < sizeof types / sizeof *types;
	struct sb_event ev = { .t_ns = now_ns,
		.process = e->process,
		.track = stack ? stack->track : UINT32_MAX,
		.path = stack && stack->depth ? stack->frames[stack->depth - 1].path & ~SB_PATH_RECURSIVE : 0,
		.warming = stack && sb_stack_is_warming(stack, stack->depth) };

	e->index->pass.unknown_records += !known;
	if (!known || !types[r->type].take || r->words < types[r->type].least_words)
		return;
	e->text.size = 0;
	ev.kind = (enum sb_event_kind)types[r->type].kind;
	if (types[r->type].has & NAMED)
		ev.name = sb_engine_name(e, r->aux);
	if (types[r->type].has & TIMED)
		ev.t_ns = ns_of(e, r->payload[0]);
	if (types[r->type].take(e, &(struct given){ r, tid, stack }, &ev))
		sb_event_give(e, &ev);
}
