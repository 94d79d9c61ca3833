/* events and counters: marks with and without metadata, sums and gauges. */
#include "analyze/analysis.h"
#include "base/error.h"
#include "base/map.h"
#include "base/room.h"
#include "base/vec.h"
#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

enum {
	NAMES_MOST = 1000,
	COUNTERS_MOST = 1000
}; /* that are listed: a program may make a name for each frame */

struct counter {
	uint32_t name;
	double value;
	bool gauge;
	int64_t updates, last_ns;
};

struct named {
	uint32_t name, at; /* at: how many names came before */
	int64_t count;
};

struct marks {
	struct sb_run *run;
	struct sb_model *model;
	struct sb_event_row *rows;
	size_t count, room, most;
	int64_t total;
	int64_t stride; /* every stride-th is kept once there are too many */
	struct counter *counters;
	uint32_t counter_count, counter_room;
	struct sb_map index;
	struct sb_vec names; /* struct named */
	struct sb_map name_index;
	bool no_memory;
};

/* What the program asked torch for: few, each told once, and rules need them all. */
static bool is_setting(const char *name)
{
	return strncmp(name, "torch.", 6) == 0;
}

static void thin(struct marks *h)
{
	size_t kept = 0, settings = 0;

	for (size_t i = 0; i < h->count; i++)
		settings += is_setting(h->rows[i].name);
	for (size_t i = 0; i < h->count; i++)
		if (i % 2 == 0 || (settings < h->most / 4 && is_setting(h->rows[i].name)))
			h->rows[kept++] = h->rows[i];
	h->count = kept;
	h->stride *= 2;
}

static void count_name(struct marks *h, uint32_t name)
{
	struct named *one;
	uint32_t at;

	if (sb_map_get(&h->name_index, name, &at)) {
		((struct named *)h->names.items)[at].count++;
		return;
	}
	at = (uint32_t)h->names.count;
	one = sb_vec_push(&h->names, sizeof *one);
	if (one)
		*one = (struct named){ name, at, 1 };
	h->no_memory |= !one || !sb_map_put(&h->name_index, name, at);
}

static void add_row(struct marks *h, const struct sb_event *e, const char *kind)
{
	struct sb_event_row *row;

	count_name(h, e->name);
	if (h->total++ % h->stride && !is_setting(h->run->names[e->name].text))
		return;
	if (h->count == h->most)
		thin(h);
	if (!SB_MAKE_ROOM(h->rows, h->count, h->room)) {
		h->no_memory = true;
		return;
	}
	row = &h->rows[h->count++];
	*row = (struct sb_event_row){ .name = sb_model_text(h->model, h->run->names[e->name].text),
		.t_s = (double)e->t_ns / 1e9,
		.kind = kind,
		.reason = e->kind == SB_EVENT_SKIPPED ? sb_model_text(h->model, e->text) : NULL };
	if (!e->attr_count || !(row->attrs = sb_model_alloc(h->model, e->attr_count * sizeof *row->attrs)))
		return;
	row->attr_count = e->attr_count;
	for (uint32_t i = 0; i < e->attr_count; i++)
		row->attrs[i] = (struct sb_pair){ sb_model_text(h->model, e->attrs[i].key), e->attrs[i].type,
			e->attrs[i].i, e->attrs[i].f,
			e->attrs[i].type == STROBE_TYPE_STRING ? sb_model_text(h->model, e->attrs[i].s)
							       : NULL };
}

static struct counter *counter_of(struct marks *h, uint32_t name, bool gauge)
{
	uint64_t key = (uint64_t)gauge << 32 | name;
	uint32_t at;

	if (sb_map_get(&h->index, key, &at))
		return &h->counters[at];
	if (h->counter_count == COUNTERS_MOST)
		return NULL;
	if (!SB_MAKE_ROOM(h->counters, h->counter_count, h->counter_room)) {
		h->no_memory = true;
		return NULL;
	}
	sb_map_put(&h->index, key, h->counter_count);
	h->counters[h->counter_count] =
		(struct counter){ .name = name, .gauge = gauge, .last_ns = INT64_MIN };
	return &h->counters[h->counter_count++];
}

static void add_count(struct marks *h, uint32_t name, double delta, int64_t updates)
{
	struct counter *c = counter_of(h, name, false);

	if (!c)
		return;
	c->value += delta;
	c->updates += updates;
}

static void set_gauge(struct marks *h, uint32_t name, double value, int64_t t_ns, int64_t updates)
{
	struct counter *c = counter_of(h, name, true);

	if (!c)
		return;
	c->updates += updates;
	if (t_ns < c->last_ns)
		return;
	c->last_ns = t_ns;
	c->value = value;
}

/* strobe's own: other panels read them. */
static bool is_own(const struct sb_run_name *name)
{
	return !strncmp(name->text, "strobe.", 7);
}

static bool is_stream_sum(const struct sb_run_name *name)
{
	return !strncmp(name->text, "stream.", 7);
}

static void see_event(void *self, const struct sb_event *e)
{
	struct marks *h = self;

	switch (e->kind) {
	case SB_EVENT_MARK: add_row(h, e, "mark"); break;
	case SB_EVENT_EVENT:
		/* strobe's own, and what has a panel of its own, are not listed */
		if (!is_own(&h->run->names[e->name]) && strcmp(h->run->names[e->name].text, SB_EVENT_OUTPUT))
			add_row(h, e, "event");
		break;
	case SB_EVENT_SKIPPED: add_row(h, e, "skipped"); break;
	case SB_EVENT_COUNT:
		if (!is_own(&h->run->names[e->name]))
			add_count(h, e->name, (double)e->delta, 1);
		break;
	case SB_EVENT_GAUGE: set_gauge(h, e->name, e->value, e->t_ns, 1); break;
	case SB_EVENT_DIGEST_SUM:
		if (e->path || is_stream_sum(&h->run->names[e->name]) || is_own(&h->run->names[e->name]))
			break;
		if (e->digest_sum.what == SB_SUM_COUNT)
			add_count(h, e->name, (double)e->digest_sum.sum_int, (int64_t)e->digest_sum.count);
		else if (e->digest_sum.what == SB_SUM_GAUGE)
			set_gauge(h, e->name, e->digest_sum.last, e->t_ns, (int64_t)e->digest_sum.count);
		break;
	default: break;
	}
}

static int rarest_first(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void list_names(struct marks *h, struct sb_events_panel *s)
{
	const struct named *all = h->names.items;
	size_t listed = h->names.count < NAMES_MOST ? h->names.count : NAMES_MOST;

	s->names = sb_model_alloc(h->model, (listed + 1) * sizeof *s->names);
	if (!s->names || !h->names.count)
		return;
	qsort(h->names.items, h->names.count, sizeof *all, rarest_first);
	for (size_t i = 0; i < listed; i++)
		s->names[s->name_count++] = (struct sb_event_name){
			sb_model_text(h->model, h->run->names[all[i].name].text), all[i].count
		};
}

static int by_time(const void *a, const void *b)
{
	const struct sb_event_row *x = a, *y = b;

	return x->t_s < y->t_s ? -1 : x->t_s > y->t_s;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct marks *h = calloc(1, sizeof *h);
	const struct sb_run_meta *most = sb_run_meta_find(run, SB_META_SETTING, "max_data_points");

	if (!h)
		return sb_fail(STROBE_ENOMEM, "no memory for the events of '%s'", run->path);
	h->run = run;
	h->model = model;
	h->stride = 1;
	h->most = sb_model_build_options(model)->max_data_points;
	if (!h->most)
		h->most = most && most->attr.type == STROBE_TYPE_INT && most->attr.i > 1
				  ? (size_t)most->attr.i
				  : 10000;
	if (h->most < 2)
		h->most = 2;
	v->self = h;
	v->kinds = 1u << SB_EVENT_MARK | 1u << SB_EVENT_EVENT | 1u << SB_EVENT_SKIPPED |
		   1u << SB_EVENT_COUNT | 1u << SB_EVENT_GAUGE | 1u << SB_EVENT_DIGEST_SUM;
	v->event = see_event;
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct marks *h = self;
	struct sb_events_panel *s = &model->events;

	if (h->no_memory)
		return sb_fail(STROBE_ENOMEM, "no memory for the events of '%s'", run->path);
	if (h->count)
		qsort(h->rows, h->count, sizeof *h->rows, by_time);
	s->rows = sb_model_alloc(model, (h->count + 1) * sizeof *s->rows);
	s->counters = sb_model_alloc(model, (h->counter_count + 1) * sizeof *s->counters);
	if (!s->rows || !s->counters)
		return 0;
	if (h->count)
		memcpy(s->rows, h->rows, h->count * sizeof *s->rows);
	s->count = h->count;
	s->total = h->total;
	list_names(h, s);
	for (uint32_t i = 0; i < h->counter_count; i++)
		s->counters[s->counter_count++] = (struct sb_counter){
			.name = sb_model_text(model, run->names[h->counters[i].name].text),
			.value = h->counters[i].value,
			.gauge = h->counters[i].gauge,
			.kind = h->counters[i].gauge ? "gauge" : "sum",
			.updates = h->counters[i].updates
		};
	return 0;
}

static void done(void *self)
{
	struct marks *h = self;

	if (!h)
		return;
	sb_map_done(&h->index);
	sb_map_done(&h->name_index);
	sb_vec_done(&h->names);
	free(h->rows);
	free(h->counters);
	free(h);
}

const struct sb_analysis sb_analysis_marks = {
	.name = "marks",
	.begin = begin,
	.finish = finish,
	.done = done,
};
