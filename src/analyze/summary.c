/* The summary: what one screen says, gathered from the other panels. */
#include "analyze/summary.h"

#include "analyze/judged.h"

#include "base/role.h"
#include "run/setting.h"
#include "base/error.h"

#include <string.h>

const struct sb_rate *sb_rate_find(const struct sb_model *model, const char *scope)
{
	for (size_t i = 0; i < model->diffusion.rate_count; i++) {
		if (strcmp(model->diffusion.rates[i].scope, scope) == 0)
			return &model->diffusion.rates[i];
	}
	return NULL;
}

/* The same for all that did not fail, else not known. */
static void take_size(struct sb_model *model)
{
	struct sb_summary_panel *s = &model->summary;
	bool any = false;

	s->width = s->height = -1;
	for (size_t i = 0; i < model->generations.count; i++) {
		const struct sb_generation *g = &model->generations.all[i];

		if (g->failure)
			continue;
		if (any && (g->width != s->width || g->height != s->height)) {
			s->width = s->height = -1;
			return;
		}
		any = true;
		s->width = g->width;
		s->height = g->height;
	}
}

/* Of the generations' own time: the GPU was at a stage of theirs. */
static double behind_s(const struct sb_stages_panel *stages)
{
	double sum_s = 0;

	for (size_t i = 0; i < stages->stage_count; i++)
		if (stages->stages[i].role == STROBE_ROLE_GENERATION)
			sum_s += stages->stages[i].gpu_behind_s;
	return sum_s;
}

/* How the stages side by side split the wall time of the generations, or of the run. */
static void split_wall(struct sb_model *model)
{
	const struct sb_stages_panel *stages = &model->stages;
	double inside_s = fmin(stages->inside_s, model->generations.union_s);

	if (model->generations.whole_run || stages->combined) {
		model->summary.unattributed_s = stages->unattributed_s;
		model->summary.overlap_s = stages->overlap_s;
		return;
	}
	model->summary.unattributed_s =
		round(fmax(0, model->generations.union_s - inside_s - behind_s(stages)) * 1e9) / 1e9;
	model->summary.overlap_s = stages->inside_sum_s - inside_s;
	if (model->summary.overlap_s < stages->wall_s * 1e-6)
		model->summary.overlap_s = 0;
}

/* One that was killed or cut is none that was made. */
static int64_t made(const struct sb_model *model)
{
	return (int64_t)model->generations.time.count;
}

static void take_others(struct sb_model *model)
{
	struct sb_summary_panel *s = &model->summary;
	int64_t videos = model->generations.video_count;

	s->unfinished_count = model->generations.unfinished_count;
	s->failed_count = model->generations.failed_count;
	if (!model->generations.whole_run) {
		s->image_count = model->generations.image_count;
		if (videos > made(model) ||
			(model->diffusion.frames > 0 && (s->image_count > 0 || videos < made(model))))
			s->video_count = videos;
	}
	for (size_t i = 0; i < model->generations.listed && !s->failure; i++)
		s->failure = model->generations.all[i].failure;
}

static void take_video(struct sb_model *model)
{
	struct sb_summary_panel *s = &model->summary;
	const struct sb_diffusion_panel *d = &model->diffusion;
	const struct sb_rate *rate = sb_rate_find(model, "end_to_end");

	s->generation_count = model->generations.whole_run ? 0 : made(model);
	take_others(model);
	s->generation_s = model->generations.union_s;
	s->outside_s = model->generations.whole_run
			       ? 0
			       : fmax(0, model->stages.wall_s - model->generations.union_s);
	s->startup_end_s = model->generations.whole_run ? NAN : INFINITY;
	for (size_t i = 0; i < model->generations.listed; i++)
		s->startup_end_s = fmin(s->startup_end_s, model->generations.all[i].begin_s);
	s->startup_end_s = isfinite(s->startup_end_s) ? s->startup_end_s : model->stages.startup_end_s;
	s->startup_unattributed_s = model->stages.startup_unattributed_s;
	split_wall(model);
	s->frames = d->frames;
	s->steps = d->steps;
	s->blocks = d->blocks;
	s->dropped_frames = model->streaming.present ? model->streaming.dropped_frames : -1;
	s->fps_wall = rate ? rate->fps_wall : NAN;
	s->fps_compute = rate ? rate->fps_compute : NAN;
	s->bps_wall = rate ? rate->bps_wall : NAN;
	s->bps_compute = rate ? rate->bps_compute : NAN;
	s->first_block_s = model->blocks.first_block_s;
	take_size(model);
}

/* ---- energy, cost ------------------------------------------------------- */

static int gpu_count(const struct sb_model *model)
{
	int gpus = 0;

	for (size_t i = 0; i < model->series_count; i++)
		gpus += strcmp(model->series[i].source, "gpu") == 0;
	return gpus ? gpus : 1;
}

static void take_energy(struct sb_model *model, const struct sb_run *run)
{
	struct sb_summary_panel *s = &model->summary;
	double per_hour = sb_run_setting_number(run, "gpu_cost_per_hour"), videos = 0, videos_wh = 0,
	       videos_cost = 0;

	s->energy_wh = s->cost = s->cost_per_video = s->energy_wh_per_video = s->run_cost = NAN;
	s->run_energy_wh = sb_model_energy_j(model, (double)run->from_ns / 1e9, (double)run->to_ns / 1e9) /
			   3600;
	model->devices.energy_wh = s->run_energy_wh;
	model->devices.cost = NAN;
	for (size_t i = 0; i < model->generations.count; i++) {
		struct sb_generation *g = &model->generations.all[i];

		if (!isnan(g->energy_wh))
			s->energy_wh = (isnan(s->energy_wh) ? 0 : s->energy_wh) + g->energy_wh;
		if (per_hour > 0)
			g->cost = g->machine_s / 3600 * per_hour * gpu_count(model);
		if (!g->state && !model->generations.whole_run) {
			videos++;
			videos_wh += g->energy_wh;
			videos_cost += g->cost;
		}
	}
	if (per_hour > 0) {
		s->cost = s->generation_s / 3600 * per_hour * gpu_count(model);
		s->run_cost = model->stages.wall_s / 3600 * per_hour * gpu_count(model);
		model->devices.cost = s->run_cost;
	}
	if (videos > 0) {
		s->energy_wh_per_video = videos_wh / videos;
		s->cost_per_video = videos_cost / videos;
	}
}

/* ---- memory ------------------------------------------------------------- */

/* Samples may miss a short peak, and what the system says at the end is of one process: the
 * larger of them is the peak, everywhere. */
static void take_rss(struct sb_model *model)
{
	double peak = fmax(model->session.peak_rss_bytes, model->memory.rss_peak_bytes);

	model->session.peak_rss_bytes = model->memory.rss_peak_bytes = peak;
	if (model->cpu.rss_mb.max < peak / 1048576)
		model->cpu.rss_mb.max = peak / 1048576;
}

static void take_memory(struct sb_model *model)
{
	struct sb_summary_panel *s = &model->summary;
	const struct sb_memory_panel *m = &model->memory;

	take_rss(model);

	s->gpu_peak_bytes = m->peak_bytes;
	s->gpu_total_bytes = m->device_total_bytes;
	s->gpu_reserved_peak_bytes = m->reserved_peak_bytes;
	s->gpu_peak_stage = m->peak_stage;
	s->ram_peak_bytes = m->ram_peak_bytes;
	s->ram_total_bytes = m->ram_total_bytes;
}

/* ---- which GPU ----------------------------------------------------------- */

/* Without samples: what the driver or an imported trace said. */
static const char *told_gpu(const struct sb_model *model)
{
	for (size_t i = 0; i < model->system.fact_count; i++) {
		const struct sb_pair *fact = &model->system.facts[i];

		if (!strcmp(fact->key, "gpu0.name") || !strcmp(fact->key, "gpu0"))
			return fact->type == STROBE_TYPE_STRING ? fact->s : NULL;
	}
	return NULL;
}

/* Those that did something for the run; where none did, all that are there. */
static void take_gpu_name(struct sb_model *model)
{
	const struct sb_devices_panel *d = &model->devices;
	const char *name = NULL;
	size_t used = 0, count = 0;

	for (size_t i = 0; i < d->count; i++)
		used += d->all[i].used;
	for (size_t i = 0; i < d->count; i++) {
		if (used && !d->all[i].used)
			continue;
		name = count++ ? name : d->all[i].name;
	}
	name = name ? name : told_gpu(model);
	model->summary.gpu_name = name && count > 1 ? sb_model_printf(model, "%zu x %s", count, name) : name;
}

/* ---- outside the generations -------------------------------------------- */

static double bytes_of(const struct sb_stage *s)
{
	for (size_t i = 0; i < s->attr_count; i++) {
		if (strcmp(s->attrs[i].key, "bytes") == 0)
			return s->attrs[i].sum;
	}
	return NAN;
}

/* The stage or one inside it, outside of the generations; stages inside follow it. */
static bool is_marked(const struct sb_stages_panel *stages, size_t row)
{
	size_t i = row;

	do {
		const struct sb_stage *s = &stages->stages[i];

		if (s->bottleneck_level == SB_BOTTLENECK_MAJOR && !s->in_generation)
			return true;
	} while (++i < stages->stage_count && stages->stages[i].depth > stages->stages[row].depth);
	return false;
}

static struct sb_outside *add_outside(
	struct sb_summary_panel *s, const char *what, double total_s, double bytes)
{
	size_t i = 0;

	while (i < s->outside_count && strcmp(s->outside[i].what, what) != 0)
		i++;
	if (i == s->outside_count) {
		s->outside_count++;
		s->outside[i].what = what;
		s->outside[i].bytes = NAN;
	}
	s->outside[i].total_s += total_s;
	if (!isnan(bytes))
		s->outside[i].bytes = (isnan(s->outside[i].bytes) ? 0 : s->outside[i].bytes) + bytes;
	return &s->outside[i];
}

static bool stands_apart(enum strobe_role work)
{
	return work == STROBE_ROLE_IMPORT || work == STROBE_ROLE_LOAD || work == STROBE_ROLE_COMPILE ||
	       work == STROBE_ROLE_EXPORT;
}

static void close_outside(struct sb_model *model)
{
	struct sb_summary_panel *s = &model->summary;
	double sum_s = model->stages.unattributed_s;

	for (size_t i = 0; i < s->outside_count; i++)
		sum_s += s->outside[i].total_s;
	if (!model->generations.whole_run && sum_s - s->outside_s > model->stages.wall_s * 1e-3) /* bins */
		s->outside_overlap_s = sum_s - s->outside_s;
}

/* Top-level stages beside the generations, by what they are for; without
 * generations only those that are never part of one. Less what overlaps they add up to
 * the wall time with the generations and the unattributed rest. */
static void take_outside(struct sb_model *model)
{
	struct sb_summary_panel *s = &model->summary;
	const struct sb_stages_panel *stages = &model->stages;

	s->outside = sb_model_alloc(model, (stages->stage_count + 1) * sizeof *s->outside);
	for (size_t i = 0; s->outside && i < stages->stage_count; i++) {
		const struct sb_stage *stage = &stages->stages[i];
		enum strobe_role work = sb_role_work(stage->name, stage->role);
		const char *what = stands_apart(work) ? sb_role_words(work) : stage->name;

		if (stage->parent >= 0 || stage->role == STROBE_ROLE_GENERATION || !(stage->outside_s > 0))
			continue;
		if (stands_apart(work) || !model->generations.whole_run)
			add_outside(s, what, stage->outside_s, bytes_of(stage))->bottleneck |= is_marked(
				stages, i);
	}
	close_outside(model);
}

static void take_target(struct sb_summary_panel *s, double target_fps)
{
	s->target_fps = target_fps > 0 ? target_fps : NAN;
	s->target_known = target_fps > 0 && !isnan(s->fps_wall);
	s->target_reached = s->target_known && s->fps_wall >= target_fps;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	double target = sb_run_setting_number(run, "target_fps");

	model->summary.wall_s = model->stages.wall_s;
	model->summary.bound_by = "unknown";
	take_video(model);
	take_target(&model->summary, target);
	take_energy(model, run);
	sb_judged_fill(model);
	take_memory(model);
	take_gpu_name(model);
	take_outside(model);
	return model->failed ? sb_fail(STROBE_ENOMEM, "no memory for the summary") : 0;
}

const struct sb_analysis sb_analysis_summary = {
	.name = "summary",
	.finish = finish,
};
