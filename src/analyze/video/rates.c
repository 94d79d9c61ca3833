/* Frames, and how many of them a second: over wall time and over compute time,
 * for the denoising, with the VAE, and end to end. And where the time of the
 * generations went. */
#include "run/setting.h"
#include "analyze/video/walls.h"

#include <stdlib.h>
#include <string.h>

/* Every source that knows counts in full; the best one is taken. */
static int64_t frames_of(const struct sb_video *v, const struct sb_model *model, enum sb_frames_source source)
{
	const struct sb_video_generation *all = v->generations.items;
	int64_t sum = -1;

	if (source == SB_FRAMES_COUNTED)
		return v->frames_total > 0 ? v->frames_total : -1;
	if (source == SB_FRAMES_BLOCKS)
		return model->blocks.frames;
	for (size_t i = 0; i < v->generations.count; i++) {
		int64_t frames = source == SB_FRAMES_GENERATION ? all[i].frames : all[i].decoded;

		if (frames >= 0)
			sum = (sum < 0 ? 0 : sum) + frames;
	}
	return sum;
}

static void find_frames(struct sb_video *v, struct sb_model *model)
{
	static const enum sb_frames_source order[] = { SB_FRAMES_COUNTED, SB_FRAMES_GENERATION,
		SB_FRAMES_DECODED, SB_FRAMES_BLOCKS };
	struct sb_diffusion_panel *d = &model->diffusion;

	d->frames = -1;
	if (v->outside) { /* the generations' frames are not theirs */
		d->frames = model->blocks.frames;
		d->frames_source = v->blocks_from_steps ? SB_FRAMES_STEPS : SB_FRAMES_BLOCKS;
		if (d->frames < 0)
			d->frames_source = SB_FRAMES_NONE;
		return;
	}
	for (size_t i = 0; i < sizeof order / sizeof *order && d->frames < 0; i++) {
		d->frames = frames_of(v, model, order[i]);
		if (d->frames >= 0)
			d->frames_source = order[i];
	}
	if (d->frames_source == SB_FRAMES_BLOCKS && v->blocks_from_steps)
		d->frames_source = SB_FRAMES_STEPS;
	if (model->generations.count == 1 && model->generations.all[0].frames < 0 && d->frames >= 0) {
		struct sb_generation *g = &model->generations.all[0];

		g->frames = d->frames;
		g->fps = g->end_s > g->begin_s ? (double)g->frames / (g->end_s - g->begin_s) : NAN;
	}
}

/* A generation without an end, or that an error ended, has time and no frames: it is in no rate. Where the frames are those
 * of blocks, those it made count. */
static void find_unfinished(struct sb_video *v, struct sb_model *model)
{
	enum sb_frames_source source = model->diffusion.frames_source;

	v->frames_of_ended = !v->outside && (source == SB_FRAMES_GENERATION || source == SB_FRAMES_COUNTED ||
						    source == SB_FRAMES_DECODED);
	model->diffusion.unrated_count = 0;
	for (size_t i = 0; i < v->generations.count; i++)
		model->diffusion.unrated_count += !sb_generation_is_rated(v, (uint32_t)i);
	v->frames_of_ended = model->diffusion.unrated_count > 0;
}

static int64_t latent_frames(const struct sb_video *v)
{
	const struct sb_video_generation *all = v->generations.items;
	int64_t sum = -1;

	for (size_t i = 0; i < v->generations.count; i++) {
		if (all[i].latent_frames >= 0)
			sum = (sum < 0 ? 0 : sum) + all[i].latent_frames;
	}
	return sum >= 0 ? sum : v->latent_frames;
}

/* ---- wall and compute time ---------------------------------------------- */

static double per_second(int64_t count, double s)
{
	return count >= 0 && s > 0 ? (double)count / s : NAN;
}

/* Some ran at the same time; NaN stays. */
static double at_most(double s, double most_s)
{
	return s > most_s ? most_s : s;
}

static void add_rate(struct sb_model *model, const char *scope, double wall_s, double compute_s)
{
	struct sb_diffusion_panel *d = &model->diffusion;
	struct sb_rate *rate = &d->rates[d->rate_count];

	if (isnan(wall_s) && isnan(compute_s))
		return;
	d->rate_count++;
	rate->scope = scope;
	rate->wall_s = wall_s;
	rate->compute_s = compute_s;
	rate->fps_wall = per_second(d->frames, wall_s);
	rate->fps_compute = per_second(d->frames, compute_s);
	rate->bps_wall = per_second(d->blocks, wall_s);
	rate->bps_compute = per_second(d->blocks, compute_s);
}

/* ---- where the generations' time went ----------------------------------- */

struct walk {
	const struct sb_model *model;
	double work_s[SB_ROLE_COUNT];
	double compute_s, moving_s; /* moving: of it, weights */
	double unattributed_s, overlap_s;
};

static enum strobe_role stage_work(const struct sb_stage *s)
{
	return sb_role_work(s->name, s->role);
}

/* Where a stage is; known from its parent's, which comes before it. */
struct place {
	int64_t generation; /* the outermost it is inside of, or is itself; -1: none */
	enum strobe_role work; /* its own, else the nearest one around it, up to the generation */
	bool computes; /* it, or one around it */
	bool on_spans;
	bool warming;
};

static bool is_compute(enum strobe_role work)
{
	return work == STROBE_ROLE_DENOISE || work == STROBE_ROLE_VAE_DECODE ||
	       work == STROBE_ROLE_VAE_ENCODE || work == STROBE_ROLE_TEXT_ENCODE;
}

static struct place place_of(const struct sb_stages_panel *stages, const struct place *places, size_t i)
{
	const struct sb_stage *s = &stages->stages[i];
	struct place p = s->parent >= 0 ? places[s->parent]
					: (struct place){ -1, STROBE_ROLE_STAGE, false, false, false };
	enum strobe_role own = stage_work(s);

	p.on_spans |= s->span;
	p.warming |= s->role == STROBE_ROLE_WARMUP;
	if (p.generation < 0 && s->role == STROBE_ROLE_GENERATION) {
		p.generation = (int64_t)i;
		p.work = STROBE_ROLE_STAGE;
	} else if (own != STROBE_ROLE_STAGE) {
		p.work = own;
		p.computes |= is_compute(own);
	}
	return p;
}

/* What was handed in lies beside the zones that ran meanwhile: it gets what they and
 * the generations' own time leave of the whole. */
static double measured_share_s(struct sb_video *v, const struct sb_model *model, const struct walk *w)
{
	double taken_s = w->unattributed_s, left_s, all_s = sb_measured_s(v);

	for (int work = 0; work < SB_ROLE_COUNT; work++)
		taken_s += w->work_s[work];
	left_s = model->generations.union_s - taken_s;
	return left_s <= 0 ? 0 : all_s < left_s ? all_s : left_s;
}

/* Of a stage's own time what counts against the wall: less where its calls run at once. */
static double worked_wall_s(const struct sb_stage *s)
{
	return s->total_s > 0 ? sb_stage_worked_s(s) * fmin(1, s->covered_s / s->total_s) : 0;
}

/* Stages of one kind that ran at once, or beside each other: no share is larger than the whole. */
static double no_more_than_the_whole(double *part_s, double whole_s)
{
	double excess_s = fmax(0, *part_s - whole_s);

	*part_s -= excess_s;
	return excess_s;
}

#define ROUNDING 1e-4 /* of the whole: CPU and GPU have clocks of their own */

/* What the parts add up to beyond the time in which any of them ran is overlap; what they
 * lack of it belongs to the stages between them. */
static void close_sum(const struct sb_model *model, struct walk *w)
{
	double sum_s = w->unattributed_s, rest_s;

	for (int work = 0; work < SB_ROLE_COUNT; work++)
		sum_s += w->work_s[work];
	rest_s = sum_s - model->generations.union_s;
	if (fabs(rest_s) < model->generations.union_s * ROUNDING)
		return;
	w->overlap_s = rest_s > 0 ? rest_s : 0;
	w->work_s[STROBE_ROLE_STAGE] -= rest_s < 0 ? rest_s : 0;
}

/* What runs in a step, a decode or an encode is part of it, in every scope of the rates: weights that are moved there, too. */
static void count_own(struct walk *w, const struct place *p, double own_s)
{
	w->work_s[p->work] += own_s;
	w->compute_s += p->computes ? own_s : 0;
	w->moving_s += p->computes && p->work == STROBE_ROLE_OFFLOAD ? own_s : 0;
}

/* Times against the wall add up to the generations' wall time with the overlap; spans may lie
 * beside their siblings and are left out. Returns what was computed. */
static double split(struct sb_video *v, struct sb_model *model)
{
	double measured_s;
	const struct sb_stages_panel *stages = &model->stages;
	struct sb_diffusion_panel *d = &model->diffusion;
	struct walk w = { .model = model };
	struct place *places = sb_model_alloc(model, stages->stage_count * sizeof *places);

	for (size_t i = 0; places && i < stages->stage_count; i++) {
		const struct sb_stage *s = &stages->stages[i];

		places[i] = place_of(stages, places, i);
		if (isnan(s->self_s) || places[i].on_spans || places[i].warming ||
			(!v->whole_run && places[i].generation < 0))
			continue;
		if ((int64_t)i == places[i].generation)
			w.unattributed_s += worked_wall_s(s);
		else
			count_own(&w, &places[i], worked_wall_s(s));
	}
	if (v->whole_run)
		w.unattributed_s = stages->unattributed_s;
	else if (model->generations.union_s < model->generations.total_s * 0.999)
		w.unattributed_s = fmax(0, model->generations.union_s - stages->inside_s);
	measured_s = v->outside ? 0 : measured_share_s(v, model, &w);
	w.work_s[STROBE_ROLE_DENOISE] += measured_s;
	w.compute_s += measured_s;
	if (places && stages->stage_count && !stages->combined)
		close_sum(model, &w);
	d->overlap_s = w.overlap_s;
	d->denoise_s = w.work_s[STROBE_ROLE_DENOISE];
	d->vae_s = w.work_s[STROBE_ROLE_VAE_DECODE];
	d->vae_encode_s = w.work_s[STROBE_ROLE_VAE_ENCODE];
	d->text_encode_s = w.work_s[STROBE_ROLE_TEXT_ENCODE];
	d->offload_s = w.work_s[STROBE_ROLE_OFFLOAD];
	d->unattributed_s = w.unattributed_s;
	d->moving_s = w.moving_s;
	d->other_s = 0;
	for (int work = 0; work < SB_ROLE_COUNT; work++) {
		if (work != STROBE_ROLE_DENOISE && work != STROBE_ROLE_VAE_DECODE &&
			work != STROBE_ROLE_VAE_ENCODE && work != STROBE_ROLE_TEXT_ENCODE &&
			work != STROBE_ROLE_OFFLOAD)
			d->other_s += w.work_s[work];
	}
	for (double *const *part = (double *const[]){ &d->denoise_s, &d->vae_s, &d->vae_encode_s,
		     &d->text_encode_s, &d->offload_s, &d->other_s, NULL };
		*part; part++)
		d->overlap_s = fmax(
			0, d->overlap_s - no_more_than_the_whole(*part, model->generations.union_s));
	return w.compute_s;
}

static void list_split(struct sb_model *model)
{
	struct sb_diffusion_panel *d = &model->diffusion;
	const struct sb_split all[] = {
		{ "denoise", "denoise", d->denoise_s, NAN },
		{ "vae_decode", "VAE decode", d->vae_s, NAN },
		{ "vae_encode", "VAE encode", d->vae_encode_s, NAN },
		{ "text_encode", "text encode", d->text_encode_s, NAN },
		{ "offload", "offload", d->offload_s, NAN },
		{ "other", "other stages", d->other_s, NAN },
		{ "unattributed", "unattributed", d->unattributed_s, NAN },
		{ "overlap", "overlap", -d->overlap_s, NAN },
	};

	d->split = sb_model_alloc(model, sizeof all);
	for (size_t i = 0; d->split && i < sizeof all / sizeof *all; i++) {
		if (all[i].self_s == 0 || isnan(all[i].self_s))
			continue;
		d->split[d->split_count] = all[i];
		d->split[d->split_count++].wall_ratio = all[i].self_s / model->generations.union_s;
	}
}

/* ---- offload ------------------------------------------------------------ */

static double attr_sum(const struct sb_stage *s, const char *key)
{
	for (size_t i = 0; i < s->attr_count; i++) {
		if (strcmp(s->attrs[i].key, key) == 0)
			return s->attrs[i].sum;
	}
	return NAN;
}

static int by_total(const void *a, const void *b)
{
	const struct sb_offload *x = a, *y = b;

	return x->total_s > y->total_s ? -1 : x->total_s < y->total_s;
}

static void list_offloads(struct sb_model *model)
{
	const struct sb_stages_panel *stages = &model->stages;
	struct sb_diffusion_panel *d = &model->diffusion;

	d->offload_bytes = d->offload_gb_per_s = NAN;
	d->offloads = sb_model_alloc(model, stages->stage_count * sizeof *d->offloads);
	for (size_t i = 0; d->offloads && i < stages->stage_count; i++) {
		const struct sb_stage *s = &stages->stages[i];
		size_t at = 0;
		double bytes = attr_sum(s, "bytes");

		if (stage_work(s) != STROBE_ROLE_OFFLOAD || !sb_stage_calls(s) ||
			(s->parent >= 0 && stage_work(&stages->stages[s->parent]) == STROBE_ROLE_OFFLOAD))
			continue;
		while (at < d->offload_count && strcmp(d->offloads[at].name, s->name) != 0)
			at++;
		if (at == d->offload_count) {
			d->offload_count++;
			d->offloads[at].name = s->name;
			d->offloads[at].bytes = NAN;
		}
		d->offloads[at].count += sb_stage_calls(s);
		d->offloads[at].total_s += s->total_s;
		if (!isnan(bytes))
			d->offloads[at].bytes = isnan(d->offloads[at].bytes) ? bytes
									     : d->offloads[at].bytes + bytes;
	}
	for (size_t i = 0; i < d->offload_count; i++) {
		struct sb_offload *o = &d->offloads[i];

		o->gb_per_s = o->total_s > 0 ? o->bytes / o->total_s / 1e9 : NAN;
		if (!isnan(o->bytes))
			d->offload_bytes = isnan(d->offload_bytes) ? o->bytes : d->offload_bytes + o->bytes;
	}
	if (d->offload_count) {
		double total_s = 0;

		qsort(d->offloads, d->offload_count, sizeof *d->offloads, by_total);
		for (size_t i = 0; i < d->offload_count; i++)
			total_s += d->offloads[i].total_s;
		d->offload_gb_per_s = total_s > 0 ? d->offload_bytes / total_s / 1e9 : NAN;
	}
}

/* What the generations that count in a rate computed, of what all of them did. The split knows own times of all
 * generations together, so each side gets the part of them that it has of the time in which it computed, every moment once. */
static double rated_compute_s(struct sb_video *v, double all_s)
{
	return v->frames_of_ended ? all_s * sb_rated_compute_ratio(v) : all_s;
}

/* Of the scopes so far, which the next one holds: steps may be known to be longer than their stages on the CPU. 0: none. */
static double longest_compute_s(const struct sb_diffusion_panel *d)
{
	double longest_s = 0;

	for (size_t i = 0; i < d->rate_count; i++)
		longest_s = fmax(longest_s, d->rates[i].compute_s);
	return longest_s;
}

/* A block takes a step at least: fewer steps than blocks are not what made these, and their time is not the blocks'. */
static bool are_too_few(const struct sb_diffusion_panel *d, const struct sb_video *v)
{
	return d->present && !v->blocks_from_steps && d->steps < d->blocks;
}

/* Durations handed in one after the other that are so much longer than the generations they were handed in during:
 * the frames were not made in this time. */
#define ELSEWHERE_RATIO 1.05

void sb_rates_fill(struct sb_video *v, struct sb_model *model)
{
	struct sb_diffusion_panel *d = &model->diffusion;
	double wall_s, vae_s, steps_s, split_s, compute_s, both_s, all_s;
	bool elsewhere;

	d->blocks = model->blocks.present ? model->blocks.blocks : -1;
	d->latent_frames = latent_frames(v);
	d->tiles = v->tiles;
	if (d->present && d->blocks > 0)
		d->steps_per_block = (double)d->steps / (double)d->blocks;
	find_frames(v, model);
	find_unfinished(v, model);
	split_s = split(v, model);
	list_split(model);
	list_offloads(model);
	wall_s = sb_denoise_wall_s(v, model);
	vae_s = sb_vae_wall_s(v, model);
	steps_s = d->present ? d->step.total : model->blocks.present ? model->blocks.time.total : NAN;
	if (d->present && v->steps.count && !v->rest_steps.count &&
		!((const struct sb_video_step *)v->steps.items)->measured)
		steps_s = fmin(steps_s, sb_steps_covered_s(v));
	if (isnan(steps_s) && !isnan(wall_s))
		steps_s = wall_s;
	if (v->rest_steps.count && wall_s < steps_s) /* the wall of those that were kept */
		wall_s = at_most(steps_s, model->stages.wall_s);
	if (are_too_few(d, v) && model->blocks.time.total > steps_s) {
		steps_s = model->blocks.time.total;
		wall_s = wall_s < steps_s ? NAN : wall_s;
	}
	d->steps_s = steps_s;
	d->rates = sb_model_alloc(model, 3 * sizeof *d->rates);
	if (!d->rates)
		return;
	add_rate(model, "denoise", wall_s, steps_s);
	all_s = v->frames_of_ended ? sb_generations_covered_s(v) : model->generations.union_s;
	elsewhere = sb_measured_track_s(v) > all_s * ELSEWHERE_RATIO;
	both_s = at_most(fmax(sb_denoise_vae_wall_s(v), wall_s), model->stages.wall_s);
	if (!isnan(vae_s))
		add_rate(model, "denoise_vae", isnan(wall_s) ? NAN : both_s,
			at_most(steps_s + vae_s, elsewhere       ? INFINITY
						 : isnan(wall_s) ? model->stages.wall_s
								 : both_s));
	compute_s = at_most(fmax(rated_compute_s(v, split_s), longest_compute_s(d)), all_s);
	if (!v->outside && !elsewhere && (d->frames >= 0 || d->blocks >= 0))
		add_rate(model, "end_to_end", all_s, compute_s > 0 ? compute_s : NAN);
	d->fps = per_second(d->frames, steps_s);
	d->bps = per_second(d->blocks, steps_s);
	if (!d->present && (model->blocks.present || (d->frames >= 0 && !isnan(wall_s))))
		d->present = true;
}
