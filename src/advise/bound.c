/* What bounds the run: the GPU, launching on the CPU, copies, the disk or
 * communication; and what to leave alone because it cannot pay. */
#include "advise/bound.h"

#include "advise/idle.h"
#include "advise/model_calls.h"
#include "advise/symptoms.h"
#include "advise/weigh.h"
#include "base/role.h"
#include "stats/seconds.h"

#include <string.h>

#define GPU_BUSY 0.85 /* of the time, and the GPU is the limit */
#define GPU_WAITS 0.3 /* less than that: it is idle for most of the time */
#define GPU_BEHIND 0.6 /* of the time the CPU runs ahead of it */
#define GPU_SOMETIMES_BEHIND 0.4 /* launching cannot be what limits the run */
#define CPU_BUSY 80 /* percent of a core */
#define SHARE_LARGE 0.30 /* of the generation's time in one kind of waiting */
#define PRESSURE_LARGE 20 /* percent of the time something waited for the disk */
#define SMALL_STAGE 0.02
#define LARGE_STAGE 0.20
#define LEFT_ALONE_MOST 5
#define SMS_READ 0.25 /* of a stage's time, to speak of its SMs */

/* ---- what bounds the run ------------------------------------------------ */

static double judged_s(const struct sb_model *model)
{
	return model->summary.judged_s;
}

static double sampled(const struct sb_model *model, double mean_percent)
{
	return model->summary.judged_sampled ? mean_percent : NAN;
}

static double utilization(const struct sb_model *model)
{
	return model->roofline.on_cpu ? NAN : sampled(model, model->summary.gpu_utilization_mean_percent);
}

static double work_s(const struct sb_model *model, enum strobe_role work)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (sb_role_work(s->name, s->role) == work && !isnan(s->self_s) && !s->span)
			sum_s += s->self_ratio * model->stages.wall_s; /* at the same time: once */
	}
	return fmin(sum_s, model->stages.wall_s);
}

static void bound(struct sb_model *model, const char *words, const char *key)
{
	model->summary.bound = words;
	model->summary.bound_by = key;
}

static bool by_communication(struct sb_model *model)
{
	double waited_s = work_s(model, STROBE_ROLE_COLLECTIVE), wall_s = judged_s(model);

	if (sb_weigh_traced(model) &&
		model->gpu.exposed_communication_s > model->gpu.window_s * SHARE_LARGE) {
		waited_s = model->gpu.exposed_communication_s;
		wall_s = model->gpu.window_s;
	} else if (!(waited_s > wall_s * SHARE_LARGE)) {
		return false;
	}
	bound(model, "communication", "communication");
	model->summary.bound_reason = sb_model_printf(model, "%.0f %% of %s waits for other ranks",
		fmin(waited_s / wall_s, 1) * 100,
		wall_s == model->gpu.window_s         ? "the GPU's time"
		: !model->generations.whole_run       ? "the generations' time"
		: wall_s < model->stages.wall_s * 0.9 ? "the time after the start-up"
						      : "the time");
	return true;
}

static bool by_copies(struct sb_model *model)
{
	double offload = model->diffusion.offload_s / judged_s(model);
	double moves_idle_s = model->gpu.moves_idle_s,
	       waits = sb_idle_copy_ratio(model) + moves_idle_s / model->gpu.window_s;

	if (sb_weigh_traced(model) && waits > SHARE_LARGE)
		model->summary.bound_reason = sb_model_printf(model, "%.0f %% of the GPU's time is copies%s",
			fmin(waits, 1) * 100, moves_idle_s > 0 ? ", or waits for weights that move" : "");
	else if (offload > SHARE_LARGE)
		model->summary.bound_reason = sb_model_printf(
			model, "%.0f %% of the time moves weights", offload * 100);
	else
		return false;
	bound(model, "copies", "copies");
	return true;
}

/* How much of the time the GPU certainly had work: samples of its load lag in short runs. */
static double behind(const struct sb_model *model)
{
	return fmax(sb_weigh_behind_s(model) / judged_s(model), sb_weigh_ahead_ratio(model));
}

/* Of its SMs, in the largest stage that has readings, those that work; NAN: not known. */
static double active_sms(const struct sb_model *model)
{
	const struct sb_gpu_counters *most = NULL;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (s->parent < 0 && !s->setup && s->counters.source &&
			(!most || s->counters.covered_s > most->covered_s))
			most = &s->counters;
	}
	return most && most->covered_ratio >= SMS_READ ? most->percent[SB_COUNTER_SM] : NAN;
}

/* "97 % util", "90 % busy", and where that says too much ", on 3 % of its SMs". */
static const char *busy_words(struct sb_model *model, double percent, const char *what)
{
	double sms = active_sms(model);

	if (sms < SB_SMS_WORK)
		return sb_model_printf(model, "%.0f %% %s, on %.0f %% of its SMs", percent, what, sms);
	return sb_model_printf(model, "%.0f %% %s", percent, what);
}

/* A loop that reads each call's result: the CPU leaves the call before the GPU does, and then the GPU waits for the next one. */
static bool is_emptied_each_call(const struct sb_model *model)
{
	return sb_model_calls_idle_s(model) > (1 - GPU_BUSY) * judged_s(model);
}

static bool by_gpu(struct sb_model *model)
{
	double busy = sb_idle_busy_ratio(model);

	if (busy >= GPU_BUSY)
		model->summary.bound_reason = busy_words(model, busy * 100, "busy");
	else if (isnan(busy) && utilization(model) >= GPU_BUSY * 100)
		model->summary.bound_reason = busy_words(model, utilization(model), "util");
	else if (behind(model) >= GPU_BEHIND &&
		 !is_emptied_each_call(model)) /* a trace has mostly cold steps, these have them all */
		model->summary.bound_reason = sb_model_printf(
			model, "the CPU runs ahead of it for %.0f %% of the warm time", behind(model) * 100);
	else
		return false;
	bound(model, "GPU", "gpu");
	return true;
}

/* Pressure is the machine's: it is the program's doing only where most bytes are the program's own. */
static bool uses_the_disk(const struct sb_model *model)
{
	const struct sb_disk_panel *d = &model->disk;
	double own = fmax(d->read_bytes, 0) + fmax(d->write_bytes, 0);
	double all = fmax(d->machine_read_bytes, 0) + fmax(d->machine_write_bytes, 0);

	return d->present && own > 0 && own >= all / 2;
}

static bool by_disk(struct sb_model *model)
{
	double pressure = sampled(model, model->summary.disk_wait_mean_percent);

	if (!(pressure > PRESSURE_LARGE) || !uses_the_disk(model))
		return false;
	model->summary.bound_reason = sb_model_printf(
		model, "%.0f %% of the time something waits for the disk", pressure);
	bound(model, "disk", "disk");
	return true;
}

/* Where nothing waits for the disk, what is read is in memory already, or the processor prepares it. */
static bool by_input(struct sb_model *model)
{
	double reading = work_s(model, STROBE_ROLE_DATA) / judged_s(model);

	if (reading > 1) /* before the generations, between them, or on other threads */
		model->summary.bound_reason = sb_model_printf(model,
			"reading and preparing input takes %.1f x as long as the %s", reading,
			model->generations.whole_run ? "run" : "generations");
	else if (reading > SHARE_LARGE)
		model->summary.bound_reason = sb_model_printf(
			model, "%.0f %% of the time reads and prepares input", reading * 100);
	else
		return false;
	bound(model, "input", "input");
	return true;
}

/* The GPU, or the model on the CPU, waits for Python. */
static bool is_about_python(const char *id)
{
	static const char *const python[] = { "python_between_steps", "python_in_forward",
		"garbage_collection", "gil_contention" };

	return sb_rule_is_one_of(python, sizeof python / sizeof *python, id);
}

/* The first finding is urgent, or is what the GPU waits for, and has a cause: that is what stands out. */
static const struct sb_advice *urgent_cause(const struct sb_model *model)
{
	const struct sb_advice *f = model->advice.count ? &model->advice.all[0] : NULL;
	bool urgent = f && (!strcmp(f->priority, "high") ||
				   (!strcmp(f->priority, "medium") && is_about_python(f->id)));

	return urgent && !f->startup && !sb_rule_is_symptom(f->id) && !sb_rule_is_direction(f->id) ? f : NULL;
}

/* The program's own Python, where the first finding says that the GPU waits for it: launching is not what takes the time. */
static bool by_python(struct sb_model *model)
{
	const struct sb_advice *f = urgent_cause(model);
	double share = f && judged_s(model) > 0 ? f->saves_s / judged_s(model) : NAN;

	if (!(share > SHARE_LARGE) || !is_about_python(f->id))
		return false;
	bound(model, "CPU", "cpu");
	model->summary.bound_reason = sb_model_printf(model,
		sb_weigh_has_gpu(model) ? "the GPU waits for Python for %.0f %% of the time"
					: "Python beside the model takes %.0f %% of the time",
		fmin(1, share) * 100);
	return true;
}

static bool by_launches(struct sb_model *model)
{
	double util = utilization(model);
	double cpu = sampled(model, model->summary.cpu_mean_percent);
	double busy = sb_idle_busy_ratio(model),
	       moves = model->gpu.moves_idle_s / (model->gpu.busy_s + model->gpu.idle_s),
	       idle = 1 - busy - moves; /* weights that move are not for the CPU's launches */

	if (behind(model) >= GPU_SOMETIMES_BEHIND)
		return false;
	if (idle > busy * 0.5 && model->gpu.small_kernel_ratio > 0.5)
		model->summary.bound_reason = sb_model_printf(model,
			"the GPU idles %.0f %% and %.0f %% of its kernels are short", idle * 100,
			model->gpu.small_kernel_ratio * 100);
	else if (!sb_weigh_traced(model) && util > 0 && util < 60 && cpu >= 80)
		model->summary.bound_reason = sb_model_printf(
			model, "GPU utilisation %.0f %% while the process uses %.0f %% CPU", util, cpu);
	else
		return false;
	bound(model, "CPU launch", "cpu_launch");
	return true;
}

/* True if no GPU was used and the program keeps a core busy. */
static bool by_cpu(struct sb_model *model)
{
	double cpu = sampled(model, model->summary.cpu_mean_percent);

	if (sb_weigh_traced(model) || sb_weigh_has_gpu(model) || !(cpu >= CPU_BUSY))
		return false;
	bound(model, "CPU", "cpu");
	model->summary.bound_reason = sb_model_printf(
		model, "the process uses %.0f %% of a core, and no GPU", cpu);
	return true;
}

/* A GPU was there to be judged, but not long enough. */
static void too_short(struct sb_model *model)
{
	char took[32];

	if (model->summary.judged_sampled || (isnan(model->summary.gpu_utilization_mean_percent) &&
						     isnan(model->summary.cpu_mean_percent)))
		return;
	sb_text_seconds(took, sizeof took, judged_s(model));
	model->summary.bound_reason = sb_model_printf(
		model, "%s of work: too short for samples to tell", took);
}

/* "12", "0.3", "99.7": near the ends a digit more, so that little is not nothing. */
static const char *percent_text(struct sb_model *model, double ratio)
{
	double percent = ratio * 100;

	return sb_model_printf(model, percent < 1 || percent > 99 ? "%.1f" : "%.0f", percent);
}

static void by_nothing(struct sb_model *model)
{
	double busy = sb_idle_busy_ratio(model);
	const struct sb_advice *f = urgent_cause(model);
	const char *why = f ? sb_model_printf(model, "the first finding names what it waits for: %s", f->id)
			    : NULL;

	bound(model, "mixed", "mixed");
	if (sb_weigh_traced(model))
		model->summary.bound_reason = sb_model_printf(model, "GPU busy %s %%; %s",
			percent_text(model, busy),
			why                ? why
			: busy < GPU_WAITS ? "it waits for the program, and no cause stands out"
					   : "nothing else stands out");
	else
		model->summary.bound_reason = sb_model_printf(model, "GPU %.0f %% util; %s",
			utilization(model), why ? why : "nothing else stands out");
}

void sb_bound_judge(struct sb_model *model)
{
	if (by_communication(model) || by_copies(model) || by_gpu(model) || by_disk(model) ||
		by_input(model) || by_python(model) || by_launches(model) || by_cpu(model))
		return;
	if (utilization(model) > 0 || sb_weigh_traced(model))
		by_nothing(model);
	else
		too_short(model);
}

/* ---- what to leave alone ------------------------------------------------ */

/* Stages that sit side by side: top level, or right inside a generation. One import among many is none, nor is
 * what strobe itself takes. */
static bool is_main_stage(const struct sb_model *model, const struct sb_stage *s)
{
	enum strobe_role work = sb_role_work(s->name, s->role);

	if (s->role == STROBE_ROLE_GENERATION || s->span || s->state == SB_STAGE_SKIPPED || isnan(s->total_s))
		return false;
	if (work == STROBE_ROLE_IMPORT || work == STROBE_ROLE_PROFILER)
		return false;
	return s->parent < 0 || model->stages.stages[s->parent].role == STROBE_ROLE_GENERATION;
}

/* For stages inside generations the share is of the generations' time: in a short run the imports make
 * everything else look small. */
static double share_of(const struct sb_model *model, const struct sb_stage *s)
{
	double own = sb_weigh_own_ratio(s), all = s->wall_ratio * own;
	double inside = s->parent < 0 ? NAN : s->covered_s * own / judged_s(model);

	return inside > all ? inside : all;
}

/* A finding above LOW is in this stage: a small stage can still be what others wait for. */
static bool is_named_by_a_finding(const struct sb_model *model, const struct sb_stage *s)
{
	for (size_t i = 0; i < model->advice.count; i++) {
		const struct sb_advice *a = &model->advice.all[i];

		if (strcmp(a->priority, "low") != 0 && a->where.stage && strcmp(a->where.stage, s->name) == 0)
			return true;
	}
	return false;
}

/* Two pipelines have stages of one name: each of them must be small. */
static bool is_small(const struct sb_model *model, const char *name)
{
	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (strcmp(s->name, name) == 0 && is_main_stage(model, s) &&
			share_of(model, s) >= SMALL_STAGE)
			return false;
	}
	return true;
}

static void leave_alone(struct sb_summary_panel *summary, const char *name)
{
	for (size_t i = 0; i < summary->leave_alone_count; i++)
		if (strcmp(summary->leave_alone[i].name, name) == 0)
			return;
	if (summary->leave_alone_count < LEFT_ALONE_MOST)
		summary->leave_alone[summary->leave_alone_count++].name = name;
}

void sb_bound_leave_alone(struct sb_model *model)
{
	struct sb_summary_panel *summary = &model->summary;
	bool worth = false;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		worth |= is_main_stage(model, s) && share_of(model, s) >= LARGE_STAGE;
	}
	summary->leave_alone = sb_model_alloc(model, LEFT_ALONE_MOST * sizeof *summary->leave_alone);
	for (size_t k = 0; worth && summary->leave_alone && k < model->stages.stage_count; k++) {
		const struct sb_stage *s = &model->stages.stages[model->stages.by_total[k]];

		if (!is_main_stage(model, s) || !is_small(model, s->name) || s->total_s <= 0 ||
			is_named_by_a_finding(model, s))
			continue;
		summary->leave_alone_ratio += s->wall_ratio * sb_weigh_own_ratio(s);
		leave_alone(summary, s->name);
	}
}
