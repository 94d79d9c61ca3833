/* What memory held over time, by the stage in which it came: layers of each device and of the host.
 *
 * Only sums are read: memory that rises between two readings belongs to the stage that was open half way between them, or to that
 * in which the allocator's maximum rose, and
 * what is given back is what came last. Memory that a stage frees of an earlier one is thus taken from its own first. */
#include "analyze/memory/residency.h"

#include "base/memory_units.h"

#include <stdlib.h>
#include <string.h>

#define MOMENTS_MOST 240u
#define LAYERS_MOST 10u /* stages; smaller ones are joined */
#define STAGES_MOST 256u

enum { AT_FIRST, OUTSIDE, STAGES_FIRST };

struct point {
	int64_t t_ns;
	double bytes;
	bool raised; /* the stage that is open then did it */
};

struct rise { /* what came and is still there */
	uint32_t stage; /* a number in names */
	double bytes;
};

struct walk {
	struct sb_residency_collected *c;
	struct sb_vec points; /* struct point */
	struct sb_vec rises; /* struct rise, the latest last */
	const char *names[STAGES_MOST];
	uint32_t ids[STAGES_MOST]; /* names of the run */
	uint32_t name_count;
	double now[STAGES_MOST], most[STAGES_MOST];
	size_t moments[MOMENTS_MOST]; /* numbers of points, ascending */
	size_t moment_count;
	double *held; /* moment by moment, STAGES_MOST each */
};

static int by_time(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static void add_point(struct walk *w, int64_t t_ns, double bytes, bool raised)
{
	struct point *p = isnan(bytes) || bytes < 0 ? NULL : sb_vec_push(&w->points, sizeof *p);

	if (p)
		*p = (struct point){ t_ns, bytes, raised };
}

static void collect(struct walk *w, int64_t device, const struct sb_series *s)
{
	const struct sb_device_reading *all = w->c->readings.items;
	const struct sb_series_column *rss = s ? sb_series_column_find(s, "rss_mb") : NULL;

	w->points.count = 0;
	for (size_t i = 0; device >= 0 && i < w->c->readings.count; i++)
		if (all[i].device == device) {
			if (all[i].raised_ns >= 0)
				add_point(w, all[i].raised_ns, all[i].most, true);
			add_point(w, all[i].t_ns, all[i].allocated, false);
		}
	for (size_t i = 0; device < 0 && rss && i < s->count; i++)
		add_point(w, (int64_t)(s->t_s[i] * 1e9), rss->values[i] * SB_MB, false);
	if (w->points.count)
		qsort(w->points.items, w->points.count, sizeof(struct point), by_time);
}

/* Of the points in one part of the run, the highest. */
static void choose_moments(struct walk *w)
{
	const struct point *all = w->points.items;
	double from = (double)all[0].t_ns, span = (double)all[w->points.count - 1].t_ns - from;
	size_t last_part = SIZE_MAX;

	w->moment_count = 0;
	for (size_t i = 0; i < w->points.count; i++) {
		double at = span > 0 ? ((double)all[i].t_ns - from) / span * (MOMENTS_MOST - 1) : 0;

		if ((size_t)at != last_part) {
			last_part = (size_t)at;
			w->moments[w->moment_count++] = i;
		} else if (all[i].bytes > all[w->moments[w->moment_count - 1]].bytes) {
			w->moments[w->moment_count - 1] = i;
		}
	}
}

static uint32_t number_of(struct walk *w, const struct sb_open_stage *stage)
{
	if (!stage)
		return OUTSIDE;
	for (uint32_t i = STAGES_FIRST; i < w->name_count; i++)
		if (w->ids[i] == stage->name)
			return i;
	if (w->name_count == STAGES_MOST)
		return OUTSIDE;
	w->ids[w->name_count] = stage->name;
	w->names[w->name_count] = w->c->run->names[stage->name].text;
	return w->name_count++;
}

static void rise(struct walk *w, uint32_t stage, double bytes)
{
	struct rise *all = w->rises.items, *last = w->rises.count ? &all[w->rises.count - 1] : NULL;

	if (!last || last->stage != stage) {
		last = sb_vec_push(&w->rises, sizeof *last);
		if (!last) {
			w->c->failed = true;
			return;
		}
		*last = (struct rise){ stage, 0 };
	}
	last->bytes += bytes;
	w->now[stage] += bytes;
	w->most[stage] = fmax(w->most[stage], w->now[stage]);
}

static void fall(struct walk *w, double bytes)
{
	while (w->rises.count && bytes > 0) {
		struct rise *last = &((struct rise *)w->rises.items)[w->rises.count - 1];
		double given = fmin(bytes, last->bytes);

		w->now[last->stage] -= given;
		last->bytes -= given;
		bytes -= given;
		if (last->bytes <= 0)
			w->rises.count--;
	}
}

static bool play(struct walk *w)
{
	const struct point *all = w->points.items;
	size_t count = w->points.count, next = 0;
	int64_t *half_ns = calloc(count, sizeof *half_ns);
	const struct sb_open_stage **open = calloc(count, sizeof *open);
	bool played = half_ns && open;

	for (size_t i = 0; played && i < count; i++)
		half_ns[i] = i && !all[i].raised ? all[i - 1].t_ns + (all[i].t_ns - all[i - 1].t_ns) / 2
						 : all[i].t_ns;
	if (played)
		sb_open_stages_at(&w->c->stages, half_ns, count, open);
	for (size_t i = 0; played && i < count; i++) {
		double more = all[i].bytes - (i ? all[i - 1].bytes : 0);

		if (more > 0)
			rise(w, i ? number_of(w, open[i]) : AT_FIRST, more);
		else
			fall(w, -more);
		if (next < w->moment_count && w->moments[next] == i)
			memcpy(&w->held[next++ * STAGES_MOST], w->now, sizeof w->now);
	}
	free(half_ns);
	free(open);
	return played && !w->c->failed;
}

/* ---- into the model ---- */

static bool fill_layer(struct walk *w, struct sb_memory_picture *p, const char *name, const bool *in)
{
	struct sb_memory_layer *l = &p->layers[p->layer_count++];

	*l = (struct sb_memory_layer){ .component = name,
		.mb = sb_model_alloc(w->c->model, p->count * sizeof(double)),
		.count = p->count };
	for (size_t i = 0; l->mb && i < p->count; i++) {
		double bytes = 0;

		for (uint32_t k = 0; k < w->name_count; k++)
			bytes += in[k] ? w->held[i * STAGES_MOST + k] : 0;
		l->mb[i] = round(bytes / SB_MB * 10) / 10;
	}
	return l->mb != NULL;
}

/* What was there at first lies at the bottom; stages follow as they came, the small ones joined. */
static bool fill_layers(struct walk *w, struct sb_memory_picture *p)
{
	bool small[STAGES_MOST] = { false }, one[STAGES_MOST];
	size_t large = w->name_count, small_count = 0;
	bool filled = true;

	for (uint32_t k = STAGES_FIRST; k < w->name_count; k++) /* what never held a megabyte is no layer */
		if (w->most[k] < SB_MB) {
			small[k] = true;
			large--;
			small_count++;
		}
	while (large > LAYERS_MOST) {
		uint32_t least = 0;

		for (uint32_t k = STAGES_FIRST; k < w->name_count; k++)
			if (!small[k] && (!least || w->most[k] < w->most[least]))
				least = k;
		small[least] = true;
		large--;
		small_count++;
	}
	for (uint32_t k = 0; filled && k < w->name_count; k++) {
		if (small[k] || w->most[k] <= 0)
			continue;
		memset(one, 0, sizeof one);
		one[k] = true;
		filled = fill_layer(w, p, sb_model_text(w->c->model, w->names[k]), one);
	}
	return filled && (!small_count || fill_layer(w, p, "smaller ones", small));
}

static void fill_moments(struct walk *w, struct sb_memory_picture *p)
{
	const struct point *all = w->points.items;
	const struct sb_open_stage *open[MOMENTS_MOST];
	int64_t t_ns[MOMENTS_MOST];

	for (size_t i = 0; i < p->count; i++)
		t_ns[i] = all[w->moments[i]].t_ns;
	sb_open_stages_at(&w->c->named, t_ns, p->count, open);
	for (size_t i = 0; i < p->count; i++) {
		p->t_s[i] = (double)t_ns[i] / 1e9;
		p->stages[i] = open[i] ? sb_model_text(w->c->model, w->c->run->names[open[i]->name].text)
				       : "";
		if (all[w->moments[i]].bytes > all[w->moments[p->peak]].bytes)
			p->peak = (int64_t)i;
	}
}

static bool store(struct walk *w, int64_t device, struct sb_memory_picture *p)
{
	struct sb_model *model = w->c->model;

	*p = (struct sb_memory_picture){ .device = device, .by_stage = true, .count = w->moment_count };
	p->t_s = sb_model_alloc(model, p->count * sizeof *p->t_s);
	p->stages = sb_model_alloc(model, p->count * sizeof *p->stages);
	p->layers = sb_model_alloc(model, (LAYERS_MOST + STAGES_FIRST + 1) * sizeof *p->layers);
	if (!p->t_s || !p->stages || !p->layers || !fill_layers(w, p))
		return false;
	fill_moments(w, p);
	return true;
}

static bool stages_held_some(const struct walk *w)
{
	for (uint32_t k = STAGES_FIRST; k < w->name_count; k++)
		if (w->most[k] >= SB_MB)
			return true;
	return false;
}

bool sb_residency_by_stage(struct sb_residency_collected *c, int64_t device, const struct sb_series *s,
	struct sb_memory_picture *out_picture, bool *out_any)
{
	struct walk *w = calloc(1, sizeof *w);
	bool done = true;

	*out_any = false;
	if (!w)
		return false;
	*w = (struct walk){
		.c = c, .names = { "there at first", "outside stages" }, .name_count = STAGES_FIRST
	};
	collect(w, device, s);
	if (w->points.count > 1) {
		choose_moments(w);
		w->held = calloc(w->moment_count * STAGES_MOST, sizeof *w->held);
		done = w->held && play(w);
		if (done && w->moment_count > 1 && stages_held_some(w)) {
			done = store(w, device, out_picture);
			*out_any = done;
		}
	}
	sb_vec_done(&w->points);
	sb_vec_done(&w->rises);
	free(w->held);
	free(w);
	return done;
}
