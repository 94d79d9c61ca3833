/* Points for a fit: which sizes there are, which runs count, medians where a size was measured several times. */
#include "compare/fit_points.h"

#include "base/error.h"
#include "base/knob.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_MOST 2000u

/* ---- axes ---- */

static const char *canonical(const char *key)
{
	const struct sb_knob *knob = sb_knob_find(key);

	return knob ? knob->key : key;
}

static double value_of(const struct sb_size *s, const char *key)
{
	for (size_t i = 0; i < s->attribute_count; i++)
		if (!strcmp(s->attributes[i].key, key))
			return s->attributes[i].type == STROBE_TYPE_INT ? (double)s->attributes[i].i
									: s->attributes[i].f;
	return NAN;
}

static bool has_axis(const struct sb_fit_points *p, const char *key)
{
	for (size_t i = 0; i < p->axis_count; i++)
		if (!strcmp(p->axes[i].key, key))
			return true;
	return false;
}

static int add_axis(struct sb_fit_points *p, const char *key, double value, bool asked)
{
	if (has_axis(p, key))
		return asked ? sb_fail(STROBE_EINVAL, "'%s' is given twice", key) : 0;
	if (p->axis_count == SB_SURFACE_AXES)
		return sb_fail(STROBE_EINVAL, "fit takes at most %d sizes at once", SB_SURFACE_AXES);
	p->axes[p->axis_count++] = (struct sb_fit_axis){
		.key = key, .value = value, .asked = asked, .least = INFINITY, .most = -INFINITY
	};
	return 0;
}

static int not_carried(const struct sb_facts *run, const struct sb_size *base, const char *key)
{
	char text[256];
	size_t n = 0;

	for (size_t i = 0; i < base->attribute_count && n < sizeof text - 1; i++)
		n += (size_t)snprintf(
			text + n, sizeof text - n, "%s%s", i ? ", " : "", base->attributes[i].key);
	return sb_fail(
		STROBE_EINVAL, "the generations of '%s' carry no '%s': they carry %s", run->label, key, text);
}

/* What was not asked for and may matter stays as it is in the run. Tokens and latent frames follow from other sizes: the two
 * are not mixed. */
static int choose_axes(struct sb_fit_points *p, const struct sb_facts *run, const struct sb_size *base,
	const struct sb_fit_request *r)
{
	static const char *const usual[] = { "frames", "width", "height", "steps", "iters", "batch",
		"videos" };
	bool derived;
	int err = 0;

	for (size_t i = 0; i < r->count && !err; i++) {
		const char *key = canonical(r->keys[i]);

		if (!(r->values[i] > 0) || !isfinite(r->values[i]))
			err = sb_fail(STROBE_EINVAL, "'%s' needs a number above 0", r->keys[i]);
		else if (isnan(value_of(base, key)))
			err = not_carried(run, base, r->keys[i]);
		else
			err = add_axis(p, key, r->values[i], true);
	}
	derived = has_axis(p, "tokens") || has_axis(p, "latent_frames");
	for (size_t i = derived ? 3 : 0; i < sizeof usual / sizeof *usual && !err; i++)
		if (!isnan(value_of(base, usual[i])) && p->axis_count < SB_SURFACE_AXES)
			err = add_axis(p, usual[i], value_of(base, usual[i]), false);
	return err;
}

/* ---- which runs count ---- */

/* Parameters or weights, where they are known, tell models of one name apart; else the run's name is the same as well. */
static bool is_same_model(const struct sb_facts *run, const struct sb_facts *other)
{
	const char *a = run->sizes.model, *b = other->sizes.model;
	size_t name_size = strcspn(a, ",");
	bool known = a[name_size] && strchr(b, ',');
	bool same = known ? !strcmp(a, b)
			  : !strcmp(run->name, other->name) && strcspn(b, ",") == name_size &&
				    !strncmp(a, b, name_size);

	return same && !strcmp(run->host, other->host) && !strcmp(run->sizes.device, other->sizes.device);
}

/* The history's session has the run's id, name and start; without an id the latter two tell. */
static bool is_itself(const struct sb_facts *run, const struct sb_facts *other)
{
	if (*run->id)
		return !strncmp(other->id, run->id, strlen(run->id));
	return other->start_real_ns == run->start_real_ns && !strcmp(other->name, run->name);
}

static double memory_in(const struct sb_fit_points *p, double allocated, double process, double rss)
{
	return !p->memory_of                        ? NAN
	       : !strcmp(p->memory_of, "allocated") ? allocated
	       : !strcmp(p->memory_of, "process")   ? process
						    : rss;
}

static void choose_memory(struct sb_fit_points *p, const struct sb_facts *run)
{
	bool allocated = false, process = false, rss = false;

	for (size_t i = 0; i < run->sizes.count; i++) {
		allocated |= run->sizes.all[i].allocated_bytes > 0;
		process |= run->sizes.all[i].process_bytes > 0;
		rss |= run->sizes.all[i].rss_bytes > 0;
	}
	p->memory_of = allocated ? "allocated" : process ? "process" : rss ? "host" : NULL;
}

static void choose_stages(struct sb_fit_points *p, const struct sb_size *base)
{
	for (size_t i = 0; i < base->stage_count && p->stage_count < SB_FIT_STAGES; i++)
		p->stages[p->stage_count++] = base->stages[i].stage;
}

/* ---- points ---- */

static void take_stages(const struct sb_fit_points *p, const struct sb_size *s, struct sb_fit_point *out)
{
	for (size_t i = 0; i < p->stage_count; i++) {
		out->stage_s[i] = out->stage_bytes[i] = NAN;
		for (size_t k = 0; k < s->stage_count; k++) {
			const struct sb_size_stage *from = &s->stages[k];

			if (strcmp(from->stage, p->stages[i]))
				continue;
			out->stage_s[i] = from->total_s;
			out->stage_bytes[i] = memory_in(
				p, from->allocated_bytes, from->process_bytes, from->rss_bytes);
		}
	}
}

/* A size that is no larger and ran out of memory settles the question. */
static void see_failure(struct sb_fit_points *p, const struct sb_facts *from, const struct sb_size *s)
{
	for (size_t i = 0; i < p->axis_count; i++)
		if (!(value_of(s, p->axes[i].key) <= p->axes[i].value))
			return;
	p->ran_out = *from->name ? from->name : from->label;
}

/* Only as the first of a process: older reports do not say it. */
static bool is_cold(const struct sb_size *s)
{
	return s->first_s > 0 && s->warm_count <= 0;
}

/* Older reports added up the frames of all videos of a generation: their size is not what they say. */
static bool has_summed_frames(
	const struct sb_fit_points *p, const struct sb_facts *from, const struct sb_size *s)
{
	return !from->sizes.frames_of_one && value_of(s, "videos") > 1 && has_axis(p, "frames");
}

static bool take_run(struct sb_fit_points *p, const struct sb_facts *from, struct sb_vec *raw)
{
	bool counts = false;

	for (size_t i = 0; i < from->sizes.count && raw->count < POINTS_MOST; i++) {
		const struct sb_size *s = &from->sizes.all[i];
		struct sb_fit_point *point;
		bool known = s->count > 0 && s->generation_s > 0;

		if (has_summed_frames(p, from, s)) {
			p->summed_count++;
			continue;
		}
		if (s->out_of_memory)
			see_failure(p, from, s);
		for (size_t k = 0; k < p->axis_count; k++)
			known &= value_of(s, p->axes[k].key) > 0;
		if (!known)
			continue;
		point = sb_vec_push(raw, sizeof *point);
		if (!point)
			return false;
		for (size_t k = 0; k < p->axis_count; k++)
			point->x[k] = value_of(s, p->axes[k].key);
		point->first_s = s->first_s > 0 ? s->first_s : NAN;
		point->time_s = is_cold(s) ? NAN : s->generation_s;
		point->memory_bytes = memory_in(p, s->allocated_bytes, s->process_bytes, s->rss_bytes);
		take_stages(p, s, point);
		counts = true;
	}
	p->run_count += counts;
	return true;
}

static bool take_runs(struct sb_fit_points *p, const struct sb_facts *run,
	const struct sb_facts *const *others, size_t other_count, struct sb_vec *raw)
{
	bool taken = take_run(p, run, raw);

	for (size_t i = 0; i < other_count && taken; i++) {
		const struct sb_facts *o = others[i];

		if (o == run || is_itself(run, o) || !o->sizes.count)
			continue;
		if (is_same_model(run, o)) {
			taken = take_run(p, o, raw);
			continue;
		}
		p->other_count++;
		p->other_model = p->other_model ? p->other_model : o->sizes.model;
	}
	return taken;
}

/* Stages' times of cold generations are not mixed with warm ones. */
static void leave_cold_stages(const struct sb_fit_points *p, struct sb_vec *raw)
{
	struct sb_fit_point *all = raw->items;
	bool any = false;

	for (size_t i = 0; i < raw->count; i++)
		any |= all[i].time_s > 0;
	for (size_t i = 0; any && i < raw->count; i++)
		for (size_t k = 0; k < p->stage_count && !(all[i].time_s > 0); k++)
			all[i].stage_s[k] = NAN;
}

/* ---- one point for each size ---- */

static int by_x(const void *a, const void *b)
{
	const struct sb_fit_point *x = a, *y = b;

	for (size_t i = 0; i < SB_SURFACE_AXES; i++)
		if (x->x[i] != y->x[i])
			return x->x[i] < y->x[i] ? -1 : 1;
	return 0;
}

/* The median of a member over points of one size, without those that do not know it. */
static double median_of(const struct sb_fit_point *points, size_t count, size_t offset, double *room)
{
	struct sb_stats stats;
	size_t known = 0;

	for (size_t i = 0; i < count; i++) {
		double value = *(const double *)((const char *)&points[i] + offset);

		if (isfinite(value))
			room[known++] = value;
	}
	return known && sb_stats_of(room, known, &stats) == 0 ? stats.median : NAN;
}

static struct sb_fit_point median_point(
	const struct sb_fit_points *p, const struct sb_fit_point *points, size_t count, double *room)
{
	struct sb_fit_point m = points[0];

	m.time_s = median_of(points, count, offsetof(struct sb_fit_point, time_s), room);
	m.first_s = median_of(points, count, offsetof(struct sb_fit_point, first_s), room);
	m.memory_bytes = median_of(points, count, offsetof(struct sb_fit_point, memory_bytes), room);
	for (size_t i = 0; i < p->stage_count; i++) {
		m.stage_s[i] = median_of(
			points, count, offsetof(struct sb_fit_point, stage_s) + i * sizeof(double), room);
		m.stage_bytes[i] = median_of(
			points, count, offsetof(struct sb_fit_point, stage_bytes) + i * sizeof(double), room);
	}
	return m;
}

static bool merge(struct sb_fit_points *p, struct sb_vec *raw)
{
	struct sb_fit_point *all = raw->items;
	double *room = malloc((raw->count + 1) * sizeof *room);

	p->all = malloc((SB_SURFACE_POINTS + 1) * sizeof *p->all);
	if (!room || !p->all) {
		free(room);
		return false;
	}
	leave_cold_stages(p, raw);
	if (raw->count)
		qsort(all, raw->count, sizeof *all, by_x);
	for (size_t i = 0, n; i < raw->count && p->count < SB_SURFACE_POINTS; i += n) {
		for (n = 1; i + n < raw->count && !by_x(&all[i], &all[i + n]); n++)
			;
		p->all[p->count++] = median_point(p, &all[i], n, room);
	}
	free(room);
	return true;
}

static void look_at_axes(struct sb_fit_points *p)
{
	for (size_t k = 0; k < p->axis_count; k++)
		for (size_t i = 0; i < p->count; i++) {
			struct sb_fit_axis *a = &p->axes[k];
			bool seen = false;

			for (size_t n = 0; n < i; n++)
				seen |= p->all[n].x[k] == p->all[i].x[k];
			a->seen_count += !seen;
			a->least = fmin(a->least, p->all[i].x[k]);
			a->most = fmax(a->most, p->all[i].x[k]);
		}
}

/* What the device has in use beside the allocator: the largest size of the run tells. */
static void find_context(struct sb_fit_points *p, const struct sb_facts *run)
{
	for (size_t i = 0; p->memory_of && !strcmp(p->memory_of, "allocated") && i < run->sizes.count; i++) {
		const struct sb_size *s = &run->sizes.all[i];

		if (s->process_bytes > s->reserved_bytes && s->reserved_bytes > 0)
			p->context_bytes = fmax(p->context_bytes, s->process_bytes - s->reserved_bytes);
	}
}

int sb_fit_points_take(struct sb_fit_points *p, const struct sb_facts *run,
	const struct sb_facts *const *others, size_t other_count, const struct sb_fit_request *request)
{
	const struct sb_size *base = NULL;
	struct sb_vec raw = { 0 };
	int err;

	*p = (struct sb_fit_points){ 0 };
	for (size_t i = 0; i < run->sizes.count; i++)
		if (run->sizes.all[i].count > 0 || !base)
			base = &run->sizes.all[i];
	if (!base)
		return sb_fail(STROBE_EINVAL,
			"'%s' has no generation that carries a size: mark it with "
			"strobe.generation(frames=..., "
			"width=...)",
			run->label);
	err = choose_axes(p, run, base, request);
	if (err)
		return err;
	choose_memory(p, run);
	choose_stages(p, base);
	if (!take_runs(p, run, others, other_count, &raw) || !merge(p, &raw))
		err = sb_fail(STROBE_ENOMEM, "no memory for a fit");
	sb_vec_done(&raw);
	if (err) {
		sb_fit_points_done(p);
		return err;
	}
	look_at_axes(p);
	find_context(p, run);
	return 0;
}

void sb_fit_points_done(struct sb_fit_points *p)
{
	free(p->all);
	p->all = NULL;
}
