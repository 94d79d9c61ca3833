/* Perfetto protobuf out: one packet sequence, interned names, a track per thread,
 * task, GPU stream and counter, arrows from launches to kernels. The fields are
 * those of tests/exchange/perfetto.proto. */
#include "exchange/export.h"

#include "base/error.h"
#include "base/json.h"
#include "base/map.h"
#include "exchange/protobuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60
};
enum {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_DOUBLE_VALUE = 44,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8
};
enum { NOTE_INT = 4, NOTE_DOUBLE = 5, NOTE_STRING = 6, NOTE_BOOL = 2, NOTE_NAME = 10 };
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { CLOCK_REALTIME_ID = 1, CLOCK_BOOTTIME_ID = 6 };

#define TEXT_LIMIT 1000u
#define PACKET_ROOM 16000u /* the length of a packet is two bytes */
#define ATTRS_MAX 12u /* of one event, so that a packet stays below that */
#define SPAN_LANES 64u

/* uuids: the kind of track in the top byte, its numbers below. */
enum uuid_kind {
	UUID_PROCESS = 1,
	UUID_THREAD,
	UUID_SPANS,
	UUID_STREAM,
	UUID_GPU,
	UUID_COUNTER,
	UUID_RANGES
};

struct perfetto {
	struct sb_run *run;
	struct sb_out *out;
	struct sb_export_summary *summary;
	uint64_t *name_seen; /* bit per run name: interned */
	uint32_t name_words;
	struct sb_map tracks; /* uuids described already */
	struct sb_map counters; /* hash of a counter's name -> number */
	uint32_t counter_count;
	struct sb_map span_ends; /* lane -> index of lane_end_ns */
	int64_t *lane_end_ns;
	uint32_t lane_count, lane_room;
	double *totals;
	uint32_t total_room;
	uint64_t flow;
	bool failed;
};

static uint64_t uuid(enum uuid_kind kind, uint32_t high, uint32_t low)
{
	return (uint64_t)kind << 56 | (uint64_t)(high & 0xffffff) << 32 | low;
}

/* ---- packets ---- */

static uint8_t *packet_begin(struct perfetto *p, uint8_t **out_start)
{
	return sb_pb_begin((uint8_t *)sb_out_room(p->out, PACKET_ROOM + 8), TRACE_PACKET, out_start);
}

static void packet_end(struct perfetto *p, uint8_t *start, uint8_t *at)
{
	sb_pb_end(start, at);
	p->out->at = (char *)at;
}

static size_t cut_text(const char *text, size_t limit)
{
	size_t size = strnlen(text, limit);

	while (size && size == limit && (text[size] & 0xc0) == 0x80)
		size--;
	return size;
}

/* protobuf strings are UTF-8; anything else becomes U+FFFD by way of JSON's rule. */
static uint8_t *put_text(uint8_t *at, uint32_t field, const char *text)
{
	size_t size = cut_text(text, TEXT_LIMIT);
	char clean[TEXT_LIMIT * 3];
	size_t used = 0;

	for (size_t i = 0; i < size;) {
		size_t n = sb_utf8_length(text + i, size - i);

		if (n) {
			memcpy(clean + used, text + i, n);
			used += n;
			i += n;
		} else {
			memcpy(clean + used, "\xef\xbf\xbd", 3);
			used += 3;
			i++;
		}
	}
	return sb_pb_bytes(at, field, clean, used);
}

/* Names may be new during the pass. */
static bool is_new_name(struct perfetto *p, uint32_t name)
{
	if (name / 64 >= p->name_words) {
		uint32_t words = name / 32 + 1;
		uint64_t *more = realloc(p->name_seen, words * sizeof *more);

		if (!more) {
			p->failed = true;
			return false;
		}
		memset(more + p->name_words, 0, (words - p->name_words) * sizeof *more);
		p->name_seen = more;
		p->name_words = words;
	}
	if (p->name_seen[name / 64] >> name % 64 & 1)
		return false;
	p->name_seen[name / 64] |= 1ull << name % 64;
	return true;
}

/* Time, sequence, flags, and the name when this packet is the first to use it. */
static uint8_t *event_head(struct perfetto *p, uint8_t *at, int64_t t_ns, uint32_t name)
{
	at = sb_pb_uint(at, PACKET_TIMESTAMP, (uint64_t)(t_ns < 0 ? 0 : t_ns) + 1);
	at = sb_pb_uint(at, PACKET_SEQUENCE, 1);
	at = sb_pb_uint(at, PACKET_FLAGS, FLAG_NEEDS_STATE);
	if (name != UINT32_MAX && is_new_name(p, name)) {
		uint8_t *interned, *entry;

		at = sb_pb_begin(at, PACKET_INTERNED, &interned);
		at = sb_pb_begin(at, 2, &entry);
		at = sb_pb_uint(at, 1, (uint64_t)name + 1);
		at = put_text(at, 2, p->run->names[name].text);
		sb_pb_end(entry, at);
		sb_pb_end(interned, at);
	}
	return at;
}

/* ---- tracks ---- */

struct track {
	uint64_t uuid, parent; /* parent 0: none */
	const char *name;
	uint32_t pid, tid; /* tid 0: not a thread's own */
	bool process, counter;
};

/* True the first time a track is asked for. */
static bool is_new_track(struct perfetto *p, uint64_t id)
{
	uint32_t seen;

	if (sb_map_get(&p->tracks, id, &seen))
		return false;
	if (!sb_map_put(&p->tracks, id, 1))
		p->failed = true;
	return true;
}

static void describe(struct perfetto *p, const struct track *t)
{
	uint8_t *packet, *track, *inner, *at = packet_begin(p, &packet);

	at = sb_pb_uint(at, PACKET_SEQUENCE, 1);
	at = sb_pb_begin(at, PACKET_TRACK, &track);
	at = sb_pb_uint(at, TRACK_UUID, t->uuid);
	if (t->parent)
		at = sb_pb_uint(at, TRACK_PARENT, t->parent);
	if (t->process) {
		at = sb_pb_begin(at, TRACK_PROCESS, &inner);
		at = sb_pb_uint(at, 1, t->pid);
		at = put_text(at, 6, t->name);
		sb_pb_end(inner, at);
	} else if (t->tid) {
		at = sb_pb_begin(at, TRACK_THREAD, &inner);
		at = sb_pb_uint(at, 1, t->pid);
		at = sb_pb_uint(at, 2, t->tid);
		at = put_text(at, 5, t->name);
		sb_pb_end(inner, at);
	} else {
		at = put_text(at, TRACK_NAME, t->name);
	}
	if (t->counter) {
		at = sb_pb_begin(at, TRACK_COUNTER, &inner);
		sb_pb_end(inner, at);
	}
	sb_pb_end(track, at);
	packet_end(p, packet, at);
}

static uint64_t process_track(struct perfetto *p, uint32_t process)
{
	uint64_t id = uuid(UUID_PROCESS, process, 0);
	struct track t = { .uuid = id,
		.process = true,
		.pid = sb_export_pid(p->run, process),
		.name = p->run->processes[process].reader->head.name };

	if (is_new_track(p, id))
		describe(p, &t);
	return id;
}

static uint64_t thread_track(struct perfetto *p, uint32_t number)
{
	uint64_t id = uuid(UUID_THREAD, 0, number);
	const struct sb_run_track *thread = &p->run->tracks[number];
	char name[512];

	if (is_new_track(p, id)) {
		struct track t = { .uuid = id,
			.parent = process_track(p, thread->process),
			.name = name,
			.pid = sb_export_pid(p->run, thread->process),
			.tid = thread->track ? 0 : thread->tid };

		sb_export_track_name(p->run, number, name, sizeof name);
		describe(p, &t);
	}
	return id;
}

/* Spans overlap: each takes the first lane beside its thread that is free. */
static uint64_t span_track(struct perfetto *p, const struct sb_zone *z)
{
	char name[512];
	uint32_t lane = 0, index = 0;
	uint64_t id;

	for (;; lane++) {
		id = uuid(UUID_SPANS, lane, z->track);
		if (!sb_map_get(&p->span_ends, id, &index) || lane + 1 == SPAN_LANES)
			break;
		if (p->lane_end_ns[index] <= z->begin_ns) {
			p->lane_end_ns[index] = z->end_ns;
			return id;
		}
	}
	if (p->lane_count == p->lane_room) {
		uint32_t room = p->lane_room ? p->lane_room * 2 : 64;
		int64_t *more = realloc(p->lane_end_ns, room * sizeof *more);

		if (!more) {
			p->failed = true;
			return id;
		}
		p->lane_end_ns = more;
		p->lane_room = room;
	}
	p->lane_end_ns[p->lane_count] = z->end_ns;
	if (!sb_map_put(&p->span_ends, id, p->lane_count++))
		p->failed = true;
	if (is_new_track(p, id)) {
		struct track t = { .uuid = id, .parent = thread_track(p, z->track), .name = name };

		sb_export_track_name(p->run, z->track, name, sizeof name - 16);
		strcat(name, " spans");
		describe(p, &t);
	}
	return id;
}

static uint64_t gpu_track(struct perfetto *p, const struct sb_event *ev)
{
	bool ranges = ev->gpu.kind == SB_GPU_ZONE;
	uint64_t device = uuid(UUID_GPU, ev->gpu.device, 0);
	uint64_t id = uuid(ranges ? UUID_RANGES : UUID_STREAM, ev->gpu.device, ev->gpu.stream);
	char name[64];

	if (is_new_track(p, device)) {
		struct track t = { .uuid = device, .name = name };

		snprintf(name, sizeof name, "GPU %u", ev->gpu.device);
		describe(p, &t);
	}
	if (is_new_track(p, id)) {
		struct track t = { .uuid = id, .parent = device, .name = name };

		snprintf(name, sizeof name, ranges ? "stream %u ranges" : "stream %u", ev->gpu.stream);
		describe(p, &t);
	}
	return id;
}

static uint64_t counter_track(struct perfetto *p, uint32_t process, const char *name)
{
	uint64_t hash = 1469598103934665603u + process;
	uint32_t number;
	uint64_t id;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211u;
	if (!sb_map_get(&p->counters, hash, &number)) {
		number = ++p->counter_count;
		if (!sb_map_put(&p->counters, hash, number))
			p->failed = true;
	}
	id = uuid(UUID_COUNTER, process, number);
	if (is_new_track(p, id)) {
		struct track t = {
			.uuid = id, .parent = process_track(p, process), .name = name, .counter = true
		};

		describe(p, &t);
	}
	return id;
}

/* ---- zones ---- */

static uint8_t *put_note(uint8_t *at, const struct sb_run_attr *a)
{
	uint8_t *note;

	at = sb_pb_begin(at, EVENT_ANNOTATION, &note);
	at = put_text(at, NOTE_NAME, a->key);
	switch (a->type) {
	case STROBE_TYPE_FLOAT: at = sb_pb_double(at, NOTE_DOUBLE, a->f); break;
	case STROBE_TYPE_STRING: at = put_text(at, NOTE_STRING, a->s); break;
	case STROBE_TYPE_BOOL: at = sb_pb_uint(at, NOTE_BOOL, a->i != 0); break;
	default: at = sb_pb_uint(at, NOTE_INT, (uint64_t)a->i); break;
	}
	sb_pb_end(note, at);
	return at;
}

static uint8_t *put_notes(uint8_t *at, const struct sb_run_attr *attrs, uint32_t count, const uint8_t *packet)
{
	for (uint32_t i = 0; i < count && i < ATTRS_MAX && at - packet < (ptrdiff_t)PACKET_ROOM - 7000; i++)
		at = put_note(at, &attrs[i]);
	return at;
}

static void put_begin(struct perfetto *p, uint64_t track, uint32_t name, int64_t t_ns, uint64_t flow_end)
{
	uint8_t *packet, *event, *at = packet_begin(p, &packet);

	at = event_head(p, at, t_ns, name);
	at = sb_pb_begin(at, PACKET_EVENT, &event);
	at = sb_pb_uint(at, EVENT_TYPE, TYPE_BEGIN);
	at = sb_pb_uint(at, EVENT_NAME_IID, (uint64_t)name + 1);
	at = sb_pb_uint(at, EVENT_TRACK, track);
	if (flow_end)
		at = sb_pb_fixed64(at, EVENT_FLOW_END, flow_end);
	sb_pb_end(event, at);
	packet_end(p, packet, at);
}

/* What is known only at the end (attributes) is merged into the slice there. */
static void put_end(struct perfetto *p, uint64_t track, int64_t t_ns, const struct sb_run_attr *attrs,
	uint32_t count, const char *code)
{
	uint8_t *packet, *event, *at = packet_begin(p, &packet);

	at = event_head(p, at, t_ns, UINT32_MAX);
	at = sb_pb_begin(at, PACKET_EVENT, &event);
	at = sb_pb_uint(at, EVENT_TYPE, TYPE_END);
	at = sb_pb_uint(at, EVENT_TRACK, track);
	if (code && *code) {
		struct sb_run_attr a = { .key = "code", .type = STROBE_TYPE_STRING, .s = code };

		at = put_note(at, &a);
	}
	at = put_notes(at, attrs, count, packet);
	sb_pb_end(event, at);
	packet_end(p, packet, at);
}

static void take_begin(void *self, const struct sb_zone *z)
{
	struct perfetto *p = self;

	put_begin(p, thread_track(p, z->track), z->name, z->begin_ns, 0);
}

static void take_zone(void *self, const struct sb_zone *z)
{
	struct perfetto *p = self;
	bool span = z->flags & SB_ZONE_SPAN;
	uint64_t track = span ? span_track(p, z) : thread_track(p, z->track);

	p->summary->zones++;
	if (span)
		put_begin(p, track, z->name, z->begin_ns, 0);
	put_end(p, track, z->end_ns, z->attrs, z->attr_count, p->run->names[z->name].code);
}

/* A part of a run: begins outside it were seen too, so both ends are written
 * here. Zones cut at the border begin together: a nanosecond apart they nest. */
static void take_cut_zone(void *self, const struct sb_zone *z)
{
	struct perfetto *p = self;
	bool span = z->flags & SB_ZONE_SPAN;
	uint64_t track = span ? span_track(p, z) : thread_track(p, z->track);
	int64_t begin_ns = z->begin_ns;

	if (!span && z->flags & SB_ZONE_CLIPPED && begin_ns + (int64_t)z->depth < z->end_ns)
		begin_ns += (int64_t)z->depth;
	p->summary->zones++;
	put_begin(p, track, z->name, begin_ns, 0);
	put_end(p, track, z->end_ns, z->attrs, z->attr_count, p->run->names[z->name].code);
}

/* ---- everything else ---- */

static void put_instant(struct perfetto *p, uint64_t track, const struct sb_event *ev, const char *reason)
{
	uint8_t *packet, *event, *at = packet_begin(p, &packet);

	at = event_head(p, at, ev->t_ns, ev->name);
	at = sb_pb_begin(at, PACKET_EVENT, &event);
	at = sb_pb_uint(at, EVENT_TYPE, TYPE_INSTANT);
	at = sb_pb_uint(at, EVENT_NAME_IID, (uint64_t)ev->name + 1);
	at = sb_pb_uint(at, EVENT_TRACK, track);
	if (reason) {
		struct sb_run_attr a = { .key = "skipped", .type = STROBE_TYPE_STRING, .s = reason };

		at = put_note(at, &a);
	}
	at = put_notes(at, ev->attrs, ev->attr_count, packet);
	sb_pb_end(event, at);
	packet_end(p, packet, at);
	p->summary->marks++;
}

static void put_launch(struct perfetto *p, const struct sb_event *ev)
{
	uint64_t track = thread_track(p, ev->gpu.launch_track);
	uint8_t *packet, *event, *at = packet_begin(p, &packet);

	at = event_head(p, at, ev->gpu.launch_ns, UINT32_MAX);
	at = sb_pb_begin(at, PACKET_EVENT, &event);
	at = sb_pb_uint(at, EVENT_TYPE, TYPE_INSTANT);
	at = sb_pb_bytes(at, EVENT_NAME, "launch", 6);
	at = sb_pb_uint(at, EVENT_TRACK, track);
	at = sb_pb_fixed64(at, EVENT_FLOW, p->flow);
	sb_pb_end(event, at);
	packet_end(p, packet, at);
}

static void put_gpu(struct perfetto *p, const struct sb_event *ev)
{
	uint64_t track = gpu_track(p, ev);
	bool launched = ev->gpu.launch_ns != INT64_MIN && ev->gpu.launch_track != UINT32_MAX &&
			ev->gpu.kind != SB_GPU_ZONE;
	struct sb_run_attr bytes = { .key = "bytes", .type = STROBE_TYPE_INT, .i = ev->gpu.bytes };

	p->summary->gpu++;
	p->flow++;
	if (launched)
		put_launch(p, ev);
	put_begin(p, track, ev->name, ev->t_ns, launched ? p->flow : 0);
	put_end(p, track, ev->t_ns + ev->gpu.duration_ns, &bytes, ev->gpu.bytes >= 0, NULL);
}

static void put_counter(struct perfetto *p, uint32_t process, const char *name, int64_t t_ns, double value)
{
	uint8_t *packet, *event, *at;
	uint64_t track;

	if (value != value)
		return;
	track = counter_track(p, process, name);
	at = packet_begin(p, &packet);
	at = event_head(p, at, t_ns, UINT32_MAX);
	at = sb_pb_begin(at, PACKET_EVENT, &event);
	at = sb_pb_uint(at, EVENT_TYPE, TYPE_COUNTER);
	at = sb_pb_uint(at, EVENT_TRACK, track);
	at = sb_pb_double(at, EVENT_DOUBLE_VALUE, value);
	sb_pb_end(event, at);
	packet_end(p, packet, at);
	p->summary->counters++;
}

static void put_sample(struct perfetto *p, const struct sb_event *ev)
{
	const struct sb_run_schema *schema = ev->sample.schema;
	char name[300];

	for (uint32_t i = 0; i < schema->column_count; i++) {
		sb_export_column_name(schema, i, name, sizeof name);
		put_counter(p, ev->process, name, ev->t_ns, ev->sample.values[i]);
	}
}

static void put_snapshot(struct perfetto *p, const struct sb_event *ev)
{
	char name[64];

	snprintf(name, sizeof name,
		ev->snapshot.device < 0 ? "host allocated_bytes" : "GPU %d allocated_bytes",
		ev->snapshot.device);
	if (ev->snapshot.allocated_bytes >= 0)
		put_counter(p, ev->process, name, ev->t_ns, (double)ev->snapshot.allocated_bytes);
	snprintf(name, sizeof name, ev->snapshot.device < 0 ? "host reserved_bytes" : "GPU %d reserved_bytes",
		ev->snapshot.device);
	if (ev->snapshot.reserved_bytes >= 0)
		put_counter(p, ev->process, name, ev->t_ns, (double)ev->snapshot.reserved_bytes);
}

static void put_count(struct perfetto *p, const struct sb_event *ev)
{
	if (ev->name >= p->total_room) {
		uint32_t room = p->total_room ? p->total_room : 64;
		double *more;

		while (room <= ev->name)
			room *= 2;
		more = realloc(p->totals, room * sizeof *more);
		if (!more) {
			p->failed = true;
			return;
		}
		memset(more + p->total_room, 0, (room - p->total_room) * sizeof *more);
		p->totals = more;
		p->total_room = room;
	}
	p->totals[ev->name] += (double)ev->delta;
	put_counter(p, ev->process, p->run->names[ev->name].text, ev->t_ns, p->totals[ev->name]);
}

static void take_event(void *self, const struct sb_event *ev)
{
	struct perfetto *p = self;
	uint64_t track;

	switch (ev->kind) {
	case SB_EVENT_GPU: put_gpu(p, ev); break;
	case SB_EVENT_SAMPLE: put_sample(p, ev); break;
	case SB_EVENT_SNAPSHOT: put_snapshot(p, ev); break;
	case SB_EVENT_GAUGE:
		put_counter(p, ev->process, p->run->names[ev->name].text, ev->t_ns, ev->value);
		break;
	case SB_EVENT_COUNT: put_count(p, ev); break;
	default:
		track = ev->track == UINT32_MAX ? process_track(p, ev->process) : thread_track(p, ev->track);
		put_instant(p, track, ev, ev->kind == SB_EVENT_SKIPPED ? (ev->text ? ev->text : "") : NULL);
		break;
	}
}

/* ---- the whole ---- */

static void put_head(struct perfetto *p)
{
	uint8_t *packet, *clocks, *clock, *at = packet_begin(p, &packet);

	at = sb_pb_uint(at, PACKET_TIMESTAMP, 1);
	at = sb_pb_uint(at, PACKET_SEQUENCE, 1);
	at = sb_pb_uint(at, PACKET_FLAGS, FLAG_CLEARED);
	at = sb_pb_begin(at, PACKET_CLOCKS, &clocks);
	at = sb_pb_begin(at, 1, &clock);
	at = sb_pb_uint(at, 1, CLOCK_BOOTTIME_ID);
	at = sb_pb_uint(at, 2, 1);
	sb_pb_end(clock, at);
	at = sb_pb_begin(at, 1, &clock);
	at = sb_pb_uint(at, 1, CLOCK_REALTIME_ID);
	at = sb_pb_uint(at, 2, p->run->start_real_ns);
	sb_pb_end(clock, at);
	sb_pb_end(clocks, at);
	packet_end(p, packet, at);
}

static int write_perfetto(struct sb_run *run, struct sb_out *out, struct sb_export_summary *summary)
{
	struct perfetto p = {
		.run = run, .out = out, .summary = summary, .name_words = run->name_count / 64 + 1
	};
	struct sb_visitor visitor = { .self = &p,
		.roles = SB_EVERY_ZONE,
		.zone = run->is_cut ? take_cut_zone : take_zone,
		.zone_begin = run->is_cut ? NULL : take_begin,
		.event = take_event,
		.kinds = SB_EXPORT_KINDS };
	int err;

	p.name_seen = calloc(p.name_words, sizeof *p.name_seen);
	if (!p.name_seen)
		return sb_fail(STROBE_ENOMEM, "no memory to export");
	put_head(&p);
	err = sb_run_visit(run, &visitor, 1);
	summary->folded_zones = sb_run_pass(run)->folded_zones;
	free(p.name_seen);
	sb_map_done(&p.tracks);
	sb_map_done(&p.counters);
	sb_map_done(&p.span_ends);
	free(p.lane_end_ns);
	free(p.totals);
	if (!err && p.failed)
		err = sb_fail(STROBE_ENOMEM, "no memory to export");
	return err ? err : out->err;
}

const struct sb_exporter sb_perfetto_exporter = { .name = "perfetto",
	.file_name = "trace.pftrace",
	.summary = "protobuf for ui.perfetto.dev and trace_processor",
	.write = write_perfetto };
