/* What a finding costs the generations, and how urgent that makes it. */
#include "advise/weigh.h"

#include <stdio.h>
#include <string.h>

#define SHARE_HIGH 0.20
#define SHARE_MEDIUM 0.07

double sb_weigh_work_s(const struct sb_model *model)
{
	const struct sb_generations_panel *g = &model->generations;
	double sum_s = 0;

	for (size_t i = g->count >= SB_WARM_LEAST ? 1 : 0; !g->whole_run && i < g->count; i++)
		sum_s += g->all[i].machine_s > 0 ? g->all[i].machine_s : g->all[i].wall_s;
	if (sum_s > 0)
		return sum_s;
	if (g->whole_run && model->summary.judged_s > 0)
		return model->summary.judged_s;
	return model->summary.generation_s > 0 ? model->summary.generation_s : model->stages.wall_s;
}

bool sb_weigh_leaves_first_out(const struct sb_model *model)
{
	return !model->generations.whole_run && model->generations.count >= SB_WARM_LEAST;
}

const char *sb_weigh_words(const struct sb_model *model)
{
	if (!model->generations.whole_run)
		return sb_weigh_leaves_first_out(model) ? "the warm generations" : "the generations";
	return isfinite(model->stages.startup_end_s) ? "the time after the start-up" : "the run";
}

double sb_weigh_percent(const struct sb_model *model, double seconds)
{
	return fmin(100, seconds / sb_weigh_work_s(model) * 100);
}

double sb_weigh_warm_share(const struct sb_model *model)
{
	double count = (double)model->generations.count;

	return sb_weigh_leaves_first_out(model) ? (count - 1) / count : 1;
}

double sb_weigh_traced_steps(const struct sb_model *model)
{
	for (size_t i = 0; sb_weigh_traced(model) && i < model->system.setting_count; i++) {
		const struct sb_pair *p = &model->system.settings[i];
		unsigned steps;

		if (strcmp(p->key, "gpu_trace") == 0 && p->s && sscanf(p->s, "steps:%u", &steps) == 1)
			return steps;
	}
	return NAN;
}

static const struct sb_iterations *steps_of(const struct sb_model *model)
{
	for (size_t i = 0; i < model->iterations.count; i++)
		if (model->iterations.all[i].role == STROBE_ROLE_STEP)
			return &model->iterations.all[i];
	return NULL;
}

static const struct sb_stage *traced_step(const struct sb_model *model)
{
	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (s->role == STROBE_ROLE_STEP && s->gpu_busy_s > 0)
			return s;
	}
	return NULL;
}

/* What waits between two steps stands in the stage around them, beside its other parts. */
static void add_between(
	const struct sb_model *model, const struct sb_stage *step, double *count, double *wait_s)
{
	const struct sb_stage *all = model->stages.stages;

	if (step->parent < 0)
		return;
	*count += (double)all[step->parent].gpu_read_count;
	*wait_s += all[step->parent].gpu_read_s;
	for (size_t i = 0; i < model->stages.stage_count; i++) {
		if (all[i].parent != step->parent)
			continue;
		*count -= (double)all[i].gpu_read_count;
		*wait_s -= all[i].gpu_read_s;
	}
}

#define RARE 0.02 /* of the steps: so few slow ones are a finding of their own, slow_steps */

/* The mean of the warm steps, without the few that something stopped. */
static double steady_s(const struct sb_iterations *steps)
{
	const struct sb_stats *warm = steps->warm.count ? &steps->warm : &steps->all;
	double total_s = warm->mean * (double)warm->count;

	if ((double)steps->outlier_count > fmax(1, RARE * (double)warm->count) ||
		(int64_t)steps->outlier_listed != steps->outlier_count)
		return warm->mean;
	for (size_t i = 0; i < steps->outlier_listed; i++)
		if (steps->outliers[i].warm)
			total_s -= steps->outliers[i].duration_s - steps->outliers[i].peer_s;
	return total_s / (double)warm->count;
}

/* What was asked for is not known of a video that failed or has not ended. */
static bool has_size(const struct sb_generation *g)
{
	return !g->state && (g->frames > 0 || g->width > 0);
}

static bool is_of_one_size(const struct sb_generation *a, const struct sb_generation *b)
{
	return a->frames == b->frames && a->width == b->width && a->height == b->height;
}

static bool sizes_differ(const struct sb_model *model)
{
	const struct sb_generations_panel *g = &model->generations;
	const struct sb_generation *first = NULL;

	for (size_t i = 0; !g->whole_run && i < g->count; i++) {
		if (!has_size(&g->all[i]))
			continue;
		first = first ? first : &g->all[i];
		if (!is_of_one_size(first, &g->all[i]))
			return true;
	}
	return false;
}

/* Of a loop with a cache: as many steps that it served, and that it did not, as were traced. NAN: there is no such loop, or
 * of one kind no step is known. */
static double mix_of_traced_s(const struct sb_diffusion_panel *d)
{
	double served = d->traced_steps > 0 ? (double)d->traced_cached_steps / (double)d->traced_steps : NAN;

	if (d->cached_steps <= 0 || d->cached_steps == d->step.count)
		return NAN;
	return served * d->cached_step.mean + (1 - served) * d->warm_step.mean;
}

/* What a step took that is like the traced ones: where a cache serves some, as many of them; where the videos differ in
 * size, a step of the traced video. */
static double like_traced_s(const struct sb_model *model, const struct sb_iterations *steps)
{
	const struct sb_generation *all = model->generations.all;
	double mix_s = mix_of_traced_s(&model->diffusion);
	double at_s = model->gpu.trace_count && sizes_differ(model) ? model->gpu.traces[0].t_s : NAN;

	for (size_t i = 0; i < model->generations.count; i++)
		if (at_s >= all[i].begin_s && at_s <= all[i].end_s && all[i].step_median_s > 0)
			return all[i].step_median_s;
	return mix_s > 0 ? mix_s : steady_s(steps);
}

bool sb_weigh_step(const struct sb_model *model, struct sb_weigh_step *out_step)
{
	const struct sb_iterations *steps = steps_of(model);
	const struct sb_stage *s = traced_step(model);
	double traced = sb_weigh_traced_steps(model), kernels = 0, reads, read_s;

	if (!steps || !s || !(traced > 0))
		return false;
	reads = (double)s->gpu_read_count;
	read_s = s->gpu_read_s;
	add_between(model, s, &reads, &read_s);
	for (size_t i = 0; i < s->kernel_share_count; i++)
		kernels += (double)s->kernels[i].count;
	*out_step = (struct sb_weigh_step){ .traced_count = traced,
		.warm_count = (double)steps->all.count * sb_weigh_warm_share(model),
		.took_s = like_traced_s(model, steps),
		.busy_s = s->gpu_busy_s / traced,
		.kernel_count = kernels / traced,
		.read_count = reads / traced,
		.read_s = fmax(0, read_s) / traced };
	return out_step->took_s > 0;
}

double sb_weigh_step_busy(const struct sb_model *model)
{
	struct sb_weigh_step step;

	return sb_weigh_step(model, &step) ? fmin(1, step.busy_s / step.took_s) : NAN;
}

double sb_weigh_warm_step_ratio(const struct sb_model *model)
{
	const struct sb_diffusion_panel *d = &model->diffusion;

	if (!d->present || !d->warm_step.count || !(d->step.mean > 0))
		return 1;
	return fmin(1, d->warm_step.mean / d->step.mean);
}

/* ---- what was not traced -------------------------------------------------- */

static const struct sb_stage *above(const struct sb_model *model, const struct sb_stage *s)
{
	return s->parent >= 0 ? &model->stages.stages[s->parent] : NULL;
}

double sb_weigh_calls_per_traced(const struct sb_model *model, const struct sb_stage *stage)
{
	const struct sb_stage *outer = stage, *up;
	double traced = sb_weigh_traced_steps(model);

	if (!(traced > 0))
		return 1;
	while (outer->role != STROBE_ROLE_STEP && (up = above(model, outer)) &&
		up->role != STROBE_ROLE_GENERATION)
		outer = up;
	if (outer->role != STROBE_ROLE_STEP)
		traced = fmax(
			1, (double)outer
				   ->gpu_call_count); /* with few steps it goes on into the next generation */
	return fmax(1, (double)sb_stage_calls(outer) / traced);
}

double sb_weigh_gpu_s(const struct sb_stage *s)
{
	if (s->gpu_span_s > 0 && s->gpu_span_count > 0)
		return s->gpu_span_s * (double)sb_stage_calls(s) / (double)s->gpu_span_count;
	return s->covered_s;
}

bool sb_weigh_is_warm(const struct sb_model *model, double t_s)
{
	const struct sb_generations_panel *g = &model->generations;
	size_t first = g->count >= SB_WARM_LEAST ? 1 : 0;

	if (g->whole_run && isfinite(model->stages.startup_end_s))
		return t_s >= model->stages.startup_end_s && t_s <= model->stages.work_end_s;
	return g->count && t_s >= g->all[first].begin_s && t_s <= g->all[g->count - 1].end_s;
}

/* Of the column, as a part of a hundred, on the device that has most of it. */
static double warm_mean(const struct sb_model *model, const char *source, const char *column)
{
	double most = NAN;

	for (size_t i = 0; i < model->series_count; i++) {
		const struct sb_series *s = &model->series[i];
		const struct sb_series_column *c = strcmp(s->source, source) == 0
							   ? sb_series_column_find(s, column)
							   : NULL;
		double sum = 0, count = 0;

		for (size_t k = 0; c && k < s->count; k++) {
			bool counts = sb_weigh_is_warm(model, s->t_s[k]) && !isnan(c->values[k]);

			sum += counts ? c->values[k] : 0;
			count += counts;
		}
		most = count > 0 ? fmax(isnan(most) ? 0 : most, sum / count / 100) : most;
	}
	return most;
}

double sb_weigh_utilization(const struct sb_model *model)
{
	return model->roofline.on_cpu ? NAN : warm_mean(model, "gpu", "utilization_percent");
}

double sb_weigh_others(const struct sb_model *model)
{
	return warm_mean(model, "gpu", "others_utilization_percent");
}

double sb_weigh_process(const struct sb_model *model)
{
	return warm_mean(model, "cpu", "process_percent");
}

#define AHEAD 1.2 /* times as long as the CPU took: the GPU was behind, by its own events */

double sb_weigh_behind_s(const struct sb_model *model)
{
	const struct sb_stage *all = model->stages.stages;
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &all[i];
		bool outer = s->parent >= 0 && all[s->parent].role == STROBE_ROLE_GENERATION;

		if (outer && !s->span && s->count > 0 && s->gpu_span_count == s->count &&
			s->gpu_span_s > AHEAD * s->total_s)
			sum_s += s->gpu_span_s;
	}
	return fmin(sum_s, model->summary.generation_s > 0 ? model->summary.generation_s : 0);
}

double sb_weigh_own_ratio(const struct sb_stage *s)
{
	return s->covered_s > 0 ? sb_stage_real_s(s) / s->covered_s : 1;
}

#define LATE_LEAST \
	0.1 /* of the GPU's warm time of a stage: less is the way from the last launch to its end */

static double warm_span_s(const struct sb_stage *s)
{
	return fmax(0, s->gpu_span_s - sb_stage_cold_s(s));
}

/* The CPU leaves the stage while the GPU is still at it: launching is not what holds it up. */
static bool is_launched_ahead(const struct sb_model *model, const struct sb_stage *s)
{
	bool counts = model->generations.whole_run ? !s->setup : s->in_generation;

	return counts && !s->span && s->role != STROBE_ROLE_GENERATION && s->count > 0 &&
	       s->gpu_span_count == s->count && s->gpu_late_s > LATE_LEAST * warm_span_s(s);
}

static bool is_inside_one_ahead(const struct sb_model *model, const struct sb_stage *s)
{
	while ((s = above(model, s)))
		if (is_launched_ahead(model, s))
			return true;
	return false;
}

double sb_weigh_ahead_ratio(const struct sb_model *model)
{
	double ahead_s = 0, cold_s = 0, warm_s = sb_weigh_work_s(model);

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (!is_launched_ahead(model, s) || is_inside_one_ahead(model, s))
			continue;
		ahead_s += warm_span_s(s);
		cold_s += sb_stage_cold_s(s);
	}
	if (!sb_weigh_leaves_first_out(model))
		warm_s -= cold_s;
	return warm_s > 0 ? fmin(1, ahead_s * sb_weigh_warm_share(model) / warm_s) : 0;
}

bool sb_weigh_moves_weights(const struct sb_stage *s)
{
	return s->role == STROBE_ROLE_OFFLOAD || s->role == STROBE_ROLE_LOAD;
}

/* All of its parts move weights: the rest of its time is its own work. */
static bool holds_only_moves(const struct sb_model *model, const struct sb_stage *s)
{
	const struct sb_stage *all = model->stages.stages;

	for (size_t i = 0; s->child_count && i < model->stages.stage_count; i++)
		if (all[i].parent == s - all && !sb_weigh_moves_weights(&all[i]))
			return false;
	return true;
}

/* Not below a stage that counts with all its parts. */
static bool is_innermost_in_generation(const struct sb_model *model, const struct sb_stage *s)
{
	const struct sb_stage *up = above(model, s);

	if (s->span || s->role == STROBE_ROLE_GENERATION || !(s->gpu_span_count > 0) ||
		s->gpu_span_count != s->count || !holds_only_moves(model, s))
		return false;
	if (sb_weigh_moves_weights(s) && up && up->role != STROBE_ROLE_GENERATION &&
		holds_only_moves(model, up))
		return false;
	up = s;
	while ((up = above(model, up)))
		if (up->role == STROBE_ROLE_GENERATION)
			return true;
	return false;
}

double sb_weigh_uncovered_s(const struct sb_model *model)
{
	double all_s = model->summary.generation_s, covered_s = 0, moves_s;
	bool behind = false;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i], *up = above(model, s);

		if (!is_innermost_in_generation(model, s))
			continue;
		covered_s += s->gpu_span_s;
		moves_s = s->total_s - s->self_s; /* the parts of an innermost one */
		behind |= up && up->role == STROBE_ROLE_STEP && s->gpu_span_s - moves_s > AHEAD * s->self_s;
	}
	return behind && all_s > 0 ? fmax(0, 1 - covered_s / all_s) * sb_weigh_work_s(model) : INFINITY;
}

double sb_weigh_moves_s(const struct sb_model *model)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		sum_s += sb_weigh_moves_weights(s) && s->in_generation ? sb_stage_worked_s(s) : 0;
	}
	return sum_s * sb_weigh_warm_share(model);
}

double sb_weigh_moves_alone_s(const struct sb_model *model)
{
	double used = sb_weigh_utilization(model), moves_s = sb_weigh_moves_s(model);

	return used > 0 ? fmin(moves_s, sb_weigh_work_s(model) * fmax(0, 1 - used)) : moves_s;
}

bool sb_weigh_traced(const struct sb_model *model)
{
	return model->gpu.present && !model->gpu.slow_only;
}

#define GROWN 1.1

/* Frames times pixels of one generation on average; 0: not known. */
static double mean_size(const struct sb_generation *all, size_t count)
{
	double sum = 0, known = 0;

	for (size_t i = 0; i < count; i++) {
		if (!has_size(&all[i]))
			continue;
		sum += fmax(1, (double)all[i].frames) * fmax(1, (double)all[i].width) *
		       fmax(1, (double)all[i].height);
		known++;
	}
	return known > 0 ? sum / known : 0;
}

bool sb_weigh_sizes_grow(const struct sb_model *model)
{
	const struct sb_generations_panel *g = &model->generations;
	size_t third = (g->count + 2) / 3;
	double first, last;

	if (g->whole_run || g->count < 2)
		return false;
	first = mean_size(g->all, third);
	last = mean_size(&g->all[g->count - third], third);
	return first > 0 && last > GROWN * first;
}

bool sb_weigh_has_gpu(const struct sb_model *model)
{
	return model->gpu.present ||
	       (!model->roofline.on_cpu && model->summary.gpu_utilization_mean_percent > 0);
}

double sb_weigh_idle_s(const struct sb_model *model)
{
	double work_s = sb_weigh_work_s(model), used = sb_weigh_utilization(model);
	double step_busy = sb_weigh_step_busy(model);

	if (!isnan(step_busy))
		return work_s * (1 - step_busy);
	if (sb_weigh_traced(model) && model->gpu.busy_s + model->gpu.idle_s > 0)
		return work_s * model->gpu.idle_s / (model->gpu.busy_s + model->gpu.idle_s);
	return used > 0 ? work_s * fmax(0, 1 - used) : INFINITY;
}

void sb_weigh_priority(struct sb_advisor *a, struct sb_advice *f)
{
	double share = f ? f->rank_s / sb_weigh_work_s(a->model) : 0;

	if (f)
		f->priority = sb_priority_name(share >= SHARE_HIGH     ? SB_PRIORITY_HIGH
					       : share >= SHARE_MEDIUM ? SB_PRIORITY_MEDIUM
								       : SB_PRIORITY_LOW);
}

double sb_weigh_crowding(const struct sb_model *model)
{
	const struct sb_cpu_panel *cpu = &model->cpu;
	double cores = (double)cpu->core_count, own = cpu->process_percent.mean / 100;

	if (!(cores > 0) || !cpu->load1.count || !(cpu->load1.mean > 1.5 * cores) ||
		!(own < 0.5 * cpu->load1.mean))
		return 1;
	return cpu->load1.mean / cores;
}
