/* What the events of a Chrome or Kineto trace mean, and the frame around them. */
#include "exchange/trace_in.h"

#include "base/error.h"
#include "base/jsonin.h"
#include "exchange/trace_event.h"
#include "exchange/trace_collective.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRING_LIMIT 8192u

/* ---- GPU events ---- */

static uint32_t small_number(int64_t value, uint64_t key)
{
	if (value < 0 && !sb_trace_key_number(key, &value))
		value = 0;
	return value >= 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static uint32_t positive(int64_t value)
{
	return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static struct sb_gpu_shape shape_of(const struct sb_trace_event *e)
{
	return (struct sb_gpu_shape){ .grid = { positive(e->grid[0]), positive(e->grid[1]),
					      positive(e->grid[2]) },
		.block = { positive(e->block[0]), positive(e->block[1]), positive(e->block[2]) },
		.registers = positive(e->registers),
		.shared_bytes = positive(e->shared_bytes) };
}

static int take_gpu(struct sb_trace *t, const struct sb_trace_event *e)
{
	struct sb_trace_gpu g = { .start_ns = e->ts_ns,
		.duration_ns = e->dur_ns,
		.name = e->name,
		.stream = small_number(e->stream, e->tid_key),
		.device = small_number(e->device, e->pid_key) & 255,
		.correlation = e->correlation > 0 ? (uint64_t)e->correlation : 0,
		.bytes = e->bytes > 0 ? (uint64_t)e->bytes : 0 };

	switch (e->category) {
	case SB_CATEGORY_KERNEL:
		g.kind = SB_GPU_KERNEL;
		g.shape = shape_of(e);
		g.flags = e->shared_bytes < 0 ? 0 : sb_gpu_shape_flags(&g.shape);
		break;
	case SB_CATEGORY_MEMSET: g.kind = SB_GPU_MEMSET; break;
	case SB_CATEGORY_GPU_SYNC: g.kind = SB_GPU_SYNC; break;
	default:
		g.kind = e->copy_kind ? e->copy_kind : SB_GPU_COPY_OTHER;
		g.flags = e->copy_flags;
		break;
	}
	return sb_trace_gpu(t, &g);
}

/* ---- CPU events ---- */

static struct sb_trace_facts facts_of(struct sb_trace *t, struct sb_trace_event *e)
{
	struct sb_trace_facts facts = { .name = e->name ? e->name : sb_trace_name(t, "(unnamed)", 9) };

	if (e->category == SB_CATEGORY_NONE || e->category == SB_CATEGORY_ANNOTATION) {
		facts.attrs = e->attrs;
		facts.attr_count = e->attr_count;
	}
	if (e->communication)
		sb_trace_collective_facts(t, e, &facts);
	if (e->step >= 0) {
		facts.role = STROBE_ROLE_ITERATION;
		facts.attrs = e->attrs;
		facts.attr_count = 1;
		e->attrs[0] = (struct sb_trace_attr){
			.key = sb_trace_name(t, "index", 5), .type = STROBE_TYPE_INT, .i = e->step
		};
	}
	return facts;
}

/* ---- steps that stand for another zone ---- */

/* strobe wrote ProfilerStep#N before the zone itself, for a while without a marker. It is held until the next event tells. */
static int hold_step(struct sb_trace *t, const struct sb_trace_event *e, uint32_t thread)
{
	t->step = (struct sb_trace_step){ true, e->pid_key, e->tid_key, e->ts_ns, e->dur_ns, e->step, e->name,
		thread };
	return 0;
}

static bool is_of_strobe(const struct sb_trace *t, const struct sb_trace_event *e)
{
	for (size_t i = 0; i < e->attr_count; i++)
		if (!strcmp(sb_strings_text(&t->names, e->attrs[i].key), "strobe.role"))
			return true;
	return false;
}

static int put_held_step(struct sb_trace *t)
{
	struct sb_trace_attr number = {
		.key = sb_trace_name(t, "index", 5), .type = STROBE_TYPE_INT, .i = t->step.number
	};
	struct sb_trace_facts facts = {
		.name = t->step.name, .role = STROBE_ROLE_ITERATION, .attrs = &number, .attr_count = 1
	};

	t->step.held = false;
	return sb_trace_zone(t, t->step.thread, t->step.ts_ns, t->step.dur_ns, &facts);
}

/* next NULL: there is none. */
static int settle_held_step(struct sb_trace *t, const struct sb_trace_event *next)
{
	const struct sb_trace_step *s = &t->step;

	if (!s->held)
		return 0;
	if (next && next->phase == 'X' && next->ts_ns == s->ts_ns && next->dur_ns == s->dur_ns &&
		next->pid_key == s->pid_key && next->tid_key == s->tid_key && is_of_strobe(t, next)) {
		t->step.held = false;
		return 0;
	}
	return put_held_step(t);
}

static int take_complete(struct sb_trace *t, struct sb_trace_event *e, uint32_t thread)
{
	struct sb_trace_facts facts;
	int err = 0;

	if (e->category == SB_CATEGORY_PROFILER)
		return 0;
	if (e->step >= 0)
		t->threads[thread].has_steps = true;
	if (e->marker)
		return 0;
	if (e->step >= 0)
		return hold_step(t, e, thread);
	facts = facts_of(t, e);
	t->threads[thread].has_overhead |= e->category == SB_CATEGORY_OVERHEAD;
	if (e->category == SB_CATEGORY_RUNTIME && e->correlation > 0)
		err = sb_trace_launch(t, thread, (uint64_t)e->correlation, e->ts_ns, e->graph_launch);
	return err ? err : sb_trace_zone(t, thread, e->ts_ns, e->dur_ns, &facts);
}

static int take_instant(struct sb_trace *t, struct sb_trace_event *e)
{
	struct sb_trace_facts facts;

	if (e->allocated_bytes >= 0 && e->device < 16) {
		int device = e->device_type == 0 || e->device < 0 ? -1 : (int)e->device; /* 0: the CPU */

		return sb_trace_memory(t, e->ts_ns, device, e->allocated_bytes, e->reserved_bytes);
	}
	if (e->name == sb_trace_name(t, "Record Window End", 17))
		return 0;
	facts = facts_of(t, e);
	return sb_trace_mark(t, e->ts_ns, &facts);
}

static int take_counter(struct sb_trace *t, const struct sb_trace_event *e)
{
	int err = 0;

	for (size_t i = 0; i < e->attr_count && !err; i++) {
		const struct sb_trace_attr *a = &e->attrs[i];
		const char *series = sb_strings_text(&t->names, a->key);
		char name[600];
		uint32_t id = e->name;

		if (a->type != STROBE_TYPE_INT && a->type != STROBE_TYPE_FLOAT)
			continue;
		if (e->attr_count > 1 ||
			(strcmp(series, "value") && strcmp(series, sb_strings_text(&t->names, e->name)))) {
			snprintf(name, sizeof name, "%.250s.%.250s", sb_strings_text(&t->names, e->name),
				series);
			id = sb_trace_name(t, name, strlen(name));
		}
		err = sb_trace_counter(t, e->ts_ns, id, a->type == STROBE_TYPE_INT ? (double)a->i : a->f);
	}
	return err;
}

static uint32_t name_argument(struct sb_trace *t, const struct sb_trace_event *e)
{
	for (size_t i = 0; i < e->attr_count; i++)
		if (e->attrs[i].type == STROBE_TYPE_STRING &&
			!strcmp(sb_strings_text(&t->names, e->attrs[i].key), "name"))
			return sb_trace_name(t, e->attrs[i].s, e->attrs[i].size);
	return 0;
}

static int take_metadata(struct sb_trace *t, const struct sb_trace_event *e)
{
	const char *what = sb_strings_text(&t->names, e->name);
	uint32_t name = name_argument(t, e);
	uint32_t thread;

	if (!name)
		return 0;
	if (!strcmp(what, "process_name"))
		return sb_trace_name_process(t, e->pid_key, name);
	if (strcmp(what, "thread_name"))
		return 0;
	thread = sb_trace_thread(t, e->pid_key, e->tid_key);
	if (thread == UINT32_MAX)
		return STROBE_EFORMAT;
	t->threads[thread].name = name;
	return 0;
}

/* Kineto's arrows from a call to what it launched carry the correlation as id. */
static int take_flow_start(struct sb_trace *t, const struct sb_trace_event *e)
{
	uint32_t thread;

	t->counts.flows++;
	if (e->category != SB_CATEGORY_LAUNCH_FLOW || e->id_number <= 0 || !e->has_ts)
		return 0;
	thread = sb_trace_thread(t, e->pid_key, e->tid_key);
	return thread == UINT32_MAX ? STROBE_EFORMAT
				    : sb_trace_launch(t, thread, (uint64_t)e->id_number, e->ts_ns, false);
}

static bool is_gpu(enum sb_trace_category category)
{
	return category >= SB_CATEGORY_KERNEL && category <= SB_CATEGORY_GPU_SYNC;
}

/* Phases that happen on a thread. */
static int take_on_thread(struct sb_trace *t, struct sb_trace_event *e)
{
	uint32_t thread = sb_trace_thread(t, e->pid_key, e->tid_key);
	uint64_t id = (e->category_hash + e->category) * 31 ^ e->id_hash;
	struct sb_trace_facts facts;

	if (thread == UINT32_MAX)
		return STROBE_EFORMAT;
	switch (e->phase) {
	case 'X': return take_complete(t, e, thread);
	case 'E': return sb_trace_end(t, thread, e->ts_ns);
	case 'e':
	case 'F': return sb_trace_async(t, thread, id, false, e->ts_ns, NULL);
	default: break;
	}
	facts = facts_of(t, e);
	if (e->phase == 'B')
		return sb_trace_begin(t, thread, e->ts_ns, &facts);
	return sb_trace_async(t, thread, id, true, e->ts_ns, &facts);
}

static int take_event(struct sb_jsonin *p, struct sb_trace *t, struct sb_trace_event *e)
{
	switch (e->phase) {
	case 'X':
	case 'B':
	case 'E':
	case 'b':
	case 'e':
	case 'S':
	case 'F':
	case 'C':
	case 'i':
	case 'I':
	case 'R':
		if (!e->has_ts) {
			p->token_offset = e->offset;
			return sb_jsonin_fail(p, "an event of phase '%c' without \"ts\"", e->phase);
		}
		break;
	case 'M': return take_metadata(t, e);
	case 's': return take_flow_start(t, e);
	case 't':
	case 'f': t->counts.flows++; return 0;
	case 0: p->token_offset = e->offset; return sb_jsonin_fail(p, "an event without \"ph\"");
	default: return 0;
	}
	/* Kineto draws a range on the GPU around the kernels of the innermost annotation only:
	 * made from the kernels, not measured, and no span of the outer ones. */
	if (e->category == SB_CATEGORY_GPU_RANGE || e->category == SB_CATEGORY_FINDING)
		return 0;
	if (e->phase == 'X' && is_gpu(e->category))
		return take_gpu(t, e);
	if (e->phase == 'C')
		return take_counter(t, e);
	if (e->phase == 'i' || e->phase == 'I' || e->phase == 'R')
		return take_instant(t, e);
	return take_on_thread(t, e);
}

/* ---- the frame ---- */

static int read_events(struct sb_jsonin *p, struct sb_trace *t)
{
	struct sb_trace_event *e = calloc(1, sizeof *e);
	enum sb_jsonin_token token = SB_JSONIN_END;
	int err = e ? 0 : sb_fail(STROBE_ENOMEM, "no memory to import");

	while (!err && (token = sb_jsonin_next_element(p)) == SB_JSONIN_OBJECT) {
		err = sb_trace_event_read(p, t, e);
		if (!err)
			err = settle_held_step(t, e);
		if (!err)
			err = take_event(p, t, e);
	}
	if (!err)
		err = settle_held_step(t, NULL);
	free(e);
	if (err)
		return err;
	if (token == SB_JSONIN_ERROR)
		return p->err;
	return token == SB_JSONIN_ARRAY_END ? 0 : sb_jsonin_fail(p, "an event is not an object");
}

static int64_t read_whole(struct sb_jsonin *p, enum sb_jsonin_token token)
{
	int64_t value;

	return token == SB_JSONIN_NUMBER && sb_jsonin_scaled(&p->number, 0, &value) ? value : -1;
}

static int read_distributed(struct sb_jsonin *p, struct sb_trace *t, enum sb_jsonin_token token)
{
	if (token != SB_JSONIN_OBJECT)
		return sb_jsonin_skip(p, token);
	while ((token = sb_jsonin_next(p)) == SB_JSONIN_KEY) {
		bool rank = p->size == 4 && !memcmp(p->text, "rank", 4);
		bool world = p->size == 10 && !memcmp(p->text, "world_size", 10);
		bool backend = p->size == 7 && !memcmp(p->text, "backend", 7);

		token = sb_jsonin_next(p);
		if (backend && token == SB_JSONIN_STRING)
			t->backend = sb_trace_name(t, p->text, p->size);
		if (rank)
			t->rank = (int32_t)read_whole(p, token);
		if (world)
			t->world_size = (int32_t)read_whole(p, token);
		if (sb_jsonin_skip(p, token))
			return p->err;
	}
	return token == SB_JSONIN_OBJECT_END ? 0 : p->err;
}

static int read_device(struct sb_jsonin *p, struct sb_trace *t)
{
	enum sb_jsonin_token token;
	uint32_t name = 0;
	int64_t id = -1;

	while ((token = sb_jsonin_next(p)) == SB_JSONIN_KEY) {
		bool is_id = p->size == 2 && !memcmp(p->text, "id", 2);
		bool is_name = p->size == 4 && !memcmp(p->text, "name", 4);

		token = sb_jsonin_next(p);
		if (is_id)
			id = read_whole(p, token);
		if (is_name && token == SB_JSONIN_STRING)
			name = sb_trace_name(t, p->text, p->size);
		if (sb_jsonin_skip(p, token))
			return p->err;
	}
	if (id >= 0 && id < (int64_t)(sizeof t->gpu_name / sizeof t->gpu_name[0]))
		t->gpu_name[id] = name;
	return token == SB_JSONIN_OBJECT_END ? 0 : p->err;
}

static int read_devices(struct sb_jsonin *p, struct sb_trace *t, enum sb_jsonin_token token)
{
	if (token != SB_JSONIN_ARRAY)
		return sb_jsonin_skip(p, token);
	while ((token = sb_jsonin_next(p)) != SB_JSONIN_ARRAY_END)
		if (token == SB_JSONIN_OBJECT ? read_device(p, t) : sb_jsonin_skip(p, token))
			return p->err;
	return 0;
}

static bool key_is(const struct sb_jsonin *p, const char *text)
{
	return p->size == strlen(text) && !memcmp(p->text, text, p->size);
}

static int read_object(struct sb_jsonin *p, struct sb_trace *t)
{
	enum sb_jsonin_token token;
	bool seen = false;
	int err = 0;

	while (!err && (token = sb_jsonin_next(p)) == SB_JSONIN_KEY) {
		bool events = key_is(p, "traceEvents");
		bool base = key_is(p, "baseTimeNanoseconds");
		bool distributed = key_is(p, "distributedInfo");
		bool devices = key_is(p, "deviceProperties");

		token = sb_jsonin_next(p);
		seen |= events;
		if (events)
			err = token == SB_JSONIN_ARRAY ? read_events(p, t)
						       : sb_jsonin_fail(p, "\"traceEvents\" is not an array");
		else if (distributed)
			err = read_distributed(p, t, token);
		else if (devices)
			err = read_devices(p, t, token);
		else
			err = sb_jsonin_skip(p, token);
		if (base && token == SB_JSONIN_NUMBER)
			t->base_ns = read_whole(p, token);
	}
	if (err)
		return err;
	if (token != SB_JSONIN_OBJECT_END)
		return p->err;
	return seen ? 0 : sb_jsonin_fail(p, "no \"traceEvents\" in it: this JSON is not a trace");
}

static int read_document(struct sb_jsonin *p, struct sb_trace *t)
{
	enum sb_jsonin_token token = sb_jsonin_next(p);
	int err;

	if (token == SB_JSONIN_OBJECT)
		err = read_object(p, t);
	else if (token == SB_JSONIN_ARRAY)
		err = read_events(p, t);
	else if (token == SB_JSONIN_ERROR)
		err = p->err;
	else
		err = sb_jsonin_fail(p, "a trace is a JSON array or object");
	/* The format lets a writer that was killed leave out the final bracket. */
	if (err && sb_jsonin_ended_between_elements(p) && t->first_ns != INT64_MAX)
		return 0;
	if (!err && sb_jsonin_next(p) == SB_JSONIN_ERROR)
		err = p->err;
	return err;
}

int sb_trace_read(struct sb_foreign *source, const char *name, struct sb_trace *t)
{
	struct sb_jsonin p;
	int err = sb_jsonin_init(&p, name, STRING_LIMIT, sb_foreign_read, source);

	p.lend = sb_foreign_lend;
	p.any_bytes =
		true; /* torch writes names from memory it has given back: one name, not the whole trace */
	if (!err)
		err = read_document(&p, t);
	t->counts.replaced_bytes = p.replaced_bytes;
	sb_jsonin_done(&p);
	return err;
}
