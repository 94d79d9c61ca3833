/* Stages and what repeats, as facts: their times are copied, call by call where the model has them. */
#include "compare/model_facts.h"

#include "base/error.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

/* Iterations by name, role and count, to find a stage's among tens of thousands. */
static uint64_t iterations_key(const char *name, uint32_t role, int64_t count)
{
	uint64_t hash = 14695981039346656037u ^ role ^ (uint64_t)count << 8;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 1099511628211u;
	return hash;
}

static bool index_iterations(const struct sb_model *m, struct sb_map *out_index)
{
	for (size_t i = m->iterations.count; i-- > 0;) { /* the first of a name stays */
		const struct sb_iterations *it = &m->iterations.all[i];

		if (!sb_map_put(out_index, iterations_key(it->name, it->role, it->all.count), (uint32_t)i))
			return false;
	}
	return true;
}

static const struct sb_iterations *iterations_of(
	const struct sb_model *m, const struct sb_map *index, const struct sb_stage *s)
{
	const struct sb_iterations *it;
	uint32_t at;

	if (!sb_map_get(index, iterations_key(s->name, s->role, s->count), &at))
		return NULL;
	it = &m->iterations.all[at];
	return it->role == s->role && !strcmp(it->name, s->name) && it->all.count == s->count ? it : NULL;
}

/* What one call has of it. Of an import that sums calls up, the one zone has the sum of a count. */
static double attr_of_a_call(const struct sb_stage *s, const struct sb_stage_attr *a)
{
	bool sum_of_calls = a->count == 1 && s->count > 1 && sb_stage_attr_is_count(a->key);

	return sum_of_calls ? a->sum / (double)s->count : a->last;
}

/* Of a report that was read back: one value each. */
static int take_written_attrs(struct sb_facts *f, struct sb_fact_stage *to, const struct sb_stage *s)
{
	to->attrs = calloc(s->attribute_count, sizeof *to->attrs);
	if (!to->attrs)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	for (size_t i = 0; i < s->attribute_count; i++) {
		struct sb_pair *p = &to->attrs[to->attr_count++];

		*p = s->attributes[i];
		p->key = sb_facts_text(f, p->key);
		p->s = sb_facts_text(f, p->s);
		if (p->type == STROBE_TYPE_INT) {
			p->type = STROBE_TYPE_FLOAT;
			p->f = (double)p->i;
		}
		if (p->type == STROBE_TYPE_FLOAT && s->count > 1 && sb_stage_attr_is_count(p->key))
			p->f /= (double)s->count;
	}
	return 0;
}

static int take_attrs(struct sb_facts *f, struct sb_fact_stage *to, const struct sb_stage *s)
{
	if (!s->attr_count && s->attribute_count)
		return take_written_attrs(f, to, s);
	if (!s->attr_count)
		return 0;
	to->attrs = calloc(s->attr_count, sizeof *to->attrs);
	if (!to->attrs)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	for (size_t i = 0; i < s->attr_count; i++) {
		const struct sb_stage_attr *a = &s->attrs[i];
		struct sb_pair *p = &to->attrs[to->attr_count];

		/* a value that differs from call to call is data, not configuration */
		if (!a->text && a->count > 1 && a->min != a->max)
			continue;
		p->key = sb_facts_text(f, a->key);
		p->type = a->text ? STROBE_TYPE_STRING : STROBE_TYPE_FLOAT;
		p->f = attr_of_a_call(s, a);
		p->s = sb_facts_text(f, a->text);
		to->attr_count++;
	}
	return 0;
}

static const double *take_numbers(double **numbers, const double *values, size_t count)
{
	double *taken = *numbers;

	memcpy(taken, values, count * sizeof *taken);
	*numbers += count;
	return taken;
}

#define MOVED_LEAST 0.02 /* of the stage's time */

/* Where the CPU ran ahead of the GPU its times of single calls say how long launching took: they are no sample of the time
 * that passed. */
static bool is_launch_time(const struct sb_stage *s)
{
	return fabs(s->moved_s) > MOVED_LEAST * s->covered_s;
}

/* Calls are put into the proportion that all of them have. */
static void take_real_time(const struct sb_stage *s, struct sb_fact_stage *to)
{
	double ratio = s->covered_s > 0 ? sb_stage_real_s(s) / s->covered_s : 1;

	to->total_s *= ratio;
	to->covered_s *= ratio;
	to->self_s = sb_stage_worked_s(s);
	for (double *const *of = (double *const[]){ &to->time.total, &to->time.mean, &to->time.min,
		     &to->time.max, &to->time.p50, &to->time.p95, &to->time.p99, &to->time.last,
		     &to->time.std, NULL };
		*of; of++)
		**of *= ratio;
}

static bool has_stage(const struct sb_facts *f, const char *name)
{
	for (size_t i = 0; i < f->stage_count; i++)
		if (!strcmp(f->stages[i].name, name))
			return true;
	return false;
}

/* What has a mean of its own beside the stages. */
static void add_mean(struct sb_facts *f, const char *name, const struct sb_stats *time)
{
	if (isnan(time->mean) || !name || has_stage(f, name))
		return;
	f->stages[f->stage_count++] = (struct sb_fact_stage){ .name = sb_facts_text(f, name),
		.parent = -1,
		.count = 1,
		.total_s = time->mean,
		.self_s = time->mean,
		.is_mean = true,
		.aside = true,
		.first_s = NAN,
		.time = *time,
		.gpu_span_s = NAN,
		.gpu_busy_s = NAN };
}

static bool any_aside(const struct sb_model *m)
{
	for (size_t i = 0; i < m->iterations.count; i++)
		if (m->iterations.all[i].aside)
			return true;
	return false;
}

/* A precision that a text names ("FP16: 28.45 ms") compares as a stage. In a recording its calls are inside stages. */
static void take_variants(struct sb_facts *f, const struct sb_model *m)
{
	if (m->stages.stage_count && !m->models.summed_blocks && !any_aside(m))
		return;
	for (size_t i = 0; i < m->models.variant_count; i++)
		add_mean(f, m->models.variants[i].name, &m->models.variants[i].time);
}

/* Without its layers, the call that was benchmarked is a stage already. */
static void take_asides(struct sb_facts *f, const struct sb_model *m)
{
	for (size_t i = 0; i < m->iterations.count; i++)
		if (m->iterations.all[i].aside && m->stages.stage_count > 1)
			add_mean(f, m->iterations.all[i].name, &m->iterations.all[i].all);
}

static int take_stages(struct sb_facts *f, const struct sb_model *m, double **numbers)
{
	struct sb_map index = { 0 };
	int err = 0;

	f->of_means = m->models.summed_blocks || any_aside(m);
	f->stages = calloc(
		m->stages.stage_count + m->models.variant_count + m->iterations.count + 1, sizeof *f->stages);
	if (!f->stages || !index_iterations(m, &index)) {
		sb_map_done(&index);
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	}
	for (size_t i = 0; i < m->stages.stage_count && !err; i++) {
		const struct sb_stage *s = &m->stages.stages[i];
		const struct sb_iterations *it = iterations_of(m, &index, s);
		bool timed = s->state != SB_STAGE_SKIPPED && s->state != SB_STAGE_UNTIMED;
		struct sb_fact_stage *to = &f->stages[f->stage_count++];

		*to = (struct sb_fact_stage){ .name = sb_facts_text(f, s->name),
			.code = sb_facts_text(f, s->code),
			.parent = s->parent,
			.depth = s->depth,
			.role = s->role,
			.state = s->state,
			.reason = sb_facts_text(f, s->skip_reason),
			.count = s->count,
			.total_s = timed ? s->total_s : NAN,
			.is_mean = s->role == STROBE_ROLE_LAYER && m->models.summed_blocks,
			.covered_s = timed ? s->covered_s : 0,
			.in_turn_s = timed ? sb_stage_in_turn_s(m, s) : 0,
			.other_thread = s->other_thread,
			.first_s = s->first_s,
			.self_s = timed ? s->self_s : NAN,
			.time = s->time,
			.gpu_span_s = s->gpu_span_s,
			.gpu_busy_s = s->gpu_busy_s };
		to->value_count = is_launch_time(s) ? 0 : s->sample_count;
		if (to->value_count)
			to->values = take_numbers(numbers, s->sample_s, s->sample_count);
		else if (it && it->sample_count)
			to->values = take_numbers(numbers, it->sample_s, it->sample_count);
		to->value_count = to->value_count ? to->value_count : it ? it->sample_count : 0;
		if (timed && is_launch_time(s))
			take_real_time(s, to);
		err = take_attrs(f, to, s);
	}
	sb_map_done(&index);
	take_variants(f, m);
	take_asides(f, m);
	return err ? err : sb_facts_key_stages(f);
}

/* The model's histograms go with it: copies stay. */
static int take_histograms(struct sb_facts *f, const struct sb_model *m)
{
	f->histograms = calloc(m->stages.stage_count + 1, sizeof *f->histograms);
	if (!f->histograms)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	for (size_t i = 0; i < m->stages.stage_count; i++) {
		const struct sb_histogram *calls = m->stages.stages[i].calls;
		struct sb_histogram *to = &f->histograms[f->histogram_count];

		if (!calls)
			continue;
		f->histogram_count++;
		if (!sb_histogram_merge(to, calls))
			return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
		f->stages[i].calls = to;
	}
	return 0;
}

static void take_repetitions(struct sb_facts *f, const struct sb_model *m, double **numbers)
{
	f->generation_s = *numbers;
	for (size_t i = 0; i < m->generations.listed; i++)
		if (!m->generations.all[i].state)
			(*numbers)[f->generation_count++] = m->generations.all[i].wall_s;
	*numbers += f->generation_count;
	for (size_t i = 0; i < m->iterations.count; i++) {
		const struct sb_iterations *it = &m->iterations.all[i];

		if (it->role != STROBE_ROLE_STEP || it->sample_count <= f->step_count)
			continue;
		f->step_s = take_numbers(numbers, it->sample_s, it->sample_count);
		f->step_sum_s = it->sample_sum_s ? take_numbers(numbers, it->sample_sum_s, it->sample_count)
						 : NULL;
		f->step_count = it->sample_count;
		f->step_stride = it->sample_stride ? it->sample_stride : 1;
		f->step_of = it->sample_of ? it->sample_of : it->sample_count;
	}
}

/* Room for all times that are copied. */
static int make_numbers(struct sb_facts *f, const struct sb_model *m)
{
	size_t count = m->generations.listed;

	for (size_t i = 0; i < m->iterations.count; i++)
		count += 3 * m->iterations.all[i].sample_count;
	for (size_t i = 0; i < m->stages.stage_count; i++)
		count += m->stages.stages[i].sample_count;
	f->numbers = malloc((count + 1) * sizeof *f->numbers);
	return f->numbers ? 0 : sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
}

int sb_facts_take_stages(struct sb_facts *f, const struct sb_model *m)
{
	int err = make_numbers(f, m);
	double *next = f->numbers;

	if (err)
		return err;
	take_repetitions(f, m, &next);
	err = take_stages(f, m, &next);
	return err ? err : take_histograms(f, m);
}
