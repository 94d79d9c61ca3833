/* Rules about GPUs as sampled, memory and the disk. */
#include "advise/idle.h"
#include "advise/sampled.h"
#include "advise/weigh.h"

#include "base/memory_units.h"

#include <string.h>

void sb_rule_gpu_memory(struct sb_advisor *a)
{
	const struct sb_series *s;

	for (size_t i = 0; (s = sb_sampled_gpu(a->model, &i));) {
		const struct sb_stats *used = sb_sampled_stats(s, "memory_used_mb"),
				      *total = sb_sampled_stats(s, "memory_total_mb");
		double percent = used && total && total->max > 0 ? used->max / total->max * 100 : NAN;

		if (percent > a->limit)
			sb_advisor_find(a, percent, NAN,
				sb_say(a, "GPU %d memory peaks at %.1f %%", s->device, percent),
				a->model->memory.peak_stage
					? sb_say(a, "%.1f of %.1f MB, in '%s'", used->max, total->max,
						  a->model->memory.peak_stage)
					: sb_say(a, "%.1f of %.1f MB", used->max, total->max));
	}
}

/* The GPU is also idle while something is imported or loaded later; that is not counted as missing work. */
static double setup_s(const struct sb_model *model)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count && model->generations.whole_run; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (s->setup && !s->startup && s->parent < 0 && s->covered_s > 0)
			sum_s += s->covered_s;
	}
	return sum_s;
}

/* Wall time of the stages that are known to use the GPU, side by side or right
 * inside a generation; 0: none is known. */
static double gpu_stages_s(const struct sb_model *model)
{
	const struct sb_stage *all = model->stages.stages;
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &all[i];
		bool outer = s->parent < 0 || all[s->parent].role == STROBE_ROLE_GENERATION;

		if (outer && s->role != STROBE_ROLE_GENERATION && !s->span && s->covered_s > 0 &&
			(s->gpu_busy_s > 0 || s->gpu_span_s > 0))
			sum_s += s->covered_s;
	}
	return sum_s;
}

#define UNUSED_MOST 1.0 /* percent, which others that come and go may take */

/* A pipeline that put nothing on a GPU: no work in any stage, and no memory, as far as the driver says whose memory is
 * whose. */
static bool runs_on_the_cpu(const struct sb_model *model)
{
	const struct sb_series *s;

	if (model->generations.whole_run || model->gpu.present || gpu_stages_s(model) > 0 ||
		!(model->summary.gpu_utilization_mean_percent < UNUSED_MOST))
		return false;
	for (size_t i = 0; (s = sb_sampled_gpu(model, &i));) {
		const struct sb_stats *own = sb_sampled_stats(s, "process_memory_mb");

		if (own && own->max > 0)
			return false;
	}
	return true;
}

/* Low: a program may mean to run on the CPU. What it costs is most of its time, which ranks it before others that are low. */
void sb_rule_gpu_unused(struct sb_advisor *a)
{
	double percent = a->model->summary.gpu_utilization_mean_percent;
	struct sb_advice *f;

	if (!a->model->summary.judged_sampled || !runs_on_the_cpu(a->model))
		return;
	f = sb_advisor_find(a, percent, NAN, "the GPU was not used",
		sb_say(a, "%.1f %% utilisation, and no stage has GPU time", percent));
	sb_finding_cause(f, "the models run on the CPU", SB_GAIN_BOUNDED, SB_LIKELY);
	if (f)
		f->rank_s = sb_weigh_work_s(a->model);
}

#define AVERAGED_S 1.0 /* over as much the driver takes its mean: of less time it tells nothing */

/* What the GPU idles in the warm generations beside stages that have no work for it. */
static double idle_warm_s(const struct sb_model *model, double used)
{
	double work_s = sb_weigh_work_s(model), idle_s = work_s * (1 - used) - setup_s(model),
	       stages_s = gpu_stages_s(model) * sb_weigh_warm_share(model);

	return fmax(0, stages_s > 0 ? fmin(idle_s, stages_s - work_s * used) : idle_s);
}

/* What it is the mean of: the generations, of three or more without the first. */
static const char *mean_of(struct sb_advisor *a)
{
	return sb_say(a, "the mean of its samples over %s of %s",
		sb_say_seconds(a, sb_weigh_work_s(a->model)),
		!sb_weigh_leaves_first_out(a->model) && !a->model->generations.whole_run ? "generation"
		: !a->model->generations.whole_run       ? "the warm generations"
		: isnan(a->model->summary.startup_end_s) ? "the run"
							 : "the run after its start-up");
}

/* Where the process keeps a core busy, the GPU waits for launches: how many of them could be saved, its load does not tell. */
void sb_rule_gpu_utilization(struct sb_advisor *a)
{
	const struct sb_series *s;
	double work_s = sb_weigh_work_s(a->model), idle_s,
	       used = sb_weigh_leaves_first_out(a->model)
			      ? sb_weigh_utilization(a->model)
			      : a->model->summary.gpu_utilization_mean_percent / 100;
	bool is_used = false, launching = sb_idle_is_launching(a->model);
	struct sb_advice *f;

	for (size_t i = 0; (s = sb_sampled_gpu(a->model, &i));)
		is_used |= sb_sampled_use(a->model, s);
	if (!is_used || !a->model->summary.judged_sampled || runs_on_the_cpu(a->model) ||
		!(used * 100 < a->limit) || work_s < AVERAGED_S)
		return;
	if (!isnan(sb_weigh_step_busy(a->model)))
		return; /* what was traced says it better */
	if (sb_weigh_behind_s(a->model) / a->model->summary.judged_s * 100 >= a->limit)
		return; /* the driver's samples lag; the GPU's own events show that it had work */
	idle_s = idle_warm_s(a->model, used);
	f = sb_advisor_find(a, used * 100, launching || !(idle_s > 0) ? NAN : idle_s,
		sb_say(a, "GPU utilisation is %.1f %%", used * 100),
		launching ? sb_say(a,
				    "%s; the process uses %.0f %% of a core: the GPU waits for launches, or "
				    "for Python between them",
				    mean_of(a), sb_weigh_process(a->model) * 100)
			  : mean_of(a));
	if (!f)
		return;
	f->whole_s = idle_s;
	if (launching)
		f->priority = sb_priority_name(SB_PRIORITY_LOW);
}

void sb_rule_temperature(struct sb_advisor *a)
{
	const struct sb_series *s;

	for (size_t i = 0; (s = sb_sampled_gpu(a->model, &i));) {
		const struct sb_stats *t = sb_sampled_stats(s, "temperature_c");

		if (t && t->max > a->limit)
			sb_advisor_find(a, t->max, NAN,
				sb_say(a, "GPU %d reached %.0f °C", s->device, t->max),
				sb_say(a, "%.0f °C on average, %.0f °C at the highest", t->mean, t->max));
	}
}

/* The time it works, at the clock it reaches and at the best it reached. */
static double clock_saves_s(const struct sb_model *model, const struct sb_device *d)
{
	double used = model->summary.gpu_utilization_mean_percent / 100;

	return model->summary.judged_s * (isnan(used) ? 1 : used) *
	       (1 - d->busy_clock_mean_mhz / d->busy_clock_max_mhz);
}

void sb_rule_throttling(struct sb_advisor *a)
{
	for (size_t i = 0; i < a->model->devices.count; i++) {
		const struct sb_device *d = &a->model->devices.all[i];
		double percent = d->throttled_ratio * 100;
		const char *reason = d->throttle_reason_count ? d->throttle_reasons[0] : "unknown";

		if (!d->used || !(percent > a->limit))
			continue;
		sb_advisor_find(a, percent, clock_saves_s(a->model, d),
			sb_say(a, "GPU %d held its clocks down %.0f %% of the time it worked", d->index,
				percent),
			isnan(d->busy_clock_mean_mhz)
				? sb_say(a, "%s in %.0f %% of the samples", reason, percent)
				: sb_say(a,
					  "%s; SM clock %.0f MHz on average while it worked, %.0f MHz at "
					  "its best",
					  reason, d->busy_clock_mean_mhz, d->busy_clock_max_mhz));
	}
}

/* "": not known */
static const char *model_name(const struct sb_model *model, int device)
{
	for (size_t i = 0; i < model->devices.count; i++)
		if (model->devices.all[i].index == device && model->devices.all[i].name)
			return model->devices.all[i].name;
	return "";
}

static const struct sb_series *busiest_gpu(const struct sb_model *model)
{
	const struct sb_series *s, *busiest = NULL;
	double most = -1;

	for (size_t i = 0; (s = sb_sampled_gpu(model, &i));) {
		const struct sb_stats *util = sb_sampled_stats(s, "utilization_percent");

		if (!util || util->mean <= most || !sb_device_is_of_run(&model->devices.touched, s->device))
			continue;
		most = util->mean;
		busiest = s;
	}
	return busiest;
}

/* Only GPUs of the same model could share the work: the chip that drives the screen is not idle capacity. */
void sb_rule_gpus_idle(struct sb_advisor *a)
{
	const struct sb_series *s, *busiest = busiest_gpu(a->model);
	const char *name = busiest ? model_name(a->model, busiest->device) : "";
	double most = busiest ? sb_sampled_stats(busiest, "utilization_percent")->mean : 0;
	int gpus = 0, idle = 0;

	for (size_t i = 0; (s = sb_sampled_gpu(a->model, &i));) {
		const struct sb_stats *util = sb_sampled_stats(s, "utilization_percent");

		if (!util || strcmp(model_name(a->model, s->device), name) != 0)
			continue;
		gpus++;
		idle += util->mean < a->limit;
	}
	if (gpus > 1 && idle && most >= 30)
		sb_advisor_find(a, idle, a->model->summary.generation_s * idle / gpus,
			sb_say(a, "%d of %d GPUs idle while another works", idle, gpus),
			sb_say(a, "the busiest is at %.0f %%, %d below %.0f %%", most, idle, a->limit));
}

void sb_rule_scaling(struct sb_advisor *a)
{
	double ranks = (double)a->model->session.world_size, waited_s = 0, exposed_s, percent;

	if (!(ranks > 1))
		ranks = sb_model_tag_number(a->model, "world_size");
	for (size_t i = 0; i < a->model->stages.stage_count; i++) {
		const struct sb_stage *s = &a->model->stages.stages[i];

		if (s->role == STROBE_ROLE_COLLECTIVE)
			waited_s += s->self_ratio * a->model->stages.wall_s;
	}
	exposed_s = sb_advise_per_gpu(a->model, a->model->gpu.exposed_communication_s);
	if (sb_weigh_traced(a->model) && exposed_s > waited_s)
		waited_s = exposed_s;
	percent = (1 - waited_s / a->model->summary.generation_s) * 100;
	if (ranks > 1 && waited_s > 0 && percent < a->limit)
		sb_advisor_find(a, percent, waited_s,
			sb_say(a, "%.0f ranks work at %.0f %% efficiency", ranks, percent),
			sb_say(a, "%.2f s of %.2f s wait for other ranks", waited_s,
				a->model->summary.generation_s));
}

/* ---- memory ------------------------------------------------------------- */

void sb_rule_memory_over_model(struct sb_advisor *a)
{
	const struct sb_memory_panel *m = &a->model->memory;
	double weights = 0, peak_mb = m->peak_bytes / SB_MB;

	for (size_t i = 0; i < a->model->models.model_count; i++) {
		if (a->model->models.models[i].bytes > 0)
			weights += a->model->models.models[i].bytes;
	}
	if (weights > 0 && peak_mb > a->limit && weights / SB_MB < a->limit / 2)
		sb_advisor_find(a, peak_mb, NAN,
			sb_say(a, "memory peaks at %.1f MB for models of %.1f MB", peak_mb, weights / SB_MB),
			sb_say(a, "%.1f MB are not weights%s%s", peak_mb - weights / SB_MB,
				m->peak_stage ? "; the peak is in " : "",
				m->peak_stage ? m->peak_stage : ""));
}

void sb_rule_fragmentation(struct sb_advisor *a)
{
	const struct sb_memory_panel *m = &a->model->memory;

	if (m->fragmentation_ratio * 100 > a->limit && m->fragmentation_reserved_bytes >= 1024 * SB_MB)
		sb_advisor_find(a, m->fragmentation_ratio * 100, NAN,
			sb_say(a, "%.0f %% of the reserved GPU memory is unused",
				m->fragmentation_ratio * 100),
			sb_say(a, "%.1f of %.1f MB reserved are not allocated at '%s'",
				m->fragmentation_bytes / SB_MB, m->fragmentation_reserved_bytes / SB_MB,
				m->fragmentation_label));
}

void sb_rule_memory_kept(struct sb_advisor *a)
{
	const struct sb_memory_panel *m = &a->model->memory;

	for (size_t i = 0; i < m->stage_count; i++) {
		const struct sb_memory_stage *s = &m->stages[i];
		struct sb_advice *f;

		if (!s->checked || s->freed || s->holds || s->let_go ||
			sb_role_work(s->stage, 0) == STROBE_ROLE_VAE_DECODE || /* its result */
			!(s->kept_bytes / SB_MB > a->limit))
			continue;
		f = sb_advisor_find(a, s->kept_bytes / SB_MB, NAN,
			sb_say(a, "'%s' keeps %.1f MB after its end", s->stage, s->kept_bytes / SB_MB),
			sb_say(a, "%.1f MB allocated before, %.1f MB after", s->before_bytes / SB_MB,
				s->after_bytes / SB_MB));
		if (f)
			f->stage = s->stage;
	}
}

void sb_rule_swap(struct sb_advisor *a)
{
	const struct sb_memory_panel *m = &a->model->memory;
	double grown_mb = (m->swap_peak_bytes - m->swap_first_bytes) / SB_MB;

	if (grown_mb > a->limit)
		sb_advisor_find(a, grown_mb, NAN, sb_say(a, "the machine swapped %.1f MB out", grown_mb),
			sb_say(a, "swap rose from %.1f to %.1f MB", m->swap_first_bytes / SB_MB,
				m->swap_peak_bytes / SB_MB));
}

void sb_rule_ram_limit(struct sb_advisor *a)
{
	const struct sb_memory_panel *m = &a->model->memory;
	double percent = m->ram_peak_bytes / m->ram_total_bytes * 100;

	if (percent > a->limit)
		sb_advisor_find(a, percent, NAN, sb_say(a, "RAM peaks at %.1f %%", percent),
			sb_say(a, "%.1f of %.1f MB", m->ram_peak_bytes / SB_MB, m->ram_total_bytes / SB_MB));
}

/* ---- disk --------------------------------------------------------------- */

#define READS_WORTH_BYTES_PER_S 100e6 /* below that no rate is worth the name */
#define COLLAPSE_LEAST_S 5.0

/* Starting up fills the page cache, by fits and starts: reads count from the first generation to
 * the last, or from the first stage that is not setup. INFINITY: there is none. */
static double work_begins_s(const struct sb_model *model)
{
	double begin_s = INFINITY;

	if (!model->generations.whole_run && model->generations.count)
		return model->generations.all[0].begin_s;
	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (s->parent < 0 && !s->setup && s->state != SB_STAGE_SKIPPED)
			begin_s = fmin(begin_s, s->first_s);
	}
	return begin_s;
}

static double work_ends_s(const struct sb_model *model)
{
	double end_s = -INFINITY;

	for (size_t i = 0; i < model->generations.count && !model->generations.whole_run; i++)
		end_s = fmax(end_s, model->generations.all[i].end_s);
	return isfinite(end_s) ? end_s : INFINITY;
}

/* Looks for the best rate over a few seconds, then for a later long stretch in
 * which reading goes on at a fraction of it. */
void sb_rule_disk_collapse(struct sb_advisor *a)
{
	const struct sb_series *s = sb_model_series(a->model, "disk", -2);
	const struct sb_series_column *c = s ? sb_series_column_find(s, "read_bytes") : NULL;
	double from_s = work_begins_s(a->model), to_s = work_ends_s(a->model);
	double best = 0, slow_s = 0, slow_bytes = 0;

	for (size_t i = 1; c && i < s->count; i++) {
		double interval_s = s->t_s[i] - s->t_s[i - 1], bytes = c->values[i] - c->values[i - 1];
		double rate = bytes / interval_s;

		if (!(interval_s > 0) || isnan(bytes) || s->t_s[i - 1] < from_s || s->t_s[i] > to_s)
			continue;
		if (rate > best) {
			best = rate;
			slow_s = slow_bytes = 0;
		} else if (bytes > 0 && rate < best * a->limit / 100) {
			slow_s += interval_s;
			slow_bytes += bytes;
		}
	}
	if (best < READS_WORTH_BYTES_PER_S || slow_s < COLLAPSE_LEAST_S)
		return;
	sb_advisor_find(a, slow_bytes / slow_s / best * 100, slow_s - slow_bytes / best,
		sb_say(a, "disk reads fell from %.2f to %.2f GB/s", best / 1e9, slow_bytes / slow_s / 1e9),
		sb_say(a, "%.2f GB took %.1f s; at the best rate %.1f s", slow_bytes / 1e9, slow_s,
			slow_bytes / best));
}
