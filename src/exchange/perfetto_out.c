/* Writes Perfetto's protobuf: one packet sequence, interned names, a track per thread,
 * task, GPU stream and counter, arrows from launches to kernels. The fields are
 * those of tests/exchange/perfetto.proto. */
#include "exchange/perfetto.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_BOOL = 2,
	ANNOTATION_NAME = 10
};
enum { FLAG_CLEARED = 1 };
enum { CLOCK_REALTIME_ID = 1, CLOCK_BOOTTIME_ID = 6 };

#define ATTRS_MAX 12u /* of one event, so that a packet stays below PACKET_ROOM */

/* ---- zones ---- */

static uint8_t *put_annotation(uint8_t *at, const struct sb_run_attr *a)
{
	uint8_t *annotation;

	at = sb_pb_begin(at, EVENT_ANNOTATION, &annotation);
	at = sb_perfetto_text(at, ANNOTATION_NAME, a->key);
	switch (a->type) {
	case STROBE_TYPE_FLOAT: at = sb_pb_double(at, ANNOTATION_DOUBLE, a->f); break;
	case STROBE_TYPE_STRING: at = sb_perfetto_text(at, ANNOTATION_STRING, a->s); break;
	case STROBE_TYPE_BOOL: at = sb_pb_uint(at, ANNOTATION_BOOL, a->i != 0); break;
	default: at = sb_pb_uint(at, ANNOTATION_INT, (uint64_t)a->i); break;
	}
	sb_pb_end(annotation, at);
	return at;
}

static uint8_t *put_annotations(
	uint8_t *at, const struct sb_run_attr *attrs, uint32_t count, const uint8_t *packet)
{
	for (uint32_t i = 0; i < count && i < ATTRS_MAX && at - packet < (ptrdiff_t)PACKET_ROOM - 7000; i++)
		at = put_annotation(at, &attrs[i]);
	return at;
}

static void put_begin(struct sb_perfetto *p, uint64_t track, uint32_t name, int64_t t_ns, uint64_t flow_end)
{
	uint8_t *packet, *event, *at = sb_perfetto_begin(p, &packet);

	at = sb_perfetto_event_head(p, at, t_ns, name);
	at = sb_pb_begin(at, PACKET_EVENT, &event);
	at = sb_pb_uint(at, EVENT_TYPE, TYPE_BEGIN);
	at = sb_pb_uint(at, EVENT_NAME_IID, (uint64_t)name + 1);
	at = sb_pb_uint(at, EVENT_TRACK, track);
	if (flow_end)
		at = sb_pb_fixed64(at, EVENT_FLOW_END, flow_end);
	sb_pb_end(event, at);
	sb_perfetto_end(p, packet, at);
}

/* What is known only at the end (attributes) is merged into the slice there. */
static void put_end(struct sb_perfetto *p, uint64_t track, int64_t t_ns, const struct sb_run_attr *attrs,
	uint32_t count, const char *code)
{
	uint8_t *packet, *event, *at = sb_perfetto_begin(p, &packet);

	at = sb_perfetto_event_head(p, at, t_ns, UINT32_MAX);
	at = sb_pb_begin(at, PACKET_EVENT, &event);
	at = sb_pb_uint(at, EVENT_TYPE, TYPE_END);
	at = sb_pb_uint(at, EVENT_TRACK, track);
	if (code && *code) {
		struct sb_run_attr a = { .key = "code", .type = STROBE_TYPE_STRING, .s = code };

		at = put_annotation(at, &a);
	}
	at = put_annotations(at, attrs, count, packet);
	sb_pb_end(event, at);
	sb_perfetto_end(p, packet, at);
}

static void take_begin(void *self, const struct sb_zone *z)
{
	struct sb_perfetto *p = self;

	if (!(z->flags & SB_ZONE_AGAIN))
		put_begin(p, sb_perfetto_thread_track(p, z->track), z->name, z->begin_ns, 0);
}

static void take_zone(void *self, const struct sb_zone *z)
{
	struct sb_perfetto *p = self;
	bool span = z->flags & SB_ZONE_SPAN;
	uint64_t track = span ? sb_perfetto_span_track(p, z) : sb_perfetto_thread_track(p, z->track);

	p->summary->zones++;
	if (span)
		put_begin(p, track, z->name, z->begin_ns, 0);
	put_end(p, track, z->end_ns, z->attrs, z->attr_count, p->run->names[z->name].code);
}

/* A part of a run: begins outside it were seen too, so both ends are written
 * here. Zones cut at the border begin together: a nanosecond apart they nest. */
static void take_cut_zone(void *self, const struct sb_zone *z)
{
	struct sb_perfetto *p = self;
	bool span = z->flags & SB_ZONE_SPAN;
	uint64_t track = span ? sb_perfetto_span_track(p, z) : sb_perfetto_thread_track(p, z->track);
	int64_t begin_ns = z->begin_ns;

	if (!span && z->flags & SB_ZONE_CLIPPED && begin_ns + (int64_t)z->depth < z->end_ns)
		begin_ns += (int64_t)z->depth;
	p->summary->zones++;
	put_begin(p, track, z->name, begin_ns, 0);
	put_end(p, track, z->end_ns, z->attrs, z->attr_count, p->run->names[z->name].code);
}

/* ---- everything else ---- */

static void put_instant(struct sb_perfetto *p, uint64_t track, const struct sb_event *ev, const char *reason)
{
	uint8_t *packet, *event, *at = sb_perfetto_begin(p, &packet);

	at = sb_perfetto_event_head(p, at, ev->t_ns, ev->name);
	at = sb_pb_begin(at, PACKET_EVENT, &event);
	at = sb_pb_uint(at, EVENT_TYPE, TYPE_INSTANT);
	at = sb_pb_uint(at, EVENT_NAME_IID, (uint64_t)ev->name + 1);
	at = sb_pb_uint(at, EVENT_TRACK, track);
	if (reason) {
		struct sb_run_attr a = { .key = "skipped", .type = STROBE_TYPE_STRING, .s = reason };

		at = put_annotation(at, &a);
	}
	at = put_annotations(at, ev->attrs, ev->attr_count, packet);
	sb_pb_end(event, at);
	sb_perfetto_end(p, packet, at);
	p->summary->marks++;
}

static void put_launch(struct sb_perfetto *p, const struct sb_event *ev)
{
	uint64_t track = sb_perfetto_thread_track(p, ev->gpu.launch_track);
	uint8_t *packet, *event, *at = sb_perfetto_begin(p, &packet);

	at = sb_perfetto_event_head(p, at, ev->gpu.launch_ns, UINT32_MAX);
	at = sb_pb_begin(at, PACKET_EVENT, &event);
	at = sb_pb_uint(at, EVENT_TYPE, TYPE_INSTANT);
	at = sb_pb_bytes(at, EVENT_NAME, "launch", 6);
	at = sb_pb_uint(at, EVENT_TRACK, track);
	at = sb_pb_fixed64(at, EVENT_FLOW, p->flow);
	sb_pb_end(event, at);
	sb_perfetto_end(p, packet, at);
}

static void put_gpu(struct sb_perfetto *p, const struct sb_event *ev)
{
	uint64_t track = sb_perfetto_gpu_track(p, ev);
	bool launched = ev->gpu.launch_ns != INT64_MIN && ev->gpu.launch_track != UINT32_MAX &&
			ev->gpu.kind != SB_GPU_ZONE && ev->gpu.kind != SB_GPU_SYNC;
	struct sb_run_attr bytes = { .key = "bytes", .type = STROBE_TYPE_INT, .i = ev->gpu.bytes };

	p->summary->gpu++;
	p->flow++;
	if (launched)
		put_launch(p, ev);
	put_begin(p, track, ev->name, ev->t_ns, launched ? p->flow : 0);
	put_end(p, track, ev->t_ns + ev->gpu.duration_ns, &bytes, ev->gpu.bytes >= 0, NULL);
}

static void put_counter(struct sb_perfetto *p, uint32_t process, const char *name, int64_t t_ns, double value)
{
	uint8_t *packet, *event, *at;
	uint64_t track;

	if (value != value)
		return;
	track = sb_perfetto_counter_track(p, process, name);
	at = sb_perfetto_begin(p, &packet);
	at = sb_perfetto_event_head(p, at, t_ns, UINT32_MAX);
	at = sb_pb_begin(at, PACKET_EVENT, &event);
	at = sb_pb_uint(at, EVENT_TYPE, TYPE_COUNTER);
	at = sb_pb_uint(at, EVENT_TRACK, track);
	at = sb_pb_double(at, EVENT_DOUBLE_VALUE, value);
	sb_pb_end(event, at);
	sb_perfetto_end(p, packet, at);
	p->summary->counters++;
}

static void put_sample(void *self, uint32_t process, const char *name, int64_t t_ns, double value)
{
	put_counter(self, process, name, t_ns, value);
}

static void put_snapshot(struct sb_perfetto *p, const struct sb_event *ev)
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

static void put_count(struct sb_perfetto *p, const struct sb_event *ev)
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
	struct sb_perfetto *p = self;
	uint64_t track;

	switch (ev->kind) {
	case SB_EVENT_GPU: put_gpu(p, ev); break;
	case SB_EVENT_SAMPLE: sb_sample_values_take(&p->samples, ev); break;
	case SB_EVENT_SNAPSHOT: put_snapshot(p, ev); break;
	case SB_EVENT_GAUGE:
		put_counter(p, ev->process, p->run->names[ev->name].text, ev->t_ns, ev->value);
		break;
	case SB_EVENT_COUNT: put_count(p, ev); break;
	default:
		track = ev->track == UINT32_MAX ? sb_perfetto_process_track(p, ev->process)
						: sb_perfetto_thread_track(p, ev->track);
		put_instant(p, track, ev, ev->kind == SB_EVENT_SKIPPED ? (ev->text ? ev->text : "") : NULL);
		break;
	}
}

/* ---- findings ---- */

static void put_marker_event(
	struct sb_perfetto *p, const struct sb_marker *m, uint64_t track, int type, int64_t t_ns)
{
	const struct sb_run_attr attrs[] = {
		{ .key = "priority", .type = STROBE_TYPE_STRING, .s = m->priority },
		{ .key = "issue", .type = STROBE_TYPE_STRING, .s = m->issue },
		{ .key = "suggestion", .type = STROBE_TYPE_STRING, .s = m->suggestion }
	};
	uint8_t *packet, *event, *at = sb_perfetto_begin(p, &packet);

	at = sb_perfetto_event_head(p, at, t_ns, UINT32_MAX);
	at = sb_pb_begin(at, PACKET_EVENT, &event);
	at = sb_pb_uint(at, EVENT_TYPE, (uint64_t)type);
	at = sb_pb_uint(at, EVENT_TRACK, track);
	if (type != TYPE_END) {
		at = sb_perfetto_text(at, EVENT_NAME, m->id);
		at = put_annotations(at, attrs, 3, packet);
	}
	sb_pb_end(event, at);
	sb_perfetto_end(p, packet, at);
}

static void put_markers(struct sb_perfetto *p, const struct sb_markers *markers)
{
	for (size_t i = 0; i < markers->count; i++) {
		const struct sb_marker *m = &markers->all[i];
		uint64_t track = sb_perfetto_finding_track(p, (uint32_t)i, m->id);

		if (m->to_ns > m->from_ns) {
			put_marker_event(p, m, track, TYPE_BEGIN, m->from_ns);
			put_marker_event(p, m, track, TYPE_END, m->to_ns);
		} else {
			put_marker_event(p, m, track, TYPE_INSTANT, p->run->from_ns);
		}
		p->summary->findings++;
	}
}

/* ---- the whole ---- */

static void put_head(struct sb_perfetto *p)
{
	uint8_t *packet, *clocks, *clock, *at = sb_perfetto_begin(p, &packet);

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
	sb_perfetto_end(p, packet, at);
}

static int write_perfetto(struct sb_run *run, const struct sb_markers *markers, struct sb_out *out,
	struct sb_export_summary *summary)
{
	struct sb_perfetto p = {
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
	err = sb_sample_values_init(&p.samples, run, put_sample, &p);
	if (err) {
		free(p.name_seen);
		return err;
	}
	put_head(&p);
	err = sb_run_visit(run, &visitor, 1);
	sb_sample_values_done(&p.samples);
	put_markers(&p, markers);
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
	.takes_markers = true,
	.summary = "protobuf for ui.perfetto.dev: smaller, quicker to load, counters as tracks",
	.write = write_perfetto };
