/* Iterations, steps and blocks by name: statistics, the warm-up kept apart, and
 * the ones that are slower than their peers. */
#include "run/gpu_spans.h"
#include "run/gpu_traces.h"
#include "analyze/slow.h"
#include "analyze/warm_calls.h"
#include "analyze/stages/stages.h"
#include "analyze/stages/warmup.h"
#include "run/summed.h"
#include "base/error.h"
#include "base/map.h"
#include "base/room.h"
#include "format/digest.h"
#include "format/run_keys.h"
#include "stats/longest.h"

#include <stdlib.h>
#include <string.h>

#define SERIES_MAX 2000
#define OUTLIERS_LISTED 20
#define BEGINS_MAX (1u << 20)
#define ASIDES 1000 /* above every role */

struct loop {
	uint32_t name, role;
	struct sb_durations durations;
	int64_t *begins; /* of the first BEGINS_MAX */
	size_t begin_count, begin_room;
	bool *warm; /* of steps, as many as begins */
	size_t warm_count, warm_room;
	bool unordered; /* threads are read one after the other */
	int64_t last_end_ns;
	uint64_t warming_count; /* inside a zone of warm-up: not among the others */
	uint64_t folded_count;
	int64_t folded_ns, folded_min_ns, folded_max_ns;
	uint64_t *folded; /* SB_STAGE_BUCKETS counts; NULL: nothing folded */
	struct sb_summed summed; /* calls 0: none */
	int64_t summed_ns;
	double fps; /* NAN: not known */
	bool aside;
	const char *label; /* of one that stands aside; the model's */
};

struct loops {
	struct sb_run *run;
	struct sb_model *model;
	struct loop *all;
	uint32_t count, room;
	struct sb_map index; /* name, role -> all */
	uint32_t aside_count;
	struct sb_warm_calls warm;
	struct sb_vec traces, setups; /* struct sb_gpu_trace, sb_gpu_setup */
	bool imported; /* zones may stand for several calls */
	bool no_memory;
};

static struct loop *loop_of(struct loops *l, uint32_t name, uint32_t role)
{
	uint64_t key = (uint64_t)role << 32 | name;
	uint32_t index;

	if (sb_map_get(&l->index, key, &index))
		return &l->all[index];
	if (!SB_MAKE_ROOM(l->all, l->count, l->room)) {
		l->no_memory = true;
		return NULL;
	}
	sb_map_put(&l->index, key, l->count);
	l->all[l->count] = (struct loop){
		.name = name, .role = role, .last_end_ns = INT64_MIN, .folded_min_ns = INT64_MAX, .fps = NAN
	};
	return &l->all[l->count++];
}

/* Where the CPU runs ahead it only launches: it lasts as long as the GPU takes for it. */
static int64_t duration_of(const struct sb_zone *z)
{
	int64_t cpu_ns = z->end_ns - z->begin_ns, gpu_ns = z->gpu ? (int64_t)z->gpu->duration_ns : 0;

	return gpu_ns > cpu_ns ? gpu_ns : cpu_ns;
}

/* Of steps the rates of the stages are of the same calls. A duration that was handed in is no call. */
static void note_warm(struct loops *l, struct loop *at, const struct sb_zone *z)
{
	enum sb_call_kind kind = SB_CALL_COLD;

	if (!sb_warm_calls_counts(z))
		return;
	if (!sb_warm_calls_kind(&l->warm, z, &kind) ||
		!SB_MAKE_ROOM(at->warm, at->warm_count, at->warm_room)) {
		l->no_memory = true;
		return;
	}
	at->warm[at->warm_count++] = kind != SB_CALL_COLD;
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct loops *l = self;
	bool counts = !(z->flags & (SB_ZONE_OPEN | SB_ZONE_CLIPPED | SB_ZONE_RECURSIVE));
	struct loop *at = counts ? loop_of(l, z->name, z->role) : NULL;

	if (!at)
		return;
	if (z->flags & SB_ZONE_WARMING) {
		at->warming_count++;
		return;
	}
	if (l->imported && sb_summed_of(z, &at->summed)) {
		at->summed_ns = z->end_ns - z->begin_ns;
		return;
	}
	if (!sb_durations_add(&at->durations, duration_of(z)))
		l->no_memory = true;
	if (z->end_ns > at->last_end_ns)
		at->last_end_ns = z->end_ns;
	if (at->begin_count == BEGINS_MAX)
		return;
	if (!SB_MAKE_ROOM(at->begins, at->begin_count, at->begin_room)) {
		l->no_memory = true;
		return;
	}
	if (z->role == STROBE_ROLE_STEP)
		note_warm(l, at, z);
	at->unordered |= at->begin_count && z->begin_ns < at->begins[at->begin_count - 1];
	at->begins[at->begin_count++] = z->begin_ns;
}

static bool is_loop(uint32_t role)
{
	return role == STROBE_ROLE_ITERATION || role == STROBE_ROLE_STEP || role == STROBE_ROLE_BLOCK;
}

/* SB_EVENT_LOOP: the event's own name says that it is a loop; its attribute, which. */
static void see_aside(struct loops *l, const struct sb_event *e)
{
	const struct sb_run_attr *name = sb_attr_find(e->attrs, e->attr_count, "loop");
	double mean_s = sb_attr_number(e->attrs, e->attr_count, "mean_s");
	double count = sb_attr_number(e->attrs, e->attr_count, "count");
	struct loop *at;

	if (!l->imported || strcmp(l->run->names[e->name].text, SB_EVENT_LOOP) || !name || !name->s ||
		name->type != STROBE_TYPE_STRING || !(mean_s > 0 && mean_s < 1e8) ||
		!(count >= 1 && count < 1e9))
		return;
	at = loop_of(l, e->name, ASIDES + l->aside_count++); /* each is one of its own */
	if (!at)
		return;
	at->role = STROBE_ROLE_ITERATION;
	at->aside = true;
	at->label = sb_model_text(l->model, name->s);
	at->fps = sb_attr_number(e->attrs, e->attr_count, "frames_per_s");
	at->summed_ns = (int64_t)(mean_s * count * 1e9);
	at->summed = (struct sb_summed){ .calls = (int64_t)count,
		.min_s = sb_attr_number(e->attrs, e->attr_count, "min_s"),
		.max_s = sb_attr_number(e->attrs, e->attr_count, "max_s"),
		.median_s = sb_attr_number(e->attrs, e->attr_count, "median_s"),
		.std_s = sb_attr_number(e->attrs, e->attr_count, "std_s") };
}

static void see_digest(struct loops *l, const struct sb_event *e)
{
	bool counts = is_loop(e->digest.role) && !(e->digest.flags & SB_ZONE_RECURSIVE);
	struct loop *at = counts ? loop_of(l, e->name, e->digest.role) : NULL;

	if (!at)
		return;
	if (e->digest.flags & SB_ZONE_WARMING) {
		at->warming_count += e->digest.count;
		return;
	}
	at->folded_count += e->digest.count;
	at->folded_ns += e->digest.total_ns;
	at->folded_min_ns = e->digest.min_ns < at->folded_min_ns ? e->digest.min_ns : at->folded_min_ns;
	at->folded_max_ns = e->digest.max_ns > at->folded_max_ns ? e->digest.max_ns : at->folded_max_ns;
	if (!at->folded)
		at->folded = calloc(SB_STAGE_BUCKETS, sizeof *at->folded);
	if (!at->folded)
		l->no_memory = true;
	for (uint32_t i = 0; at->folded && i < e->digest.bucket_count; i++) {
		const struct sb_digest_bucket *b = &e->digest.buckets[i];

		at->folded[sb_digest_bucket_of((uint64_t)((b->low_ns + b->high_ns) / 2))] += b->count;
	}
}

static void see_event(void *self, const struct sb_event *e)
{
	struct loops *l = self;

	switch (e->kind) {
	case SB_EVENT_EVENT: see_aside(l, e); break;
	default: see_digest(l, e); break;
	}
}

/* ---- warm-up and outliers ------------------------------------------------ */

struct timed {
	int64_t begin_ns;
	double seconds;
	bool warm;
};

static int by_begin(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static bool knows_warm(const struct loop *at)
{
	return at->warm_count && at->warm_count == at->durations.count && !at->folded_count;
}

/* Those of several threads as they began: what is first, last or rising is so in time. */
static int put_in_order(const struct loop *at, double *seconds, size_t count)
{
	struct timed *all;

	if (!at->unordered || at->begin_count != count)
		return 0;
	all = malloc(count * sizeof *all);
	if (!all)
		return sb_fail(STROBE_ENOMEM, "no memory for iterations");
	for (size_t i = 0; i < count; i++)
		all[i] = (struct timed){ at->begins[i], seconds[i], knows_warm(at) && at->warm[i] };
	qsort(all, count, sizeof *all, by_begin);
	for (size_t i = 0; i < count; i++) {
		at->begins[i] = all[i].begin_ns;
		seconds[i] = all[i].seconds;
		if (knows_warm(at))
			at->warm[i] = all[i].warm;
	}
	free(all);
	return 0;
}

void sb_iterations_add_slow(struct sb_iterations *it, struct sb_outlier slow)
{
	const struct sb_longest list = { it->outliers, sizeof slow, offsetof(struct sb_outlier, duration_s),
		OUTLIERS_LISTED };
	struct sb_outlier *place;

	it->outlier_count++;
	place = it->outliers ? sb_longest_place(&list, &it->outlier_listed, slow.duration_s) : NULL;
	if (place)
		*place = slow;
}

/* strobe's own doing, not the program's. */
static bool is_by_strobe(const struct loops *l, const struct loop *at, size_t i, double took_s)
{
	int64_t begin_ns = i < at->begin_count ? at->begins[i] : 0,
		end_ns = begin_ns + (int64_t)(took_s * 1e9);

	return i < at->begin_count && (sb_gpu_traces_edge(&l->traces, UINT32_MAX, begin_ns, end_ns) ||
					      sb_gpu_setups_meet(&l->setups, UINT32_MAX, begin_ns, end_ns));
}

/* Of iterations and blocks. Which steps are slow is for steps.c, which knows their
 * peers: it tells sb_iterations_add_slow. */
static void find_outliers(const struct loops *l, const struct loop *at, const double *seconds, size_t count,
	struct sb_iterations *out)
{
	double ratio = sb_slow_ratio(l->run);

	if (at->role == STROBE_ROLE_STEP || out->warm.count < SB_SLOW_PEERS_LEAST)
		return;
	for (size_t i = (size_t)out->warmup_count; i < count; i++)
		if (sb_is_slow(seconds[i], out->warm.median, ratio) && !is_by_strobe(l, at, i, seconds[i]))
			sb_iterations_add_slow(
				out, (struct sb_outlier){ .index = (int64_t)i,
					     .duration_s = seconds[i],
					     .peer_s = out->warm.median,
					     .t_s = i < at->begin_count ? (double)at->begins[i] / 1e9 : NAN,
					     .warm = true });
}

/* Every stride-th, with the time of those that it stands for: sums stay exact. */
static void fill_sample(
	struct sb_model *m, const double *seconds, size_t count, size_t stride, struct sb_iterations *out)
{
	out->sample_s = out->series_s;
	out->sample_count = out->series_count;
	out->sample_of = count;
	out->sample_stride = stride;
	if (stride < 2)
		return;
	out->sample_s = sb_model_alloc(m, out->sample_count * sizeof *out->sample_s);
	out->sample_sum_s = sb_model_alloc(m, out->sample_count * sizeof *out->sample_sum_s);
	for (size_t i = 0; out->sample_s && out->sample_sum_s && i < out->sample_count; i++) {
		out->sample_s[i] = seconds[i * stride];
		for (size_t k = i * stride; k < (i + 1) * stride && k < count; k++)
			out->sample_sum_s[i] += seconds[k];
	}
}

static void fill_series(struct sb_model *m, const double *seconds, size_t count, struct sb_iterations *out)
{
	size_t stride = (count + SERIES_MAX - 1) / SERIES_MAX;

	out->series_count = stride ? (count + stride - 1) / stride : 0;
	out->series_s = sb_model_alloc(m, out->series_count * sizeof *out->series_s);
	for (size_t i = 0; out->series_s && i < out->series_count; i++) {
		double worst = 0; /* a thinned series still shows its peaks */

		for (size_t k = i * stride; k < (i + 1) * stride && k < count; k++)
			worst = seconds[k] > worst ? seconds[k] : worst;
		out->series_s[i] = worst;
	}
	fill_sample(m, seconds, count, stride, out);
	sb_model_distribution(m, seconds, count, &out->distribution);
}

/* From the middles of the buckets: as exact as they are narrow. */
static double folded_deviation(const uint64_t *counts, const struct sb_stats *s)
{
	double squares = 0, low, high;

	for (uint32_t b = 0; b < SB_STAGE_BUCKETS; b++) {
		sb_digest_bucket_range(b, &low, &high);
		if (counts[b])
			squares += (double)counts[b] * pow((low + high) / 2e9 - s->mean, 2);
	}
	return s->count > 1 ? sqrt(squares / (double)(s->count - 1)) : NAN;
}

static void add_folded(const struct loop *at, struct sb_stats *s)
{
	size_t large_at = 0;

	if (!at->folded_count || !at->folded)
		return;
	s->total = (s->count ? s->total : 0) + (double)at->folded_ns / 1e9;
	s->count += (int64_t)at->folded_count;
	s->mean = s->total / (double)s->count;
	s->min = fmin(s->min, (double)at->folded_min_ns / 1e9);
	s->max = fmax(s->max, (double)at->folded_max_ns / 1e9);
	for (size_t i = 0; i < at->durations.count; i++)
		at->folded[sb_digest_bucket_of(sb_durations_next(&at->durations, i, &large_at))]++;
	sb_stage_folded_percentiles(at->folded, s);
	s->std = folded_deviation(at->folded, s);
}

/* A loop that a text summed up: its figures are what the text says. */
static void take_summed(const struct loop *at, struct sb_stats *s)
{
	if (!at->summed.calls || s->count)
		return;
	*s = SB_STATS_NONE;
	s->count = at->summed.calls;
	s->total = (double)at->summed_ns / 1e9;
	s->mean = s->total / (double)s->count;
	s->min = at->summed.min_s;
	s->max = at->summed.max_s;
	s->median = at->summed.median_s;
	s->std = at->summed.std_s;
}

/* Where none of them is warm, what comes after the warm-up counts as such. */
static int steps_stats(
	const struct loop *at, const double *seconds, double *scratch, struct sb_iterations *out)
{
	size_t count = 0;

	for (size_t i = 0; i < at->warm_count; i++)
		if (at->warm[i])
			scratch[count++] = seconds[i];
	out->steps_warm = count > 0;
	return count ? sb_stats_of(scratch, count, &out->warm) : 0;
}

static int fill_loop(struct loops *l, struct sb_model *m, const struct loop *at, struct sb_iterations *out)
{
	size_t count = at->durations.count, large_at = 0;
	double *seconds = malloc((count + 1) * sizeof *seconds);
	double *scratch = malloc((count + 1) * sizeof *scratch);
	int err = seconds && scratch ? 0 : sb_fail(STROBE_ENOMEM, "no memory for iterations");

	for (size_t i = 0; !err && i < count; i++)
		seconds[i] = (double)sb_durations_next(&at->durations, i, &large_at) / 1e9;
	if (!err)
		err = put_in_order(at, seconds, count);
	out->name = sb_model_text(m, at->label ? at->label : l->run->names[at->name].text);
	out->fps = at->fps;
	out->aside = at->aside;
	out->role = at->role;
	out->marked_warmup_count = (int64_t)at->warming_count;
	if (!err)
		err = sb_durations_stats(&at->durations, &out->all);
	if (!err && count) {
		out->all.last = seconds[count - 1];
		out->warmup_count = at->folded_count ? 0 : (int64_t)sb_warmup_count(seconds, scratch, count);
	}
	out->warm = out->all;
	if (!err && knows_warm(at))
		err = steps_stats(at, seconds, scratch, out);
	if (!err && out->warmup_count) {
		for (int64_t i = 0; i < out->warmup_count; i++)
			out->warmup_s += seconds[i];
		if (!out->steps_warm)
			err = sb_stats_of(
				seconds + out->warmup_count, count - (size_t)out->warmup_count, &out->warm);
	}
	out->outliers = sb_model_alloc(m, OUTLIERS_LISTED * sizeof *out->outliers);
	if (!err && count)
		find_outliers(l, at, seconds, count, out);
	if (!err)
		fill_series(m, seconds, count, out);
	add_folded(at, &out->all);
	take_summed(at, &out->all);
	if (!out->warmup_count && !out->steps_warm)
		out->warm = out->all;
	out->per_second = out->warm.total > 0 ? (double)out->warm.count / out->warm.total : NAN;
	free(seconds);
	free(scratch);
	return err;
}

/* ---- the analysis -------------------------------------------------------- */

static void done(void *self)
{
	struct loops *l = self;

	if (!l)
		return;
	for (uint32_t i = 0; i < l->count; i++) {
		sb_durations_done(&l->all[i].durations);
		free(l->all[i].begins);
		free(l->all[i].warm);
		free(l->all[i].folded);
	}
	sb_map_done(&l->index);
	sb_warm_calls_done(&l->warm);
	sb_vec_done(&l->traces);
	sb_vec_done(&l->setups);
	free(l->all);
	free(l);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct loops *l = calloc(1, sizeof *l);
	int err = l ? sb_warm_calls_init(&l->warm, run, model)
		    : sb_fail(STROBE_ENOMEM, "no memory for the iterations of '%s'", run->path);

	if (err) {
		done(l);
		return err;
	}
	l->run = run;
	l->model = model;
	l->warm.served_too = true;
	l->imported = sb_summed_possible(run);
	v->self = l;
	v->roles = 1u << STROBE_ROLE_ITERATION | 1u << STROBE_ROLE_STEP | 1u << STROBE_ROLE_BLOCK;
	v->zone = see_zone;
	v->kinds = 1u << SB_EVENT_DIGEST_NODE | 1u << SB_EVENT_EVENT;
	v->gpu_spans = true;
	v->event = see_event;
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct loops *l = self;
	struct sb_iterations_panel *s = &model->iterations;
	int err = l->no_memory ? sb_fail(STROBE_ENOMEM, "no memory for the iterations of '%s'", run->path)
			       : sb_gpu_traces_find(run, &l->traces);

	if (!err)
		err = sb_gpu_setups_find(run, &l->setups);
	s->all = sb_model_alloc(model, (l->count + 1) * sizeof *s->all);
	for (uint32_t i = 0; !err && s->all && i < l->count; i++) {
		const struct loop *at = &l->all[i];

		if (at->durations.count || at->folded_count ||
			at->summed.calls) /* else in the warm-up alone */
			err = fill_loop(l, model, at, &s->all[s->count++]);
	}
	return err;
}

const struct sb_analysis sb_analysis_iterations = {
	.name = "iterations",
	.begin = begin,
	.finish = finish,
	.done = done,
};
