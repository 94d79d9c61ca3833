/* Perfetto's tracks: one per process, thread, task, lane of spans, GPU stream and counter. */
#include "exchange/perfetto.h"
#include "base/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8
};

#define SPAN_LANES 64u

/* uuids: the kind of track in the top byte, its numbers below. */
enum uuid_kind {
	UUID_PROCESS = 1,
	UUID_THREAD,
	UUID_SPANS,
	UUID_STREAM,
	UUID_GPU,
	UUID_COUNTER,
	UUID_RANGES,
	UUID_FINDING,
	UUID_WAITS
};

static uint64_t uuid(enum uuid_kind kind, uint32_t high, uint32_t low)
{
	return (uint64_t)kind << 56 | (uint64_t)(high & 0xffffff) << 32 | low;
}

struct track {
	uint64_t uuid, parent; /* parent 0: none */
	const char *name;
	uint32_t pid, tid; /* tid 0: not a thread's own */
	bool process, counter;
};

/* True the first time a track is asked for. */
static bool is_new_track(struct sb_perfetto *p, uint64_t id)
{
	uint32_t seen;

	if (sb_map_get(&p->tracks, id, &seen))
		return false;
	if (!sb_map_put(&p->tracks, id, 1))
		p->failed = true;
	return true;
}

static void describe(struct sb_perfetto *p, const struct track *t)
{
	uint8_t *packet, *track, *inner, *at = sb_perfetto_begin(p, &packet);

	at = sb_pb_uint(at, PACKET_SEQUENCE, 1);
	at = sb_pb_begin(at, PACKET_TRACK, &track);
	at = sb_pb_uint(at, TRACK_UUID, t->uuid);
	if (t->parent)
		at = sb_pb_uint(at, TRACK_PARENT, t->parent);
	if (t->process) {
		at = sb_pb_begin(at, TRACK_PROCESS, &inner);
		at = sb_pb_uint(at, 1, t->pid);
		at = sb_perfetto_text(at, 6, t->name);
		sb_pb_end(inner, at);
	} else if (t->tid) {
		at = sb_pb_begin(at, TRACK_THREAD, &inner);
		at = sb_pb_uint(at, 1, t->pid);
		at = sb_pb_uint(at, 2, t->tid);
		at = sb_perfetto_text(at, 5, t->name);
		sb_pb_end(inner, at);
	} else {
		at = sb_perfetto_text(at, TRACK_NAME, t->name);
	}
	if (t->counter) {
		at = sb_pb_begin(at, TRACK_COUNTER, &inner);
		sb_pb_end(inner, at);
	}
	sb_pb_end(track, at);
	sb_perfetto_end(p, packet, at);
}

uint64_t sb_perfetto_process_track(struct sb_perfetto *p, uint32_t process)
{
	uint64_t id = uuid(UUID_PROCESS, process, 0);
	char name[512];
	struct track t = { .uuid = id, .process = true, .pid = sb_export_pid(p->run, process), .name = name };

	if (is_new_track(p, id)) {
		sb_export_process_name(p->run, process, name, sizeof name);
		describe(p, &t);
	}
	return id;
}

uint64_t sb_perfetto_thread_track(struct sb_perfetto *p, uint32_t number)
{
	uint64_t id = uuid(UUID_THREAD, 0, number);
	const struct sb_run_track *thread = &p->run->tracks[number];
	char name[512];

	if (is_new_track(p, id)) {
		struct track t = { .uuid = id,
			.parent = sb_perfetto_process_track(p, thread->process),
			.name = name,
			.pid = sb_export_pid(p->run, thread->process),
			.tid = thread->track ? 0 : thread->tid };

		sb_export_track_name(p->run, number, name, sizeof name);
		describe(p, &t);
	}
	return id;
}

uint64_t sb_perfetto_span_track(struct sb_perfetto *p, const struct sb_zone *z)
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
	if (!SB_MAKE_ROOM(p->lane_end_ns, p->lane_count, p->lane_room)) {
		p->failed = true;
		return id;
	}
	p->lane_end_ns[p->lane_count] = z->end_ns;
	if (!sb_map_put(&p->span_ends, id, p->lane_count++))
		p->failed = true;
	if (is_new_track(p, id)) {
		struct track t = {
			.uuid = id, .parent = sb_perfetto_thread_track(p, z->track), .name = name
		};

		sb_export_track_name(p->run, z->track, name, sizeof name - 16);
		strcat(name, " spans");
		describe(p, &t);
	}
	return id;
}

uint64_t sb_perfetto_gpu_track(struct sb_perfetto *p, const struct sb_event *ev)
{
	bool ranges = ev->gpu.kind == SB_GPU_ZONE, waits = ev->gpu.kind == SB_GPU_SYNC;
	uint32_t gpu = sb_export_gpu_pid(p->run, ev->process, ev->gpu.device) & 0xffffff;
	uint64_t device = uuid(UUID_GPU, gpu, 0);
	uint32_t of = waits ? ev->gpu.launch_tid : ev->gpu.stream; /* waits overlap the work waited for */
	uint64_t id = uuid(waits ? UUID_WAITS : ranges ? UUID_RANGES : UUID_STREAM, gpu, of);
	char name[64];

	if (is_new_track(p, device)) {
		struct track t = { .uuid = device,
			.parent = p->run->job ? sb_perfetto_process_track(p, ev->process) : 0,
			.name = name };

		snprintf(name, sizeof name, "GPU %u", ev->gpu.device);
		describe(p, &t);
	}
	if (is_new_track(p, id)) {
		struct track t = { .uuid = id, .parent = device, .name = name };

		snprintf(name, sizeof name,
			waits    ? "waits of thread %u"
			: ranges ? "stream %u ranges"
				 : "stream %u",
			of);
		describe(p, &t);
	}
	return id;
}

uint64_t sb_perfetto_counter_track(struct sb_perfetto *p, uint32_t process, const char *name)
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
		struct track t = { .uuid = id,
			.parent = sb_perfetto_process_track(p, process),
			.name = name,
			.counter = true };

		describe(p, &t);
	}
	return id;
}

/* One each below a common one: they may overlap. */
uint64_t sb_perfetto_finding_track(struct sb_perfetto *p, uint32_t number, const char *name)
{
	uint64_t all = uuid(UUID_FINDING, 0, 0), id = uuid(UUID_FINDING, 1, number);

	if (is_new_track(p, all))
		describe(p, &(struct track){ .uuid = all, .name = "findings" });
	if (is_new_track(p, id))
		describe(p, &(struct track){ .uuid = id, .parent = all, .name = name });
	return id;
}
