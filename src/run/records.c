/* Long records become events, spans and attributes; digests become sums. */
#include "run/pass.h"

#include <stdlib.h>
#include <string.h>

static double double_of(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof d);
	return d;
}

static uint32_t name_of(struct sb_engine *e, uint64_t id)
{
	return sb_run_name_of(e->run, e->process, (uint32_t)id & SB_ID_MAX);
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
	uint32_t mask = e->kind_mask[ev->kind];

	if (e->cut && !inside_cut(e, ev))
		return;
	e->index->pass.events++;
	for (; mask; mask &= mask - 1) {
		const struct sb_visitor *v = &e->visitors[__builtin_ctz(mask)];

		v->event(v->self, ev);
	}
}

/* ---- spans --------------------------------------------------------------- */

static void give_span(struct sb_engine *e, const struct sb_record *r, uint32_t tid, struct sb_stack *stack)
{
	struct sb_zone z = { .name = name_of(e, r->aux) };
	uint64_t id = r->payload[0];
	uint32_t task = (uint32_t)r->payload[3] & SB_ID_MAX;

	if (!stack || task != e->run->tracks[stack->track].track)
		stack = sb_stack_of(e, sb_run_track_of(e->run, e->process, tid, task));
	if (!stack)
		return;
	z.begin_ns = ns_of(e, r->payload[1]);
	z.end_ns = z.begin_ns + sb_process_duration_ns(e->p, r->payload[2] >> 62 ? 0 : r->payload[2]);
	z.attr_count = sb_engine_read_attrs(e, r, 4, &z.role);
	z.attrs = e->attrs;
	if (id && sb_engine_room(e, &e->ended_spans, &e->ended_span_room, e->ended_span_count, sizeof id))
		e->ended_spans[e->ended_span_count++] = id;
	sb_stack_span(e, stack, &z, id == 0);
}

static void give_span_open(struct sb_engine *e, const struct sb_record *r, struct sb_event *ev)
{
	ev->kind = SB_EVENT_SPAN_OPEN;
	ev->span_id = r->payload[0];
	ev->t_ns = ns_of(e, r->payload[1]);
	sb_event_give(e, ev);
	if (sb_engine_room(e, &e->open_spans, &e->open_span_room, e->open_span_count, sizeof *e->open_spans))
		e->open_spans[e->open_span_count++] = (struct sb_open_span){ .id = ev->span_id,
			.process = e->process,
			.track = ev->track,
			.name = ev->name,
			.begin_ns = ev->t_ns };
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

static void fill_gpu(struct sb_engine *e, const struct sb_record *r, struct sb_event *ev)
{
	ev->kind = SB_EVENT_GPU;
	ev->t_ns = ns_of(e, r->payload[0]);
	ev->gpu.kind = (enum sb_gpu_kind)(r->aux >> 20 & 15);
	ev->gpu.device = (uint32_t)(r->aux >> 24) & 255;
	ev->gpu.flags = (uint32_t)(r->aux >> 32) & 255;
	ev->gpu.duration_ns = sb_process_duration_ns(e->p, r->payload[1] >> 62 ? 0 : r->payload[1]);
	ev->gpu.launch_ns = r->payload[2] ? ns_of(e, r->payload[2]) : INT64_MIN;
	ev->gpu.stream = (uint32_t)(r->payload[3] >> 32);
	ev->gpu.launch_tid = (uint32_t)r->payload[3];
	ev->gpu.launch_track = ev->gpu.launch_tid ? sb_run_track_of(e->run, e->process, ev->gpu.launch_tid, 0)
						  : UINT32_MAX;
	ev->gpu.bytes = r->words >= 5 ? (int64_t)r->payload[4] : -1;
}

static void give_stack_sample(struct sb_engine *e, const struct sb_record *r, struct sb_event *ev)
{
	uint32_t names[256], lines[256];
	uint32_t count = r->words - 3 < 256 ? r->words - 3 : 256;

	for (uint32_t i = 0; i < count; i++) {
		names[i] = name_of(e, r->payload[3 + i]);
		lines[i] = (uint32_t)(r->payload[3 + i] >> 32);
	}
	ev->kind = SB_EVENT_STACK;
	ev->t_ns = ns_of(e, r->payload[0]);
	ev->stack.tid = (uint32_t)r->payload[1];
	ev->stack.weight_ns = (int64_t)(r->payload[1] >> 32) * 1000;
	ev->stack.native = r->aux & SB_STACK_NATIVE;
	ev->track = sb_run_track_of(e->run, e->process, ev->stack.tid, (uint32_t)r->payload[2] & SB_ID_MAX);
	ev->stack.frame_count = count;
	ev->stack.names = names;
	ev->stack.lines = lines;
	sb_event_give(e, ev);
}

static void give_text(struct sb_engine *e, const struct sb_record *r, uint32_t at, struct sb_event *ev)
{
	const char *text;
	size_t size, offset;

	if (sb_record_text(r, at, &text, &size) && sb_engine_keep_text(e, text, size, &offset)) {
		ev->text = e->text.data + offset;
		sb_event_give(e, ev);
	}
}

static void give_sample(struct sb_engine *e, const struct sb_record *r, struct sb_event *ev)
{
	const struct sb_run_schema *schema = sb_run_schema_of(e->run, e->process, (uint32_t)r->aux);

	if (!schema || r->words < 1 + schema->column_count)
		return;
	ev->kind = SB_EVENT_SAMPLE;
	ev->sample.schema = schema;
	ev->sample.values = (const double *)(r->payload + 1);
	sb_event_give(e, ev);
}

static void give_attr(struct sb_engine *e, const struct sb_record *r, struct sb_stack *stack)
{
	struct sb_run_attr a = { .type = (enum strobe_type)(r->aux >> 20 & 15) };
	const char *text;
	size_t size;

	if (!stack || !stack->depth)
		return;
	if ((r->aux & SB_ID_MAX) == SB_NAME_ROLE) {
		stack->frames[stack->depth - 1].role = (uint32_t)r->payload[0];
		return;
	}
	a.key = text_of(e, r->aux);
	if (r->type == SB_ATTR_STR) {
		if (sb_record_text(r, 0, &text, &size))
			sb_stack_text_attr(e, stack, a.key, text, size);
		return;
	}
	if (a.type == STROBE_TYPE_FLOAT)
		a.f = double_of(r->payload[0]);
	else if (a.type == STROBE_TYPE_INT || a.type == STROBE_TYPE_BOOL)
		a.i = (int64_t)r->payload[0];
	else
		return;
	sb_stack_attr(e, stack, &a);
}

/* Payload words a type has at least; 0: unknown or without any. */
static uint32_t least_words(uint32_t type)
{
	static const uint8_t least[] = { [SB_ATTR64] = 1,
		[SB_ATTR_STR] = 1,
		[SB_SPAN_OPEN] = 3,
		[SB_SPAN] = 4,
		[SB_GPU] = 4,
		[SB_SAMPLE] = 1,
		[SB_SNAPSHOT] = 5,
		[SB_LOST] = 1,
		[SB_EVENT] = 2,
		[SB_SKIP] = 3,
		[SB_CACHE] = 7,
		[SB_STREAMING] = 5,
		[SB_MODEL] = 4,
		[SB_ALLOC] = 3,
		[SB_GAUGE] = 2,
		[SB_PROCESS] = 5,
		[SB_STACK] = 3,
		[SB_CODE_FILE] = 1,
		[SB_COUNT64] = 1 };

	return type < sizeof least ? least[type] : 0;
}

static bool has_name(uint32_t type)
{
	const uint32_t named = 1u << SB_SPAN_OPEN | 1u << SB_GPU | 1u << SB_SNAPSHOT | 1u << SB_EVENT |
			       1u << SB_SKIP | 1u << SB_CACHE | 1u << SB_MODEL | 1u << SB_ALLOC |
			       1u << SB_GAUGE | 1u << SB_CODE_FILE | 1u << SB_COUNT64;

	return type < 32 && named >> type & 1;
}

void sb_record_give(
	struct sb_engine *e, const struct sb_record *r, uint32_t tid, struct sb_stack *stack, int64_t now_ns)
{
	struct sb_event ev = { .t_ns = now_ns,
		.process = e->process,
		.track = stack ? stack->track : UINT32_MAX,
		.path = stack && stack->depth ? stack->frames[stack->depth - 1].path & ~SB_PATH_RECURSIVE
					      : 0 };
	const uint64_t *p = r->payload;

	if (r->words < least_words(r->type))
		return;
	e->text.size = 0;
	if (has_name(r->type))
		ev.name = name_of(e, r->aux);
	switch (r->type) {
	case SB_ATTR64:
	case SB_ATTR_STR: give_attr(e, r, stack); return;
	case SB_SPAN: give_span(e, r, tid, stack); return;
	case SB_SPAN_OPEN:
		ev.track = sb_run_track_of(e->run, e->process, tid, (uint32_t)p[2] & SB_ID_MAX);
		give_span_open(e, r, &ev);
		return;
	case SB_GPU: fill_gpu(e, r, &ev); break;
	case SB_SAMPLE:
		ev.t_ns = ns_of(e, p[0]);
		give_sample(e, r, &ev);
		return;
	case SB_SNAPSHOT:
		ev.kind = SB_EVENT_SNAPSHOT;
		ev.t_ns = ns_of(e, p[0]);
		ev.track = sb_run_track_of(e->run, e->process, tid, 0);
		ev.snapshot.device = (int)(int64_t)p[1];
		ev.snapshot.allocated_bytes = (int64_t)p[2];
		ev.snapshot.reserved_bytes = (int64_t)p[3];
		ev.snapshot.peak_bytes = (int64_t)p[4];
		break;
	case SB_LOST:
		if (r->aux >= SB_LOST_REASONS)
			return;
		ev.kind = SB_EVENT_LOST;
		ev.lost.reason = (enum sb_lost_reason)r->aux;
		ev.lost.count = p[0];
		break;
	case SB_EVENT:
		ev.kind = SB_EVENT_EVENT;
		ev.t_ns = ns_of(e, p[0]);
		ev.track = sb_run_track_of(e->run, e->process, tid, (uint32_t)p[1] & SB_ID_MAX);
		ev.attr_count = sb_engine_read_attrs(e, r, 2, NULL);
		ev.attrs = e->attrs;
		break;
	case SB_SKIP:
		ev.kind = SB_EVENT_SKIPPED;
		ev.t_ns = ns_of(e, p[0]);
		ev.track = sb_run_track_of(e->run, e->process, tid, (uint32_t)p[1] & SB_ID_MAX);
		give_text(e, r, 2, &ev);
		return;
	case SB_CACHE:
		ev.kind = SB_EVENT_CACHE;
		ev.t_ns = ns_of(e, p[0]);
		ev.cache.kind = (enum strobe_cache_kind)(r->aux >> 20 & 15);
		ev.cache.count = (int64_t)p[1];
		ev.cache.size_bytes = (int64_t)p[2];
		ev.cache.score = double_of(p[3]);
		ev.cache.threshold = double_of(p[4]);
		ev.cache.frame = double_of(p[5]);
		ev.cache.chunk = (int64_t)p[6];
		break;
	case SB_STREAMING:
		ev.kind = SB_EVENT_STREAM;
		ev.t_ns = ns_of(e, p[0]);
		ev.stream = (struct strobe_batch){ (int64_t)p[1], double_of(p[2]), double_of(p[3]),
			double_of(p[4]) };
		break;
	case SB_MODEL:
		ev.kind = SB_EVENT_MODEL;
		ev.t_ns = ns_of(e, p[0]);
		ev.model.parameter_count = (int64_t)p[1];
		ev.model.type = name_of(e, p[2]);
		ev.model.bytes = (int64_t)p[3];
		break;
	case SB_ALLOC:
		ev.kind = SB_EVENT_ALLOC;
		ev.t_ns = ns_of(e, p[0]);
		ev.alloc.bytes = (int64_t)p[1];
		ev.alloc.context = name_of(e, p[2]);
		break;
	case SB_GAUGE:
		ev.kind = SB_EVENT_GAUGE;
		ev.t_ns = ns_of(e, p[0]);
		ev.value = double_of(p[1]);
		break;
	case SB_PROCESS:
		ev.kind = SB_EVENT_PROCESS;
		ev.t_ns = ns_of(e, p[0]);
		ev.name = 0;
		ev.child.pid = (uint32_t)r->aux;
		ev.child.ppid = (uint32_t)p[1];
		ev.child.started = p[2] != 0;
		ev.child.status = (int64_t)p[3];
		give_text(e, r, 4, &ev);
		return;
	case SB_STACK: give_stack_sample(e, r, &ev); return;
	case SB_CODE_FILE:
		ev.kind = SB_EVENT_CODE_FILE;
		give_text(e, r, 0, &ev);
		return;
	case SB_COUNT64:
		ev.kind = SB_EVENT_COUNT;
		ev.delta = (int64_t)p[0];
		break;
	default: e->index->pass.unknown_records += r->type > SB_COUNT64; return;
	}
	sb_event_give(e, &ev);
}

/* ---- digests ------------------------------------------------------------- */

static uint32_t fill_buckets(struct sb_engine *e, const struct sb_digest *d, const struct sb_folded_node *n,
	struct sb_digest_bucket *out_buckets)
{
	for (uint32_t i = 0; i < n->bucket_count; i++) {
		const struct sb_folded_bucket *b = &d->buckets[n->first_bucket + i];

		sb_digest_bucket_range(b->bucket, &out_buckets[i].low_ns, &out_buckets[i].high_ns);
		out_buckets[i].low_ns *= e->p->ns_per_tick;
		out_buckets[i].high_ns *= e->p->ns_per_tick;
		out_buckets[i].count = b->count;
	}
	return n->bucket_count;
}

static void give_node(struct sb_engine *e, const struct sb_digest *d, const struct sb_folded_node *n,
	uint32_t path, struct sb_stack *stack, const struct sb_digest_bucket *buckets, uint32_t bucket_count)
{
	struct sb_event ev = { .kind = SB_EVENT_DIGEST_NODE,
		.process = e->process,
		.track = stack->track,
		.name = name_of(e, n->name),
		.path = path & ~SB_PATH_RECURSIVE };
	bool top = !n->parent && !(n->flags & 3);

	ev.t_ns = ns_of(e, n->sum.first_ticks);
	ev.digest.role = n->role;
	ev.digest.flags = (n->flags & 1 ? SB_ZONE_SPAN : 0) |
			  (path & SB_PATH_RECURSIVE ? SB_ZONE_RECURSIVE : 0);
	ev.digest.on_task = n->flags & 2;
	ev.digest.on_main = top && e->run->tracks[stack->track].main;
	ev.digest.count = n->sum.count;
	ev.digest.total_ns = sb_process_duration_ns(e->p, n->sum.total_ticks);
	ev.digest.self_ns = sb_process_duration_ns(e->p, n->sum.self_ticks);
	ev.digest.min_ns = sb_process_duration_ns(e->p, n->sum.min_ticks);
	ev.digest.max_ns = sb_process_duration_ns(e->p, n->sum.max_ticks);
	ev.digest.first_ns = ev.t_ns;
	ev.digest.last_ns = ns_of(e, n->sum.last_ticks);
	ev.digest.buckets = buckets;
	ev.digest.bucket_count = bucket_count;
	if (e->cut && (ev.digest.first_ns < e->run->from_ns || ev.digest.last_ns > e->run->to_ns))
		return;
	e->index->pass.folded_zones += n->sum.count;
	if (ev.digest.on_main)
		e->index->attributed_ns += ev.digest.total_ns;
	sb_event_give(e, &ev);
}

static void give_sum(struct sb_engine *e, const struct sb_folded_sum *s, uint32_t path, uint32_t track)
{
	struct sb_event ev = { .kind = SB_EVENT_DIGEST_SUM,
		.process = e->process,
		.track = track,
		.path = path,
		.name = name_of(e, s->key),
		.t_ns = e->p->start_ns };

	ev.digest_sum.what = s->node ? SB_SUM_COUNT : (enum sb_digest_what)(s->key >> SB_ID_BITS);
	ev.digest_sum.count = s->sum.count;
	ev.digest_sum.sum_int = s->sum.sum_int;
	ev.digest_sum.sum_float = s->sum.sum_float;
	ev.digest_sum.last = s->sum.last;
	if (!e->cut)
		sb_event_give(e, &ev);
}

static bool is_inside_itself(const struct sb_digest *d, const uint32_t *paths, uint32_t parent, uint32_t path)
{
	for (; parent; parent = d->nodes[parent - 1].parent)
		if ((paths[parent - 1] & ~SB_PATH_RECURSIVE) == path)
			return true;
	return false;
}

void sb_digest_give(struct sb_engine *e, const struct sb_digest *d, uint32_t writer_tid,
	struct sb_stack *stack, uint32_t *out_paths)
{
	struct sb_digest_bucket buckets[SB_DIGEST_BUCKETS];

	for (uint32_t i = 0; i < d->node_count; i++) {
		const struct sb_folded_node *n = &d->nodes[i];
		uint32_t parent = n->parent ? out_paths[n->parent - 1] & ~SB_PATH_RECURSIVE : 0;

		out_paths[i] = sb_run_path_of(e->run, parent, name_of(e, n->name));
		if (is_inside_itself(d, out_paths, n->parent, out_paths[i]))
			out_paths[i] |= SB_PATH_RECURSIVE;
		if (n->sum.count)
			give_node(e, d, n, out_paths[i], stack, buckets,
				n->bucket_count <= SB_DIGEST_BUCKETS ? fill_buckets(e, d, n, buckets) : 0);
	}
	for (uint32_t i = 0; i < d->sum_count; i++)
		give_sum(e, &d->sums[i],
			d->sums[i].node ? out_paths[d->sums[i].node - 1] & ~SB_PATH_RECURSIVE : 0,
			stack->track);
}
