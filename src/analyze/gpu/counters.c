/* counters: readings of SM, tensor core and DRAM activity, given to the stages that the GPU was at in all of their time.
 * Samples come before zones; a reading is of the time since the one before. */
#include "analyze/analysis.h"
#include "analyze/gpu/counter_readings.h"
#include "analyze/gpu/gpu_moments.h"
#include "analyze/warm_calls.h"

#include "base/error.h"
#include "base/vec.h"
#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 64
#define BREAKS 0.02 /* of a reading, between calls that follow each other at once */

struct counted_device {
	enum sb_counter_source source;
	int device;
	uint32_t process; /* whose zones samples belong to; readings of the driver are everybody's */
	double utilization, pcie, nvlink; /* the driver's, as sampled last; GB/s, the busier way */
	double beside[SB_BESIDES]; /* the same, summed up since the last reading */
	uint32_t beside_count[SB_BESIDES];
	struct sb_vec readings; /* struct sb_counter_reading */
};

struct path_readings {
	struct sb_counter_sums sums;
	/* of the reading that it was at last */
	size_t reading;
	uint32_t track;
	int64_t part_ns; /* of that; -1: taken */
};

struct counters {
	struct sb_run *run;
	struct counted_device devices[DEVICES_MAX];
	size_t device_count;
	struct counted_device *busiest[SB_COUNTER_SOURCES]; /* NULL: none, or not settled yet */
	bool picked; /* the samples are those around slow moments: of a stage they show the exceptions alone */
	bool settled; /* by the first zone, for the process of the last one */
	uint32_t process;
	struct sb_warm_calls warm;
	struct path_lot {
		struct path_readings *paths;
		uint32_t room;
	} lots[SB_COUNTER_SOURCES][SB_COUNTER_LOTS];
	struct sb_gpu_moments moments;
	struct sb_gpu_moves moves;
	int err;
};

/* ---- samples ---- */

static bool source_of(const struct sb_run_schema *schema, enum sb_counter_source *out)
{
	if (strcmp(schema->source, "gpu_counters") != 0 && strcmp(schema->source, "gpu_pm") != 0)
		return false;
	*out = strcmp(schema->source, "gpu_pm") ? SB_COUNTED_GPM : SB_COUNTED_PM;
	return true;
}

static struct counted_device *device_of(struct counters *c, const struct sb_event *e)
{
	struct counted_device d = { .device = e->sample.schema->device };

	if (!source_of(e->sample.schema, &d.source))
		return NULL;
	d.process = d.source == SB_COUNTED_PM ? e->process : 0;
	for (size_t i = 0; i < c->device_count; i++)
		if (c->devices[i].device == d.device && c->devices[i].source == d.source &&
			c->devices[i].process == d.process)
			return &c->devices[i];
	if (c->device_count == DEVICES_MAX)
		return NULL;
	c->devices[c->device_count] = d;
	return &c->devices[c->device_count++];
}

static double column_of(const struct sb_event *e, const char *column)
{
	const struct sb_run_schema *schema = e->sample.schema;

	for (uint32_t i = 0; i < schema->column_count; i++)
		if (!strcmp(schema->columns[i], column))
			return e->sample.values[i];
	return NAN;
}

/* The same thread samples both, this one first. */
static void take_device(struct counters *c, const struct sb_event *e)
{
	for (size_t k = 0; k < c->device_count; k++) {
		struct counted_device *d = &c->devices[k];

		if (d->device != e->sample.schema->device)
			continue;
		for (int i = 0; i < SB_BESIDES; i++) {
			double value = column_of(e, sb_gpu_beside_columns[i]);

			if (!isnan(value)) {
				d->beside[i] += value;
				d->beside_count[i]++;
			}
		}
		d->utilization = column_of(e, "utilization_percent");
		d->pcie = fmax(column_of(e, "pcie_rx_gb_per_s"), column_of(e, "pcie_tx_gb_per_s"));
		d->nvlink = fmax(column_of(e, "nvlink_rx_gb_per_s"), column_of(e, "nvlink_tx_gb_per_s"));
	}
}

static void add_beside(struct counted_device *d, const struct sb_event *e, double utilization, double dt_s,
	struct sb_counter_sums *sums)
{
	double mean[SB_BESIDES];

	for (int i = 0; i < SB_BESIDES; i++)
		mean[i] = d->beside_count[i] ? d->beside[i] / d->beside_count[i] : NAN;
	if (d->source == SB_COUNTED_PM) {
		mean[SB_BESIDE_UTILIZATION] = utilization;
		mean[SB_BESIDE_PCIE_RX] = column_of(e, "pcie_read_bytes_per_s") / 1e9;
		mean[SB_BESIDE_PCIE_TX] = column_of(e, "pcie_write_bytes_per_s") / 1e9;
	}
	for (int i = 0; i < SB_BESIDES; i++) {
		if (mean[i] >= 0) {
			sums->beside[i] += dt_s * mean[i];
			sums->beside_s[i] += dt_s;
		}
		d->beside[i] = d->beside_count[i] = 0;
	}
}

/* What a row says, into the sums that end with it. A row without values ends a gap. */
static void add_row(
	struct counted_device *d, const struct sb_event *e, double dt_s, struct sb_counter_reading *r)
{
	const struct sb_run_schema *schema = e->sample.schema;
	struct sb_counter_sums *sums = &r->sums;
	double percent[SB_COUNTERS];
	double utilization = d->source == SB_COUNTED_GPM ? d->utilization : NAN, pcie = d->pcie;
	bool known = false;

	for (int k = 0; k < SB_COUNTERS; k++)
		percent[k] = NAN;
	for (uint32_t i = 0; i < schema->column_count; i++) {
		if (!strcmp(schema->columns[i], "engine_active_percent"))
			utilization = e->sample.values[i];
		for (int k = 0; k < SB_COUNTERS; k++)
			if (!strcmp(schema->columns[i], sb_gpu_counter_columns[k]) &&
				e->sample.values[i] >= 0) {
				percent[k] = e->sample.values[i];
				sums->weighted[k] += dt_s * e->sample.values[i];
				sums->known_s[k] += dt_s;
				known = true;
			}
	}
	if (d->source == SB_COUNTED_PM)
		pcie = fmax(column_of(e, "pcie_read_bytes_per_s"), column_of(e, "pcie_write_bytes_per_s")) /
		       1e9;
	if (known) {
		sums->covered_s += dt_s;
		add_beside(d, e, utilization, dt_s, sums);
	}
	r->utilization = (float)utilization;
	r->nvlink = (float)d->nvlink;
	if (!isnan(percent[SB_COUNTER_SM]))
		sums->bound_s[sb_counter_bound(percent, utilization, pcie, d->nvlink)] += dt_s;
}

static void take_sample(void *self, const struct sb_event *e)
{
	struct counters *c = self;
	struct counted_device *d;
	struct sb_counter_reading *r, *before;

	if (!strcmp(e->sample.schema->source, "gpu"))
		take_device(c, e);
	d = c->err ? NULL : device_of(c, e);
	if (!d)
		return;
	before = d->readings.count ? (struct sb_counter_reading *)d->readings.items + d->readings.count - 1
				   : NULL;
	if (before && e->t_ns <= before->t_ns)
		return;
	r = sb_vec_push(&d->readings, sizeof *r);
	if (!r) {
		c->err = sb_fail(STROBE_ENOMEM, "no memory for the GPU counters");
		return;
	}
	before = d->readings.count > 1 ? r - 1 : NULL;
	if (before)
		*r = *before;
	r->t_ns = e->t_ns;
	add_row(d, e, before ? (double)(e->t_ns - before->t_ns) / 1e9 : 0, r);
}

/* ---- zones ---- */

static double mean_sm(const struct counted_device *d)
{
	const struct sb_counter_reading *last =
		d->readings.count
			? (const struct sb_counter_reading *)d->readings.items + d->readings.count - 1
			: NULL;

	return last && last->sums.known_s[SB_COUNTER_SM] > 0
		       ? last->sums.weighted[SB_COUNTER_SM] / last->sums.known_s[SB_COUNTER_SM]
		       : -1;
}

/* Of several GPUs the busiest speaks: of the machine's, and of those that the process sampled. */
static void settle(struct counters *c, uint32_t process)
{
	c->settled = true;
	c->process = process;
	for (int i = 0; i < SB_COUNTER_SOURCES * SB_COUNTER_LOTS; i++) {
		struct path_lot *lot = &c->lots[i / SB_COUNTER_LOTS][i % SB_COUNTER_LOTS];

		for (uint32_t p = 0; p < lot->room; p++)
			lot->paths[p].reading = 0; /* of another device perhaps */
	}
	c->busiest[SB_COUNTED_GPM] = c->busiest[SB_COUNTED_PM] = NULL;
	for (size_t i = 0; i < c->device_count; i++) {
		struct counted_device *d = &c->devices[i], **best = &c->busiest[d->source];

		if (d->readings.count < 2 ||
			(d->source == SB_COUNTED_PM && (d->process != process || c->picked)))
			continue;
		if (!*best || mean_sm(d) > mean_sm(*best))
			*best = d;
	}
}

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
static void add_part(struct counters *c, struct path_readings *p, const struct sb_counter_reading *all,
	size_t reading, uint32_t track, int64_t part_ns)
{
	int64_t whole_ns = all[reading].t_ns - all[reading - 1].t_ns;

	if (p->reading != reading || p->track != track) {
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
static void add_moment(struct counters *c, const struct counted_device *d, enum sb_counter_lot lot,
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
		add_part(c, p, all, first, z->track, to_ns - from_ns);
		return;
	}
	add_part(c, p, all, first, z->track, all[first].t_ns - from_ns);
	last = sb_counter_readings_from(all, d->readings.count, to_ns + 1) - 1;
	if (last > first)
		add_readings(c, p, all, first, last, z->track);
	if (last + 1 < d->readings.count && to_ns > all[last].t_ns)
		add_part(c, p, all, last + 1, z->track, to_ns - all[last].t_ns);
}

/* Of its path, and of the warm calls of that. */
static void take_moment(
	struct counters *c, const struct sb_zone *z, enum sb_call_kind kind, int64_t from_ns, int64_t to_ns)
{
	for (int i = 0; i < SB_COUNTER_SOURCES && !c->err; i++) {
		if (!c->busiest[i])
			continue;
		add_moment(c, c->busiest[i], SB_COUNTER_ALL, z, from_ns, to_ns);
		if (kind != SB_CALL_COLD && !c->err)
			add_moment(c, c->busiest[i],
				kind == SB_CALL_WARM ? SB_COUNTER_WARM : SB_COUNTER_FIRST, z, from_ns, to_ns);
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
	if (!c->settled || c->process != z->process)
		settle(c, z->process);
	if (!c->busiest[SB_COUNTED_GPM] && !c->busiest[SB_COUNTED_PM])
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
	for (size_t i = 0; i < c->device_count; i++)
		sb_vec_done(&c->devices[i].readings);
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
		if (source_of(&run->schemas[i], &ignored))
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
	c->picked = sb_run_meta_find(run, SB_META_RUN, SB_RUN_GPU_COUNTERS_OF_SLOW);
	*v = (struct sb_visitor){ .self = c,
		.kinds = 1u << SB_EVENT_SAMPLE,
		.roles = SB_EVERY_ZONE,
		.gpu_spans = true,
		.zone = take_zone,
		.event = take_sample };
	return 0;
}

/* Of the run the readings that are always on speak; samples where there are none. */
static void whole_run(struct counters *c, struct sb_model *model)
{
	const struct counted_device *d = NULL;
	const struct sb_counter_reading *all;
	struct sb_counter_sums sums = { 0 };

	for (size_t i = 0; i < c->device_count; i++) {
		const struct counted_device *other = &c->devices[i];

		if (other->readings.count >= 2 &&
			(!d || other->source < d->source ||
				(other->source == d->source && mean_sm(other) > mean_sm(d))))
			d = other;
	}
	if (!d)
		return;
	all = d->readings.items;
	sb_counter_readings_add(&sums, all, 0, d->readings.count - 1);
	sb_gpu_counters_from_sums(&sums, (double)(c->run->to_ns - c->run->from_ns) / 1e9,
		sb_counter_source_names[d->source], &model->gpu_counters);
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
