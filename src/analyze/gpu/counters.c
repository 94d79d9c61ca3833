/* counters: readings of SM, tensor core and DRAM activity, given to the stages that the GPU was at in all of their time: of the
 * GPU that a call's zones name, of several the busiest in that call. */
#include "analyze/analysis.h"
#include "analyze/gpu/counted_devices.h"
#include "analyze/gpu/gpu_moments.h"
#include "analyze/warm_calls.h"

#include "base/error.h"
#include "base/vec.h"
#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define BREAKS 0.02 /* of a reading, between calls that follow each other at once */

struct path_readings {
	struct sb_counter_sums sums;
	/* of the reading that it was at last */
	const struct sb_counted_device *device;
	size_t reading;
	uint32_t track;
	int64_t part_ns; /* of that; -1: taken */
};

struct counters {
	struct sb_run *run;
	const struct sb_touched_devices *touched;
	struct sb_counted_devices devices;
	bool picked; /* the samples are those around slow moments: of a stage and the run they show the exceptions alone */
	struct sb_warm_calls warm;
	struct path_lot {
		struct path_readings *paths;
		uint32_t room;
	} lots[SB_COUNTER_SOURCES][SB_COUNTER_LOTS];
	struct sb_gpu_moments moments;
	struct sb_gpu_moves moves;
	int err;
};

static void take_sample(void *self, const struct sb_event *e)
{
	struct counters *c = self;

	if (!c->err)
		c->err = sb_counted_devices_take(&c->devices, e);
}

/* ---- zones ---- */

static struct path_readings *path_at(struct counters *c, struct path_lot *lot, uint32_t path)
{
	if (path >= lot->room) {
		uint32_t room = path * 2 + 64;
		struct path_readings *more = realloc(lot->paths, room * sizeof *more);

		if (!more) {
			c->err = sb_fail(STROBE_ENOMEM, "no memory for the GPU counters");
			return NULL;
		}
		memset(more + lot->room, 0, (room - lot->room) * sizeof *more);
		lot->paths = more;
		lot->room = room;
	}
	return &lot->paths[path];
}

static void add_readings(struct counters *c, struct path_readings *p, const struct sb_counter_reading *all,
	size_t first, size_t last, uint32_t track)
{
	sb_counter_readings_add(&p->sums, all, first, last);
	sb_counter_readings_add_moves(&p->sums, all, first, last, &c->moves, track);
}

/* A part of a reading: it is taken when all of it was seen. */
static void add_part(struct counters *c, struct path_readings *p, const struct sb_counted_device *d,
	size_t reading, uint32_t track, int64_t part_ns)
{
	const struct sb_counter_reading *all = d->readings.items;
	int64_t whole_ns = all[reading].t_ns - all[reading - 1].t_ns;

	if (p->device != d || p->reading != reading || p->track != track) {
		p->device = d;
		p->reading = reading;
		p->track = track;
		p->part_ns = 0;
	}
	if (p->part_ns < 0)
		return;
	p->part_ns += part_ns;
	if ((double)p->part_ns < (1 - BREAKS) * (double)whole_ns)
		return;
	p->part_ns = -1;
	add_readings(c, p, all, reading - 1, reading, track);
}

/* A path's moments come in order of time; readings have their time before them, the first has none. */
static void add_moment(struct counters *c, const struct sb_counted_device *d, enum sb_counter_lot lot,
	const struct sb_zone *z, int64_t from_ns, int64_t to_ns)
{
	const struct sb_counter_reading *all = d->readings.items;
	size_t first, last;
	struct path_readings *p;

	from_ns = from_ns > all[0].t_ns ? from_ns : all[0].t_ns;
	first = sb_counter_readings_from(all, d->readings.count, from_ns + 1);
	if (to_ns <= from_ns || first == d->readings.count)
		return;
	p = path_at(c, &c->lots[d->source][lot], z->path);
	if (!p)
		return;
	if (to_ns < all[first].t_ns) {
		add_part(c, p, d, first, z->track, to_ns - from_ns);
		return;
	}
	add_part(c, p, d, first, z->track, all[first].t_ns - from_ns);
	last = sb_counter_readings_from(all, d->readings.count, to_ns + 1) - 1;
	if (last > first)
		add_readings(c, p, all, first, last, z->track);
	if (last + 1 < d->readings.count && to_ns > all[last].t_ns)
		add_part(c, p, d, last + 1, z->track, to_ns - all[last].t_ns);
}

/* Of its path, and of the warm calls of that. */
static void take_moment(
	struct counters *c, const struct sb_zone *z, enum sb_call_kind kind, int64_t from_ns, int64_t to_ns)
{
	uint64_t named = sb_device_number_bits(&c->devices.numbers, z->process, z->gpu_devices);
	uint64_t devices = sb_devices_of_zone(c->touched, named);

	for (int i = 0; i < SB_COUNTER_SOURCES && !c->err; i++) {
		const struct sb_counted_device *d = i == SB_COUNTED_PM && c->picked
							    ? NULL
							    : sb_counted_busiest(&c->devices, i, z->process,
								      devices, from_ns, to_ns);

		if (!d)
			continue;
		add_moment(c, d, SB_COUNTER_ALL, z, from_ns, to_ns);
		if (kind != SB_CALL_COLD && !c->err)
			add_moment(c, d, kind == SB_CALL_WARM ? SB_COUNTER_WARM : SB_COUNTER_FIRST, z,
				from_ns, to_ns);
	}
}

static void take_zone(void *self, const struct sb_zone *z)
{
	struct counters *c = self;
	enum sb_call_kind kind = SB_CALL_COLD;
	int64_t from_ns, to_ns;
	bool no_memory = false;

	if (z->flags & (SB_ZONE_RECURSIVE | SB_ZONE_SPAN))
		return;
	if (!c->devices.count)
		return;
	no_memory = sb_warm_calls_counts(z) && !sb_warm_calls_kind(&c->warm, z, &kind);
	if (sb_gpu_moments_of(&c->moments, z, &from_ns, &to_ns, &no_memory)) {
		if (z->role == STROBE_ROLE_OFFLOAD)
			no_memory |= !sb_gpu_moves_add(&c->moves, z->track, from_ns, to_ns);
		take_moment(c, z, kind, from_ns, to_ns);
	}
	if (!z->depth)
		sb_gpu_moves_forget(&c->moves, z->track);
	if (no_memory && !c->err)
		c->err = sb_fail(STROBE_ENOMEM, "no memory for the GPU counters");
}

/* ---- the analysis ---- */

static void free_counters(void *self)
{
	struct counters *c = self;

	if (!c)
		return;
	sb_counted_devices_done(&c->devices);
	for (int i = 0; i < SB_COUNTER_SOURCES * SB_COUNTER_LOTS; i++)
		free(c->lots[i / SB_COUNTER_LOTS][i % SB_COUNTER_LOTS].paths);
	sb_warm_calls_done(&c->warm);
	sb_gpu_moments_done(&c->moments);
	sb_gpu_moves_done(&c->moves);
	free(c);
}

static bool has_counters(const struct sb_run *run)
{
	enum sb_counter_source ignored;

	for (uint32_t i = 0; i < run->schema_count; i++)
		if (sb_counted_source_of(&run->schemas[i], &ignored))
			return true;
	return false;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct counters *c;
	int err;

	if (!has_counters(run))
		return 0;
	c = calloc(1, sizeof *c);
	err = c ? sb_warm_calls_init(&c->warm, run, model)
		: sb_fail(STROBE_ENOMEM, "no memory for the GPU counters");
	if (err) {
		free_counters(c);
		return err;
	}
	c->run = run;
	c->devices.numbers.run = run;
	c->touched = &model->devices.touched;
	c->picked = sb_run_meta_find(run, SB_META_RUN, SB_RUN_GPU_COUNTERS_OF_SLOW);
	*v = (struct sb_visitor){ .self = c,
		.kinds = 1u << SB_EVENT_SAMPLE,
		.roles = SB_EVERY_ZONE,
		.gpu_spans = true,
		.zone = take_zone,
		.event = take_sample };
	return 0;
}

/* Of the run the readings that are always on speak; samples of all of it where there are none. */
static void whole_run(struct counters *c, struct sb_model *model)
{
	const struct sb_counted_device *d = NULL;
	const struct sb_counter_reading *all;
	struct sb_counter_sums sums = { 0 };

	for (int i = 0; i < SB_COUNTER_SOURCES && !d; i++)
		if (i != SB_COUNTED_PM || !c->picked)
			d = sb_counted_busiest(&c->devices, i, SB_ANY_PROCESS,
				sb_devices_of_zone(c->touched, 0), INT64_MIN / 2, INT64_MAX / 2);
	if (!d)
		return;
	all = d->readings.items;
	sb_counter_readings_add(&sums, all, 0, d->readings.count - 1);
	sb_gpu_counters_from_sums(&sums, (double)(c->run->to_ns - c->run->from_ns) / 1e9,
		sb_counter_source_names[d->source], &model->gpu_counters);
	model->counted_device = d->device;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct counters *c = self;
	struct sb_path_counters *p = &model->path_counters;
	uint32_t path_count = sb_run_path_count(run);

	if (!c || c->err)
		return c ? c->err : 0;
	whole_run(c, model);
	for (int i = 0; i < SB_COUNTER_SOURCES * SB_COUNTER_LOTS; i++) {
		int source = i / SB_COUNTER_LOTS, lot = i % SB_COUNTER_LOTS;
		const struct path_lot *from = &c->lots[source][lot];
		struct sb_counter_sums *sums =
			from->room ? sb_model_alloc(model, (path_count + 1) * sizeof *sums) : NULL;

		for (uint32_t k = 0; sums && k < path_count && k < from->room; k++)
			sums[k] = from->paths[k].sums;
		p->of[source][lot] = sums;
	}
	p->path_count = path_count;
	return 0;
}

const struct sb_analysis sb_analysis_counters = { "counters", begin, finish, free_counters };
