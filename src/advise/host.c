/* Rules about the host: threads that compete, memory that grows, a program that slows down. */
#include "advise/hot.h"
#include "advise/weigh.h"

#include "base/memory_units.h"
#include "stats/statistics.h"

#include <stdlib.h>
#include <string.h>

/* ---- the GIL ------------------------------------------------------------- */

/* What a loop that polls asks: Python's own library, and no wait. */
static bool only_asks(const char *inner)
{
	static const char *const asking[] = { "Event.is_set", "Queue.empty", "Queue.qsize",
		"Thread.is_alive" };

	for (size_t i = 0; i < sizeof asking / sizeof *asking; i++)
		if (strstr(inner, asking[i]))
			return true;
	return false;
}

#define WANTS_IT 0.08 /* of the looks at a thread: it waited for the GIL that the sampler had */
#define WAITS_LEAST 2
#define COMPUTES 0.05 /* of the time on a core: less is waiting */

static uint64_t look_count(const struct sb_line *l)
{
	return l->stood_count + l->ran_count + l->without_count;
}

/* The looks tell: a thread that needs the GIL waits for it while the sampler has it. One that has let go of it (hashing,
 * compressing, numpy on large arrays, reading) runs on or waits for something else, and the pipeline has the GIL whenever
 * it is asked to look. */
static bool takes_the_gil(const struct sb_line *l)
{
	if (l->cpu_of_s > 0 && l->cpu_s < COMPUTES * l->cpu_of_s) /* it waits, whatever its line says */
		return false;
	if (!look_count(l)) /* an older recording: what is in Python's own code may compute there */
		return !l->inner || only_asks(l->inner);
	return l->stood_count >= WAITS_LEAST && (double)l->stood_count >= WANTS_IT * (double)look_count(l);
}

static bool is_busy_elsewhere(const struct sb_model *model, const struct sb_line *l)
{
	(void)model;
	return !l->main && !(l->generation_s > 0) && sb_hot_doing(l) == SB_DOES_COMPUTE && takes_the_gil(l);
}

#define TURN_S \
	5e-3 /* sys.getswitchinterval() as it comes: how long a thread keeps the GIL that another wants */

/* The pipeline waits for the GIL at every launch: torch lets go of it in each, and from one kernel to the next passes
 * about as long as the other thread may keep it. */
static bool waits_at_every_launch(const struct sb_model *model)
{
	struct sb_weigh_step step;

	return sb_weigh_step(model, &step) && step.kernel_count > 0 &&
	       (step.took_s - step.busy_s) / step.kernel_count > TURN_S / 2;
}

#define STARVED 0.3 /* or less of the time the GPU works, as sampled */
#define ALL_THE_WHILE 0.9

/* The same where no trace counts the launches: the other thread never lets go, and the GPU has next to nothing to do. */
static bool starves(const struct sb_model *model, double other_s)
{
	return !sb_weigh_traced(model) && other_s >= ALL_THE_WHILE * sb_weigh_work_s(model) &&
	       sb_weigh_utilization(model) <= STARVED;
}

/* Two threads that both compute in Python take turns: what the pipeline does in Python takes twice as long. Where it
 * waits at every launch, the GPU idles for nothing else. */
static double gil_cost_s(const struct sb_model *model, double other_s)
{
	if (waits_at_every_launch(model) || starves(model, other_s))
		return fmin(sb_weigh_work_s(model), sb_weigh_idle_s(model));
	return other_s / 2;
}

static const char *gil_evidence(struct sb_advisor *a, const struct sb_hot *hot)
{
	const char *seen = sb_say(a, "%s in %llu samples of a thread that is not the pipeline's",
		sb_say_seconds(a, hot->total_s), (unsigned long long)hot->sample_count);

	if (!look_count(hot->line))
		return seen;
	return sb_say(a, "%s; it used %s of CPU time, and in %llu of %llu looks it waited for the GIL", seen,
		sb_say_seconds(a, hot->cpu_s), (unsigned long long)hot->stood_count,
		(unsigned long long)(hot->stood_count + hot->ran_count + hot->without_count));
}

void sb_rule_gil_contention(struct sb_advisor *a)
{
	struct sb_hot hot = sb_hot_find(a->model, is_busy_elsewhere);
	bool whole = a->model->generations.whole_run; /* its samples are of all the time */
	double work_s = whole ? a->model->stages.wall_s : sb_weigh_work_s(a->model);
	double percent = hot.total_s / work_s * 100;
	struct sb_advice *f;

	if (!hot.line || hot.sample_count < 5 || !(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, gil_cost_s(a->model, fmin(work_s, hot.total_s)),
		sb_say(a, "another thread computes in Python beside it, in %.0f %% of the samples of the %s",
			fmin(percent, 100), whole ? "run" : "generations"),
		gil_evidence(a, &hot));
	sb_finding_cause(f,
		sb_say(a, look_count(hot.line) ? "it holds the GIL: %s" : "it may hold the GIL: %s",
			sb_hot_words(a, hot.line)),
		SB_GAIN_ESTIMATED, look_count(hot.line) ? SB_LIKELY : SB_POSSIBLE);
	sb_hot_place(f, &hot);
	sb_weigh_priority(a, f);
}

/* ---- too many threads ------------------------------------------------------ */

static const struct sb_event_row *threads_asked_for(const struct sb_model *model)
{
	for (size_t i = model->events.count; i > 0; i--)
		if (strcmp(model->events.rows[i - 1].name, "torch.set_num_threads") == 0)
			return &model->events.rows[i - 1];
	return NULL;
}

static const struct sb_pair *attr(const struct sb_event_row *e, const char *key)
{
	for (size_t i = 0; e && i < e->attr_count; i++)
		if (strcmp(e->attrs[i].key, key) == 0)
			return &e->attrs[i];
	return NULL;
}

void sb_rule_thread_oversubscription(struct sb_advisor *a)
{
	const struct sb_event_row *asked = threads_asked_for(a->model);
	const struct sb_pair *count = attr(asked, "threads"), *cores = attr(asked, "cores"),
			     *file = attr(asked, "file"), *line = attr(asked, "line");
	double ratio = count && cores && cores->i > 0 ? (double)count->i / (double)cores->i : 0;
	struct sb_advice *f;

	if (!(ratio > a->limit))
		return;
	f = sb_advisor_find(a, ratio, sb_weigh_work_s(a->model) * 0.5,
		sb_say(a, "torch computes with %lld threads on %lld cores", (long long)count->i,
			(long long)cores->i),
		sb_say(a, "%.0f threads of the process on average", a->model->cpu.threads.mean));
	sb_finding_cause(f,
		sb_say(a, "torch.set_num_threads(%lld), or OMP_NUM_THREADS, on %lld cores",
			(long long)count->i, (long long)cores->i),
		SB_GAIN_ESTIMATED, SB_LIKELY);
	if (f && file && line)
		sb_finding_line(f, file->s, (uint32_t)line->i);
	sb_weigh_priority(a, f);
}

/* ---- slower and slower ------------------------------------------------------- */

static double median(const double *values, size_t count)
{
	double copy[256];

	if (count > 256)
		count = 256;
	memcpy(copy, values, count * sizeof *copy);
	sb_stats_sort(copy, count);
	return copy[count / 2];
}

struct trend { /* medians of the quarters of a series */
	double first_s, last_s;
	double more_s; /* what one of them takes above the first quarter's, on average */
};

/* True if the medians of the four quarters rise each time. */
static bool climbs(const double *series, size_t count, double ratio, struct trend *out_trend)
{
	size_t quarter = count / 4;
	double medians[4], sum = 0;

	for (size_t i = 0; i < 4; i++) {
		medians[i] = median(series + i * quarter, quarter);
		if (medians[i] <= (i ? medians[i - 1] * 1.02 : 0))
			return false;
		sum += medians[i];
	}
	*out_trend = (struct trend){ medians[0], medians[3], sum / 4 - medians[0] };
	return medians[3] > ratio * medians[0];
}

static bool is_in_generation(const struct sb_model *model, const struct sb_line *l)
{
	(void)model;
	return l->between && l->generation_s > 0;
}

#define FEW 6 /* generations after the first: of fewer the first and the last third say nothing */
#define SEEN_IN_THEM 0.3 /* of what their steps add to each of them */

static double mean_wall_s(const struct sb_generation *all, size_t count)
{
	double sum_s = 0;

	for (size_t i = 0; i < count; i++)
		sum_s += all[i].end_s - all[i].begin_s;
	return sum_s / (double)count;
}

/* What Python spends on launching may rise while the generations take as long as before: the GPU is what they wait for.
 * True as well where too few generations are known. */
static bool costs_generations(
	const struct sb_model *model, const struct sb_iterations *it, const struct trend *t)
{
	const struct sb_generations_panel *g = &model->generations;
	size_t third = g->count > FEW ? (g->count - 1) / 3 : 0;
	double steps, more_s;

	if (g->whole_run || !third || g->count != (size_t)g->total || it->all.count < 2 * g->total)
		return true;
	steps = (double)it->all.count / (double)g->total;
	more_s = mean_wall_s(&g->all[g->count - third], third) - mean_wall_s(&g->all[1], third);
	return more_s >= SEEN_IN_THEM * (t->last_s - t->first_s) * steps;
}

static bool is_climbing(const struct sb_advisor *a, const struct sb_iterations *it, struct trend *out_trend)
{
	size_t skip = it->sample_count > 16 ? 2 : 1;

	return it->sample_count >= 12 + skip && !sb_weigh_sizes_grow(a->model) &&
	       climbs(it->sample_s + skip, it->sample_count - skip, a->limit, out_trend) &&
	       costs_generations(a->model, it, out_trend);
}

/* On a crowded machine the time of anything rises and falls with what the other programs do. */
static void doubt_trend(struct sb_advisor *a, struct sb_advice *f)
{
	const struct sb_cpu_panel *cpu = &a->model->cpu;

	if (!f || !(sb_weigh_crowding(a->model) > 1))
		return;
	sb_finding_cause(f,
		sb_say(a, "the load is %.0f on %lld cores: other programs may do it; if not, %s",
			cpu->load1.mean, (long long)cpu->core_count, f->cause),
		SB_GAIN_MEASURED, SB_POSSIBLE);
	f->priority = sb_priority_name(SB_PRIORITY_LOW);
}

void sb_rule_slow_trend(struct sb_advisor *a)
{
	for (size_t i = 0; i < a->model->iterations.count; i++) {
		const struct sb_iterations *it = &a->model->iterations.all[i];
		struct sb_hot hot = sb_hot_find(a->model, is_in_generation);
		struct trend t;
		struct sb_advice *f;

		if (!is_climbing(a, it, &t))
			continue;
		f = sb_advisor_find(a, t.last_s / t.first_s, t.more_s * (double)it->warm.count,
			sb_say(a, "'%s' gets slower and slower: %s at first, %s at the end", it->name,
				sb_say_seconds(a, t.first_s), sb_say_seconds(a, t.last_s)),
			sb_say(a, "medians of the first and the last quarter of %lld",
				(long long)it->all.count));
		sb_finding_cause(f,
			hot.line ? sb_say(a, "something grows with the run; most of the time is in %s",
					   sb_hot_words(a, hot.line))
				 : "something that every one of them adds to: a list, a cache, memory, heat",
			SB_GAIN_MEASURED, hot.line ? SB_LIKELY : SB_POSSIBLE);
		sb_hot_place(f, &hot);
		sb_weigh_priority(a, f);
		doubt_trend(a, f);
		return;
	}
}
