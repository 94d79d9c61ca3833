/* Rules about the host: threads that fight, memory that grows, a program that gets slower and slower. */
#include "advise/hot.h"
#include "advise/weigh.h"

#include "base/memory_units.h"

#include <stdlib.h>
#include <string.h>

/* ---- the GIL ------------------------------------------------------------- */

static bool is_busy_elsewhere(const struct sb_model *model, const struct sb_line *l)
{
	enum sb_doing doing = sb_hot_doing(l);

	(void)model;
	return !l->main && !(l->generation_s > 0) && !l->inner && doing == SB_DOES_COMPUTE;
}

/* Two threads that both compute in Python take turns, 5 ms each: what the pipeline does in Python takes twice as long. */
void sb_rule_gil_contention(struct sb_advisor *a)
{
	struct sb_hot hot = sb_hot_find(a->model, is_busy_elsewhere);
	double work_s = sb_weigh_work_s(a->model), percent = hot.total_s / work_s * 100;
	struct sb_advice *f;

	if (!hot.line || hot.sample_count < 5 || !(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, fmin(work_s, hot.total_s) / 2,
		sb_say(a, "another thread computes in Python all the while: %.0f %% of the generations",
			fmin(percent, 100)),
		sb_say(a, "%s in %llu samples of a thread that is not the pipeline's",
			sb_say_seconds(a, hot.total_s), (unsigned long long)hot.sample_count));
	sb_finding_cause(f, sb_say(a, "it holds the GIL: %s", sb_hot_words(a, hot.line)), SB_GAIN_ESTIMATED,
		SB_LIKELY);
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

/* ---- memory that grows ------------------------------------------------------ */

#define GENERATIONS_LEAST 4
#define READINGS_LEAST 4

/* From the second generation on (the first fills caches): how much each one adds, 0 where it is not steady. Only readings
 * taken after that generation count, and few of them prove nothing: libraries still load and pools still fill. */
static double growth_per_generation(
	const struct sb_model *model, const struct sb_series *s, const char *column)
{
	const struct sb_series_column *c = s ? sb_series_column_find(s, column) : NULL;
	size_t count = model->generations.count, first = count > 6 ? 2 : 1;
	double begin = NAN, last = NAN, rises = 0, steps = 0;

	if (!c || model->generations.whole_run || count < GENERATIONS_LEAST + 1)
		return 0;
	for (size_t i = 0; i < s->count && s->t_s[i] <= model->generations.all[count - 1].end_s; i++) {
		if (isnan(c->values[i]) || s->t_s[i] < model->generations.all[first].end_s)
			continue;
		begin = isnan(begin) ? c->values[i] : begin;
		rises += c->values[i] > last;
		steps += !isnan(last);
		last = c->values[i];
	}
	return steps >= READINGS_LEAST && rises >= 0.8 * steps && last > begin
		       ? (last - begin) / (double)(count - 1 - first)
		       : 0;
}

/* What the program itself saw: five generations in a row that each left more behind. */
static const struct sb_event_row *growth_seen(const struct sb_model *model)
{
	for (size_t i = 0; i < model->events.count; i++)
		if (strcmp(model->events.rows[i].name, "memory_grows") == 0)
			return &model->events.rows[i];
	return NULL;
}

static void find_leak(struct sb_advisor *a, double mb, const char *where, const struct sb_event_row *e)
{
	const struct sb_pair *holder = attr(e, "holder"), *file = attr(e, "file"), *line = attr(e, "line");
	struct sb_advice *f;

	f = sb_advisor_find(a, mb, NAN, sb_say(a, "%s grows with every generation", where),
		sb_say(a, "%.0f MB more after each of %lld generations", mb,
			(long long)a->model->generations.count));
	sb_finding_cause(f,
		holder && holder->s
			? holder->s
			: sb_say(a, "something keeps what each generation makes: %.0f MB of %s each time", mb,
				  where),
		SB_GAIN_ESTIMATED, holder && holder->s ? SB_LIKELY : SB_POSSIBLE);
	if (!f)
		return;
	if (file && file->s && line)
		sb_finding_line(f, file->s, (uint32_t)line->i);
	f->rank_s = sb_weigh_work_s(a->model) *
		    0.25; /* it ends in running out: above what costs a little time */
	f->priority = sb_priority_name(SB_PRIORITY_HIGH);
}

void sb_rule_memory_leak(struct sb_advisor *a)
{
	const struct sb_event_row *e = growth_seen(a->model);
	const struct sb_pair *of = attr(e, "of"), *bytes = attr(e, "bytes");
	double device = growth_per_generation(
		a->model, sb_model_series(a->model, "gpu", -2), "process_memory_mb");
	double host = growth_per_generation(a->model, a->model->cpu.process, "rss_mb");
	bool on_device = of && of->s && strcmp(of->s, "device") == 0;

	if (bytes) {
		device = on_device ? (double)bytes->i / SB_MB : 0;
		host = on_device ? 0 : (double)bytes->i / SB_MB;
	}
	if (device > a->limit)
		find_leak(a, device, "GPU memory", e);
	else if (host > a->limit)
		find_leak(a, host, "the process's memory", e);
}

/* ---- slower and slower ------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const double *values, size_t count)
{
	double copy[256];

	if (count > 256)
		count = 256;
	memcpy(copy, values, count * sizeof *copy);
	qsort(copy, count, sizeof *copy, by_value);
	return copy[count / 2];
}

/* Medians of four quarters that each lie above the one before. */
static bool climbs(const double *series, size_t count, double ratio, double *out_first, double *out_last)
{
	size_t quarter = count / 4;
	double last = 0;

	for (size_t i = 0; i < 4; i++) {
		double m = median(series + i * quarter, quarter);

		if (m <= last * 1.02)
			return false;
		last = m;
		*(i ? out_last : out_first) = m;
	}
	return *out_last > ratio * *out_first;
}

static bool is_in_generation(const struct sb_model *model, const struct sb_line *l)
{
	(void)model;
	return l->between && l->generation_s > 0;
}

static bool is_climbing(
	const struct sb_advisor *a, const struct sb_iterations *it, double *out_first, double *out_last)
{
	size_t skip = it->sample_count > 16 ? 2 : 1;

	return it->sample_count >= 12 + skip &&
	       climbs(it->sample_s + skip, it->sample_count - skip, a->limit, out_first, out_last);
}

void sb_rule_slow_trend(struct sb_advisor *a)
{
	for (size_t i = 0; i < a->model->iterations.count; i++) {
		const struct sb_iterations *it = &a->model->iterations.all[i];
		struct sb_hot hot = sb_hot_find(a->model, is_in_generation);
		double first, last, excess_s = 0;
		struct sb_advice *f;

		if (!is_climbing(a, it, &first, &last))
			continue;
		excess_s = it->warm.total - first * (double)it->warm.count;
		f = sb_advisor_find(a, last / first, excess_s > 0 ? excess_s : NAN,
			sb_say(a, "'%s' gets slower and slower: %s at first, %s at the end", it->name,
				sb_say_seconds(a, first), sb_say_seconds(a, last)),
			sb_say(a, "medians of the first and the last quarter of %lld",
				(long long)it->all.count));
		sb_finding_cause(f,
			hot.line ? sb_say(a, "something grows with the run; most of the time is in %s",
					   sb_hot_words(a, hot.line))
				 : "something that every one of them adds to: a list, a cache, memory, heat",
			SB_GAIN_MEASURED, hot.line ? SB_LIKELY : SB_POSSIBLE);
		sb_hot_place(f, &hot);
		sb_weigh_priority(a, f);
		return;
	}
}
