/* pm_samples: what --gpu-counters sampled, as a whole and by kernel family. A sample belongs to a family
 * if kernels of that family, and no others, ran in all of it. */
#include "analyze/analysis.h"
#include "analyze/gpu/families.h"
#include "analyze/touched_devices.h"

#include "base/error.h"
#include "base/vec.h"
#include "format/run_keys.h"
#include "run/gpu_traces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BREAKS 0.02 /* of a sample, between kernels that follow each other at once */
#define CLOCKS_APART 0.05
#define CLOCKS_STEADY 0.005 /* a power cap or load moves a clock that is not held by more */
#define SMS_WORK 20 /* percent: below it a GPU lets its clock fall */
#define BUSY 50 /* percent, of the driver's utilisation */

#define COLUMNS_MAX 32u
#define VALUE_MOST 1e15 /* bytes per second, MHz */

enum { PCIE_READ = SB_COUNTERS, PCIE_WRITE, SM_CLOCK, VALUES };

struct place { /* of a sample or a kernel */
	uint32_t process;
	int32_t device;
	int64_t begin_ns, end_ns;
};

struct pm_sample {
	struct place at;
	float values[VALUES];
};

struct kernel {
	struct place at;
	uint32_t class;
};

struct pm_samples {
	struct sb_run *run;
	struct sb_gpu_families *families;
	struct sb_vec samples, kernels;
	struct rows {
		bool begun;
		int64_t last_ns; /* of the row before */
		int values[COLUMNS_MAX]; /* by column; -1: not looked at here */
	} * rows; /* by schema */
	int err;
};

/* ---- collecting ---- */

static int value_of(const char *column)
{
	static const char *const others[] = { "pcie_read_bytes_per_s", "pcie_write_bytes_per_s",
		"sm_clock_mhz" };

	for (int i = 0; i < SB_COUNTERS; i++)
		if (!strcmp(column, sb_gpu_counter_columns[i]))
			return i;
	for (int i = 0; i < VALUES - SB_COUNTERS; i++)
		if (!strcmp(column, others[i]))
			return SB_COUNTERS + i;
	return -1;
}

static struct rows *rows_of(struct pm_samples *p, const struct sb_run_schema *schema)
{
	struct rows *rows = &p->rows[schema - p->run->schemas];

	for (uint32_t i = 0; !rows->begun && i < schema->column_count && i < COLUMNS_MAX; i++)
		rows->values[i] = value_of(schema->columns[i]);
	return rows;
}

/* A row is of the time since the row before; the first, and one after a gap, has no values. */
static void take_row(struct pm_samples *p, const struct sb_event *e)
{
	const struct sb_run_schema *schema = e->sample.schema;
	struct rows *rows = rows_of(p, schema);
	struct pm_sample s = { { e->process, schema->device, rows->last_ns, e->t_ns }, { 0 } };
	bool follows = rows->begun, known = false;
	struct pm_sample *kept;

	if (follows && e->t_ns <= rows->last_ns)
		return;
	rows->begun = true;
	rows->last_ns = e->t_ns;
	for (int i = 0; i < VALUES; i++)
		s.values[i] = NAN;
	for (uint32_t i = 0; i < schema->column_count && i < COLUMNS_MAX; i++) {
		double most = rows->values[i] < SB_COUNTERS ? SB_PERCENT_MOST : VALUE_MOST;

		if (rows->values[i] < 0 || !(e->sample.values[i] >= 0 && e->sample.values[i] <= most))
			continue;
		s.values[rows->values[i]] = (float)e->sample.values[i];
		known = true;
	}
	if (!follows || !known || e->t_ns > p->run->to_ns || s.at.begin_ns < p->run->from_ns)
		return;
	kept = sb_vec_push(&p->samples, sizeof *kept);
	if (kept)
		*kept = s;
	else
		p->err = sb_fail(STROBE_ENOMEM, "no memory for the sampled counters");
}

static void take_kernel(struct pm_samples *p, const struct sb_event *e)
{
	struct kernel *k = sb_vec_push(&p->kernels, sizeof *k);

	if (!k) {
		p->err = sb_fail(STROBE_ENOMEM, "no memory for the sampled kernels");
		return;
	}
	k->at = (struct place){ e->process, (int32_t)e->gpu.device, e->t_ns, e->t_ns + e->gpu.duration_ns };
	p->err = sb_gpu_families_class(p->families, e->name, e->gpu.flags, &k->class);
}

static void take(void *self, const struct sb_event *e)
{
	struct pm_samples *p = self;

	if (p->err)
		return;
	if (e->kind == SB_EVENT_SAMPLE && !strcmp(e->sample.schema->source, "gpu_pm"))
		take_row(p, e);
	else if (e->kind == SB_EVENT_GPU && e->gpu.kind == SB_GPU_KERNEL && e->gpu.duration_ns > 0)
		take_kernel(p, e);
}

static bool sampled(const struct sb_run *run)
{
	for (uint32_t i = 0; i < run->schema_count; i++)
		if (!strcmp(run->schemas[i].source, "gpu_pm"))
			return true;
	return false;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct pm_samples *p;
	int err;

	(void)model;
	if (!sampled(run))
		return 0;
	p = calloc(1, sizeof *p);
	if (!p)
		return sb_fail(STROBE_ENOMEM, "no memory for the sampled counters");
	p->run = run;
	p->rows = calloc(run->schema_count + 1, sizeof *p->rows);
	*v = (struct sb_visitor){
		.self = p, .kinds = 1u << SB_EVENT_SAMPLE | 1u << SB_EVENT_GPU, .event = take
	};
	err = sb_gpu_families_new(run, &p->families);
	return err || p->rows ? err : sb_fail(STROBE_ENOMEM, "no memory for the sampled counters");
}

/* ---- sums ---- */

static void add_sample(struct sb_counter_sums *sums, const struct pm_sample *s)
{
	double dt_s = (double)(s->at.end_ns - s->at.begin_ns) / 1e9;

	sums->covered_s += dt_s;
	for (int k = 0; k < SB_COUNTERS; k++)
		if (!isnan(s->values[k])) {
			sums->weighted[k] += dt_s * (double)s->values[k];
			sums->known_s[k] += dt_s;
		}
}

static int same_gpu(const struct place *a, const struct place *b)
{
	return a->process == b->process && a->device == b->device;
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Mean of a value over the samples of one GPU; least: of the SMs' activity. */
static double mean_of(const struct pm_sample *all, size_t count, int value, float least)
{
	double sum = 0, known_s = 0;

	for (size_t i = 0; i < count; i++) {
		double dt_s = (double)(all[i].at.end_ns - all[i].at.begin_ns) / 1e9;

		if (isnan(all[i].values[value]) || !(all[i].values[SB_COUNTER_SM] >= least))
			continue;
		sum += dt_s * (double)all[i].values[value];
		known_s += dt_s;
	}
	return known_s > 0 ? sum / known_s : NAN;
}

/* Did the clock keep one rate while the SMs had work? */
static bool clock_is_steady(const struct pm_sample *all, size_t count, double mean_mhz)
{
	double sum = 0, known = 0;

	for (size_t i = 0; i < count; i++) {
		double off = (double)all[i].values[SM_CLOCK] - mean_mhz;

		if (isnan(off) || !(all[i].values[SB_COUNTER_SM] >= SMS_WORK))
			continue;
		sum += off * off;
		known++;
	}
	return known > 0 && sqrt(sum / known) < CLOCKS_STEADY * mean_mhz;
}

/* The samples of the GPU whose SMs had most to do; they are sorted. */
static const struct pm_sample *busiest(const struct sb_vec *samples, size_t *out_count)
{
	const struct pm_sample *all = samples->items, *best = NULL;
	double most = -1;

	for (size_t from = 0, to; from < samples->count; from = to) {
		double mean;

		for (to = from + 1; to < samples->count && same_gpu(&all[from].at, &all[to].at); to++)
			;
		mean = mean_of(all + from, to - from, SB_COUNTER_SM, 0);
		if (best && !(mean > most))
			continue;
		most = mean;
		best = all + from;
		*out_count = to - from;
	}
	return best;
}

/* ---- families ---- */

struct sweep { /* kernels that a sample may meet, in the order of their begin; of one class at the same time they are one */
	const struct kernel *kernels;
	size_t count, next;
	struct kernel *active;
	size_t active_count, active_room;
	size_t *newest; /* by class: the one of it that began last, and 1 */
};

static bool activate(struct sweep *w, const struct kernel *k)
{
	struct kernel *before = w->newest[k->class] ? &w->active[w->newest[k->class] - 1] : NULL;

	if (before && same_gpu(&before->at, &k->at) && k->at.begin_ns <= before->at.end_ns) {
		if (k->at.end_ns > before->at.end_ns)
			before->at.end_ns = k->at.end_ns;
		return true;
	}
	if (w->active_count == w->active_room) {
		size_t room = w->active_room * 2 + 64;
		struct kernel *more = realloc(w->active, room * sizeof *more);

		if (!more)
			return false;
		w->active = more;
		w->active_room = room;
	}
	w->active[w->active_count++] = *k;
	w->newest[k->class] = w->active_count;
	return true;
}

/* Lets in the kernels that began before the sample's end, and out those that ended before its begin. */
static bool advance(struct sweep *w, const struct place *s)
{
	size_t kept = 0;

	while (w->next < w->count &&
		by_place(&w->kernels[w->next].at, &(struct place){ s->process, s->device, s->end_ns, 0 }) < 0)
		if (!activate(w, &w->kernels[w->next++]))
			return false;
	for (size_t i = 0; i < w->active_count; i++) {
		w->newest[w->active[i].class] = 0;
		if (same_gpu(&w->active[i].at, s) && w->active[i].at.end_ns > s->begin_ns)
			w->active[kept++] = w->active[i];
	}
	for (size_t i = 0; i < kept; i++)
		w->newest[w->active[i].class] = i + 1;
	w->active_count = kept;
	return true;
}

/* The one class whose kernels fill the sample; -1: there is none. */
static int filled_by(const struct sweep *w, const struct place *s)
{
	int64_t covered_ns = 0, to_ns = s->begin_ns;

	for (size_t i = 0; i < w->active_count; i++) {
		const struct place *k = &w->active[i].at;
		int64_t end_ns = k->end_ns < s->end_ns ? k->end_ns : s->end_ns;
		int64_t begin_ns = k->begin_ns > to_ns ? k->begin_ns : to_ns;

		if (w->active[i].class != w->active[0].class)
			return -1;
		if (end_ns > begin_ns) {
			covered_ns += end_ns - begin_ns;
			to_ns = end_ns;
		}
	}
	return (double)covered_ns >= (1 - BREAKS) * (double)(s->end_ns - s->begin_ns)
		       ? (int)w->active[0].class
		       : -1;
}

static int by_total(const void *a, const void *b)
{
	const struct sb_pm_family *x = a, *y = b;

	return x->total_s < y->total_s ? 1 : -(x->total_s > y->total_s);
}

static void fill_families(struct pm_samples *p, const struct sb_counter_sums *sums, const double *total_s,
	struct sb_model *model)
{
	struct sb_pm_samples_panel *panel = &model->pm_samples;
	uint32_t count = sb_gpu_families_class_count(p->families);

	panel->families = sb_model_alloc(model, (count + 1) * sizeof *panel->families);
	for (uint32_t i = 0; panel->families && i < count; i++) {
		struct sb_kernel_class class = sb_gpu_families_class_at(p->families, i);
		struct sb_pm_family *row = &panel->families[panel->family_count];

		if (!(sums[i].covered_s > 0))
			continue;
		*row = (struct sb_pm_family){ .family = sb_kernel_family_name(class.family),
			.kind = class.kind,
			.precision = class.precision,
			.total_s = total_s[i] };
		sb_gpu_counters_from_sums(
			&sums[i], total_s[i], sb_counter_source_names[SB_COUNTED_PM], &row->counters);
		panel->family_count++;
	}
	if (panel->family_count)
		qsort(panel->families, panel->family_count, sizeof *panel->families, by_total);
}

static int sum_families(struct pm_samples *p, struct sb_model *model)
{
	uint32_t count = sb_gpu_families_class_count(p->families);
	struct sb_counter_sums *sums = calloc(count + 1, sizeof *sums);
	double *total_s = calloc(count + 1, sizeof *total_s);
	struct sweep w = { .kernels = p->kernels.items,
		.count = p->kernels.count,
		.newest = calloc(count + 1, sizeof *w.newest) };
	const struct pm_sample *samples = p->samples.items;
	bool good = sums && total_s && w.newest;

	for (size_t i = 0; good && i < w.count; i++)
		total_s[w.kernels[i].class] += (double)(w.kernels[i].at.end_ns - w.kernels[i].at.begin_ns) /
					       1e9;
	for (size_t i = 0; good && i < p->samples.count; i++) {
		int class;

		good = advance(&w, &samples[i].at);
		class = good && w.active_count ? filled_by(&w, &samples[i].at) : -1;
		if (class >= 0)
			add_sample(&sums[class], &samples[i]);
	}
	if (good)
		fill_families(p, sums, total_s, model);
	free(w.active);
	free(w.newest);
	free(sums);
	free(total_s);
	return good ? 0 : sb_fail(STROBE_ENOMEM, "no memory for the sampled families");
}

/* ---- when, and how fast the clocks ran ---- */

static bool in_samples(const struct pm_sample *all, size_t count, double t_s)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if ((double)all[middle].at.end_ns / 1e9 < t_s)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && (double)all[low].at.begin_ns / 1e9 <= t_s;
}

/* The driver's clock of that GPU while it was busy and not sampled. */
static double clock_elsewhere(
	const struct sb_run *run, const struct sb_model *model, const struct pm_sample *all, size_t count)
{
	struct sb_device_numbers numbers = { .run = run };
	const struct sb_series *s = sb_model_series(
		model, "gpu", sb_device_number(&numbers, all->at.process, all->at.device));
	const struct sb_series_column *clock = s ? sb_series_column_find(s, "sm_clock_mhz") : NULL;
	const struct sb_series_column *busy = s ? sb_series_column_find(s, "utilization_percent") : NULL;
	double sum = 0, rows = 0;

	for (size_t i = 0; clock && busy && i < s->count; i++)
		if (busy->values[i] >= BUSY && clock->values[i] > 0 && !in_samples(all, count, s->t_s[i])) {
			sum += clock->values[i];
			rows++;
		}
	return rows > 0 ? sum / rows : NAN;
}

static void fill_panel(struct pm_samples *p, struct sb_model *model)
{
	struct sb_pm_samples_panel *panel = &model->pm_samples;
	struct sb_counter_sums sums = { 0 };
	const struct pm_sample *all;
	int64_t first_ns = INT64_MAX, last_ns = 0;
	size_t count = 0;
	double ratio;

	all = busiest(&p->samples, &count);
	panel->present = all != NULL;
	if (!all)
		return;
	for (size_t i = 0; i < count; i++)
		add_sample(&sums, &all[i]);
	for (size_t i = 0; i < p->samples.count; i++) {
		const struct place *at = &((const struct pm_sample *)p->samples.items)[i].at;

		first_ns = at->begin_ns < first_ns ? at->begin_ns : first_ns;
		last_ns = at->end_ns > last_ns ? at->end_ns : last_ns;
	}
	panel->t_s = (double)first_ns / 1e9;
	panel->duration_s = (double)(last_ns - first_ns) / 1e9;
	panel->sampled_s = sums.covered_s;
	panel->sample_count = (int64_t)p->samples.count;
	sb_gpu_traces_number(p->run, SB_RUN_GPU_COUNTERS_LOST, &(int64_t){ 0 }, &panel->lost_count);
	panel->interval_s = sums.covered_s / (double)count;
	sb_gpu_counters_from_sums(&sums, (double)(p->run->to_ns - p->run->from_ns) / 1e9,
		sb_counter_source_names[SB_COUNTED_PM], &panel->counters);
	panel->pcie_read_bytes_per_s = mean_of(all, count, PCIE_READ, 0);
	panel->pcie_write_bytes_per_s = mean_of(all, count, PCIE_WRITE, 0);
	panel->sm_clock_mhz = mean_of(all, count, SM_CLOCK, SMS_WORK);
	panel->sm_clock_elsewhere_mhz = clock_elsewhere(p->run, model, all, count);
	ratio = panel->sm_clock_mhz / panel->sm_clock_elsewhere_mhz;
	panel->clocks = isnan(ratio) ? NULL
			: fabs(ratio - 1) > CLOCKS_APART && clock_is_steady(all, count, panel->sm_clock_mhz)
				? "held"
				: "as usual";
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct pm_samples *p = self;

	(void)run;
	if (!p || p->err)
		return p ? p->err : 0;
	if (p->samples.count)
		qsort(p->samples.items, p->samples.count, sizeof(struct pm_sample), by_place);
	if (p->kernels.count)
		qsort(p->kernels.items, p->kernels.count, sizeof(struct kernel), by_place);
	fill_panel(p, model);
	return sum_families(p, model);
}

static void done(void *self)
{
	struct pm_samples *p = self;

	if (!p)
		return;
	sb_gpu_families_free(p->families);
	sb_vec_done(&p->samples);
	sb_vec_done(&p->kernels);
	free(p->rows);
	free(p);
}

const struct sb_analysis sb_analysis_pm_samples = { "pm_samples", begin, finish, done };
