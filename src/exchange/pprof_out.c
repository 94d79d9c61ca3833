/* Writes pprof (profile.proto, gzip): stages with their calls and their own time, sampled Python stacks, GPU work
 * by name inside the stage that launched it. Totals are exact: zones that were folded into sums are in them. */
#include "exchange/deflate.h"
#include "exchange/export.h"
#include "exchange/nested.h"
#include "exchange/protobuf.h"

#include "base/error.h"
#include "base/map.h"
#include "base/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_DEFAULT_TYPE = 14
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

/* What a sample has, one of them each: sample_index of pprof. */
enum value { CALLS, SELF, SAMPLES, PYTHON, GPU, VALUES };
static const struct {
	const char *type, *unit;
} value_types[] = { { "calls", "count" }, { "self", "nanoseconds" }, { "samples", "count" },
	{ "python", "nanoseconds" }, { "gpu", "nanoseconds" } };

#define STRINGS_FIRST (1 + 2 * VALUES) /* "", the types and their units; then names, then files */
#define NAME_LIMIT 2048u
#define STACK_MOST 128u /* frames of one sample */

struct path_sum {
	uint64_t calls, self_ns;
};

struct pprof {
	struct sb_run *run;
	struct sb_export_summary *summary;
	struct sb_deflate *z;
	struct path_sum *paths;
	size_t path_room;
	struct sb_map locations; /* name << 32 | line -> id */
	struct {
		uint32_t name, line;
	} * places;
	size_t place_count, place_room;
	char **files; /* of functions, by name; NULL: not known */
	size_t file_room;
	struct sb_map gpu; /* path << 32 | name -> index of works */
	struct gpu_sum {
		uint32_t path, name; /* path 0: no stage */
		uint64_t ns;
	} * works;
	size_t work_count, work_room;
	bool on_stream; /* the nested line at hand is a GPU's stream */
	bool failed;
};

static void put(struct pprof *p, const uint8_t *from, const uint8_t *to)
{
	sb_deflate_write(p->z, from, (size_t)(to - from));
}

/* ---- collecting ---- */

/* Zeroed room up to index. */
static bool grow(struct pprof *p, void **array, size_t *room, size_t index, size_t size)
{
	size_t more = *room ? *room : 256;
	char *grown;

	if (index < *room)
		return true;
	while (more <= index)
		more *= 2;
	grown = realloc(*array, more * size);
	if (!grown) {
		p->failed = true;
		return false;
	}
	memset(grown + *room * size, 0, (more - *room) * size);
	*array = grown;
	*room = more;
	return true;
}

static void add_path(struct pprof *p, uint32_t path, uint64_t calls, int64_t self_ns)
{
	if (!grow(p, (void **)&p->paths, &p->path_room, path, sizeof *p->paths))
		return;
	p->paths[path].calls += calls;
	p->paths[path].self_ns += self_ns > 0 ? (uint64_t)self_ns : 0;
}

static void take_zone(void *self, const struct sb_zone *z)
{
	struct pprof *p = self;

	p->summary->zones++;
	add_path(p, z->path, 1, z->end_ns - z->begin_ns - z->child_ns);
}

static uint64_t location_of(struct pprof *p, uint32_t name, uint32_t line)
{
	uint64_t key = (uint64_t)name << 32 | line;
	uint32_t id;

	if (sb_map_get(&p->locations, key, &id))
		return id;
	id = (uint32_t)p->place_count + 1;
	if (!SB_MAKE_ROOM(p->places, p->place_count, p->place_room) || !sb_map_put(&p->locations, key, id)) {
		p->failed = true;
		return 0;
	}
	p->places[p->place_count].name = name;
	p->places[p->place_count++].line = line;
	return id;
}

/* Leaf first. */
static void put_sample(
	struct pprof *p, const uint64_t *locations, size_t count, const uint64_t values[VALUES])
{
	uint8_t bytes[STACK_MOST * 11 + VALUES * 11 + 64], *start, *at = bytes;

	at = sb_pb_begin(at, PROFILE_SAMPLE, &start);
	for (size_t i = 0; i < count; i++)
		at = sb_pb_uint(at, SAMPLE_LOCATION, locations[i]);
	for (int i = 0; i < VALUES; i++)
		at = sb_pb_uint(at, SAMPLE_VALUE, values[i]);
	sb_pb_end(start, at);
	put(p, bytes, at);
}

static void take_stack(struct pprof *p, const struct sb_event *ev)
{
	uint64_t locations[STACK_MOST], values[VALUES] = { 0 };
	size_t count = ev->stack.frame_count < STACK_MOST ? ev->stack.frame_count : STACK_MOST;

	if (ev->stack.native || !count)
		return;
	for (size_t i = 0; i < count; i++)
		locations[i] = location_of(p, ev->stack.names[i], ev->stack.lines[i]);
	values[SAMPLES] = 1;
	values[PYTHON] = ev->stack.weight_ns > 0 ? (uint64_t)ev->stack.weight_ns : 0;
	put_sample(p, locations, count, values);
}

static void take_file(struct pprof *p, const struct sb_event *ev)
{
	if (!ev->text || !grow(p, (void **)&p->files, &p->file_room, ev->name, sizeof *p->files))
		return;
	if (!p->files[ev->name])
		p->files[ev->name] = strdup(ev->text);
}

static void take_event(void *self, const struct sb_event *ev)
{
	struct pprof *p = self;

	switch (ev->kind) {
	case SB_EVENT_STACK: take_stack(p, ev); break;
	case SB_EVENT_CODE_FILE: take_file(p, ev); break;
	case SB_EVENT_DIGEST_NODE: add_path(p, ev->path, ev->digest.count, ev->digest.self_ns); break;
	case SB_EVENT_GPU:
		p->summary->gpu += ev->gpu.kind != SB_GPU_ZONE && ev->gpu.kind != SB_GPU_SYNC;
		break;
	default: break;
	}
}

static void add_gpu(struct pprof *p, uint32_t path, const struct sb_nested_zone *work)
{
	uint64_t key = (uint64_t)path << 32 | work->name;
	uint32_t at;

	if (work->end_ns <= work->begin_ns)
		return;
	if (!sb_map_get(&p->gpu, key, &at)) {
		at = (uint32_t)p->work_count;
		if (!SB_MAKE_ROOM(p->works, p->work_count, p->work_room) || !sb_map_put(&p->gpu, key, at)) {
			p->failed = true;
			return;
		}
		p->works[p->work_count++] = (struct gpu_sum){ path, work->name, 0 };
	}
	p->works[at].ns += (uint64_t)(work->end_ns - work->begin_ns);
}

static void take_launched(void *self, const struct sb_nested_line *stream, const struct sb_nested_zone *work,
	const struct sb_nested_zone *around)
{
	add_gpu(self, around ? around->path : 0, work);
}

static void take_line(void *self, const struct sb_nested_line *line)
{
	struct pprof *p = self;

	p->on_stream = line->kind == SB_NESTED_STREAM;
}

/* GPU work whose launch is not known. */
static void take_nested(void *self, const struct sb_nested_zone *zone)
{
	struct pprof *p = self;

	if (p->on_stream)
		add_gpu(p, 0, zone);
}

/* ---- what was collected ---- */

/* Locations of a stage and those around it; count of them. */
static size_t path_locations(struct pprof *p, uint32_t path, uint64_t *locations, size_t most)
{
	size_t count = 0;

	for (; path && count < most; path = sb_run_path(p->run, path)->parent)
		locations[count++] = location_of(p, sb_run_path(p->run, path)->name, 0);
	return count;
}

static void put_paths(struct pprof *p)
{
	for (uint32_t i = 1; i < sb_run_path_count(p->run) && i < p->path_room; i++) {
		uint64_t locations[STACK_MOST], values[VALUES] = { 0 };
		size_t count;

		if (!p->paths[i].calls && !p->paths[i].self_ns)
			continue;
		count = path_locations(p, i, locations, STACK_MOST);
		values[CALLS] = p->paths[i].calls;
		values[SELF] = p->paths[i].self_ns;
		put_sample(p, locations, count, values);
	}
}

static void put_gpu(struct pprof *p)
{
	for (size_t i = 0; i < p->work_count; i++) {
		uint64_t locations[STACK_MOST], values[VALUES] = { 0 };

		locations[0] = location_of(p, p->works[i].name, 0);
		values[GPU] = p->works[i].ns;
		put_sample(p, locations,
			1 + path_locations(p, p->works[i].path, locations + 1, STACK_MOST - 1), values);
	}
}

/* ---- tables: a function's number is its name's + 1, a string's follows from it too ---- */

static uint64_t name_string(uint32_t name)
{
	return STRINGS_FIRST + (uint64_t)name;
}

static uint64_t file_string(const struct pprof *p, uint32_t name)
{
	return name < p->file_room && p->files[name] ? STRINGS_FIRST + (uint64_t)p->run->name_count + name
						     : 0;
}

static void put_locations(struct pprof *p)
{
	for (size_t i = 0; i < p->place_count; i++) {
		uint8_t bytes[96], *start, *line, *at = bytes;

		at = sb_pb_begin(at, PROFILE_LOCATION, &start);
		at = sb_pb_uint(at, LOCATION_ID, i + 1);
		at = sb_pb_begin(at, LOCATION_LINE, &line);
		at = sb_pb_uint(at, LINE_FUNCTION, (uint64_t)p->places[i].name + 1);
		at = sb_pb_uint(at, LINE_NUMBER, p->places[i].line);
		sb_pb_end(line, at);
		sb_pb_end(start, at);
		put(p, bytes, at);
	}
}

/* Where both names of a function are the same, pprof demangles it and strips template arguments: kernels that
 * differ in them alone become one. Names that are still mangled gain by it, all others lose. */
static bool mangled(const struct sb_run_name *n)
{
	return !*n->code && !strncmp(n->text, "_Z", 2);
}

static void put_functions(struct pprof *p)
{
	for (uint32_t name = 0; name < p->run->name_count; name++) {
		uint8_t bytes[96], *start, *at = bytes;

		at = sb_pb_begin(at, PROFILE_FUNCTION, &start);
		at = sb_pb_uint(at, FUNCTION_ID, (uint64_t)name + 1);
		at = sb_pb_uint(at, FUNCTION_NAME, name_string(name));
		if (mangled(&p->run->names[name]))
			at = sb_pb_uint(at, FUNCTION_SYSTEM_NAME, name_string(name));
		at = sb_pb_uint(at, FUNCTION_FILE, file_string(p, name));
		sb_pb_end(start, at);
		put(p, bytes, at);
	}
}

static void put_string(struct pprof *p, const char *text)
{
	uint8_t bytes[NAME_LIMIT + 16];

	put(p, bytes, sb_pb_bytes(bytes, PROFILE_STRING, text, strnlen(text, NAME_LIMIT)));
}

static void put_strings(struct pprof *p)
{
	put_string(p, "");
	for (int i = 0; i < VALUES; i++) {
		put_string(p, value_types[i].type);
		put_string(p, value_types[i].unit);
	}
	for (uint32_t i = 0; i < p->run->name_count; i++) {
		const struct sb_run_name *n = &p->run->names[i];
		char name[NAME_LIMIT + 80];

		snprintf(name, sizeof name, *n->code ? "[%.64s] %.*s" : "%.0s%.*s", n->code, (int)NAME_LIMIT,
			*n->text ? n->text : SB_NO_NAME);
		put_string(p, name);
	}
	for (uint32_t i = 0; i < p->run->name_count; i++)
		put_string(p, i < p->file_room && p->files[i] ? p->files[i] : "");
}

static void put_head(struct pprof *p)
{
	uint8_t bytes[512], *start, *at = bytes;

	for (int i = 0; i < VALUES; i++) {
		at = sb_pb_begin(at, PROFILE_SAMPLE_TYPE, &start);
		at = sb_pb_uint(at, TYPE_TYPE, (uint64_t)(1 + 2 * i));
		at = sb_pb_uint(at, TYPE_UNIT, (uint64_t)(2 + 2 * i));
		sb_pb_end(start, at);
	}
	at = sb_pb_uint(at, PROFILE_DEFAULT_TYPE, 1 + 2 * SELF);
	at = sb_pb_uint(at, PROFILE_TIME, p->run->start_real_ns);
	at = sb_pb_uint(at, PROFILE_DURATION, (uint64_t)(p->run->to_ns - p->run->from_ns));
	put(p, bytes, at);
}

static void done(struct pprof *p)
{
	for (size_t i = 0; i < p->file_room; i++)
		free(p->files[i]);
	free(p->files);
	free(p->paths);
	free(p->places);
	free(p->works);
	sb_map_done(&p->gpu);
	sb_map_done(&p->locations);
}

static int write_pprof(struct sb_run *run, const struct sb_markers *markers, struct sb_out *out,
	struct sb_export_summary *summary)
{
	struct pprof p = { .run = run, .summary = summary };
	struct sb_visitor visitor = { .self = &p,
		.roles = SB_EVERY_ZONE,
		.zone = take_zone,
		.kinds = 1u << SB_EVENT_STACK | 1u << SB_EVENT_CODE_FILE | 1u << SB_EVENT_DIGEST_NODE |
			 1u << SB_EVENT_GPU,
		.event = take_event };
	struct sb_nested_visitor launches = {
		.self = &p, .line = take_line, .open = take_nested, .launched = take_launched
	};
	int err = sb_deflate_new(out, &p.z);

	if (err)
		return err;
	put_head(&p);
	err = sb_run_visit(run, &visitor, 1);
	if (!err && summary->gpu)
		err = sb_nested_visit(run, &launches);
	put_paths(&p);
	put_gpu(&p);
	put_locations(&p);
	put_functions(&p);
	put_strings(&p);
	sb_deflate_end(p.z);
	if (!err && p.failed)
		err = sb_fail(STROBE_ENOMEM, "no memory to export");
	done(&p);
	return err ? err : out->err;
}

const struct sb_exporter sb_pprof_exporter = { .name = "pprof",
	.file_name = "profile.pb.gz",
	.summary = "for pprof: calls, own time, sampled Python stacks, GPU time",
	.write = write_pprof };
