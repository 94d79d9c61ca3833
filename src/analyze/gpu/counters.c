/* counters: readings of SM, tensor core and DRAM activity, given to the zones that they lie wholly
 * inside of. Samples come before zones; a reading is of the time since the one before. */
#include "analyze/analysis.h"

#include "base/error.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 64
#define NEAR_PEAK 40 /* percent */
#define SMS_WORK 40
#define KERNELS_RUN 2

struct reading { /* sums from the first reading to this one */
	int64_t t_ns;
	double weighted[SB_COUNTERS], known_s[SB_COUNTERS], bound_s[SB_BOUNDS];
};

struct counted_device {
	int device;
	bool pm;
	double utilization; /* the driver's, as sampled last */
	struct sb_vec readings; /* struct reading */
};

struct counters {
	struct sb_run *run;
	struct counted_device devices[DEVICES_MAX];
	size_t device_count;
	struct counted_device *busiest; /* settled by the first zone */
	bool settled;
	struct sb_counter_sums *sums; /* by path */
	uint32_t room;
	int err;
};

/* ---- samples ---- */

static struct counted_device *device_of(struct counters *c, int device, bool pm)
{
	for (size_t i = 0; i < c->device_count; i++)
		if (c->devices[i].device == device && c->devices[i].pm == pm)
			return &c->devices[i];
	if (c->device_count == DEVICES_MAX)
		return NULL;
	c->devices[c->device_count] = (struct counted_device){ .device = device, .pm = pm };
	return &c->devices[c->device_count++];
}

/* What the GPU was busiest with. Near its peak means: most of what such kernels reach. */
static enum sb_gpu_bound bound_of(const double *percent, double utilization)
{
	static const enum sb_gpu_counter counters[] = { SB_COUNTER_TENSOR, SB_COUNTER_FP32, SB_COUNTER_DRAM };
	static const enum sb_gpu_bound bounds[] = { SB_BOUND_TENSOR, SB_BOUND_FP32, SB_BOUND_DRAM };
	int most = 0;

	for (int i = 1; i < 3; i++)
		if (percent[counters[i]] > percent[counters[most]] || isnan(percent[counters[most]]))
			most = i;
	if (percent[counters[most]] >= NEAR_PEAK)
		return bounds[most];
	if (percent[SB_COUNTER_SM] >= SMS_WORK)
		return SB_BOUND_SM;
	return utilization >= KERNELS_RUN || percent[SB_COUNTER_SM] >= KERNELS_RUN ? SB_BOUND_LAUNCH
										   : SB_BOUND_HOST;
}

/* The same thread samples both, this one first. */
static void take_utilization(struct counters *c, const struct sb_event *e)
{
	const struct sb_run_schema *schema = e->sample.schema;

	for (uint32_t i = 0; i < schema->column_count; i++)
		for (size_t k = 0; k < c->device_count && !strcmp(schema->columns[i], "utilization_percent");
			k++)
			if (c->devices[k].device == schema->device)
				c->devices[k].utilization = e->sample.values[i];
}

static void take_sample(void *self, const struct sb_event *e)
{
	const struct sb_run_schema *schema = e->sample.schema;
	struct counters *c = self;
	bool pm = !strcmp(schema->source, "gpu_pm");
	struct counted_device *d;
	struct reading *r, *before;
	double dt_s, percent[SB_COUNTERS];

	if (!strcmp(schema->source, "gpu"))
		take_utilization(c, e);
	if (c->err || (!pm && strcmp(schema->source, "gpu_counters") != 0) ||
		!(d = device_of(c, schema->device, pm)))
		return;
	before = d->readings.count ? (struct reading *)d->readings.items + d->readings.count - 1 : NULL;
	if (before && e->t_ns <= before->t_ns)
		return;
	r = sb_vec_push(&d->readings, sizeof *r);
	if (!r) {
		c->err = sb_fail(STROBE_ENOMEM, "no memory for the GPU counters");
		return;
	}
	before = d->readings.count > 1 ? r - 1 : NULL;
	dt_s = before ? (double)(e->t_ns - before->t_ns) / 1e9 : 0;
	if (before)
		*r = *before;
	r->t_ns = e->t_ns;
	for (int k = 0; k < SB_COUNTERS; k++)
		percent[k] = NAN;
	for (uint32_t i = 0; i < schema->column_count; i++)
		for (int k = 0; k < SB_COUNTERS; k++)
			if (!strcmp(schema->columns[i], sb_gpu_counter_columns[k]) &&
				e->sample.values[i] >= 0) {
				percent[k] = e->sample.values[i];
				r->weighted[k] += dt_s * e->sample.values[i];
				r->known_s[k] += dt_s;
			}
	if (!isnan(percent[SB_COUNTER_SM]))
		r->bound_s[bound_of(percent, d->utilization)] += dt_s;
}

/* ---- zones ---- */

static double mean_sm(const struct counted_device *d)
{
	const struct reading *last =
		d->readings.count ? (const struct reading *)d->readings.items + d->readings.count - 1 : NULL;

	return last && last->known_s[SB_COUNTER_SM] > 0
		       ? last->weighted[SB_COUNTER_SM] / last->known_s[SB_COUNTER_SM]
		       : -1;
}

/* PM sampling is finer than GPM; of several GPUs the busiest speaks. */
static void settle(struct counters *c)
{
	c->settled = true;
	for (size_t i = 0; i < c->device_count; i++) {
		struct counted_device *d = &c->devices[i];

		if (d->readings.count < 2)
			continue;
		if (!c->busiest || d->pm > c->busiest->pm ||
			(d->pm == c->busiest->pm && mean_sm(d) > mean_sm(c->busiest)))
			c->busiest = d;
	}
}

/* The first reading at or after a time. */
static size_t first_from(const struct reading *all, size_t count, int64_t t_ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].t_ns < t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct sb_counter_sums *sums_at(struct counters *c, uint32_t path)
{
	if (path >= c->room) {
		uint32_t room = path * 2 + 64;
		struct sb_counter_sums *more = realloc(c->sums, room * sizeof *more);

		if (!more) {
			c->err = sb_fail(STROBE_ENOMEM, "no memory for the GPU counters");
			return NULL;
		}
		memset(more + c->room, 0, (room - c->room) * sizeof *more);
		c->sums = more;
		c->room = room;
	}
	return &c->sums[path];
}

static void add_between(struct sb_counter_sums *s, const struct reading *from, const struct reading *to)
{
	s->covered_s += (double)(to->t_ns - from->t_ns) / 1e9;
	for (int k = 0; k < SB_COUNTERS; k++) {
		s->weighted[k] += to->weighted[k] - from->weighted[k];
		s->known_s[k] += to->known_s[k] - from->known_s[k];
	}
	for (int k = 0; k < SB_BOUNDS; k++)
		s->bound_s[k] += to->bound_s[k] - from->bound_s[k];
}

static void take_zone(void *self, const struct sb_zone *z)
{
	struct counters *c = self;
	const struct reading *all;
	struct sb_counter_sums *s;
	size_t first, last;

	if (c->err || z->flags & (SB_ZONE_RECURSIVE | SB_ZONE_SPAN))
		return;
	if (!c->settled)
		settle(c);
	if (!c->busiest)
		return;
	all = c->busiest->readings.items;
	first = first_from(all, c->busiest->readings.count, z->begin_ns);
	last = first_from(all, c->busiest->readings.count, z->end_ns + 1);
	if (last < first + 2) /* no reading begins and ends in it */
		return;
	s = sums_at(c, z->path);
	if (s)
		add_between(s, &all[first], &all[last - 1]);
}

/* ---- the analysis ---- */

static void free_counters(void *self)
{
	struct counters *c = self;

	if (!c)
		return;
	for (size_t i = 0; i < c->device_count; i++)
		sb_vec_done(&c->devices[i].readings);
	free(c->sums);
	free(c);
}

static bool has_counters(const struct sb_run *run)
{
	for (uint32_t i = 0; i < run->schema_count; i++)
		if (!strcmp(run->schemas[i].source, "gpu_counters") ||
			!strcmp(run->schemas[i].source, "gpu_pm"))
			return true;
	return false;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct counters *c;

	(void)model;
	if (!has_counters(run))
		return 0;
	c = calloc(1, sizeof *c);
	if (!c)
		return sb_fail(STROBE_ENOMEM, "no memory for the GPU counters");
	c->run = run;
	*v = (struct sb_visitor){ .self = c,
		.kinds = 1u << SB_EVENT_SAMPLE,
		.roles = SB_EVERY_ZONE,
		.zone = take_zone,
		.event = take_sample };
	return 0;
}

static void whole_run(struct counters *c, struct sb_model *model)
{
	const struct reading *all = c->busiest->readings.items;
	struct sb_counter_sums sums = { 0 };

	add_between(&sums, &all[0], &all[c->busiest->readings.count - 1]);
	sb_gpu_counters_from_sums(&sums, (double)(c->run->to_ns - c->run->from_ns) / 1e9,
		c->busiest->pm ? "pm sampling" : "gpm", &model->gpu_counters);
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct counters *c = self;
	struct sb_path_counters *p = &model->path_counters;
	uint32_t path_count = sb_run_path_count(run);

	if (!c || c->err)
		return c ? c->err : 0;
	if (!c->settled)
		settle(c);
	if (!c->busiest)
		return 0;
	whole_run(c, model);
	p->source = model->gpu_counters.source;
	p->all = sb_model_alloc(model, (path_count + 1) * sizeof *p->all);
	if (!p->all)
		return 0;
	p->path_count = path_count;
	for (uint32_t i = 0; i < path_count && i < c->room; i++)
		p->all[i] = c->sums[i];
	return 0;
}

const struct sb_analysis sb_analysis_counters = { "counters", begin, finish, free_counters };
