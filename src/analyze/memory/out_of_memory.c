/* out_of_memory: the last time that memory ran out, what held it and what would have helped. */
#include "analyze/memory/weights.h"
#include "analyze/memory/residency.h"
#include "analyze/memory/residents.h"
#include "run/open_stages.h"
#include "base/error.h"
#include "base/map.h"
#include "base/memory_units.h"
#include "base/role.h"
#include "format/run_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESIDENTS_MOST (64u + SB_WEIGHTS_MOST)
#define REFUSALS_MOST 4096u
#define TIMES_MOST 32u

struct collected {
	struct sb_run *run;
	struct sb_model *model;
	struct sb_open_stages stages;
	int64_t t_ns;
	struct sb_resident residents[RESIDENTS_MOST]; /* of the last time */
	size_t resident_count;
	struct sb_out_of_memory_time times[TIMES_MOST];
	size_t time_count;
	struct sb_vec refusals; /* struct refusal */
	struct sb_map
		tells; /* processes that tell of a device's errors by themselves: torch's allocator, Python's exceptions */
	bool failed;
	struct sb_weights weights;
	struct host_reading { /* the last one of the program's process */
		int64_t t_ns;
		uint32_t process;
		double anonymous, mapped; /* NAN: not known */
		bool several; /* processes have such readings */
	} host;
};

struct refusal { /* by the driver */
	int64_t t_ns, device;
	uint32_t process;
	double requested_bytes, free_bytes, total_bytes;
};

static bool says(const struct sb_event *e, const char *key)
{
	return sb_attr_find(e->attrs, e->attr_count, key) != NULL;
}

static void see_teller(struct collected *c, const struct sb_event *e)
{
	c->failed |= !sb_map_put(&c->tells, e->process, 1);
}

static void see_refusal(struct collected *c, const struct sb_event *e)
{
	double device = sb_event_count(e, "device");
	struct refusal *r = c->refusals.count < REFUSALS_MOST ? sb_vec_push(&c->refusals, sizeof *r) : NULL;

	c->failed |= !r && c->refusals.count < REFUSALS_MOST;
	if (r)
		*r = (struct refusal){ e->t_ns, isnan(device) ? 0 : (int64_t)device, e->process,
			sb_event_count(e, "requested_bytes"), sb_event_count(e, "free_bytes"),
			sb_event_count(e, "total_bytes") };
}

static void see_failure(struct collected *c, const struct sb_event *e)
{
	struct sb_out_of_memory_panel *p = &c->model->out_of_memory;
	double device = sb_event_count(e, "device"), line = sb_event_count(e, "line"),
	       reserved = sb_event_count(e, "reserved_bytes");
	double pieces = sb_event_count(e, "piece_count");

	p->count++;
	if (c->time_count < TIMES_MOST)
		c->times[c->time_count++] = (struct sb_out_of_memory_time){ (double)e->t_ns / 1e9,
			sb_event_count(e, "requested_bytes"), sb_event_count(e, "free_bytes"),
			isnan(device) ? -1 : (int64_t)device, NULL, sb_event_text(c->model, e, "file"),
			isnan(line) ? 0 : (int64_t)line };
	if (p->present && e->t_ns < c->t_ns)
		return;
	c->t_ns = e->t_ns;
	c->resident_count = 0;
	p->present = true;
	p->t_s = (double)e->t_ns / 1e9;
	p->device = isnan(device) ? -1 : (int64_t)device;
	p->requested_bytes = sb_event_count(e, "requested_bytes");
	p->free_bytes = sb_event_count(e, "free_bytes");
	p->total_bytes = sb_event_count(e, "total_bytes");
	p->allocated_bytes = sb_event_count(e, "allocated_bytes");
	p->slack_bytes = reserved - p->allocated_bytes;
	p->limit_bytes = sb_event_count(e, "limit_bytes");
	p->fragmented_bytes = sb_event_count(e, "fragmented_bytes");
	p->largest_piece_bytes = sb_event_count(e, "largest_piece_bytes");
	p->piece_count = isnan(pieces) ? -1 : (int64_t)pieces;
	if (p->limit_bytes - reserved < p->free_bytes) /* what the program may still take */
		p->free_bytes = fmax(0, p->limit_bytes - reserved);
	p->file = sb_event_text(c->model, e, "file");
	p->line = isnan(line) ? 0 : (int64_t)line;
}

/* They follow their event. */
static void see_resident(struct collected *c, const struct sb_event *e)
{
	struct sb_resident one;

	if (c->model->out_of_memory.present && e->t_ns >= c->t_ns && c->resident_count < RESIDENTS_MOST &&
		sb_resident_read(c->model, e, "out_of_memory", &one))
		c->residents[c->resident_count++] = one;
}

static void see_host(struct collected *c, const struct sb_event *e)
{
	struct host_reading *h = &c->host;

	h->several |= h->t_ns && h->process != e->process;
	h->process = e->process;
	if (e->t_ns < h->t_ns || e->snapshot.allocated_bytes < 0)
		return;
	h->t_ns = e->t_ns;
	h->anonymous = (double)e->snapshot.allocated_bytes;
	h->mapped = e->snapshot.reserved_bytes < 0 ? NAN : (double)e->snapshot.reserved_bytes;
}

static void see_event(void *self, const struct sb_event *e)
{
	struct collected *c = self;
	const char *name = c->run->names[e->name].text;

	if (e->kind == SB_EVENT_SNAPSHOT) {
		if (strcmp(name, SB_MEMORY_READING_HOST) == 0)
			see_host(c, e);
		else if (strcmp(name, SB_MEMORY_READING_DEVICE) == 0)
			see_teller(c, e);
	} else if (strcmp(name, SB_EVENT_OUT_OF_MEMORY) == 0 && says(e, SB_ATTR_REFUSED_BY_DRIVER)) {
		see_refusal(c, e);
	} else if (strcmp(name, SB_EVENT_OUT_OF_MEMORY) == 0) {
		if (says(e, "device"))
			see_teller(c, e);
		see_failure(c, e);
	} else if (strcmp(name, SB_EVENT_RESIDENT) == 0) {
		see_resident(c, e);
		sb_weights_see(&c->weights, c->model, e);
	}
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
		return sb_fail(STROBE_ENOMEM, "no memory to explain the out-of-memory error");
	*c = (struct collected){ .run = run, .model = model, .stages.least_ns = 1 }; /* it can fail at once */
	v->self = c;
	v->kinds = 1u << SB_EVENT_EVENT | 1u << SB_EVENT_SNAPSHOT;
	v->roles = SB_STAGE_ROLES | 1u << STROBE_ROLE_STEP | 1u << STROBE_ROLE_LOAD |
		   1u << STROBE_ROLE_FORWARD | 1u << STROBE_ROLE_OFFLOAD;
	v->zone = see_zone;
	v->event = see_event;
	return 0;
}

/* ---- refused by the driver ---- */

static void add_resident(struct collected *c, const char *component, double bytes)
{
	if (bytes > 0)
		c->residents[c->resident_count++] = (struct sb_resident){ sb_model_text(c->model, component),
			NULL, bytes };
}

/* What was in use is exact; what of it is others' is the last sample's. */
static void add_in_use(struct collected *c, const struct refusal *r)
{
	const struct sb_series *s = sb_model_series(c->model, "gpu", (int)r->device);
	double used = r->total_bytes - r->free_bytes, t_s = (double)r->t_ns / 1e9;
	double others = sb_residency_value_at(s, "memory_used_mb", t_s) -
			sb_residency_value_at(s, "process_memory_mb", t_s);

	if (isnan(used))
		return;
	others = isnan(others) ? others : fmin(fmax(others, 0), used);
	add_resident(c, isnan(others) ? "all processes and the driver" : "memory of this run",
		isnan(others) ? used : used - others);
	add_resident(c, "other processes and the driver", others);
}

/* Of processes that do not tell: torch's allocator gives its cache back and asks again, and an exception would count twice. */
static void add_refusals(struct collected *c)
{
	struct sb_out_of_memory_panel *p = &c->model->out_of_memory;
	const struct refusal *all = c->refusals.items, *last = NULL;
	uint32_t ignored;

	for (size_t i = 0; i < c->refusals.count; i++) {
		if (sb_map_get(&c->tells, all[i].process, &ignored))
			continue;
		p->count++;
		if ((!p->present && !last) || all[i].t_ns >= (last ? last->t_ns : c->t_ns))
			last = &all[i];
	}
	if (!last)
		return;
	*p = (struct sb_out_of_memory_panel){ .present = true,
		.count = p->count,
		.t_s = (double)last->t_ns / 1e9,
		.device = last->device,
		.requested_bytes = last->requested_bytes,
		.free_bytes = last->free_bytes,
		.total_bytes = last->total_bytes,
		.allocated_bytes = NAN,
		.slack_bytes = NAN,
		.limit_bytes = NAN,
		.fragmented_bytes = NAN,
		.largest_piece_bytes = NAN,
		.piece_count = -1 };
	c->t_ns = last->t_ns;
	c->resident_count = 0;
	add_in_use(c, last);
}

/* ---- killed by the kernel ---- */

static void add_host(struct collected *c, const char *component, const char *column)
{
	const struct sb_series *s = sb_model_series(c->model, "process", -2);
	const struct sb_series_column *column_of = s ? sb_series_column_find(s, column) : NULL;
	double mb = NAN;

	for (size_t i = 0; column_of && i < s->count; i++)
		mb = isnan(column_of->values[i]) ? mb : column_of->values[i];
	if (mb > 0)
		c->residents[c->resident_count++] = (struct sb_resident){ sb_model_text(c->model, component),
			NULL, mb * SB_MB };
}

/* The last reading of a single process is later than the monitor's last sample, mostly. */
static bool add_reading(struct collected *c)
{
	const struct sb_series *s = sb_model_series(c->model, "process", -2);
	double last_s = s && s->count ? s->t_s[s->count - 1] : -1;

	if (!c->host.t_ns || c->host.several || (double)c->host.t_ns / 1e9 < last_s)
		return false;
	c->residents[c->resident_count++] = (struct sb_resident){
		sb_model_text(c->model, "the processes' own memory"), NULL, c->host.anonymous
	};
	if (c->host.mapped > 0)
		c->residents[c->resident_count++] = (struct sb_resident){
			sb_model_text(c->model, "mapped files and shared memory"), NULL, c->host.mapped
		};
	return true;
}

#define LATE_LEAST (16 * SB_MB)

/* Memory that runs out fast is not in the last sample; the kernel knows the most the processes had. */
static void add_late(struct collected *c, double most_bytes)
{
	double sampled = 0;

	for (size_t i = 0; i < c->resident_count; i++)
		sampled += c->residents[i].bytes;
	if (most_bytes - sampled >= LATE_LEAST)
		c->residents[c->resident_count++] = (struct sb_resident){
			sb_model_text(c->model, "came after the last reading"), NULL, most_bytes - sampled
		};
}

/* Weights that lay on the host at the end have names of their own: they are parts of what was read. */
static void name_weights(struct collected *c)
{
	struct sb_weights_held held;
	size_t count = c->resident_count, kept = 0;
	double read = 0, left;

	sb_weights_prepare(&c->weights, c->model);
	sb_weights_at(&c->weights, -1, INFINITY, false, &held);
	for (size_t i = 0; i < count; i++)
		read += c->residents[i].bytes;
	if (held.sum > read)
		return;
	left = held.sum;
	for (size_t i = 0; i < count; i++) {
		double taken = fmin(left, c->residents[i].bytes);

		left -= taken;
		c->residents[kept] = c->residents[i];
		c->residents[kept].bytes -= taken;
		kept += c->residents[kept].bytes > 0;
	}
	c->resident_count = kept;
	for (size_t i = 0; i < held.count; i++)
		c->residents[c->resident_count++] = held.parts[i];
}

/* The last readings, and the stage that was open when everything ended. */
static void see_kill(struct collected *c)
{
	struct sb_out_of_memory_panel *p = &c->model->out_of_memory;
	const char *outcome = c->model->session.outcome;

	if (p->present || !outcome || !strstr(outcome, "out of memory"))
		return;
	*p = (struct sb_out_of_memory_panel){ .present = true,
		.killed = true,
		.count = 1,
		.device = -1,
		.t_s = NAN,
		.requested_bytes = NAN,
		.free_bytes = NAN,
		.total_bytes = c->model->memory.ram_total_bytes,
		.allocated_bytes = fmax(c->model->session.peak_rss_bytes, c->model->memory.rss_peak_bytes),
		.slack_bytes = NAN,
		.limit_bytes = NAN,
		.fragmented_bytes = NAN,
		.largest_piece_bytes = NAN,
		.piece_count = -1 };
	if (!add_reading(c)) {
		add_host(c, "the processes' own memory", "anon_mb");
		add_host(c, "shared memory", "shared_mb");
		add_host(c, "mapped files", "file_mb");
	}
	name_weights(c);
	add_late(c, p->allocated_bytes);
	for (size_t i = 0; i < c->stages.all.count; i++) {
		const struct sb_open_stage *s = &((struct sb_open_stage *)c->stages.all.items)[i];

		if (s->end_ns > c->t_ns)
			c->t_ns = s->end_ns;
	}
	c->t_ns -= 1; /* what ended with the process was open */
}

/* ---- what would have helped ---- */

static int least_first(const void *a, const void *b)
{
	const struct sb_would_fit *x = a, *y = b;

	if (x->fits != y->fits)
		return x->fits ? -1 : 1;
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Weights can be offloaded, slack given back; activations are what the work is. */
static bool can_go(const struct sb_resident *r)
{
	return strncmp(r->component, "weights of ", 11) == 0 || strcmp(r->component, "allocator slack") == 0;
}

static void find_help(struct collected *c)
{
	struct sb_out_of_memory_panel *p = &c->model->out_of_memory;
	double missing = p->requested_bytes - (isnan(p->free_bytes) ? 0 : p->free_bytes);

	p->would_fit = sb_model_alloc(c->model, (c->resident_count + 1) * sizeof *p->would_fit);
	for (size_t i = 0; p->would_fit && !isnan(missing) && i < c->resident_count; i++)
		if (can_go(&c->residents[i]))
			p->would_fit[p->would_fit_count++] = (struct sb_would_fit){ c->residents[i].component,
				c->residents[i].bytes, c->residents[i].bytes >= missing };
	if (p->would_fit_count)
		qsort(p->would_fit, p->would_fit_count, sizeof *p->would_fit, least_first);
}

static int by_time(const void *a, const void *b)
{
	const struct sb_out_of_memory_time *x = a, *y = b;

	return x->t_s < y->t_s ? -1 : x->t_s > y->t_s;
}

/* Where it happened once, the panel says all. */
static void list_times(struct collected *c)
{
	struct sb_out_of_memory_panel *p = &c->model->out_of_memory;
	const struct sb_open_stage *stages[TIMES_MOST];
	int64_t t_ns[TIMES_MOST];

	if (c->time_count < 2)
		return;
	qsort(c->times, c->time_count, sizeof *c->times, by_time);
	for (size_t i = 0; i < c->time_count; i++)
		t_ns[i] = (int64_t)llround(c->times[i].t_s * 1e9);
	sb_open_stages_at(&c->stages, t_ns, c->time_count, stages);
	p->times = sb_model_alloc(c->model, c->time_count * sizeof *p->times);
	for (size_t i = 0; p->times && i < c->time_count; i++) {
		p->times[i] = c->times[i];
		p->times[i].stage = stages[i] ? sb_model_text(c->model, c->run->names[stages[i]->name].text)
					      : NULL;
		p->time_count++;
	}
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct collected *c = self;
	struct sb_out_of_memory_panel *p = &model->out_of_memory;
	const struct sb_open_stage *stage = NULL;

	add_refusals(c);
	see_kill(c);
	if (!p->present && !c->failed)
		return 0;
	if (c->failed || c->stages.failed || c->weights.failed)
		return sb_fail(STROBE_ENOMEM, "no memory to explain the out-of-memory error");
	sb_open_stages_at(&c->stages, &c->t_ns, 1, &stage);
	p->stage = stage ? sb_model_text(model, run->names[stage->name].text) : NULL;
	p->stage_begin_s = stage ? (double)stage->begin_ns / 1e9 : NAN;
	list_times(c);
	sb_residents_keep(model, c->residents, c->resident_count, &p->residents, &p->resident_count);
	find_help(c);
	return 0;
}

static void done(void *self)
{
	struct collected *c = self;

	if (!c)
		return;
	sb_open_stages_done(&c->stages);
	sb_weights_done(&c->weights);
	sb_vec_done(&c->refusals);
	sb_map_done(&c->tells);
	free(c);
}

const struct sb_analysis sb_analysis_out_of_memory = {
	.name = "out_of_memory",
	.begin = begin,
	.finish = finish,
	.done = done,
};
