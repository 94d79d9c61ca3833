/* What memory held over time: layers of each device and of the host, at a bounded number of moments.
 *
 * A device's allocator is read four times a second, the driver is asked less often: what lies beside the allocator is from the
 * driver's samples where the allocator did not change around them. */
#include "analyze/memory/residency.h"

#include "base/memory_units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOMENTS_MOST 240u
#define LAYERS_MOST 12u /* the last of them: all smaller ones */
#define ALIKE_MB 4.0
#define ALIKE_RATIO 0.02
#define OTHERS "other processes and the driver"

struct row { /* a layer while it is put together */
	const char *component, *dtype;
	double mb[MOMENTS_MOST];
	double most;
	int order; /* from the bottom */
};

struct drawing {
	struct sb_residency_collected *c;
	int64_t device;
	const struct sb_series *series;
	double t_s[MOMENTS_MOST];
	size_t count;
	struct sb_device_values at[MOMENTS_MOST]; /* of a device */
	struct row *rows;
	size_t row_count, row_most;
};

/* ---- moments ---- */

/* How far two moments are apart that count as equally high. A small program has its peak within a few megabytes. */
static double alike_mb(double most)
{
	return fmin(ALIKE_MB, most * ALIKE_RATIO);
}

struct moments { /* of those that fall into one of MOMENTS_MOST parts of the run, the one with the highest value */
	double from_s, to_s;
	double t_s[MOMENTS_MOST], value[MOMENTS_MOST];
};

static void offer(struct moments *m, double t_s, double value)
{
	double at = m->to_s > m->from_s ? (t_s - m->from_s) / (m->to_s - m->from_s) * (MOMENTS_MOST - 1) : 0;
	size_t i = at > 0 ? (size_t)fmin(at, MOMENTS_MOST - 1) : 0;

	if (isnan(value) || value <= m->value[i])
		return;
	m->t_s[i] = t_s;
	m->value[i] = value;
}

static void take_moments(const struct moments *m, struct drawing *d)
{
	for (size_t i = 0; i < MOMENTS_MOST; i++)
		if (m->value[i] >= 0)
			d->t_s[d->count++] = m->t_s[i];
}

/* What is beside the allocator may be highest where no reading is: the driver's highest sample is a moment too. */
static void offer_highest_sample(
	struct moments *m, const struct sb_series *s, const struct sb_series_column *c)
{
	size_t highest = s->count;

	for (size_t i = 0; i < s->count; i++)
		if (!isnan(c->values[i]) && (highest == s->count || c->values[i] > c->values[highest]))
			highest = i;
	if (highest < s->count)
		offer(m, s->t_s[highest], INFINITY);
}

/* The moment at which what is reserved first rose to nearly the most: a reading after the stage that did it may be the first to
 * say so, and another one drawn in its place. */
static void offer_highest_growth(
	struct moments *m, const struct sb_device_reading *all, size_t count, int64_t device)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = all[i].device == device ? fmax(most, all[i].reserved) : most;
	for (size_t i = 0; i < count; i++)
		if (all[i].device == device && all[i].grew_ns >= 0 &&
			all[i].reserved >= most - alike_mb(most / SB_MB) * SB_MB) {
			if (all[i].raised_in != SB_NO_STAGE)
				offer(m, (double)all[i].grew_ns / 1e9, INFINITY);
			return;
		}
}

static void choose_moments(struct drawing *d, const struct sb_series *s, const char *column)
{
	const struct sb_device_reading *all = d->c->readings.items;
	const struct sb_series_column *c = s ? sb_series_column_find(s, column) : NULL;
	struct moments m = { 0, (double)d->c->run->wall_ns / 1e9, { 0 }, { 0 } };
	bool any = false;

	for (size_t i = 0; i < MOMENTS_MOST; i++)
		m.value[i] = -1;
	for (size_t i = 0; d->device >= 0 && i < d->c->readings.count; i++)
		if (all[i].device == d->device) {
			if (all[i].raised_ns >= 0)
				offer(&m, (double)all[i].raised_ns / 1e9, all[i].most);
			offer(&m, (double)all[i].t_ns / 1e9, all[i].allocated);
			any = true;
		}
	for (size_t i = 0; !any && c && i < s->count; i++)
		offer(&m, s->t_s[i], c->values[i]);
	if (any)
		offer_highest_growth(&m, all, d->c->readings.count, d->device);
	if (any && c)
		offer_highest_sample(&m, s, c);
	take_moments(&m, d);
}

/* ---- layers ---- */

static void put(
	struct drawing *d, size_t at, const char *component, const char *dtype, int order, double bytes)
{
	struct row *row = NULL;

	if (!(bytes > 0))
		return;
	for (size_t i = 0; i < d->row_count && !row; i++)
		if (!strcmp(d->rows[i].component, component) &&
			!strcmp(d->rows[i].dtype ? d->rows[i].dtype : "", dtype ? dtype : ""))
			row = &d->rows[i];
	if (!row && d->row_count < d->row_most) {
		row = &d->rows[d->row_count++];
		*row = (struct row){ .component = component, .dtype = dtype, .order = order };
	}
	if (!row)
		return;
	row->mb[at] += bytes / SB_MB;
	row->most = fmax(row->most, row->mb[at]);
}

static void put_weights(struct drawing *d, size_t at, const struct sb_weights_held *held)
{
	for (size_t i = 0; i < held->count; i++)
		put(d, at, held->parts[i].component, held->parts[i].dtype, 2, held->parts[i].bytes);
}

static double put_caches(struct drawing *d, size_t at, double within)
{
	const struct sb_cache *cache;
	double sum = 0;

	for (size_t k = 0; (cache = sb_residency_cache_at(d->c, d->device, d->t_s[at], &k));)
		if (sum + cache->bytes <= within) {
			put(d, at, cache->component, NULL, 2, cache->bytes);
			sum += cache->bytes;
		}
	return sum;
}

static void draw_device(struct drawing *d, const struct sb_series *s)
{
	for (size_t i = 0; i < d->count; i++) {
		struct sb_device_values v = sb_residency_device_at(d->c, s, d->t_s[i]);
		struct sb_weights_held held;
		double weights = 0;

		d->at[i] = v;
		put(d, i, OTHERS, NULL, 0, v.used - v.process);
		if (!v.reading) {
			put(d, i, "memory of this run", NULL, 3, v.process);
			continue;
		}
		sb_weights_at(
			&d->c->weights, d->device, sb_residency_device_time(&v, d->t_s[i]), false, &held);
		if (held.sum <= v.allocated) { /* else they are not loaded yet */
			put_weights(d, i, &held);
			weights = held.sum;
		}
		weights += put_caches(d, i, v.allocated - weights);
		put(d, i, "CUDA context and libraries", NULL, 1, v.context);
		put(d, i,
			sb_residency_tensors(sb_weights_any(&d->c->weights) && !d->c->weights.unplaced_count),
			NULL, 3, v.allocated - weights);
		put(d, i, "allocator slack", NULL, 4, v.reserved - v.allocated);
	}
}

static void draw_host(struct drawing *d, const struct sb_series *s)
{
	for (size_t i = 0; i < d->count; i++) {
		struct sb_host_values v = sb_residency_host_at(d->c, s, d->t_s[i], NAN);
		struct sb_weights_held held;

		sb_weights_at(&d->c->weights, -1, v.t_s, false, &held);
		if (sb_residency_host_name(&v, held.sum))
			put_weights(d, i, &held);
		v.anonymous -= put_caches(d, i, v.anonymous);
		put(d, i, "mapped files", NULL, 0, v.mapped);
		put(d, i, "shared memory", NULL, 1, v.shared);
		if (isnan(v.anonymous))
			put(d, i, "resident memory", NULL, 3, v.total);
		else
			put(d, i, "other anonymous memory", NULL, 3, v.anonymous);
	}
}

/* ---- into the model ---- */

static int largest_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->most > y->most ? -1 : x->most < y->most;
}

static int bottom_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->order != y->order ? x->order - y->order : largest_first(a, b);
}

/* Beyond LAYERS_MOST the smallest are one. */
static void join_small(struct drawing *d)
{
	qsort(d->rows, d->row_count, sizeof *d->rows, largest_first);
	if (d->row_count > LAYERS_MOST) {
		struct row *small = &d->rows[LAYERS_MOST - 1];

		for (size_t r = LAYERS_MOST; r < d->row_count; r++)
			for (size_t i = 0; i < d->count; i++)
				small->mb[i] += d->rows[r].mb[i];
		small->component = "smaller ones";
		small->dtype = NULL;
		small->order = 2;
		d->row_count = LAYERS_MOST;
	}
	qsort(d->rows, d->row_count, sizeof *d->rows, bottom_first);
}

static bool is_moment(int64_t t_ns, double t_s)
{
	return t_ns >= 0 && t_ns == (int64_t)llround(t_s * 1e9);
}

/* What the run itself holds: on a GPU that others use, the highest moment may be theirs. Of an allocator, what it has reserved:
 * kernels that are loaded beside it are no stage's doing. */
static double own_at(const struct drawing *d, size_t moment)
{
	const struct sb_device_reading *reading = d->device < 0 ? NULL : d->at[moment].reading;
	double sum = 0;

	if (reading && !d->at[moment].raised && !d->at[moment].between &&
		reading->t_ns > (int64_t)(d->t_s[moment] * 1e9) + 1 &&
		!is_moment(reading->grew_ns, d->t_s[moment]))
		return 0; /* of a later moment, which is drawn too */
	if (reading)
		return d->at[moment].reserved / SB_MB;
	for (size_t r = 0; r < d->row_count; r++)
		if (strcmp(d->rows[r].component, OTHERS) != 0)
			sum += d->rows[r].mb[moment];
	return sum;
}

static bool store_layers(const struct drawing *d, struct sb_memory_picture *p)
{
	for (size_t r = 0; r < d->row_count; r++) {
		struct sb_memory_layer *layer = &p->layers[r];

		*layer = (struct sb_memory_layer){ .component = d->rows[r].component,
			.dtype = d->rows[r].dtype,
			.mb = sb_model_alloc(d->c->model, d->count * sizeof(double)),
			.count = d->count };
		if (!layer->mb)
			return false;
		for (size_t i = 0; i < d->count; i++)
			layer->mb[i] = round(d->rows[r].mb[i] * 10) / 10;
	}
	p->layer_count = d->row_count;
	return true;
}

/* The stage in which memory rose to what it was at a moment: there may be readings between it and the moment before. */
static const char *rose_in(const struct drawing *d, size_t moment)
{
	int64_t from_ns = moment ? (int64_t)(d->t_s[moment - 1] * 1e9) : d->c->run->from_ns;
	int64_t to_ns = (int64_t)(d->t_s[moment] * 1e9);
	double own = own_at(d, moment), high = (own - alike_mb(own)) * SB_MB;
	const struct sb_device_reading *all = d->c->readings.items, *last = NULL;
	const struct sb_open_stage *stage;

	for (size_t i = 0; i < d->c->readings.count; i++) {
		if (all[i].device != d->device || all[i].t_ns <= from_ns || all[i].t_ns > to_ns)
			continue;
		if (all[i].reserved < high) {
			from_ns = all[i].t_ns;
		} else {
			to_ns = all[i].t_ns;
			last = &all[i];
		}
	}
	if (last && last->grew_ns >= 0)
		return last->raised_in == SB_NO_STAGE
			       ? ""
			       : sb_model_text(d->c->model, d->c->run->names[last->raised_in].text);
	stage = sb_open_stages_rose(&d->c->named, from_ns, to_ns);
	return stage ? sb_model_text(d->c->model, d->c->run->names[stage->name].text) : "";
}

/* The moment at which tensors held most, where the run held nearly as much as it ever did: the allocator keeps what it has taken,
 * and what lies beside it may grow a little in any stage. */
static bool choose_raised(const struct drawing *d, double most, struct sb_memory_picture *p)
{
	double high = fmin(most - ALIKE_MB, most * (1 - ALIKE_RATIO)), tensors = -1;

	for (size_t i = 0; d->device >= 0 && i < d->count; i++)
		if (d->at[i].raised && d->at[i].allocated > tensors) {
			tensors = d->at[i].allocated;
			p->peak = (int64_t)i;
		}
	return tensors >= 0 && own_at(d, (size_t)p->peak) >= high;
}

/* Else it is where memory rose to nearly as much for the first time: it may creep up later, in other stages. */
static void choose_peak(const struct drawing *d, struct sb_memory_picture *p)
{
	double most = -1;
	size_t first = 0;

	for (size_t i = 0; i < d->count; i++)
		most = fmax(most, own_at(d, i));
	if (choose_raised(d, most, p))
		return;
	while (first + 1 < d->count && own_at(d, first) < most - alike_mb(most))
		first++;
	p->stages[first] = rose_in(d, first);
	p->peak = (int64_t)first;
	for (size_t i = first + 1; i < d->count && p->stages[i] && !strcmp(p->stages[i], p->stages[first]);
		i++)
		if (own_at(d, i) > own_at(d, (size_t)p->peak))
			p->peak = (int64_t)i;
}

static bool store(struct drawing *d)
{
	struct sb_memory_pictures_panel *panel = &d->c->model->memory_pictures;
	struct sb_memory_picture *p = &panel->all[panel->count];
	const struct sb_open_stage *open[MOMENTS_MOST];
	int64_t t_ns[MOMENTS_MOST];

	if (d->count < 2 || !d->row_count)
		return true;
	join_small(d);
	*p = (struct sb_memory_picture){ .device = d->device, .count = d->count };
	p->t_s = sb_model_alloc(d->c->model, d->count * sizeof *p->t_s);
	p->stages = sb_model_alloc(d->c->model, d->count * sizeof *p->stages);
	p->layers = sb_model_alloc(d->c->model, d->row_count * sizeof *p->layers);
	if (!p->t_s || !p->stages || !p->layers || !store_layers(d, p))
		return false;
	for (size_t i = 0; i < d->count; i++)
		t_ns[i] = (int64_t)(d->t_s[i] * 1e9);
	sb_open_stages_at(&d->c->named, t_ns, d->count, open);
	for (size_t i = 0; i < d->count; i++) {
		uint32_t name = open[i] ? open[i]->name : SB_NO_STAGE;

		if (d->device >= 0 && d->at[i].raised)
			name = d->at[i].reading->raised_in;
		p->t_s[i] = d->t_s[i];
		p->stages[i] = name == SB_NO_STAGE ? ""
						   : sb_model_text(d->c->model, d->c->run->names[name].text);
	}
	choose_peak(d, p);
	panel->count++;
	return true;
}

static bool draw(struct drawing *d, int64_t device, const struct sb_series *s)
{
	d->device = device;
	d->series = s;
	d->count = d->row_count = 0;
	choose_moments(d, s, device < 0 ? "rss_mb" : "memory_used_mb");
	if (device < 0)
		draw_host(d, s);
	else
		draw_device(d, s);
	return store(d);
}

static bool has_stages(const struct sb_memory_pictures_panel *p, int64_t device)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->all[i].by_stage && p->all[i].device == device)
			return true;
	return false;
}

/* The same memory once more, by stage. */
static bool draw_stages(struct drawing *d, int64_t device, const struct sb_series *s)
{
	struct sb_memory_pictures_panel *panel = &d->c->model->memory_pictures;
	bool any, drawn = sb_residency_by_stage(d->c, device, s, &panel->all[panel->count], &any);

	panel->count += any;
	return drawn;
}

bool sb_residency_over_time(struct sb_residency_collected *c)
{
	struct sb_model *m = c->model;
	struct drawing *d = calloc(1, sizeof *d);
	struct sb_memory_pictures_panel by_line = m->memory_pictures; /* they come last */
	const struct sb_series *process = sb_model_series(m, "process", -2);
	bool drawn;

	m->memory_pictures.count = 0;
	m->memory_pictures.all = sb_model_alloc(
		m, (2 * (m->series_count + 1) + by_line.count) * sizeof *m->memory_pictures.all);
	if (d)
		*d = (struct drawing){ .c = c, .row_most = SB_WEIGHTS_MOST + 8 };
	if (d)
		d->rows = calloc(d->row_most, sizeof *d->rows);
	drawn = d && d->rows && m->memory_pictures.all;
	for (size_t i = 0; drawn && i < m->series_count; i++)
		if (sb_residency_is_used_gpu(&m->series[i]))
			drawn = draw(d, m->series[i].device, &m->series[i]) &&
				(has_stages(&by_line, m->series[i].device) ||
					draw_stages(d, m->series[i].device, NULL));
	drawn = drawn && draw(d, -1, process) && draw_stages(d, -1, process);
	for (size_t i = 0; drawn && i < by_line.count; i++)
		m->memory_pictures.all[m->memory_pictures.count++] = by_line.all[i];
	if (d)
		free(d->rows);
	free(d);
	return drawn;
}
