/* sizes: what generations of each size needed, in time and memory, by stage.
 *
 * A memory's own maximum, the allocator's or the kernel's of resident memory, counts where it rose during a generation: one
 * that ran after a larger one in the same process has none. Samples of the processes have no such memory, but may miss a
 * short peak. */
#include "analyze/analysis.h"
#include "analyze/memory/size_peaks.h"
#include "base/error.h"
#include "base/knob.h"
#include "base/memory_units.h"
#include "base/role.h"
#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define GENERATIONS_MOST 2000u
#define SIZES_MOST 64u
#define KEYS_MOST 16u
#define STAGES_MOST 24u

struct asked { /* a generation, and the numbers it carries */
	struct sb_size_span span;
	struct sb_pair values[KEYS_MOST];
	size_t count;
	bool failed;
};

struct collected {
	struct sb_run *run;
	struct sb_model *model;
	struct sb_vec asked; /* struct asked */
	struct sb_size_peaks peaks;
	bool failed;
};

/* ---- collecting ---- */

/* What says where, when or which one it is, and not how large. */
static bool is_size(const char *key)
{
	static const char *const others[] = { "seed", "index", "rank", "step", "device", "pid", "id", "bytes",
		"timestep" };

	if (!strncmp(key, "strobe.", 7) || !strncmp(key, "error", 5) || strstr(key, "_id"))
		return false;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(key, others[i]))
			return false;
	return true;
}

/* num_frames and frames are one; what a generation counted at its end is nearer than what it was asked for. */
static void set_value(struct sb_model *model, struct asked *a, const char *key, double value)
{
	const struct sb_knob *knob = sb_knob_find(key);
	struct sb_pair *p = NULL;

	key = knob ? knob->key : key;
	if (!(value > 0) || !is_size(key))
		return;
	for (size_t i = 0; i < a->count; i++)
		if (!strcmp(a->values[i].key, key))
			p = &a->values[i];
	if (!p && a->count == KEYS_MOST)
		return;
	p = p ? p : &a->values[a->count++];
	*p = (struct sb_pair){ .key = sb_model_text(model, key), .type = STROBE_TYPE_FLOAT, .f = value };
	if (value < 1e15 && value == (double)(int64_t)value) {
		p->type = STROBE_TYPE_INT;
		p->i = (int64_t)value;
	}
}

static void see_generation(struct collected *c, const struct sb_zone *z)
{
	struct asked *a = c->asked.count < GENERATIONS_MOST ? sb_vec_push(&c->asked, sizeof *a) : NULL;

	if (!a) {
		c->failed |= c->asked.count < GENERATIONS_MOST;
		return;
	}
	a->span.begin_ns = z->begin_ns;
	a->span.end_ns = z->end_ns;
	a->span.track = z->track;
	a->span.depth = z->depth;
	a->span.process = c->run->tracks[z->track].process;
	a->failed = z->flags & (SB_ZONE_OPEN | SB_ZONE_CLIPPED);
	for (uint32_t i = 0; i < z->attr_count; i++) {
		const struct sb_run_attr *attr = &z->attrs[i];
		const char *key = attr->key;

		if (!strcmp(key, "error"))
			a->failed = true;
		if (attr->type == STROBE_TYPE_INT)
			set_value(c->model, a, key, (double)attr->i);
		else if (attr->type == STROBE_TYPE_FLOAT)
			set_value(c->model, a, key, attr->f);
	}
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct collected *c = self;

	if (z->role == STROBE_ROLE_GENERATION)
		see_generation(c, z);
	else
		sb_open_stages_add(&c->peaks.stages, z);
}

static void see_event(void *self, const struct sb_event *e)
{
	struct collected *c = self;

	const char *label = c->run->names[e->name].text;

	if (!strcmp(label, SB_MEMORY_READING_DEVICE))
		sb_size_peaks_see(&c->peaks, SB_SIZE_ALLOCATOR, e);
	else if (!strcmp(label, SB_MEMORY_READING_HOST))
		sb_size_peaks_see(&c->peaks, SB_SIZE_HOST, e);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct collected *c = calloc(1, sizeof *c);

	if (!c)
		return sb_fail(STROBE_ENOMEM, "no memory for the generations' sizes");
	c->run = run;
	c->model = model;
	v->self = c;
	v->kinds = 1u << SB_EVENT_SNAPSHOT;
	v->roles = SB_STAGE_ROLES | 1u << STROBE_ROLE_GENERATION | 1u << STROBE_ROLE_STEP |
		   1u << STROBE_ROLE_BLOCK | 1u << STROBE_ROLE_ITERATION | 1u << STROBE_ROLE_LOAD |
		   1u << STROBE_ROLE_OFFLOAD;
	v->only_long = true; /* as open_stages.c keeps them */
	v->zone = see_zone;
	v->event = see_event;
	return 0;
}

/* ---- which generations are of one size ---- */

/* Generations inside one are the same one, marked twice: their numbers are its own where it has none. */
static bool is_inside(const struct asked *a, const struct sb_generation *g)
{
	return (double)a->span.begin_ns / 1e9 >= g->begin_s - 1e-9 &&
	       (double)a->span.end_ns / 1e9 <= g->end_s + 1e-9;
}

/* A generation counts the frames of all its videos; its size is that of one, beside the number of videos. */
static double frames_of_one(const struct asked *a, double frames)
{
	for (size_t i = 0; i < a->count; i++)
		if (!strcmp(a->values[i].key, "videos") && a->values[i].i > 1 &&
			fmod(frames, (double)a->values[i].i) == 0)
			return frames / (double)a->values[i].i;
	return frames;
}

/* The outermost zone of a generation of the report, with what is known of its size; false: it does not count. */
static bool size_of(struct collected *c, const struct sb_generation *g, struct asked *out)
{
	const struct asked *all = c->asked.items, *outer = NULL;

	for (size_t i = 0; i < c->asked.count; i++)
		if (is_inside(&all[i], g) && (!outer || all[i].span.depth < outer->span.depth))
			outer = &all[i];
	if (!outer)
		return false;
	*out = *outer;
	for (size_t i = 0; i < c->asked.count; i++)
		for (size_t k = 0; is_inside(&all[i], g) && &all[i] != outer && k < all[i].count; k++) {
			bool known = false;

			for (size_t n = 0; n < outer->count; n++)
				known |= !strcmp(outer->values[n].key, all[i].values[k].key);
			if (!known)
				set_value(c->model, out, all[i].values[k].key,
					all[i].values[k].type == STROBE_TYPE_INT ? (double)all[i].values[k].i
										 : all[i].values[k].f);
		}
	if (g->frames > 0)
		set_value(c->model, out, "frames", frames_of_one(out, (double)g->frames));
	if (g->steps > 0)
		set_value(c->model, out, "steps", (double)g->steps);
	return out->count > 0;
}

static bool same_values(const struct sb_size *s, const struct asked *a)
{
	size_t same = 0;

	for (size_t i = 0; i < s->attribute_count; i++)
		for (size_t k = 0; k < a->count; k++)
			same += !strcmp(s->attributes[i].key, a->values[k].key) &&
				s->attributes[i].type == a->values[k].type &&
				s->attributes[i].i == a->values[k].i && s->attributes[i].f == a->values[k].f;
	return s->attribute_count == a->count && same == a->count;
}

static struct sb_size *row_of(struct sb_model *model, const struct asked *a)
{
	struct sb_sizes_panel *panel = &model->sizes;
	struct sb_size *s;

	for (size_t i = 0; i < panel->count; i++)
		if (same_values(&panel->all[i], a))
			return &panel->all[i];
	if (panel->count == SIZES_MOST)
		return NULL;
	s = &panel->all[panel->count];
	s->attributes = sb_model_alloc(model, a->count * sizeof *s->attributes);
	s->stages = sb_model_alloc(model, STAGES_MOST * sizeof *s->stages);
	if (!s->attributes || !s->stages)
		return NULL;
	memcpy(s->attributes, a->values, a->count * sizeof *s->attributes);
	s->attribute_count = a->count;
	s->generation_s = s->first_s = NAN;
	s->allocated_bytes = s->reserved_bytes = s->process_bytes = s->rss_bytes = NAN;
	panel->count++;
	return s;
}

/* ---- filling ---- */

static struct sb_size_stage *stage_row(struct sb_model *model, struct sb_size *s, const char *name)
{
	struct sb_size_stage *row;

	for (size_t i = 0; i < s->stage_count; i++)
		if (!strcmp(s->stages[i].stage, name))
			return &s->stages[i];
	if (s->stage_count == STAGES_MOST)
		return NULL;
	row = &s->stages[s->stage_count++];
	*row = (struct sb_size_stage){ sb_model_text(model, name), 0, NAN, NAN, NAN };
	return row;
}

static void add_stages(struct collected *c, const struct asked *a, bool timed, struct sb_size *s)
{
	const struct sb_open_stage *all = c->peaks.stages.all.items;

	for (size_t i = 0; i < c->peaks.stages.all.count; i++) {
		const struct sb_open_stage *z = &all[i];
		double from_s = (double)z->begin_ns / 1e9, to_s = (double)z->end_ns / 1e9;
		struct sb_size_stage *row;

		if (!sb_size_is_stage_of(&a->span, z))
			continue;
		row = stage_row(c->model, s, c->run->names[z->name].text);
		if (!row)
			continue;
		row->total_s += timed ? to_s - from_s : 0;
		sb_size_raise(
			&row->allocated_bytes, sb_size_stage_peak(&c->peaks, SB_SIZE_ALLOCATOR, &a->span, z));
		sb_size_raise(&row->process_bytes,
			sb_size_sampled(c->model, "gpu", "process_memory_mb", from_s, to_s));
		sb_size_raise(&row->rss_bytes, sb_size_sampled(c->model, "process", "rss_mb", from_s, to_s));
		sb_size_raise(&row->rss_bytes, sb_size_stage_peak(&c->peaks, SB_SIZE_HOST, &a->span, z));
	}
}

/* What is known of a generation of the report; of those that failed, that memory ran out. */
struct placed {
	struct asked asked;
	uint32_t size; /* UINT32_MAX: none, or it does not count */
	bool first; /* in its process: cold */
};

static void count_generation(
	struct collected *c, const struct sb_generation *g, struct placed *p, struct sb_size *s)
{
	const struct sb_out_of_memory_panel *out = &c->model->out_of_memory;

	if (out->present && out->t_s >= g->begin_s && out->t_s <= g->end_s)
		s->out_of_memory = true;
	if (p->asked.failed || g->open || g->cut)
		return;
	p->size = (uint32_t)(s - c->model->sizes.all);
	s->count++;
	s->warm_count += !p->first;
}

static void add_generation(
	struct collected *c, const struct sb_generation *g, const struct placed *p, struct sb_size *s)
{
	const struct asked *a = &p->asked;
	double unused = NAN;

	sb_size_raise(&s->allocated_bytes,
		sb_size_risen_peak(&c->peaks, SB_SIZE_ALLOCATOR, &a->span, &s->reserved_bytes));
	sb_size_raise(&s->process_bytes,
		sb_size_sampled(c->model, "gpu", "process_memory_mb", g->begin_s, g->end_s));
	sb_size_raise(&s->rss_bytes, sb_size_sampled(c->model, "process", "rss_mb", g->begin_s, g->end_s));
	sb_size_raise(&s->rss_bytes, sb_size_risen_peak(&c->peaks, SB_SIZE_HOST, &a->span, &unused));
	add_stages(c, a, !p->first || !s->warm_count, s);
}

/* The median over the generations of a size that are, or are not, the first in their process. */
static double median_s(
	const struct sb_model *model, const struct placed *placed, uint32_t at, bool first, double *room)
{
	struct sb_stats stats;
	size_t count = 0;

	for (size_t i = 0; i < model->generations.count; i++)
		if (placed[i].size == at && placed[i].first == first)
			room[count++] = model->generations.all[i].wall_s;
	return count && sb_stats_of(room, count, &stats) == 0 ? stats.median : NAN;
}

static void time_of(
	struct sb_model *model, struct sb_size *s, const struct placed *placed, uint32_t at, double *room)
{
	int64_t timed = s->warm_count ? s->warm_count : s->count;

	s->first_s = median_s(model, placed, at, true, room);
	s->generation_s = s->warm_count ? median_s(model, placed, at, false, room) : s->first_s;
	for (size_t i = 0; i < s->stage_count; i++)
		s->stages[i].total_s /= timed > 0 ? (double)timed : 1;
}

/* The run's tag `model`, else what its generations are called. */
static const char *given_name(const struct sb_model *model)
{
	for (size_t i = 0; i < model->session.tag_count; i++)
		if (!strcmp(model->session.tags[i].key, "model") &&
			model->session.tags[i].type == STROBE_TYPE_STRING)
			return model->session.tags[i].s;
	return model->generations.all[0].name ? model->generations.all[0].name : "generation";
}

/* What the models' weights take together, on all devices and the host, at the moment that has most of them; 0: none are listed. */
static double listed_weights(const struct sb_model *model)
{
	const struct sb_residency *all = model->residency.all;
	double most = 0, sum = 0;

	for (size_t i = 0; i < model->residency.count; i++) {
		sum = 0;
		for (size_t k = 0; k < model->residency.count; k++)
			for (size_t n = 0; n < all[k].part_count && !strcmp(all[k].stage, all[i].stage) &&
					   !strcmp(all[k].at, all[i].at);
				n++)
				sum += strncmp(all[k].parts[n].component, "weights of ", 11)
					       ? 0
					       : all[k].parts[n].bytes;
		most = fmax(most, sum);
	}
	return most;
}

static const char *model_name(struct sb_model *model)
{
	const struct sb_model_panel *p = &model->models;
	const char *name = given_name(model);
	double bytes = 0;
	char text[16];

	if ((!p->present || p->total_parameters <= 0) && listed_weights(model) > 0)
		return sb_model_printf(model, "%s, %.0f MB of weights", name, listed_weights(model) / SB_MB);
	if (!p->present || p->total_parameters <= 0)
		return sb_model_text(model, name);
	for (size_t i = 0; i < p->model_count; i++)
		bytes += p->models[i].bytes > 0 ? p->models[i].bytes : 0;
	sb_parameters_text(p->total_parameters, text);
	return sb_model_printf(model, "%s, %s parameters, %.1f MB", name, text, bytes / SB_MB);
}

/* What it ran on: the GPU that it used, else the CPU. */
static void fill_device(struct sb_model *model)
{
	struct sb_sizes_panel *p = &model->sizes;

	p->model = model_name(model);
	p->frames_of_one = true;
	p->device = "cpu";
	p->vram_total_bytes = NAN;
	p->ram_total_bytes = model->memory.ram_total_bytes;
	for (size_t i = model->devices.count; i-- > 0;) {
		const struct sb_device *d = &model->devices.all[i];
		bool held = d->process_memory_mb.count && d->process_memory_mb.max > 0;

		if (!d->used && !held)
			continue;
		p->device = d->name ? d->name : "gpu";
		p->vram_total_bytes = d->memory_total_mb * SB_MB;
	}
}

/* Whether no generation of its process began earlier, be it one that failed. */
static bool is_first(const struct collected *c, const struct asked *a)
{
	const struct asked *all = c->asked.items;
	uint32_t process = c->run->tracks[a->span.track].process;

	for (size_t i = 0; i < c->asked.count; i++)
		if (c->run->tracks[all[i].span.track].process == process &&
			all[i].span.begin_ns < a->span.begin_ns)
			return false;
	return true;
}

static void fill(struct collected *c, struct sb_model *model, struct placed *placed, double *room)
{
	const struct sb_generations_panel *g = &model->generations;

	for (size_t i = 0; i < g->count; i++) {
		struct placed *p = &placed[i];
		struct sb_size *s = i < GENERATIONS_MOST && size_of(c, &g->all[i], &p->asked)
					    ? row_of(model, &p->asked)
					    : NULL;

		p->size = UINT32_MAX;
		p->first = s && is_first(c, &p->asked);
		if (s)
			count_generation(c, &g->all[i], p, s);
	}
	for (size_t i = 0; i < g->count; i++)
		if (placed[i].size != UINT32_MAX)
			add_generation(c, &g->all[i], &placed[i], &model->sizes.all[placed[i].size]);
	for (size_t i = 0; i < model->sizes.count; i++)
		time_of(model, &model->sizes.all[i], placed, (uint32_t)i, room);
	if (model->sizes.count)
		fill_device(model);
}

static int fill_all(struct collected *c, struct sb_model *model)
{
	size_t count = model->generations.count + 1;
	struct placed *placed = calloc(count, sizeof *placed);
	double *room = malloc(count * sizeof *room);
	int err = 0;

	model->sizes.all = sb_model_alloc(model, SIZES_MOST * sizeof *model->sizes.all);
	if (placed && room && model->sizes.all)
		fill(c, model, placed, room);
	else
		err = sb_fail(STROBE_ENOMEM, "no memory for the generations' sizes");
	free(placed);
	free(room);
	return err;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct collected *c = self;

	(void)run;
	if (c->failed || c->peaks.failed || c->peaks.stages.failed)
		return sb_fail(STROBE_ENOMEM, "no memory for the generations' sizes");
	sb_size_peaks_sort(&c->peaks);
	return model->generations.whole_run || !c->asked.count ? 0 : fill_all(c, model);
}

static void done(void *self)
{
	struct collected *c = self;

	if (!c)
		return;
	sb_vec_done(&c->asked);
	sb_size_peaks_done(&c->peaks);
	free(c);
}

const struct sb_analysis sb_analysis_sizes = {
	.name = "sizes",
	.begin = begin,
	.finish = finish,
	.done = done,
};
