/* A thread's zones nest: their depth is their row. What may overlap is held back
 * and packed into rows when all of it is known, outer zones first. */
#include "report/timeline/lanes.h"

#include "base/role.h"
#include "run/events.h"
#include "base/error.h"
#include "base/json.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_BUDGET 1000000u
#define PACK_ROWS_MAX 16u /* rows for zones that overlap */
#define HELD_MAX 262144u /* of them, before they are packed */
#define ALIGNED_NS 20000 /* how well a stream's time is known */
#define DETAILS_MAX 20000u
#define DETAILS_OF_STAGES_MAX 8000u

static struct sb_timeline_lane *lane_at(
	struct sb_timeline *t, enum sb_timeline_kind kind, uint32_t id, uint32_t process)
{
	uint64_t key = (uint64_t)kind << 32 | id;
	uint32_t i;

	if (sb_map_get(&t->lane_of, key, &i))
		return &t->lanes[i];
	if (!SB_MAKE_ROOM(t->lanes, t->lane_count, t->lane_capacity))
		return NULL;
	if (!sb_map_put(&t->lane_of, key, t->lane_count))
		return NULL;
	t->lanes[t->lane_count] = (struct sb_timeline_lane){ .kind = kind, .id = id, .process = process };
	if (kind == SB_TIMELINE_THREAD)
		t->lanes[t->lane_count].main = t->run->tracks[id].main;
	return &t->lanes[t->lane_count++];
}

static bool rows_up_to(struct sb_timeline *t, struct sb_timeline_lane *lane, uint32_t depth)
{
	while (lane->row_count <= depth) {
		uint32_t row = sb_timeline_rows_new(&t->rows);

		if (row == UINT32_MAX)
			return false;
		lane->rows[lane->row_count++] = row;
	}
	return true;
}

/* False: there is no row at this depth, and the reason is noted. */
static bool has_row(struct sb_timeline *t, struct sb_timeline_lane *lane, uint32_t depth)
{
	if (depth >= SB_TIMELINE_DEPTH_MAX) {
		lane->too_deep++;
		return false;
	}
	if (rows_up_to(t, lane, depth))
		return true;
	t->failed = true;
	return false;
}

static void put_nested(struct sb_timeline *t, struct sb_timeline_lane *lane, uint32_t depth, int64_t start_ns,
	int64_t end_ns, uint32_t name)
{
	if (!has_row(t, lane, depth))
		return;
	if (!depth)
		lane->busy_ns += end_ns - start_ns;
	sb_timeline_rows_add(&t->rows, lane->rows[depth], start_ns, end_ns, name);
}

/* Spans of a stream are in order but placed to a few µs: the next one may seem to
 * begin before the last has ended. One that lies inside it does not follow it. */
static bool follows(const struct sb_timeline_lane *lane, const struct sb_timeline_entry *last,
	const struct sb_timeline_held *h)
{
	int64_t overlap_ns = last->end_ns - h->start_ns;

	if (overlap_ns <= 0)
		return true;
	return lane->kind == SB_TIMELINE_GPU_SPAN && overlap_ns <= ALIGNED_NS && h->end_ns > last->end_ns &&
	       overlap_ns * 2 < h->end_ns - h->start_ns && overlap_ns * 2 < last->end_ns - last->start_ns;
}

/* The first row that is free again takes the zone. */
static void pack(struct sb_timeline *t, const struct sb_timeline_held *h)
{
	struct sb_timeline_lane *lane = &t->lanes[h->lane];
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
	sb_timeline_rows_add_launched(&t->rows, lane->rows[i],
		&(struct sb_timeline_entry){ .start_ns = h->start_ns,
			.end_ns = h->end_ns,
			.name = h->name,
			.launch_ns = h->called_on == UINT32_MAX ? INT64_MIN : h->start_ns,
			.launch_track = h->called_on });
	if (h->detail != UINT32_MAX)
		t->details[h->detail].row = i;
}

/* Outer ones first, so that they come to lie above what they hold. */
static int outer_first(const void *a, const void *b)
{
	const struct sb_timeline_held *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static void pack_held(struct sb_timeline *t)
{
	if (t->held_count)
		qsort(t->held, t->held_count, sizeof *t->held, outer_first);
	for (uint32_t i = 0; i < t->held_count; i++)
		pack(t, &t->held[i]);
	t->held_count = 0;
}

static void hold(struct sb_timeline *t, const struct sb_timeline_held *one)
{
	if (t->held_count == HELD_MAX)
		pack_held(t);
	if (!SB_MAKE_ROOM(t->held, t->held_count, t->held_capacity)) {
		t->failed = true;
		return;
	}
	t->held[t->held_count++] = *one;
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
static uint32_t keep_detail(struct sb_timeline *t, const struct sb_zone *zone, uint32_t lane, uint32_t row)
{
	bool is_stage = zone->role < SB_ROLE_COUNT && SB_STAGE_ROLES >> zone->role & 1;
	struct sb_json j;

	if (!zone->attr_count || t->detail_count == DETAILS_MAX || row >= SB_TIMELINE_DEPTH_MAX ||
		(is_stage && t->stage_detail_count == DETAILS_OF_STAGES_MAX))
		return UINT32_MAX;
	t->stage_detail_count += is_stage;
	t->details[t->detail_count++] = (struct sb_timeline_detail){ lane, row, zone->begin_ns,
		t->detail_text.size };
	sb_json_init(&j, &t->detail_text, false);
	sb_json_object_begin(&j, NULL);
	for (uint32_t i = 0; i < zone->attr_count; i++)
		put_attr(&j, &zone->attrs[i]);
	sb_json_object_end(&j);
	sb_buf_putc(&t->detail_text, '\0');
	return t->detail_count - 1;
}

static bool lane_of_role(uint32_t role, enum sb_timeline_kind *out_kind)
{
	switch (role) {
	case STROBE_ROLE_GENERATION: *out_kind = SB_TIMELINE_GENERATION; return true;
	case STROBE_ROLE_BLOCK: *out_kind = SB_TIMELINE_BLOCK; return true;
	case STROBE_ROLE_STEP: *out_kind = SB_TIMELINE_STEP; return true;
	case STROBE_ROLE_ITERATION: *out_kind = SB_TIMELINE_ITERATION; return true;
	default: return false;
	}
}

static void put_zone(
	struct sb_timeline *t, enum sb_timeline_kind kind, uint32_t id, const struct sb_zone *zone)
{
	struct sb_timeline_lane *lane = lane_at(t, kind, id, zone->process);
	bool packed = kind < SB_TIMELINE_THREAD || zone->flags & SB_ZONE_SPAN;
	uint32_t detail;

	if (!lane) {
		t->failed = true;
		return;
	}
	detail = keep_detail(t, zone, (uint32_t)(lane - t->lanes), packed ? 0 : zone->depth);
	if (packed)
		hold(t, &(struct sb_timeline_held){ zone->begin_ns, zone->end_ns, (uint32_t)(lane - t->lanes),
				zone->name, detail, UINT32_MAX });
	else
		put_nested(t, lane, zone->depth, zone->begin_ns, zone->end_ns, zone->name);
}

static void on_zone(void *self, const struct sb_zone *zone)
{
	struct sb_timeline *t = self;
	bool span = zone->flags & SB_ZONE_SPAN;
	bool task = zone->track < t->run->track_count && !t->run->tracks[zone->track].tid;
	enum sb_timeline_kind kind;

	/* Spans may overlap the zones of their thread or task: they get a lane of their own. */
	put_zone(t,
		span   ? SB_TIMELINE_SPANS
		: task ? SB_TIMELINE_TRACK
		       : SB_TIMELINE_THREAD,
		zone->track, zone);
	t->zones++;
	if (!(zone->flags & SB_ZONE_RECURSIVE))
		sb_timeline_profile_add(&t->profile, zone->name, zone->begin_ns, zone->end_ns);
	if (lane_of_role(zone->role, &kind))
		put_zone(t, kind, 0, zone);
}

/* Kernels on a stream's first row, copies and fills on its second. */
static void put_launched(struct sb_timeline *t, struct sb_timeline_lane *lane, const struct sb_event *e)
{
	uint32_t row = e->gpu.kind == SB_GPU_KERNEL ? 0 : 1;

	if (!has_row(t, lane, row))
		return;
	lane->busy_ns += e->gpu.duration_ns;
	t->failed |= !sb_map_put(&t->work_names, e->name, row);
	sb_timeline_rows_add_launched(&t->rows, lane->rows[row],
		&(struct sb_timeline_entry){ .start_ns = e->t_ns,
			.end_ns = e->t_ns + e->gpu.duration_ns,
			.name = e->name,
			.launch_ns = e->gpu.launch_ns,
			.launch_track = e->gpu.launch_track,
			.more = row ? (uint64_t)e->gpu.bytes + 1
				    : sb_timeline_shapes_number(&t->shapes, &e->gpu.shape) });
}

static struct sb_timeline_lane *gpu_lane(struct sb_timeline *t, const struct sb_event *e)
{
	bool wait = e->gpu.kind == SB_GPU_SYNC;
	uint32_t id = e->gpu.device << 24 | (wait ? 0 : e->gpu.stream & 0xffffff);

	return lane_at(t,
		wait                         ? SB_TIMELINE_WAIT
		: e->gpu.kind == SB_GPU_ZONE ? SB_TIMELINE_GPU_SPAN
					     : SB_TIMELINE_STREAM,
		id, e->process);
}

static void on_gpu(struct sb_timeline *t, const struct sb_event *e)
{
	bool wait = e->gpu.kind == SB_GPU_SYNC;
	int64_t end_ns = e->t_ns + e->gpu.duration_ns;
	struct sb_timeline_lane *lane;

	if (e->gpu.duration_ns < 0)
		return;
	lane = gpu_lane(t, e);
	if (!lane) {
		t->failed = true;
		return;
	}
	t->zones += !wait; /* a call that is a zone as well, where zones were made of calls */
	if (wait || e->gpu.kind == SB_GPU_ZONE) {
		hold(t, &(struct sb_timeline_held){ e->t_ns, end_ns, (uint32_t)(lane - t->lanes), e->name,
				UINT32_MAX, wait ? e->gpu.launch_track : UINT32_MAX });
		return;
	}
	put_launched(t, lane, e);
	sb_timeline_profile_add(&t->gpu_profile, e->name, e->t_ns, end_ns);
}

/* An event of the program; strobe's own say something to the panels. */
static bool is_mark(const struct sb_run *run, const struct sb_event *e)
{
	return e->kind != SB_EVENT_GPU && e->kind != SB_EVENT_STACK && e->kind != SB_EVENT_CODE_FILE &&
	       e->kind != SB_EVENT_ALLOC && strncmp(run->names[e->name].text, "strobe.", 7) != 0;
}

static void on_event(void *self, const struct sb_event *e)
{
	struct sb_timeline *t = self;

	if (e->kind == SB_EVENT_GPU)
		on_gpu(t, e);
	else if (e->kind == SB_EVENT_STACK)
		sb_timeline_stacks_add(&t->stacks, t->run, e);
	else if (e->kind == SB_EVENT_CODE_FILE)
		sb_timeline_stacks_file(&t->stacks, t->run, e);
	if (e->kind == SB_EVENT_SNAPSHOT || e->kind == SB_EVENT_ALLOC)
		sb_timeline_rises_add(&t->rises, t->run, e);
	if (is_mark(t->run, e) && t->mark_count < SB_TIMELINE_MARKS_MAX)
		t->marks[t->mark_count++] = (struct sb_timeline_mark){ e->t_ns, e->name };
}

void sb_timeline_free(struct sb_timeline *t)
{
	if (!t)
		return;
	sb_timeline_rows_done(&t->rows);
	sb_timeline_profile_done(&t->profile);
	sb_timeline_profile_done(&t->gpu_profile);
	sb_timeline_shapes_done(&t->shapes);
	sb_timeline_stacks_done(&t->stacks);
	sb_timeline_rises_done(&t->rises);
	free(t->held);
	sb_map_done(&t->lane_of);
	sb_map_done(&t->work_names);
	sb_buf_done(&t->detail_text);
	free(t->lanes);
	free(t->details);
	free(t->name_numbers);
	free(t);
}

static struct sb_timeline *timeline_empty(struct sb_run *run)
{
	struct sb_timeline *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->run = run;
	t->rows.budget = ENTRY_BUDGET;
	t->details = malloc(DETAILS_MAX * sizeof *t->details);
	sb_timeline_profile_init(&t->profile, run->from_ns, run->to_ns);
	sb_timeline_profile_init(&t->gpu_profile, run->from_ns, run->to_ns);
	if (t->details)
		return t;
	sb_timeline_free(t);
	return NULL;
}

int sb_timeline_new(struct sb_run *run, struct sb_timeline **out)
{
	struct sb_timeline *t = timeline_empty(run);
	struct sb_visitor visitor = {
		.self = t,
		.kinds = 1u << SB_EVENT_GPU | 1u << SB_EVENT_MARK | 1u << SB_EVENT_EVENT |
			 1u << SB_EVENT_SKIPPED | 1u << SB_EVENT_SNAPSHOT | 1u << SB_EVENT_STACK |
			 1u << SB_EVENT_CODE_FILE | 1u << SB_EVENT_ALLOC,
		.roles = SB_EVERY_ZONE,
		.zone = on_zone,
		.event = on_event,
	};
	int err;

	if (!t)
		return sb_fail(STROBE_ENOMEM, "no memory for the timeline");
	err = sb_run_visit(run, &visitor, 1);
	pack_held(t);
	if (!err && (t->failed || t->rows.failed))
		err = sb_fail(STROBE_ENOMEM, "no memory for the timeline");
	if (err) {
		sb_timeline_free(t);
		return err;
	}
	sb_timeline_rows_finish(&t->rows);
	*out = t;
	return 0;
}
