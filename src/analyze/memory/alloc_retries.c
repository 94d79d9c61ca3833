/* alloc_retries: the times that torch's allocator got no memory, gave its cache back and then got it; in which stage, and what held
 * the memory. The count is read with the memory: a stage that is open whenever it rose, and rarely else, is where it happens. */
#include "analyze/memory/residents.h"
#include "run/open_stages.h"
#include "base/error.h"
#include "base/role.h"
#include "format/run_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define READINGS_MOST 65536u
#define RESIDENTS_MOST 64u
#define PART_LEAST 0.1 /* of a call, or of the time between two readings: less is the reading's own delay */
#define NEARLY 0.8

struct reading { /* of an allocator: the time from the one before it */
	uint32_t process;
	int32_t device;
	int64_t from_ns, t_ns;
	int64_t retries; /* in that time */
	bool is_event;
};

struct open { /* the calls of a stage, by readings */
	size_t seen; /* the last one, counted from 1 */
	double retried, quiet; /* readings with and without a retry in which it was open */
	double filled_ns; /* of those with one */
	uint32_t depth;
};

struct collected {
	struct sb_run *run;
	struct sb_model *model;
	struct sb_open_stages stages;
	struct sb_vec readings;
	int64_t t_ns; /* of the last event */
	struct sb_resident residents[RESIDENTS_MOST]; /* of the last list: later times may have none */
	size_t resident_count;
	int64_t list_ns; /* when it began */
	double list;
	uint32_t list_process;
	bool failed;
};

static void add_reading(struct collected *c, struct reading r)
{
	struct reading *kept = c->readings.count < READINGS_MOST ? sb_vec_push(&c->readings, sizeof r) : NULL;

	c->failed |= !kept && c->readings.count < READINGS_MOST;
	if (kept)
		*kept = r;
}

static void see_retries(struct collected *c, const struct sb_event *e)
{
	struct sb_alloc_retries_panel *p = &c->model->alloc_retries;
	double count = sb_event_count(e, "count"), within = sb_event_count(e, "within_ns"),
	       device = sb_event_count(e, "device");
	double given_back = sb_event_count(e, "given_back_bytes");

	if (!(count > 0) || !(device >= 0))
		return;
	add_reading(
		c, (struct reading){ e->process, (int32_t)device,
			   e->t_ns - (isnan(within) ? 0 : (int64_t)within), e->t_ns, (int64_t)count, true });
	p->count += (int64_t)count;
	p->given_back_bytes += given_back > 0 ? given_back : 0;
	if (p->present && e->t_ns < c->t_ns)
		return;
	c->t_ns = e->t_ns;
	p->present = true;
	p->t_s = (double)e->t_ns / 1e9;
	p->device = (int64_t)device;
	p->allocated_bytes = sb_event_count(e, "before_allocated_bytes");
	p->slack_bytes = sb_event_count(e, "before_reserved_bytes") - p->allocated_bytes;
	p->total_bytes = sb_event_count(e, "total_bytes");
	p->limit_bytes = sb_event_count(e, "limit_bytes");
}

/* Lists of several threads come one thread after the other. */
static void see_resident(struct collected *c, const struct sb_event *e)
{
	struct sb_resident one;
	double list = sb_event_count(e, "set");

	if (!sb_resident_read(c->model, e, "alloc_retries", &one))
		return;
	if (!c->resident_count || list != c->list || e->process != c->list_process) {
		if (e->t_ns < c->list_ns)
			return;
		c->list_ns = e->t_ns;
		c->list = list;
		c->list_process = e->process;
		c->resident_count = 0;
	}
	if (c->resident_count < RESIDENTS_MOST)
		c->residents[c->resident_count++] = one;
}

static void see_event(void *self, const struct sb_event *e)
{
	struct collected *c = self;
	const char *name = c->run->names[e->name].text;

	if (e->kind == SB_EVENT_SNAPSHOT) {
		if (!strcmp(name, SB_MEMORY_READING_DEVICE))
			add_reading(c, (struct reading){
					       e->process, e->snapshot.device, e->t_ns, e->t_ns, 0, false });
	} else if (!strcmp(name, SB_EVENT_ALLOC_RETRIES))
		see_retries(c, e);
	else if (!strcmp(name, SB_EVENT_RESIDENT))
		see_resident(c, e);
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct collected *c = self;

	sb_open_stages_add(&c->stages, z);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct collected *c = calloc(1, sizeof *c);

	if (!c)
		return sb_fail(STROBE_ENOMEM, "no memory for the allocator's retries");
	*c = (struct collected){ .run = run, .model = model, .stages.least_ns = 1 };
	v->self = c;
	v->kinds = 1u << SB_EVENT_EVENT | 1u << SB_EVENT_SNAPSHOT;
	v->roles = SB_STAGE_ROLES | 1u << STROBE_ROLE_STEP | 1u << STROBE_ROLE_LOAD |
		   1u << STROBE_ROLE_FORWARD | 1u << STROBE_ROLE_OFFLOAD;
	v->zone = see_zone;
	v->event = see_event;
	return 0;
}

/* ---- in which stage ---- */

static int by_allocator(const void *a, const void *b)
{
	const struct reading *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static bool is_same(const struct reading *x, const struct reading *y)
{
	return x->process == y->process && x->device == y->device;
}

/* A reading with a retry says so first: what it says of the memory then has no time of its own. Leaves one allocator's, that with
 * the most retries. */
static size_t prepare(struct collected *c)
{
	struct reading *all = c->readings.items, *most = all;
	int64_t most_retries = 0;
	size_t count = 0;

	qsort(all, c->readings.count, sizeof *all, by_allocator);
	for (size_t i = 0; i < c->readings.count;) {
		size_t first = i;
		int64_t retries = 0;

		for (; i < c->readings.count && is_same(&all[i], &all[first]); i++) {
			retries += all[i].retries;
			if (i > first && !all[i].is_event && !all[i - 1].is_event)
				all[i].from_ns = all[i - 1].t_ns;
		}
		if (retries > most_retries) {
			most_retries = retries;
			most = &all[first];
			count = i - first;
		}
	}
	memmove(all, most, count * sizeof *all);
	return count;
}

static void see_open(struct open *o, const struct sb_open_stage *s, const struct reading *r, size_t index)
{
	int64_t from = s->begin_ns > r->from_ns ? s->begin_ns : r->from_ns;
	int64_t to = s->end_ns < r->t_ns ? s->end_ns : r->t_ns;
	int64_t call_ns = s->end_ns - s->begin_ns, between_ns = r->t_ns - r->from_ns;
	bool first = o->seen != index + 1;

	if (to < from || !between_ns ||
		(double)(to - from) < PART_LEAST * fmin((double)call_ns, (double)between_ns))
		return;
	o->seen = index + 1;
	o->depth = s->depth;
	o->retried += first && r->retries > 0;
	o->quiet += first && !r->retries;
	o->filled_ns += r->retries > 0 ? (double)(to - from) : 0;
}

/* How well "it is open" says "it retries": 1 is every time, and never without. */
static double fits(const struct open *o, double retried)
{
	return fmin(o->retried, retried) / (retried + o->quiet);
}

static bool is_likelier(const struct open *o, const struct open *best, double retried)
{
	double ratio = best ? fits(o, retried) / fits(best, retried) : INFINITY;

	if (ratio < NEARLY || ratio * NEARLY > 1)
		return ratio > 1;
	return o->depth > best->depth ? o->filled_ns > NEARLY * best->filled_ns
				      : o->filled_ns * NEARLY > best->filled_ns;
}

static size_t first_after(const struct reading *all, size_t count, int64_t t_ns)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (all[middle].t_ns < t_ns)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* Of each stage: the readings in whose time it was open. */
static void see_stages(const struct collected *c, struct open *by_name, size_t count)
{
	const struct reading *all = c->readings.items;
	const struct sb_open_stage *stages = c->stages.all.items;

	for (size_t k = 0; k < c->stages.all.count; k++) {
		const struct sb_open_stage *s = &stages[k];

		if (s->role == STROBE_ROLE_GENERATION)
			continue;
		for (size_t i = first_after(all, count, s->begin_ns); i < count && all[i].from_ns < s->end_ns;
			i++)
			see_open(&by_name[s->name], s, &all[i], i);
	}
}

static const char *stage_of(struct collected *c, int64_t *out_readings)
{
	size_t count = prepare(c);
	const struct reading *all = c->readings.items;
	struct open *by_name = calloc(c->run->name_count + 1, sizeof *by_name), *best = NULL;
	double retried = 0;
	const char *stage;

	if (!by_name) {
		c->failed = true;
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		retried += all[i].retries > 0;
	see_stages(c, by_name, count);
	for (size_t i = 0; i < c->run->name_count; i++)
		if (by_name[i].retried > 0 && is_likelier(&by_name[i], best, retried))
			best = &by_name[i];
	stage = best ? sb_model_text(c->model, c->run->names[best - by_name].text) : NULL;
	*out_readings = (int64_t)retried;
	free(by_name);
	return stage;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct collected *c = self;
	struct sb_alloc_retries_panel *p = &model->alloc_retries;

	(void)run;
	if (!p->present)
		return 0;
	p->stage = stage_of(c, &p->reading_count);
	if (c->failed || c->stages.failed)
		return sb_fail(STROBE_ENOMEM, "no memory for the allocator's retries");
	sb_residents_keep(model, c->residents, c->resident_count, &p->residents, &p->resident_count);
	return 0;
}

static void done(void *self)
{
	struct collected *c = self;

	if (!c)
		return;
	sb_open_stages_done(&c->stages);
	sb_vec_done(&c->readings);
	free(c);
}

const struct sb_analysis sb_analysis_alloc_retries = {
	.name = "alloc_retries",
	.begin = begin,
	.finish = finish,
	.done = done,
};
