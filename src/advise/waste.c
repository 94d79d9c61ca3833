/* Rules about work that need not be done: encoded again, guided for nothing, cached in vain. */
#include "advise/asked.h"
#include "advise/hot.h"
#include "advise/weigh.h"

#include "base/python_file.h"
#include "base/role.h"

#include <string.h>

/* ---- the text or the frames, encoded or decoded again ----------------------- */

#define AGAIN_LEAST 3 /* calls in a generation */
#define MOSTLY 0.5
#define ALL_OF_IT 0.99

/* What is called in steps or between them, and is needed once: the text is known before the first step, and the frames
 * after the last. */
static const struct once {
	enum strobe_role work;
	const char *again, *suggestion;
} onces[] = {
	{ STROBE_ROLE_TEXT_ENCODE, "the text is encoded again in the steps or between them",
		"Encode it once, before the steps, and keep the result." },
	{ STROBE_ROLE_VAE_DECODE, "the VAE decodes in the steps, not only after them",
		"Decode once, after the last step; for a preview every tenth step will do, or a small model "
		"(TAESD), or the latents as colours." },
	{ STROBE_ROLE_VAE_ENCODE, "the VAE encodes in the steps, not only before them",
		"Encode it once, before the steps, and keep the result." },
};

static bool has_step_above(const struct sb_stages_panel *stages, const struct sb_stage *s)
{
	for (int64_t i = s->parent; i >= 0; i = stages->stages[i].parent)
		if (stages->stages[i].role == STROBE_ROLE_STEP)
			return true;
	return false;
}

static bool is_line_of(const struct sb_line *l, enum strobe_role work)
{
	return l->stage && sb_role_work(l->stage, 0) == work;
}

static const struct sb_stage *steps_stage(const struct sb_model *model)
{
	for (size_t i = 0; i < model->stages.stage_count; i++)
		if (model->stages.stages[i].role == STROBE_ROLE_STEP)
			return &model->stages.stages[i];
	return NULL;
}

/* Short calls are rarely sampled; the clock tells of what belongs before the steps: it is called about as often as they are, and on
 * until the last of them. */
static bool goes_on_in_steps(const struct sb_model *model, const struct sb_stage *s, enum strobe_role work)
{
	const struct sb_stage *steps = steps_stage(model);

	return work != STROBE_ROLE_VAE_DECODE && steps && !steps->span && !s->span &&
	       (double)sb_stage_calls(s) >= MOSTLY * (double)model->diffusion.steps &&
	       s->end_s > steps->end_s - steps->time.p50;
}

/* The share of such a stage's time that lies in steps or between two of them; where the clock does not tell, as sampled. */
static double among_steps(const struct sb_model *model, const struct sb_stage *s, enum strobe_role work)
{
	double among_s = 0, all_s = 0;

	if (has_step_above(&model->stages, s) || goes_on_in_steps(model, s, work))
		return 1;
	for (size_t i = 0; i < model->lines.count; i++) {
		const struct sb_line *l = &model->lines.all[i];

		among_s += is_line_of(l, work) ? l->among_s : 0;
		all_s += is_line_of(l, work) ? l->generation_s : 0;
	}
	return all_s > 0 ? among_s / all_s : 0;
}

/* Blocks of frames are decoded as they come, which is what they are for. */
static bool is_by_blocks(const struct sb_model *model, const struct once *once)
{
	return once->work != STROBE_ROLE_TEXT_ENCODE &&
	       (model->diffusion.blocks > 0 || !(model->diffusion.steps > 0));
}

static const struct sb_stage *called_again(const struct sb_model *model, const struct once *once)
{
	const struct sb_stages_panel *stages = &model->stages;
	const struct sb_stage *most = NULL;

	for (size_t i = 0; i < stages->stage_count && !is_by_blocks(model, once); i++) {
		const struct sb_stage *s = &stages->stages[i];
		double calls = (double)sb_stage_calls(s);

		if (sb_role_work(s->name, 0) != once->work || !s->in_generation ||
			calls < AGAIN_LEAST * (double)model->generations.total ||
			(once->work != STROBE_ROLE_TEXT_ENCODE &&
				calls < MOSTLY * (double)model->diffusion.steps))
			continue;
		if (among_steps(model, s, once->work) >= MOSTLY && (!most || s->covered_s > most->covered_s))
			most = s;
	}
	return most;
}

/* The largest line of the program that such a stage was called from in the steps; where none was seen, of a library inside
 * it. */
static const struct sb_line *line_of(const struct sb_model *model, enum strobe_role work)
{
	const struct sb_line *inside = NULL, *own = NULL;

	for (size_t i = 0; i < model->lines.count; i++) {
		const struct sb_line *l = &model->lines.all[i];

		if (!is_line_of(l, work) || !(l->among_s > 0))
			continue;
		if (!l->library && !sb_python_is_package(l->file) && l->among_s > (own ? own->among_s : 0))
			own = l;
		inside = inside ? inside : l;
	}
	return own ? own : inside;
}

static void find_again(struct sb_advisor *a, const struct once *once)
{
	const struct sb_stage *s = called_again(a->model, once);
	double all = s ? (double)sb_stage_calls(s) : 1, share = s ? among_steps(a->model, s, once->work) : 0;
	double needed = share > ALL_OF_IT ? (double)a->model->generations.total / all : 1 - share;
	const struct sb_line *line = s ? line_of(a->model, once->work) : NULL;
	double gain_s = s ? s->covered_s * fmax(0, 1 - needed) * sb_weigh_warm_share(a->model) : 0;
	struct sb_advice *f;

	if (!s || !(sb_weigh_percent(a->model, gain_s) > a->limit))
		return;
	f = sb_advisor_find(a, sb_weigh_percent(a->model, gain_s), gain_s,
		sb_say(a, "'%s' runs again and again in the steps: %.0f %% of %s", s->name,
			sb_weigh_percent(a->model, gain_s), sb_weigh_words(a->model)),
		sb_say(a, "%lld calls in %lld generation%s with %lld steps, %s in all",
			(long long)sb_stage_calls(s), (long long)a->model->generations.total,
			a->model->generations.total == 1 ? "" : "s", (long long)a->model->diffusion.steps,
			sb_say_seconds(a, s->covered_s)));
	sb_finding_cause(f,
		line ? sb_say(a, "%s: %s", once->again, sb_hot_words(a, line))
		     : sb_say(a, "%s, by '%s'", once->again, s->name),
		SB_GAIN_MEASURED, SB_LIKELY);
	if (!f)
		return;
	f->stage = s->name;
	f->suggestion = once->suggestion;
	if (line)
		sb_finding_line(f, line->file, line->line);
	sb_weigh_priority(a, f);
}

/* ---- the same upload in every step ---------------------------------------- */

static bool uploads_in_a_step(const struct sb_model *model, const struct sb_line *l)
{
	(void)model;
	return l->step_s > 0 && sb_hot_doing(l) == SB_DOES_COPY && !(l->stage && strstr(l->stage, "load:"));
}

/* The GPU's time of stages of that name without their parts; INFINITY: not known of every call. */
static double own_gpu_s(const struct sb_model *model, const char *name)
{
	const struct sb_stage *all = model->stages.stages;
	double sum_s = 0;
	bool known = false;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		bool itself = !strcmp(all[i].name, name);
		bool part = all[i].parent >= 0 && !strcmp(all[all[i].parent].name, name);

		if (!itself && !part)
			continue;
		if (all[i].gpu_span_count != all[i].count)
			return INFINITY;
		sum_s += (itself ? all[i].gpu_span_s : 0) - (part ? all[i].gpu_span_s : 0);
		known |= itself;
	}
	return known ? fmax(0, sum_s) : INFINITY;
}

/* The CPU waits at such a line until the GPU is through with what was launched before. What it copies is part of the GPU's own
 * time of the stage; what is launched too late for that wait is time without work. */
static double upload_cost_s(const struct sb_model *model, const struct sb_hot *hot)
{
	double idle_s = fmin(sb_weigh_idle_s(model), sb_weigh_uncovered_s(model));

	if (!hot->line || !hot->line->stage)
		return hot->step_s;
	return fmin(hot->step_s, own_gpu_s(model, hot->line->stage) * sb_weigh_warm_share(model) + idle_s);
}

static void find_upload(struct sb_advisor *a)
{
	struct sb_hot hot = sb_hot_find(a->model, uploads_in_a_step);
	double gain_s = upload_cost_s(a->model, &hot), percent = sb_weigh_percent(a->model, gain_s);
	struct sb_advice *f;

	if (!hot.line || hot.sample_count < 3 || !(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, gain_s,
		sb_say(a, "a copy to the GPU in the steps takes %.0f %% of %s", percent,
			sb_weigh_words(a->model)),
		sb_say(a, "%s in %llu samples", sb_say_seconds(a, hot.step_s),
			(unsigned long long)hot.sample_count));
	sb_finding_cause(f, sb_hot_words(a, hot.line), SB_GAIN_BOUNDED, SB_LIKELY);
	if (f)
		f->suggestion = "Copy it once, before the steps, and keep it on the GPU; what must be "
				"copied, from pinned memory with non_blocking=True.";
	sb_hot_place(f, &hot);
	sb_weigh_priority(a, f);
}

/* ---- a model that is loaded for every request -------------------------------- */

/* It stands beside the generations, about once for each, until the last of them. */
static const struct sb_stage *loaded_again(const struct sb_model *model)
{
	const struct sb_generations_panel *g = &model->generations;
	const struct sb_stage *most = NULL;

	for (size_t i = 0; !g->whole_run && g->count >= AGAIN_LEAST && i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];
		double calls = (double)sb_stage_calls(s);

		if (s->parent < 0 && sb_role_work(s->name, s->role) == STROBE_ROLE_LOAD && s->outside_s > 0 &&
			calls >= AGAIN_LEAST && calls >= MOSTLY * (double)g->total &&
			s->end_s > g->all[g->count / 2].end_s && (!most || s->outside_s > most->outside_s))
			most = s;
	}
	return most;
}

static const struct sb_line *loading_line(const struct sb_model *model, const struct sb_stage *s)
{
	const struct sb_line *most = NULL;

	for (size_t i = 0; i < model->lines.count; i++) {
		const struct sb_line *l = &model->lines.all[i];

		if ((is_line_of(l, STROBE_ROLE_LOAD) || (l->stage && !strcmp(l->stage, s->name))) &&
			!l->library && !sb_python_is_package(l->file) && l->line &&
			l->outside_s > (most ? most->outside_s : 0))
			most = l;
	}
	return most;
}

static void find_loaded(struct sb_advisor *a)
{
	const struct sb_stage *s = loaded_again(a->model);
	const struct sb_line *line = s ? loading_line(a->model, s) : NULL;
	double calls = s ? (double)sb_stage_calls(s) : 1, gain_s = s ? s->outside_s * (calls - 1) / calls : 0;
	struct sb_advice *f;

	if (!s || !(sb_weigh_percent(a->model, gain_s) > a->limit))
		return;
	f = sb_advisor_find(a, sb_weigh_percent(a->model, gain_s), gain_s,
		sb_say(a, "'%s' runs again for every generation, %.0f times", s->name, calls),
		sb_say(a, "%s in all beside %lld generations of %s", sb_say_seconds(a, s->outside_s),
			(long long)a->model->generations.total,
			sb_say_seconds(a, a->model->generations.union_s)));
	sb_finding_cause(f,
		line ? sb_hot_words(a, line) : "the model is loaded from its files for each of them",
		SB_GAIN_MEASURED, SB_CERTAIN);
	if (!f)
		return;
	f->where.stage = s->name; /* no stage of its own: it is no start-up that comes again */
	f->suggestion = "Load it once, before the first request, and keep it.";
	if (line)
		sb_finding_line(f, line->file, line->line);
	sb_weigh_priority(a, f);
}

void sb_rule_repeated_work(struct sb_advisor *a)
{
	find_loaded(a);
	for (size_t i = 0; i < sizeof onces / sizeof *onces; i++)
		find_again(a, &onces[i]);
	find_upload(a);
}

/* ---- guidance that changes nothing ----------------------------------------- */

static const struct sb_stage_attr *attr_of(const struct sb_stage *s, const char *key)
{
	for (size_t i = 0; i < s->attr_count; i++)
		if (strcmp(s->attrs[i].key, key) == 0)
			return &s->attrs[i];
	return NULL;
}

/* The stage inside a step that takes most of it: the model's call. */
static const struct sb_stage *largest_inside(const struct sb_model *model, const struct sb_stage *outer)
{
	const struct sb_stage *all = model->stages.stages, *most = NULL;

	for (size_t i = 0; i < model->stages.stage_count; i++)
		if (all[i].parent >= 0 && &all[all[i].parent] == outer &&
			(!most || all[i].covered_s > most->covered_s))
			most = &all[i];
	return most;
}

void sb_rule_cfg_wasted(struct sb_advisor *a)
{
	const struct sb_stage *steps = steps_stage(a->model),
			      *forward = steps ? largest_inside(a->model, steps) : NULL;
	const struct sb_stage_attr *scale = steps ? attr_of(steps, "guidance_scale") : NULL;
	double per_step = forward ? (double)sb_stage_calls(forward) / (double)sb_stage_calls(steps) : 0,
	       gain_s;
	struct sb_advice *f;

	if (!scale || !(scale->max <= 1) || per_step < 1.9)
		return;
	/* the CPU only launches it; on a busy GPU the wait for it stands elsewhere */
	gain_s = fmin(fmax(forward->covered_s, sb_weigh_gpu_s(forward)), a->model->summary.generation_s) *
		 (1 - 1 / per_step) * sb_weigh_warm_share(a->model);
	if (!(gain_s / sb_weigh_work_s(a->model) * 100 > a->limit))
		return;
	f = sb_advisor_find(a, per_step, gain_s,
		sb_say(a, "%.1f forwards a step with a guidance scale of %.3g", per_step, scale->max),
		sb_say(a, "%lld calls of '%s' in %lld steps", (long long)sb_stage_calls(forward),
			forward->name, (long long)sb_stage_calls(steps)));
	sb_finding_cause(f,
		sb_say(a,
			"guidance_scale=%.3g: the unconditional forward of '%s' is computed and then cancels "
			"out",
			scale->max, forward->name),
		SB_GAIN_ESTIMATED, SB_CERTAIN);
	if (f)
		f->stage = forward->name;
	sb_weigh_priority(a, f);
}

/* ---- padding ----------------------------------------------------------------- */

void sb_rule_padding(struct sb_advisor *a)
{
	const struct sb_padding *p = NULL;
	double percent;
	struct sb_advice *f;

	for (size_t i = 0; i < a->model->padding.count && !p; i++)
		if (strcmp(a->model->padding.all[i].kind, "padding") == 0)
			p = &a->model->padding.all[i];
	percent = p ? p->unseen_s / sb_weigh_work_s(a->model) * 100 : 0;
	if (!(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, p->unseen_s,
		sb_say(a, "%.0f %% of what '%s' computes is never seen", 100 * p->unseen_ratio, p->stage),
		sb_say(a, "%s; about %s of %s", p->words, sb_say_seconds(a, p->unseen_s),
			sb_say_seconds(a, p->total_s)));
	sb_finding_cause(f, sb_say(a, "'%s' pads: %s", p->stage, p->words), SB_GAIN_ESTIMATED, SB_LIKELY);
	if (f)
		f->stage = p->stage;
	sb_weigh_priority(a, f);
}

/* ---- a cache that never fires ----------------------------------------------- */

static const char *why_idle(struct sb_advisor *a, const struct sb_cache_entry *c)
{
	if (c->threshold > 0 && 2 * c->near_misses > c->misses)
		return sb_say(a,
			"the threshold of '%s', %.3g, is too strict: the scores come close to it (%.3g on "
			"average)",
			c->cache, c->threshold, c->score_mean);
	if (c->threshold > 0 && c->score_mean > c->threshold)
		return sb_say(a, "the threshold of '%s', %.3g, is below every score (%.3g on average)",
			c->cache, c->threshold, c->score_mean);
	return sb_say(
		a, "'%s' is asked in every step and has never been filled with what is asked for", c->cache);
}

#define LITTLE_S 1e-9

void sb_rule_cache_idle(struct sb_advisor *a)
{
	const struct sb_stage *steps = steps_stage(a->model);

	for (size_t i = 0; i < a->model->caches.cache_count; i++) {
		const struct sb_cache_entry *c = &a->model->caches.caches[i];
		struct sb_advice *f;

		if (c->hits || (double)c->misses < a->limit)
			continue;
		f = sb_advisor_find(a, (double)c->misses, NAN, sb_say(a, "cache '%s' never hits", c->cache),
			sb_say(a, "%lld misses, no hit%s", (long long)c->misses,
				c->threshold > 0 ? sb_say(a, "; threshold %.3g, scores of %.3g on average",
							   c->threshold, c->score_mean)
						 : ""));
		sb_finding_cause(f, why_idle(a, c), SB_GAIN_ESTIMATED, SB_LIKELY);
		if (!f)
			return;
		f->stage = c->cache;
		f->where.stage = c->cache;
		/* What step caches save where they fire. Without steps that is not known; it is a cause all the same. */
		f->rank_s = steps ? steps->covered_s * 0.3 : LITTLE_S;
		f->priority = sb_priority_name(SB_PRIORITY_MEDIUM);
	}
	sb_asked_cache(a);
}

/* ---- a VAE in crumbs ---------------------------------------------------------- */

static bool is_inside_decode(const struct sb_model *model, const struct sb_stage *s)
{
	for (int64_t i = s->parent; i >= 0; i = model->stages.stages[i].parent)
		if (sb_role_work(model->stages.stages[i].name, 0) == STROBE_ROLE_VAE_DECODE)
			return true;
	return false;
}

#define SHORT_CALL_S 0.01
#define LAUNCHING 0.7 /* of short calls, where no trace says how much of them the GPU works */
#define IDLE_LEAST 0.2

/* Fewer, larger calls save the time in which the GPU waits for the next one. Typical calls count: the first are slow. */
static double between_calls_s(const struct sb_model *model, const struct sb_stage *s)
{
	double calls_s = s->time.p50 * (double)sb_stage_calls(s),
	       busy_s = s->gpu_busy_s * sb_weigh_calls_per_traced(model, s);

	if (!(sb_weigh_traced_steps(model) > 0) || !(busy_s > 0))
		return calls_s * LAUNCHING;
	return calls_s - busy_s >= IDLE_LEAST * calls_s ? calls_s - busy_s : 0;
}

void sb_rule_tiny_tiles(struct sb_advisor *a)
{
	const struct sb_stage *most = NULL;
	double per_video, share, gain_s;
	struct sb_advice *f;

	for (size_t i = 0; i < a->model->stages.stage_count; i++) {
		const struct sb_stage *s = &a->model->stages.stages[i];

		if (is_inside_decode(a->model, s) && (!most || s->covered_s > most->covered_s))
			most = s;
	}
	per_video = most ? (double)sb_stage_calls(most) / (double)(a->model->generations.total > 0
									   ? a->model->generations.total
									   : 1)
			 : 0;
	share = most ? most->covered_s / sb_weigh_work_s(a->model) : 0;
	if (!(per_video > a->limit) || most->time.p50 > SHORT_CALL_S || share < 0.1)
		return;
	gain_s = fmin(between_calls_s(a->model, most), sb_weigh_work_s(a->model));
	if (!(gain_s > 0)) /* the GPU is busy all the while: launching is not what costs */
		return;
	f = sb_advisor_find(a, per_video, gain_s,
		sb_say(a, "the VAE decodes each video in %.0f calls of %s", per_video,
			sb_say_seconds(a, most->time.p50)),
		sb_say(a, "%lld calls of '%s', %s in all", (long long)sb_stage_calls(most), most->name,
			sb_say_seconds(a, most->covered_s)));
	sb_finding_cause(f,
		sb_say(a, "tiles or single frames too small for the GPU: '%s' is called %.0f times a video",
			most->name, per_video),
		SB_GAIN_ESTIMATED, SB_LIKELY);
	if (f)
		f->stage = most->name;
	sb_weigh_priority(a, f);
}
