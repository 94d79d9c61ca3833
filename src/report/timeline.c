/* Sorts a run's zones into lanes: one per thread, task and GPU stream, and the
 * generations, blocks, steps and iterations once more on lanes of their own. */
#include "report/timeline.h"

#include "analyze/events.h"
#include "base/error.h"
#include "base/json.h"
#include "base/map.h"
#include "report/timeline_profile.h"
#include "report/timeline_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "SBTL1\n"
#define ENTRY_BUDGET 1000000u
#define DEPTH_MAX 64u /* rows of a lane; deeper zones are counted, not shown */
#define PACK_ROWS_MAX 16u /* rows for zones that overlap */
#define HELD_MAX 262144u /* of them, before they are packed */
#define ALIGNED_NS 20000 /* how well a stream's time is known */
#define LANES_MAX 256u
#define DETAILS_MAX 20000u
#define DETAILS_OF_STAGES_MAX 8000u
#define MARKS_MAX 2000u
#define NAME_BYTES_MAX 1024u

enum lane_kind {
	LANE_GENERATION,
	LANE_BLOCK,
	LANE_STEP,
	LANE_ITERATION,
	LANE_THREAD,
	LANE_TRACK,
	LANE_GPU_SPAN, /* what follows is of a GPU's stream */
	LANE_STREAM
};
static const char *const kind_names[] = { "generation", "block", "step", "iteration", "thread", "track",
	"span", "stream" };

struct lane {
	enum lane_kind kind;
	uint32_t id; /* track index, or device << 24 | stream */
	uint32_t process;
	bool main;
	uint32_t rows[DEPTH_MAX];
	uint32_t row_count;
	int64_t busy_ns;
	uint64_t too_deep;
	uint32_t written_as;
};

/* A zone that may overlap others of its lane: its row is found when those that
 * began before it are known. */
struct held {
	int64_t start_ns, end_ns;
	uint32_t lane, name;
	uint32_t detail; /* UINT32_MAX: none */
};

struct detail {
	uint32_t lane, row;
	int64_t start_ns;
	size_t text; /* offset in timeline.detail_text */
};

struct mark {
	int64_t t_ns;
	uint32_t name;
};

struct timeline {
	struct sb_run *run;
	struct sb_timeline_rows rows;
	struct sb_timeline_profile profile, gpu_profile;
	struct held *held;
	uint32_t held_count, held_capacity;
	struct lane *lanes;
	uint32_t lane_count, lane_capacity;
	struct sb_map lane_of; /* kind << 32 | id */
	struct detail *details;
	uint32_t detail_count, stage_detail_count;
	struct sb_buf detail_text; /* NUL-terminated objects */
	struct mark marks[MARKS_MAX];
	uint32_t mark_count;
	uint32_t *name_numbers; /* run name -> number in the page */
	uint64_t zones;
	bool failed;
};

static struct lane *lane_at(struct timeline *t, enum lane_kind kind, uint32_t id, uint32_t process)
{
	uint64_t key = (uint64_t)kind << 32 | id;
	uint32_t i;

	if (sb_map_get(&t->lane_of, key, &i))
		return &t->lanes[i];
	if (t->lane_count == t->lane_capacity) {
		uint32_t capacity = t->lane_capacity ? t->lane_capacity * 2 : 32;
		struct lane *lanes = realloc(t->lanes, capacity * sizeof *lanes);

		if (!lanes)
			return NULL;
		t->lanes = lanes;
		t->lane_capacity = capacity;
	}
	if (!sb_map_put(&t->lane_of, key, t->lane_count))
		return NULL;
	t->lanes[t->lane_count] = (struct lane){ .kind = kind, .id = id, .process = process };
	if (kind == LANE_THREAD)
		t->lanes[t->lane_count].main = t->run->tracks[id].main;
	return &t->lanes[t->lane_count++];
}

static bool rows_up_to(struct timeline *t, struct lane *lane, uint32_t depth)
{
	while (lane->row_count <= depth) {
		uint32_t row = sb_timeline_rows_new(&t->rows);

		if (row == UINT32_MAX)
			return false;
		lane->rows[lane->row_count++] = row;
	}
	return true;
}

static void put_nested(struct timeline *t, struct lane *lane, uint32_t depth, int64_t start_ns,
	int64_t end_ns, uint32_t name)
{
	if (depth >= DEPTH_MAX) {
		lane->too_deep++;
		return;
	}
	if (!rows_up_to(t, lane, depth)) {
		t->failed = true;
		return;
	}
	if (!depth)
		lane->busy_ns += end_ns - start_ns;
	sb_timeline_rows_add(&t->rows, lane->rows[depth], start_ns, end_ns, name);
}

/* Spans of a stream are in order but placed to a few µs: the next one may seem to
 * begin before the last has ended. One that lies inside it does not follow it. */
static bool follows(const struct lane *lane, const struct sb_timeline_entry *last, const struct held *h)
{
	int64_t overlap_ns = last->end_ns - h->start_ns;

	if (overlap_ns <= 0)
		return true;
	return lane->kind == LANE_GPU_SPAN && overlap_ns <= ALIGNED_NS && h->end_ns > last->end_ns &&
	       overlap_ns * 2 < h->end_ns - h->start_ns && overlap_ns * 2 < last->end_ns - last->start_ns;
}

/* The first row that is free again takes the zone. */
static void pack(struct timeline *t, const struct held *h)
{
	struct lane *lane = &t->lanes[h->lane];
	uint32_t i;

	for (i = 0; i < lane->row_count; i++) {
		const struct sb_timeline_row *row = &t->rows.rows[lane->rows[i]];

		if (!row->count || follows(lane, &row->entries[row->count - 1], h))
			break;
	}
	if (i == PACK_ROWS_MAX)
		i--;
	if (!rows_up_to(t, lane, i)) {
		t->failed = true;
		return;
	}
	lane->busy_ns += h->end_ns - h->start_ns;
	sb_timeline_rows_add(&t->rows, lane->rows[i], h->start_ns, h->end_ns, h->name);
	if (h->detail != UINT32_MAX)
		t->details[h->detail].row = i;
}

/* Outer ones first, so that they come to lie above what they hold. */
static int outer_first(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static void pack_held(struct timeline *t)
{
	if (t->held_count)
		qsort(t->held, t->held_count, sizeof *t->held, outer_first);
	for (uint32_t i = 0; i < t->held_count; i++)
		pack(t, &t->held[i]);
	t->held_count = 0;
}

static void hold(struct timeline *t, const struct lane *lane, int64_t start_ns, int64_t end_ns, uint32_t name,
	uint32_t detail)
{
	if (t->held_count == HELD_MAX)
		pack_held(t);
	if (t->held_count == t->held_capacity) {
		uint32_t capacity = t->held_capacity ? t->held_capacity * 2 : 256;
		struct held *held = realloc(t->held, capacity * sizeof *held);

		if (!held) {
			t->failed = true;
			return;
		}
		t->held = held;
		t->held_capacity = capacity;
	}
	t->held[t->held_count++] = (struct held){ start_ns, end_ns, (uint32_t)(lane - t->lanes), name,
		detail };
}

static void put_attr(struct sb_json *j, const struct sb_run_attr *a)
{
	switch (a->type) {
	case STROBE_TYPE_INT: sb_json_int(j, a->key, a->i); break;
	case STROBE_TYPE_BOOL: sb_json_bool(j, a->key, a->i != 0); break;
	case STROBE_TYPE_FLOAT: sb_json_double(j, a->key, a->f); break;
	case STROBE_TYPE_STRING: sb_json_string(j, a->key, a->s); break;
	}
}

/* What a click on the zone shows beyond its times. Returns its number, or UINT32_MAX. */
static uint32_t keep_detail(struct timeline *t, const struct sb_zone *zone, uint32_t lane, uint32_t row)
{
	bool is_stage = zone->role == STROBE_ROLE_STAGE;
	struct sb_json j;

	if (!zone->attr_count || t->detail_count == DETAILS_MAX || row >= DEPTH_MAX ||
		(is_stage && t->stage_detail_count == DETAILS_OF_STAGES_MAX))
		return UINT32_MAX;
	t->stage_detail_count += is_stage;
	t->details[t->detail_count++] = (struct detail){ lane, row, zone->begin_ns, t->detail_text.size };
	sb_json_init(&j, &t->detail_text, false);
	sb_json_object_begin(&j, NULL);
	for (uint32_t i = 0; i < zone->attr_count; i++)
		put_attr(&j, &zone->attrs[i]);
	sb_json_object_end(&j);
	sb_buf_putc(&t->detail_text, '\0');
	return t->detail_count - 1;
}

static bool lane_of_role(uint32_t role, enum lane_kind *out_kind)
{
	switch (role) {
	case STROBE_ROLE_GENERATION: *out_kind = LANE_GENERATION; return true;
	case STROBE_ROLE_BLOCK: *out_kind = LANE_BLOCK; return true;
	case STROBE_ROLE_STEP: *out_kind = LANE_STEP; return true;
	case STROBE_ROLE_ITERATION: *out_kind = LANE_ITERATION; return true;
	default: return false;
	}
}

static void put_zone(struct timeline *t, enum lane_kind kind, uint32_t id, const struct sb_zone *zone)
{
	struct lane *lane = lane_at(t, kind, id, zone->process);
	bool packed = kind < LANE_THREAD || zone->flags & SB_ZONE_SPAN;
	uint32_t detail;

	if (!lane) {
		t->failed = true;
		return;
	}
	detail = keep_detail(t, zone, (uint32_t)(lane - t->lanes), packed ? 0 : zone->depth);
	if (packed)
		hold(t, lane, zone->begin_ns, zone->end_ns, zone->name, detail);
	else
		put_nested(t, lane, zone->depth, zone->begin_ns, zone->end_ns, zone->name);
}

static void on_zone(void *self, const struct sb_zone *zone)
{
	struct timeline *t = self;
	bool span = zone->flags & SB_ZONE_SPAN;
	bool task = zone->track < t->run->track_count && !t->run->tracks[zone->track].tid;
	enum lane_kind kind;

	/* Spans of a thread may overlap its zones: they get a lane of their own. */
	put_zone(t, span || task ? LANE_TRACK : LANE_THREAD, zone->track, zone);
	t->zones++;
	if (!(zone->flags & SB_ZONE_RECURSIVE))
		sb_timeline_profile_add(&t->profile, zone->name, zone->begin_ns, zone->end_ns);
	if (lane_of_role(zone->role, &kind))
		put_zone(t, kind, 0, zone);
}

static void on_gpu(struct timeline *t, const struct sb_event *e)
{
	uint32_t id = e->gpu.device << 24 | (e->gpu.stream & 0xffffff);
	bool span = e->gpu.kind == SB_GPU_ZONE;
	int64_t end_ns = e->t_ns + e->gpu.duration_ns;
	struct lane *lane;

	if (e->gpu.kind == SB_GPU_SYNC || e->gpu.duration_ns < 0)
		return;
	lane = lane_at(t, span ? LANE_GPU_SPAN : LANE_STREAM, id, e->process);
	if (!lane) {
		t->failed = true;
		return;
	}
	t->zones++;
	if (span) {
		hold(t, lane, e->t_ns, end_ns, e->name, UINT32_MAX);
		return;
	}
	put_nested(t, lane, e->gpu.kind == SB_GPU_KERNEL ? 0 : 1, e->t_ns, end_ns, e->name);
	sb_timeline_profile_add(&t->gpu_profile, e->name, e->t_ns, end_ns);
}

static void on_event(void *self, const struct sb_event *e)
{
	struct timeline *t = self;

	if (e->kind == SB_EVENT_GPU)
		on_gpu(t, e);
	else if (t->mark_count < MARKS_MAX)
		t->marks[t->mark_count++] = (struct mark){ e->t_ns, e->name };
}

/* ---- writing ---- */

static uint32_t recording_processes(const struct sb_run *run)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->process_count; i++)
		count += !run->processes[i].tool;
	return count;
}

static void lane_name(const struct timeline *t, const struct lane *lane, char *out, size_t size)
{
	static const char *const derived[] = { "Generations", "Blocks", "Steps", "Iterations" };
	const struct sb_run_track *track;
	char process[32] = "";

	if (lane->kind <= LANE_ITERATION) {
		snprintf(out, size, "%s", derived[lane->kind]);
		return;
	}
	if (lane->kind >= LANE_GPU_SPAN) {
		snprintf(out, size, "GPU %u stream %u%s", lane->id >> 24, lane->id & 0xffffff,
			lane->kind == LANE_GPU_SPAN ? " spans" : "");
		return;
	}
	track = &t->run->tracks[lane->id];
	if (recording_processes(t->run) > 1 && lane->process < t->run->process_count)
		snprintf(process, sizeof process, " (%u)", t->run->processes[lane->process].pid);
	if (track->name && *track->name)
		snprintf(out, size, "%s%s%s", track->name,
			lane->kind == LANE_TRACK && track->tid ? " spans" : "", process);
	else if (track->main)
		snprintf(out, size, "main%s%s", lane->kind == LANE_TRACK ? " spans" : "", process);
	else if (track->tid)
		snprintf(out, size, "thread %u%s%s", track->tid, lane->kind == LANE_TRACK ? " spans" : "",
			process);
	else
		snprintf(out, size, "task %u%s", track->track, process);
}

static int by_place(const void *a, const void *b, void *lanes)
{
	const struct lane *x = (struct lane *)lanes + *(const uint32_t *)a;
	const struct lane *y = (struct lane *)lanes + *(const uint32_t *)b;

	/* A stream's spans stand right above its kernels. */
	if (x->kind >= LANE_GPU_SPAN && y->kind >= LANE_GPU_SPAN && x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->main != y->main)
		return x->main ? -1 : 1;
	if (x->busy_ns != y->busy_ns)
		return x->busy_ns > y->busy_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* The lanes that are written, in order; the caller frees them. */
static uint32_t *order_lanes(struct timeline *t, uint32_t *out_count)
{
	uint32_t *order = malloc((t->lane_count + 1) * sizeof *order);

	if (!order)
		return NULL;
	for (uint32_t i = 0; i < t->lane_count; i++) {
		order[i] = i;
		t->lanes[i].written_as = UINT32_MAX;
	}
	qsort_r(order, t->lane_count, sizeof *order, by_place, t->lanes);
	*out_count = t->lane_count < LANES_MAX ? t->lane_count : LANES_MAX;
	for (uint32_t i = 0; i < *out_count; i++)
		t->lanes[order[i]].written_as = i;
	return order;
}

/* Numbers the names that occur and writes their texts. */
static void write_names(struct timeline *t, const uint32_t *order, uint32_t lane_count, struct sb_json *j)
{
	const struct sb_run *run = t->run;
	uint32_t next = 0;

	memset(t->name_numbers, 0xff, ((size_t)run->name_count + 1) * sizeof *t->name_numbers);
	for (uint32_t l = 0; l < lane_count; l++) {
		const struct lane *lane = &t->lanes[order[l]];

		for (uint32_t r = 0; r < lane->row_count; r++) {
			const struct sb_timeline_row *row = &t->rows.rows[lane->rows[r]];

			for (size_t i = 0; i < row->count; i++)
				t->name_numbers[row->entries[i].name] = 0;
		}
	}
	for (uint32_t i = 0; i < t->profile.name_count; i++)
		t->name_numbers[t->profile.names[i]] = 0;
	for (uint32_t i = 0; i < t->gpu_profile.name_count; i++)
		t->name_numbers[t->gpu_profile.names[i]] = 0;
	for (uint32_t i = 0; i < t->mark_count; i++)
		t->name_numbers[t->marks[i].name] = 0;
	sb_json_array_begin(j, "names");
	for (uint32_t i = 0; i < run->name_count; i++) {
		if (t->name_numbers[i] == UINT32_MAX)
			continue;
		t->name_numbers[i] = next++;
		sb_json_string_n(j, NULL, run->names[i].text, strnlen(run->names[i].text, NAME_BYTES_MAX));
	}
	sb_json_array_end(j);
}

static void write_lanes(struct timeline *t, const uint32_t *order, uint32_t lane_count, struct sb_json *j,
	struct sb_buf *body)
{
	sb_json_array_begin(j, "lanes");
	for (uint32_t l = 0; l < lane_count; l++) {
		const struct lane *lane = &t->lanes[order[l]];
		char name[320];

		lane_name(t, lane, name, sizeof name);
		sb_json_object_begin(j, NULL);
		sb_json_string(j, "kind", kind_names[lane->kind]);
		sb_json_string(j, "name", name);
		if (lane->too_deep)
			sb_json_uint(j, "too_deep", lane->too_deep);
		sb_json_array_begin(j, "rows");
		for (uint32_t r = 0; r < lane->row_count; r++) {
			const struct sb_timeline_row *row = &t->rows.rows[lane->rows[r]];

			sb_json_object_begin(j, NULL);
			sb_json_uint(j, "entries", row->count);
			sb_json_int(j, "merge_ns", row->merge_ns);
			sb_json_uint(j, "at", body->size);
			sb_json_object_end(j);
			sb_timeline_row_write(row, t->name_numbers, body);
		}
		sb_json_array_end(j);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void write_marks(const struct timeline *t, struct sb_json *j)
{
	sb_json_array_begin(j, "marks");
	for (uint32_t i = 0; i < t->mark_count; i++) {
		sb_json_array_begin(j, NULL);
		sb_json_int(j, NULL, t->marks[i].t_ns);
		sb_json_uint(j, NULL, t->name_numbers[t->marks[i].name]);
		sb_json_array_end(j);
	}
	sb_json_array_end(j);
}

static void write_details(const struct timeline *t, struct sb_json *j)
{
	sb_json_array_begin(j, "details");
	for (uint32_t i = 0; i < t->detail_count; i++) {
		const struct detail *d = &t->details[i];
		uint32_t lane = t->lanes[d->lane].written_as;

		if (lane == UINT32_MAX)
			continue;
		sb_json_array_begin(j, NULL);
		sb_json_uint(j, NULL, lane);
		sb_json_uint(j, NULL, d->row);
		sb_json_int(j, NULL, d->start_ns);
		sb_json_raw(j, NULL, t->detail_text.data + d->text);
		sb_json_array_end(j);
	}
	sb_json_array_end(j);
}

static void write_profile(const struct timeline *t, const char *key, const struct sb_timeline_profile *p,
	struct sb_json *j, struct sb_buf *body)
{
	sb_json_object_begin(j, key);
	sb_json_int(j, "bin_ns", p->bin_ns);
	sb_json_uint(j, "bins", SB_PROFILE_BINS);
	sb_json_uint(j, "at", body->size);
	sb_json_array_begin(j, "names");
	for (uint32_t i = 0; i < p->name_count; i++)
		sb_json_uint(j, NULL, t->name_numbers[p->names[i]]);
	sb_json_array_end(j);
	sb_json_object_end(j);
	sb_timeline_profile_write(p, body);
}

static int write_timeline(struct timeline *t, struct sb_buf *out)
{
	struct sb_buf header = { 0 }, body = { 0 };
	const struct sb_pass *pass = sb_run_pass(t->run);
	struct sb_json j;
	uint32_t lane_count, *order = order_lanes(t, &lane_count);
	uint32_t size;
	bool failed;

	t->name_numbers = malloc(((size_t)t->run->name_count + 1) * sizeof *t->name_numbers);
	if (!order || !t->name_numbers) {
		free(order);
		return sb_fail(STROBE_ENOMEM, "no memory for the timeline");
	}
	sb_json_init(&j, &header, false);
	sb_json_object_begin(&j, NULL);
	sb_json_int(&j, "version", 1);
	sb_json_int(&j, "start_ns", t->run->from_ns);
	sb_json_int(&j, "end_ns", t->run->to_ns);
	sb_json_uint(&j, "zones", t->zones);
	if (pass && pass->folded_until_ns != INT64_MIN)
		sb_json_int(&j, "folded_until_ns", pass->folded_until_ns);
	if (t->lane_count > lane_count)
		sb_json_uint(&j, "lanes_left_out", t->lane_count - lane_count);
	write_names(t, order, lane_count, &j);
	write_lanes(t, order, lane_count, &j, &body);
	write_marks(t, &j);
	write_details(t, &j);
	write_profile(t, "profile", &t->profile, &j, &body);
	if (t->gpu_profile.name_count)
		write_profile(t, "gpu_profile", &t->gpu_profile, &j, &body);
	sb_json_object_end(&j);
	size = (uint32_t)header.size;
	sb_buf_puts(out, MAGIC);
	sb_buf_add(out, &size, sizeof size);
	sb_buf_add(out, header.data, header.size);
	sb_buf_add(out, body.data, body.size);
	failed = sb_buf_failed(&header) || sb_buf_failed(&body) || sb_buf_failed(out);
	sb_buf_done(&header);
	sb_buf_done(&body);
	free(order);
	return failed ? sb_fail(STROBE_ENOMEM, "no memory for the timeline") : 0;
}

static void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	sb_timeline_rows_done(&t->rows);
	sb_timeline_profile_done(&t->profile);
	sb_timeline_profile_done(&t->gpu_profile);
	free(t->held);
	sb_map_done(&t->lane_of);
	sb_buf_done(&t->detail_text);
	free(t->lanes);
	free(t->details);
	free(t->name_numbers);
	free(t);
}

static int timeline_new(struct sb_run *run, struct timeline **out)
{
	struct timeline *t = calloc(1, sizeof *t);

	if (!t)
		return sb_fail(STROBE_ENOMEM, "no memory for the timeline");
	t->run = run;
	t->rows.budget = ENTRY_BUDGET;
	t->details = malloc(DETAILS_MAX * sizeof *t->details);
	sb_timeline_profile_init(&t->profile, run->from_ns, run->to_ns);
	sb_timeline_profile_init(&t->gpu_profile, run->from_ns, run->to_ns);
	if (!t->details) {
		timeline_free(t);
		return sb_fail(STROBE_ENOMEM, "no memory for the timeline");
	}
	*out = t;
	return 0;
}

int sb_timeline_write(struct sb_run *run, struct sb_buf *out)
{
	struct timeline *t = NULL;
	int err = timeline_new(run, &t);

	if (err)
		return err;
	struct sb_visitor visitor = {
		.self = t,
		.kinds = 1u << SB_EVENT_GPU | 1u << SB_EVENT_MARK | 1u << SB_EVENT_EVENT |
			 1u << SB_EVENT_SKIPPED | 1u << SB_EVENT_SNAPSHOT,
		.roles = SB_EVERY_ZONE,
		.zone = on_zone,
		.event = on_event,
	};
	err = sb_run_visit(run, &visitor, 1);
	pack_held(t);
	if (!err && (t->failed || t->rows.failed))
		err = sb_fail(STROBE_ENOMEM, "no memory for the timeline");
	if (!err) {
		sb_timeline_rows_finish(&t->rows);
		err = write_timeline(t, out);
	}
	timeline_free(t);
	return err;
}
