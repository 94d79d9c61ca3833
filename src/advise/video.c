/* Rules about steps, blocks, frames per second, streaming and caches. */
#include "advise/asked.h"
#include "advise/weigh.h"
#include "advise/rule.h"

#include "stats/statistics.h"

#include <stdlib.h>
#include <string.h>

/* Of the wall: steps of generations at the same time count once. */
static double denoise_s(const struct sb_model *model)
{
	const struct sb_diffusion_panel *d = &model->diffusion;

	return d->step.count ? fmin(d->step.total, d->steps_s) : d->denoise_s;
}

#define FEW_SLOW 0.05 /* of the generations' time: steps differ that much by themselves */
#define NO_COST 0.01 /* of it: the generations are not longer for their slow steps */
#define MANY_SLOW 0.15 /* of the steps */
#define ONCE 0.8 /* of the cost in one step: something came by, once */

/* How much longer the warm generations took than their median, added up; INFINITY: too few to tell. A step is
 * launched ahead of the GPU: one that takes the CPU longer may cost nothing. */
static double generations_excess_s(struct sb_advisor *a)
{
	const struct sb_generations_panel *g = &a->model->generations;
	size_t count = g->count > SB_WARM_LEAST && !g->whole_run ? g->count - 1 : 0;
	double *took_s = sb_model_alloc(a->model, (count + 1) * sizeof *took_s), excess_s = 0;

	if (!count || !took_s)
		return INFINITY;
	for (size_t i = 0; i < count; i++)
		took_s[i] = g->all[i + 1].wall_s;
	sb_stats_sort(took_s, count);
	for (size_t i = 0; i < count; i++)
		excess_s += fmax(0, took_s[i] - took_s[count / 2]);
	return excess_s;
}

static bool say_others(struct sb_advisor *a, struct sb_advice *f)
{
	const struct sb_cpu_panel *cpu = &a->model->cpu;
	double cores = (double)cpu->core_count, own = cpu->process_percent.mean / 100;

	if (!(sb_weigh_crowding(a->model) > 1))
		return false;
	sb_finding_cause(f,
		sb_say(a, "other programs: the load is %.0f on %.0f cores, of which this one uses %s%.1f",
			cpu->load1.mean, cores, own < 0.05 ? "less than " : "", fmax(own, 0.1)),
		SB_GAIN_BOUNDED, SB_LIKELY);
	f->suggestion = "Measure on a machine that does nothing else, or give the program cores of its own "
			"(taskset, cgroups).";
	f->priority = sb_priority_name(SB_PRIORITY_LOW);
	return true;
}

/* The caught moment of that very step, or of a row that it is in; NULL: it was not caught, or the catch tells nothing. */
static const struct sb_slow_moment *moment_of(const struct sb_model *model, const struct sb_slow_step *slow)
{
	const struct sb_slow_moments_panel *caught = &model->slow_moments;

	for (size_t i = 0; i < caught->count; i++) {
		const struct sb_slow_moment *m = &caught->all[i];
		bool row = m->row.count > 1;
		double from_s = row ? m->row.t_s : m->t_s, took_s = row ? m->row.duration_s : m->duration_s;

		if (!strcmp(m->what, "step") && m->words && from_s < slow->t_s + slow->duration_s &&
			slow->t_s < from_s + took_s)
			return m;
	}
	return NULL;
}

static void say_moment(struct sb_advisor *a, struct sb_advice *f, const struct sb_slow_moment *m)
{
	sb_finding_cause(f, sb_say(a, "in the slowest one, beside a normal one, %s", m->words),
		SB_GAIN_BOUNDED, SB_LIKELY);
	f->suggestion =
		"Look at the slow moment in the report: kernels, stages and functions that took longer.";
	for (size_t i = 0; i < m->part_count; i++)
		if (!strcmp(m->parts[i].kind, "function")) { /* the first is the largest */
			if (m->parts[i].file && m->parts[i].more_s >= (m->duration_s - m->normal_s) / 2)
				sb_finding_line(f, m->parts[i].file, m->parts[i].line);
			break;
		}
}

/* Many slow steps are no accident: the loop has two kinds of steps. */
static void say_another_kind(struct sb_advisor *a, struct sb_advice *f)
{
	sb_finding_cause(f,
		sb_say(a,
			"they are too many to be accidents: a second kind of step, such as one that computes "
			"what the others take from a cache"),
		SB_GAIN_BOUNDED, SB_POSSIBLE);
	f->suggestion =
		"Compare a slow step with its neighbours on the timeline; nothing is wrong if the slow ones "
		"are meant to do more.";
	f->priority = sb_priority_name(SB_PRIORITY_LOW);
}

/* Steps like any other, with a pause after them that a watch caught. */
static void find_pauses(struct sb_advisor *a)
{
	const struct sb_slow_moments_panel *caught = &a->model->slow_moments;
	const struct sb_slow_moment *longest = NULL;
	double excess_s = 0; /* by the clock of the thread that steps: it is the generations' time */
	struct sb_advice *f;
	int count = 0;

	for (size_t i = 0; i < caught->count; i++) {
		const struct sb_slow_moment *m = &caught->all[i];

		if (!m->judged_by || strcmp(m->judged_by, "pause") || !(m->duration_s > m->peer_s))
			continue;
		excess_s += m->duration_s - m->peer_s;
		count++;
		longest = !longest || m->duration_s > longest->duration_s ? m : longest;
	}
	if (!longest || excess_s < NO_COST * a->model->summary.generation_s)
		return;
	f = sb_advisor_find(a, count, excess_s,
		sb_say(a, "%d pause%s between steps %s much longer than the others", count,
			count == 1 ? "" : "s", count == 1 ? "is" : "are"),
		sb_say(a,
			"a step with the pause after it took %s at %.2f s, usually %s; together %s too long",
			sb_say_seconds(a, longest->duration_s), longest->t_s,
			sb_say_seconds(a, longest->peer_s), sb_say_seconds(a, excess_s)));
	if (!f)
		return;
	f->where.from_s = longest->t_s;
	f->where.to_s = longest->t_s + longest->duration_s;
	if (excess_s < FEW_SLOW * a->model->summary.generation_s || count == 1)
		f->priority = sb_priority_name(SB_PRIORITY_LOW);
	if (longest->words)
		say_moment(a, f, longest);
}

void sb_rule_slow_steps(struct sb_advisor *a)
{
	const struct sb_diffusion_panel *d = &a->model->diffusion;
	const struct sb_slow_step *slow = d->slow_steps;
	double excess_s = fmin(d->slow_step_excess_s, a->model->summary.generation_s);
	double cost_s = d->slow_step_count ? fmin(excess_s, generations_excess_s(a)) : 0;
	struct sb_advice *f;

	if (!d->slow_step_count || (a->model->generations.count > SB_WARM_LEAST &&
					   cost_s < NO_COST * a->model->summary.generation_s)) {
		find_pauses(a);
		return;
	}
	f = sb_advisor_find(a, (double)d->slow_step_total, cost_s,
		sb_say(a, "%lld of %lld steps %s slower than %s peers", (long long)d->slow_step_total,
			(long long)d->steps, d->slow_step_total == 1 ? "is" : "are",
			d->slow_step_total == 1 ? "its" : "their"),
		sb_say(a, "the slowest took %s at %.2f s, its peers %s; together %s too long",
			sb_say_seconds(a, slow[0].duration_s), slow[0].t_s, sb_say_seconds(a, slow[0].peer_s),
			sb_say_seconds(a, excess_s)));
	if (!f)
		return;
	if (cost_s < FEW_SLOW * a->model->summary.generation_s ||
		slow[0].duration_s - slow[0].peer_s > ONCE * excess_s)
		f->priority = sb_priority_name(SB_PRIORITY_LOW);
	if (moment_of(a->model, &slow[0]))
		say_moment(a, f, moment_of(a->model, &slow[0]));
	else if (!say_others(a, f) && (double)d->slow_step_total > MANY_SLOW * (double)d->steps)
		say_another_kind(a, f);
}

/* Steps are per video, or per block where there are blocks: 10 blocks of 4
 * steps are 4 steps. Those that are left out are warm ones. */
void sb_rule_steps_many(struct sb_advisor *a)
{
	const struct sb_diffusion_panel *d = &a->model->diffusion;
	double steps = (double)d->steps_per_chain, warm = sb_weigh_warm_step_ratio(a->model);
	double saves_s = denoise_s(a->model) * warm * (1 - a->limit / steps);

	if (!d->present || !(steps > a->limit))
		return;
	sb_advisor_find(a, steps, saves_s,
		sb_say(a, "%.0f steps per %s", steps, d->blocks > 0 ? "block" : "video"),
		sb_say(a, "%.0f steps of %.3f s%s; %.0f would save %.2f s", steps, d->step.mean * warm,
			warm < 1 ? " once warm" : "", a->limit, saves_s));
}

/* What the program asked of the model of the steps; NULL: not known. */
static const struct sb_event_row *asked_of_steps(const struct sb_model *model)
{
	const struct sb_event_row *asked = NULL;

	for (size_t i = 0; i < model->stages.stage_count && !asked; i++)
		if (sb_stage_is_in_steps(model, &model->stages.stages[i]))
			asked = sb_asked_last(
				model, "torch.asked", "component", model->stages.stages[i].name);
	return asked;
}

/* Nothing that the model does already. */
static const char *faster_steps(struct sb_advisor *a)
{
	const struct sb_event_row *asked = asked_of_steps(a->model);
	const char *type = sb_asked_text(asked, "dtype");
	bool half = type && (!strcmp(type, "bfloat16") || !strcmp(type, "float16"));
	bool narrow = sb_asked_text(asked, "quantised") || (type && !strncmp(type, "float8", 6));

	return sb_say(a, "%s%s faster attention, or a step cache.",
		sb_asked_number(asked, "compiled") > 0 ? "Use " : "Compile the model, use ",
		narrow ? "a"
		: half ? "FP8, a"
		       : "BF16 or FP8, a");
}

void sb_rule_step_slow(struct sb_advisor *a)
{
	const struct sb_diffusion_panel *d = &a->model->diffusion;
	double ms = d->computed_step.count ? d->computed_step.mean * 1e3 : NAN;
	struct sb_advice *f;

	if (!(ms > a->limit))
		return;
	f = sb_advisor_find(a, ms, NAN,
		sb_say(a, "a step takes %s on average", sb_say_seconds(a, d->computed_step.mean)),
		sb_say(a, "%lld steps, p95 %s", (long long)d->computed_step.count,
			sb_say_seconds(a, d->computed_step.p95)));
	if (f)
		f->suggestion = faster_steps(a);
}

void sb_rule_block_large(struct sb_advisor *a)
{
	const struct sb_block_panel *b = &a->model->blocks;

	if (b->present && b->mean_frames > a->limit)
		sb_advisor_find(a, b->mean_frames, NAN, sb_say(a, "blocks of %.1f frames", b->mean_frames),
			sb_say(a, "%lld blocks, %.1f frames each on average; one takes %s",
				(long long)b->blocks, b->mean_frames, sb_say_seconds(a, b->time.mean)));
}

/* Where no rate end to end is known (durations that were handed in), that of the denoising. */
void sb_rule_fps_low(struct sb_advisor *a)
{
	const struct sb_summary_panel *s = &a->model->summary;
	const struct sb_diffusion_panel *d = &a->model->diffusion;

	if (s->fps_wall < a->limit)
		sb_advisor_find(a, s->fps_wall, NAN, sb_say(a, "%.2f frames/s end to end", s->fps_wall),
			sb_say(a, "%lld frames in %s", (long long)s->frames,
				sb_say_seconds(a, s->generation_s)));
	else if (isnan(s->fps_wall) && d->fps < a->limit)
		sb_advisor_find(a, d->fps, NAN, sb_say(a, "%.2f frames/s in the denoising", d->fps),
			sb_say(a, "%lld frames in %s of denoising", (long long)d->frames,
				sb_say_seconds(a, d->steps_s)));
}

void sb_rule_bps_low(struct sb_advisor *a)
{
	const struct sb_block_panel *b = &a->model->blocks;

	if (b->present && b->bps < a->limit)
		sb_advisor_find(a, b->bps, NAN, sb_say(a, "%.2f blocks/s", b->bps),
			sb_say(a, "%lld blocks in %s", (long long)b->blocks,
				sb_say_seconds(a, b->time.total)));
}

void sb_rule_first_block(struct sb_advisor *a)
{
	const struct sb_block_panel *b = &a->model->blocks;
	double ratio = b->first_block_time_s / b->later_block_time_s;
	int64_t generations = a->model->generations.total > 0 ? a->model->generations.total : 1;

	if (b->present && ratio > a->limit)
		sb_advisor_find(a, ratio,
			(b->first_block_time_s - b->later_block_time_s) * (double)generations,
			sb_say(a, "the first block takes %.1f times as long as the others", ratio),
			sb_say(a, "%s against %s", sb_say_seconds(a, b->first_block_time_s),
				sb_say_seconds(a, b->later_block_time_s)));
}

void sb_rule_target_fps(struct sb_advisor *a)
{
	const struct sb_summary_panel *s = &a->model->summary;
	double needed_s = (double)s->frames / s->target_fps;

	if (s->target_fps > 0 && s->fps_wall < s->target_fps)
		sb_advisor_find(a, s->fps_wall, NAN,
			sb_say(a, "%.2f of %.2f frames/s wanted", s->fps_wall, s->target_fps),
			sb_say(a, "%lld frames took %s; the target leaves %s", (long long)s->frames,
				sb_say_seconds(a, s->generation_s), sb_say_seconds(a, needed_s)));
}

void sb_rule_dropped_frames(struct sb_advisor *a)
{
	const struct sb_streaming_panel *s = &a->model->streaming;

	if (s->present && s->dropped_ratio * 100 > a->limit)
		sb_advisor_find(a, s->dropped_ratio * 100, NAN,
			sb_say(a, "%.1f %% of the frames were dropped", s->dropped_ratio * 100),
			sb_say(a, "%lld frames dropped", (long long)s->dropped_frames));
}

void sb_rule_buffer_low(struct sb_advisor *a)
{
	const struct sb_streaming_panel *s = &a->model->streaming;

	if (s->present && s->buffer_ratio.count && s->buffer_ratio.min * 100 < a->limit)
		sb_advisor_find(a, s->buffer_ratio.min * 100, NAN,
			sb_say(a, "the stream's buffer ran down to %.0f %%", s->buffer_ratio.min * 100),
			sb_say(a, "occupancy %.0f %% on average, %.0f %% at the lowest",
				s->buffer_ratio.mean * 100, s->buffer_ratio.min * 100));
}

/* ---- caches ------------------------------------------------------------- */

#define REQUESTS_LEAST 10

void sb_rule_cache_useless(struct sb_advisor *a)
{
	for (size_t i = 0; i < a->model->caches.cache_count; i++) {
		const struct sb_cache_entry *c = &a->model->caches.caches[i];
		struct sb_advice *f;

		if (c->hits + c->misses < REQUESTS_LEAST || !(c->hit_ratio * 100 < a->limit))
			continue;
		f = sb_advisor_find(a, c->hit_ratio * 100, NAN,
			sb_say(a, "cache '%s' hits %.1f %% of its requests", c->cache, c->hit_ratio * 100),
			c->size_peak_bytes > 0
				? sb_say(a, "%lld hits of %lld requests, %.1f MB held", (long long)c->hits,
					  (long long)(c->hits + c->misses), c->size_peak_bytes / 1048576)
				: sb_say(a, "%lld hits of %lld requests", (long long)c->hits,
					  (long long)(c->hits + c->misses)));
		if (f)
			f->stage = c->cache;
	}
}

void sb_rule_cache_strict(struct sb_advisor *a)
{
	for (size_t i = 0; i < a->model->caches.cache_count; i++) {
		const struct sb_cache_entry *c = &a->model->caches.caches[i];
		double near = c->scored_misses ? (double)c->near_misses / (double)c->scored_misses * 100
					       : NAN;
		struct sb_advice *f;

		if (c->scored_misses < REQUESTS_LEAST || !(near > a->limit))
			continue;
		f = sb_advisor_find(a, near, NAN,
			sb_say(a, "cache '%s': %.0f %% of the misses came close to the threshold", c->cache,
				near),
			sb_say(a,
				"%lld of %lld misses within a quarter of threshold %.4g; their median score "
				"is %.4g",
				(long long)c->near_misses, (long long)c->scored_misses, c->threshold,
				c->miss_score_median));
		if (f)
			f->stage = c->cache;
	}
}
