/* unattributed: which Python functions ran while no stage did, inside the generations, in the whole run, and in the
 * stages around the steps. Samples are weighed by the time they stand for. */
#include "analyze/analysis.h"
#include "analyze/python/place_samples.h"
#include "base/error.h"
#include "base/inorder.h"
#include "base/map.h"

#include <stdlib.h>

#define WORTH_OF_GENERATIONS 0.05
#define WORTH_OF_RUN 0.10
#define UNSAMPLED_LEAST 0.05 /* less is chance */
#define EXIT_LEAST 0.05 /* of the unattributed time: less is not worth a row */

/* Covered by stages inside generations; by any zone; by a stage that is none around the steps. */
enum { INSIDE, ANYWHERE, PARTS };

struct unattributed {
	struct sb_run *run;
	struct sb_place_samples places; /* by time, once there are all */
	struct sb_map generation_paths; /* path -> 1 */
	struct sb_map under; /* path -> 1: inside a generation's, 0: not */
	bool no_memory;
};

static void see_event(void *self, const struct sb_event *e)
{
	struct unattributed *u = self;

	sb_places_see(&u->places, e);
}

static void see_generation(void *self, const struct sb_zone *z)
{
	struct unattributed *u = self;

	u->no_memory |= !sb_map_put(&u->generation_paths, z->path, 1) ||
			!sb_map_put(&u->places.generation_tracks, z->track, 1);
}

/* ---- which of them no stage covers: a second pass, only when there are stacks --- */

static bool is_generation_path(const struct unattributed *u, uint32_t path)
{
	uint32_t unused;

	return sb_map_get(&u->generation_paths, path, &unused);
}

static bool is_under_generation(struct unattributed *u, uint32_t path)
{
	uint32_t known, at = path ? sb_run_path(u->run, path)->parent : 0;

	if (sb_map_get(&u->under, path, &known))
		return known;
	while (at && !is_generation_path(u, at))
		at = sb_run_path(u->run, at)->parent;
	u->no_memory |= !sb_map_put(&u->under, path, at != 0);
	return at != 0;
}

static uint32_t first_from(const struct sb_place_samples *p, int64_t t_ns)
{
	return p->count ? (uint32_t)sb_first_from(&p->all->t_ns, sizeof *p->all, p->count, t_ns) : 0;
}

/* Stages of any track cover wall time. */
static bool is_before_end(const struct sb_place_sample *s, const void *zone)
{
	return s->t_ns <= ((const struct sb_zone *)zone)->end_ns;
}

static void cover(struct unattributed *u, const struct sb_zone *z, int which)
{
	sb_places_cover(&u->places, first_from(&u->places, z->begin_ns), which, is_before_end, z);
}

static void mark_generation(struct unattributed *u, const struct sb_zone *z)
{
	struct sb_place_samples *p = &u->places;

	for (uint32_t i = first_from(p, z->begin_ns); i < p->count && p->all[i].t_ns <= z->end_ns; i++)
		if (p->all[i].process == z->process)
			p->all[i].in_generation = true;
}

static void mark_phase(struct unattributed *u, const struct sb_zone *z, int phase)
{
	struct sb_place_samples *p = &u->places;

	for (uint32_t i = first_from(p, z->begin_ns); i < p->count && p->all[i].t_ns <= z->end_ns; i++)
		if (p->all[i].track == z->track)
			p->all[i].phase = (int8_t)(phase + 1);
}

/* A frame around the stages that a reader asks for: see stages/split.c. */
static bool is_frame(const struct sb_zone *z)
{
	return z->role == STROBE_ROLE_GENERATION || (z->role == STROBE_ROLE_BLOCK && z->child_ns > 0);
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct unattributed *u = self;
	bool under = is_under_generation(u, z->path);
	int phase = under ? sb_role_phase(u->run->names[sb_run_path(u->run, z->path)->name].text) : -1;

	if (z->role == STROBE_ROLE_GENERATION && !under)
		mark_generation(u, z);
	if (under && !is_frame(z))
		cover(u, z, INSIDE);
	if (phase >= 0)
		mark_phase(u, z, phase);
	else if (under && !is_frame(z))
		cover(u, z, PARTS);
	if (!z->depth)
		cover(u, z, ANYWHERE);
}

static int by_time(const void *a, const void *b)
{
	const struct sb_place_sample *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static int find_uncovered(struct unattributed *u)
{
	struct sb_visitor v = { .self = u, .roles = SB_EVERY_ZONE, .zone = see_zone };

	sb_places_sort(&u->places, by_time);
	return sb_run_visit(u->run, &v, 1);
}

/* ---- the lists ------------------------------------------------------------------ */

static bool is_wanted(const struct sb_place_samples *p, const struct sb_place_sample *s, int which)
{
	(void)p;
	return !s->covered[which] && (which == ANYWHERE || s->in_generation);
}

static void list(struct unattributed *u, int which, struct sb_place_list *to)
{
	sb_places_list(&u->places, is_wanted, which, to->unattributed_s, to);
}

/* A launcher (torchrun, accelerate, a script that starts others) has no stage of its own, and its main thread mostly
 * waits for processes that were sampled, too: these have the causes. */
static bool is_launcher(const struct unattributed *u, const struct sb_model *model)
{
	const struct sb_place_samples *p = &u->places;
	int64_t waits_ns = 0, main_ns = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct sb_place_sample *s = &p->all[i];

		if (s->track >= u->run->track_count || !u->run->tracks[s->track].main || s->covered[ANYWHERE])
			continue;
		main_ns += s->weight_ns;
		waits_ns += s->waits ? s->weight_ns : 0;
	}
	return !model->stages.on_main && waits_ns > main_ns / 2;
}

/* The recording of a program ends with its last line; then Python frees all that was made and the process ends. */
static double find_exit_s(const struct sb_run *run, const struct sb_stages_panel *stages)
{
	const struct sb_run_process *own = &run->processes[run->main_process];
	double end_s = (double)(own->end_ns - run->from_ns) / 1e9;

	if (!run->complete || run->is_cut || run->job || own->tool)
		return 0;
	for (size_t i = 0; i < stages->gap_count; i++) {
		double gap_end_s = stages->gaps[i].t_s + stages->gaps[i].duration_s;

		if (gap_end_s >= stages->wall_s * (1 - 1e-6) && gap_end_s > end_s)
			return gap_end_s - fmax(end_s, stages->gaps[i].t_s);
	}
	return 0;
}

/* A run begins before its Python does, and ends after it: of what ran there nothing is known, and no function gets it. */
static void leave_unsampled(struct sb_place_list *run)
{
	double sampled = fmin(run->sampled_s, run->unattributed_s - run->exit_s) / run->unattributed_s;

	if (!run->count || run->sampled_s * 1e9 <= (double)run->sample_count ||
		!(sampled < 1 - UNSAMPLED_LEAST))
		return; /* old recordings do not weigh their samples */
	run->unsampled_s = fmax(0, run->unattributed_s - run->sampled_s - run->exit_s);
	for (size_t i = 0; i < run->count; i++) {
		run->all[i].ratio *= sampled;
		run->all[i].estimate_s *= sampled;
	}
}

static void list_run(struct unattributed *u, const struct sb_model *model, struct sb_place_list *to)
{
	uint32_t started = is_launcher(u, model) ? sb_places_find_started(&u->places) : 0;
	double exit_s = find_exit_s(u->run, &model->stages);

	to->exit_s = exit_s > EXIT_LEAST * to->unattributed_s ? exit_s : 0;
	to->launcher = u->places.launcher = started > 0;
	list(u, ANYWHERE, to);
	u->places.launcher = false;
	if (started)
		to->sampled_s /= started; /* they run side by side */
	leave_unsampled(to);
}

static bool is_after_startup(const struct sb_place_samples *p, const struct sb_place_sample *s, int which)
{
	double middle_s = ((double)s->t_ns - (double)s->weight_ns / 2) / 1e9;

	return !s->covered[which] && middle_s >= p->model->stages.startup_end_s;
}

/* The first screen has the start-up apart: what is unattributed in it is none of the row that the functions stand below. */
static void list_work(struct unattributed *u, const struct sb_model *model, struct sb_place_list *to)
{
	to->unattributed_s = model->stages.unattributed_s - model->stages.startup_unattributed_s;
	if (!model->generations.whole_run || !(model->stages.startup_unattributed_s > 0) ||
		!(to->unattributed_s > 0))
		return;
	sb_places_list(&u->places, is_after_startup, ANYWHERE, to->unattributed_s, to);
	leave_unsampled(to);
}

static bool is_in_phase(const struct sb_place_samples *p, const struct sb_place_sample *s, int phase)
{
	(void)p;
	return !s->covered[PARTS] && s->phase == phase + 1;
}

/* Without what the CPU waited there for the GPU's work of the steps. */
static double phase_s(const struct sb_model *model, int phase)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (s->in_generation && sb_role_phase(s->name) == phase)
			sum_s += sb_stage_worked_s(s);
	}
	return sum_s;
}

static bool is_worth(struct sb_place_list *to, double unattributed_s, double of_s, double worth)
{
	to->unattributed_s = unattributed_s > 0 ? unattributed_s : 0;
	to->ratio = of_s > 0 ? fmin(1, to->unattributed_s / of_s) : 0;
	return to->ratio > worth;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct unattributed *u = calloc(1, sizeof *u);

	if (!u)
		return sb_fail(STROBE_ENOMEM, "no memory for the sampled stacks of '%s'", run->path);
	u->run = run;
	v->self = u;
	v->event = see_event;
	v->zone = see_generation;
	sb_places_begin(&u->places, run, model, v);
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct sb_unattributed_panel *to = &model->unattributed;
	struct unattributed *u = self;
	bool generations = !model->generations.whole_run &&
			   is_worth(&to->generations, model->summary.unattributed_s,
				   model->summary.generation_s, WORTH_OF_GENERATIONS);
	bool all = is_worth(&to->run, model->stages.unattributed_s, model->stages.wall_s, WORTH_OF_RUN);
	bool around[SB_PHASE_COUNT], any = false;
	int err;

	for (int i = 0; i < SB_PHASE_COUNT; i++)
		any |= around[i] = !model->generations.whole_run &&
				   is_worth(&to->around[i], phase_s(model, i), model->summary.generation_s,
					   WORTH_OF_GENERATIONS);
	if (!u->places.count || (!generations && !all && !any))
		return 0;
	err = find_uncovered(u);
	if (err)
		return err;
	if (generations)
		list(u, INSIDE, &to->generations);
	if (all)
		list_run(u, model, &to->run);
	if (all && !to->run.launcher)
		list_work(u, model, &to->work);
	model->stages.unattributed = to->run.count ? to->run.all : to->generations.all;
	model->stages.unattributed_count = to->run.count ? to->run.count : to->generations.count;
	for (int i = 0; i < SB_PHASE_COUNT; i++)
		if (around[i])
			sb_places_list(
				&u->places, is_in_phase, i, to->around[i].unattributed_s, &to->around[i]);
	return u->no_memory || u->places.no_memory
		       ? sb_fail(STROBE_ENOMEM, "no memory for the sampled stacks of '%s'", run->path)
		       : 0;
}

static void done(void *self)
{
	struct unattributed *u = self;

	if (!u)
		return;
	sb_places_done(&u->places);
	sb_map_done(&u->generation_paths);
	sb_map_done(&u->under);
	free(u);
}

const struct sb_analysis sb_analysis_unattributed = {
	.name = "unattributed",
	.begin = begin,
	.finish = finish,
	.done = done,
};
