/* What follows when all ranks are in: their order, extremes, the job, what is missing, stages by imbalance. */
#include "compare/aggregate.h"

#include "base/error.h"
#include "stats/statistics.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MISSING_MAX 65536

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory to aggregate the ranks");
}

void sb_across_ranks_of(
	const double *values, const int64_t *ranks, size_t count, struct sb_across_ranks *out_values)
{
	struct sb_across_ranks e = { 0, NAN, NAN, NAN, 0, NAN, -1, -1, true };
	double *sorted = malloc((count + 1) * sizeof *sorted);

	for (size_t i = 0; i < count; i++) {
		if (isnan(values[i]))
			continue;
		if (!e.count || values[i] < e.min) {
			e.min = values[i];
			e.min_rank = ranks[i];
		}
		if (!e.count || values[i] > e.max) {
			e.max = values[i];
			e.max_rank = ranks[i];
		}
		e.sum += values[i];
		if (sorted)
			sorted[e.count] = values[i];
		e.count++;
	}
	e.sum = e.count ? e.sum : NAN;
	e.avg = e.sum / (double)e.count;
	if (e.count && sorted) {
		sb_stats_sort(sorted, e.count);
		e.median = sb_stats_percentile(sorted, e.count, 0.5);
	}
	free(sorted);
	*out_values = e;
}

struct order {
	int64_t rank;
	size_t slot;
};

static int by_rank(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static int64_t largest_world(const struct sb_aggregate *a)
{
	int64_t world = -1;

	for (size_t i = 0; i < a->rank_count; i++)
		world = a->ranks[i].world_size > world ? a->ranks[i].world_size : world;
	return world;
}

static int by_world(const void *a, const void *b)
{
	const struct sb_scale *x = a, *y = b;

	return (x->world_size > y->world_size) - (x->world_size < y->world_size);
}

static struct sb_scale *scale_of(struct sb_aggregate *a, int64_t world)
{
	for (size_t i = 0; i < a->scale_count; i++)
		if (a->scales[i].world_size == world)
			return &a->scales[i];
	a->scales[a->scale_count] = (struct sb_scale){ world, 0, NAN, NAN, NAN, NAN, NAN };
	return &a->scales[a->scale_count++];
}

/* A lone process is a world of one. */
static int scale(struct sb_aggregate *a)
{
	const struct sb_scale *first;

	a->scales = calloc(a->rank_count + 1, sizeof *a->scales);
	if (!a->scales)
		return no_memory();
	for (size_t i = 0; i < a->rank_count; i++) {
		const struct sb_aggregate_rank *r = &a->ranks[i];
		struct sb_scale *s = scale_of(a, r->world_size > 0 ? r->world_size : 1);

		s->ranks++;
		s->wall_s = fmax(s->wall_s, r->metrics[SB_METRIC_WALL]);
		s->generation_s = fmax(s->generation_s, r->metrics[SB_METRIC_GENERATION]);
	}
	qsort(a->scales, a->scale_count, sizeof *a->scales, by_world);
	first = &a->scales[0];
	for (size_t i = 0; i < a->scale_count; i++) {
		struct sb_scale *s = &a->scales[i];
		bool video = !isnan(first->generation_s) && !isnan(s->generation_s);

		s->speedup = video ? first->generation_s / s->generation_s : first->wall_s / s->wall_s;
		s->efficiency_split_ratio = s->speedup * (double)first->world_size / (double)s->world_size;
		s->efficiency_kept_ratio = s->speedup;
	}
	if (a->scale_count < 2)
		a->scale_count = 0;
	return 0;
}

/* ---- who is in ---- */

/* How many ranks a job has, and when the last of them began. */
static size_t count_job(const struct sb_aggregate *a, const struct order *order, size_t count,
	const char *job, uint64_t *out_began_ns)
{
	size_t same = 0;

	*out_began_ns = 0;
	for (size_t k = 0; k < count; k++) {
		const struct sb_aggregate_rank *r = &a->ranks[order[k].slot];

		if (strcmp(r->job, job) != 0)
			continue;
		same++;
		*out_began_ns = r->start_real_ns > *out_began_ns ? r->start_real_ns : *out_began_ns;
	}
	return same;
}

/* Of a world, the job that most of its ranks are of, the newest of such: ranks of another one that lie there are
 * foreign. NULL: none says its job. */
static const char *job_of_most(const struct sb_aggregate *a, const struct order *order, size_t count)
{
	const char *most = NULL;
	size_t votes = 0;
	uint64_t newest_ns = 0;

	for (size_t i = 0; i < count; i++) {
		const char *job = a->ranks[order[i].slot].job;
		uint64_t began_ns;
		size_t same;

		if (!job || !*job || (most && !strcmp(job, most)))
			continue;
		same = count_job(a, order, count, job, &began_ns);
		if (same > votes || (same == votes && began_ns > newest_ns)) {
			votes = same;
			newest_ns = began_ns;
			most = job;
		}
		if (2 * votes > count)
			break;
	}
	return most;
}

/* Of two that say the same rank: the complete one, then the newer one. */
static bool is_better(const struct sb_aggregate_rank *x, const struct sb_aggregate_rank *y)
{
	if (x->complete != y->complete)
		return x->complete;
	if (x->start_real_ns != y->start_real_ns)
		return x->start_real_ns > y->start_real_ns;
	return strcmp(x->label, y->label) < 0;
}

static int leave_out(struct sb_aggregate *a, size_t slot, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int leave_out(struct sb_aggregate *a, size_t slot, const char *format, ...)
{
	char why[512];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	a->report_count--;
	return sb_aggregate_broken(a, a->ranks[slot].label, why);
}

/* One of each rank, and none of another job. order: sorted; what stays is at its front. */
static int choose(struct sb_aggregate *a, struct order *order, size_t *count)
{
	const char *job = job_of_most(a, order, *count);
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < *count && !err; i++) {
		const struct sb_aggregate_rank *r = &a->ranks[order[i].slot];
		size_t out = order[i].slot;

		if (job && r->job && *r->job && strcmp(r->job, job)) {
			err = leave_out(a, out, "is of job '%s', not of '%s'", r->job, job);
		} else if (kept && r->rank >= 0 && order[kept - 1].rank == r->rank) {
			size_t in = order[kept - 1].slot;

			if (is_better(r, &a->ranks[in])) {
				order[kept - 1].slot = out;
				out = in;
				in = order[kept - 1].slot;
			}
			err = leave_out(a, out, "is rank %lld again; '%s' was taken", (long long)r->rank,
				a->ranks[in].label);
		} else {
			order[kept++] = order[i];
			continue;
		}
		if (!err)
			sb_aggregate_rank_done(&a->ranks[out]);
	}
	*count = kept;
	return err;
}

/* Keeps the ranks of one world, ordered; slots of stages follow. */
static int settle_ranks(struct sb_aggregate *a, size_t **out_slots)
{
	struct order *order = malloc((a->rank_count + 1) * sizeof *order);
	struct sb_aggregate_rank *kept = malloc((a->rank_count + 1) * sizeof *kept);
	size_t *slots = malloc((a->rank_count + 1) * sizeof *slots), count = 0;
	int64_t next = 0;
	int err;

	if (!order || !kept || !slots) {
		free(order);
		free(kept);
		free(slots);
		return no_memory();
	}
	/* they have no rank: they are runs, numbered as they came, and no ranks of one job */
	a->unranked = a->rank_count > 1 && a->world_size < 0;
	for (size_t i = 0; i < a->rank_count; i++)
		a->unranked = a->unranked && a->ranks[i].rank < 0;
	for (size_t i = 0; i < a->rank_count; i++)
		if (a->ranks[i].rank < 0 && a->world_size < 0)
			a->ranks[i].rank = next++;
	for (size_t i = 0; i < a->rank_count; i++)
		if (a->ranks[i].world_size == a->world_size)
			order[count++] = (struct order){ a->ranks[i].rank, i };
		else
			sb_aggregate_rank_done(&a->ranks[i]);
	qsort(order, count, sizeof *order, by_rank);
	err = choose(a, order, &count);
	for (size_t i = 0; i < count; i++) {
		kept[i] = a->ranks[order[i].slot];
		slots[i] = order[i].slot;
	}
	free(a->ranks);
	free(order);
	a->ranks = kept;
	a->rank_count = count;
	*out_slots = slots;
	return err;
}

/* Of the ranks that are kept; none where they come from several jobs. */
static int note_job(struct sb_aggregate *a)
{
	const char *job = a->rank_count ? a->ranks[0].job : NULL;

	if (!job || !*job)
		return 0;
	for (size_t i = 1; i < a->rank_count; i++)
		if (!a->ranks[i].job || strcmp(a->ranks[i].job, job) != 0)
			return 0;
	a->job = strdup(job);
	return a->job ? 0 : no_memory();
}

static int note_missing(struct sb_aggregate *a)
{
	size_t at = 0;

	if (a->world_size <= 0 || a->world_size > MISSING_MAX)
		return 0;
	a->missing = calloc((size_t)a->world_size, sizeof *a->missing);
	if (!a->missing)
		return no_memory();
	for (int64_t rank = 0; rank < a->world_size; rank++) {
		while (at < a->rank_count && a->ranks[at].rank < rank)
			at++;
		if (at >= a->rank_count || a->ranks[at].rank != rank)
			a->missing[a->missing_count++] = rank;
	}
	return 0;
}

static int extend_metrics(struct sb_aggregate *a)
{
	double *values = malloc((a->rank_count + 1) * sizeof *values);
	int64_t *ranks = malloc((a->rank_count + 1) * sizeof *ranks);

	if (!values || !ranks) {
		free(values);
		free(ranks);
		return no_memory();
	}
	for (size_t i = 0; i < a->rank_count; i++)
		ranks[i] = a->ranks[i].rank;
	for (int m = 0; m < SB_METRIC_COUNT; m++) {
		for (size_t i = 0; i < a->rank_count; i++)
			values[i] = a->ranks[i].metrics[m];
		sb_across_ranks_of(values, ranks, a->rank_count, &a->metrics[m]);
		a->metrics[m].adds = sb_metric_infos[m].adds;
	}
	a->wait_s = a->metrics[SB_METRIC_COLLECTIVE].count ? a->metrics[SB_METRIC_COLLECTIVE].sum : 0;
	a->wait_ratio = a->metrics[SB_METRIC_COLLECTIVE].count ? a->wait_s / a->metrics[SB_METRIC_WALL].sum
							       : NAN;
	free(values);
	free(ranks);
	return 0;
}

/* Between neighbours, as everywhere else, and never outside what was measured. */
static double call_quantile_s(const struct sb_aggregate_stage *s, double q)
{
	uint64_t total = s->calls.total;
	double at = total > 1 ? q * (double)(total - 1) : 0, below = floor(at), low_s, high_s, value_s;

	if (!total)
		return NAN;
	low_s = sb_histogram_quantile(&s->calls, total > 1 ? below / (double)(total - 1) : 0) / 1e9;
	high_s = total > 1 && below + 1 < (double)total
			 ? sb_histogram_quantile(&s->calls, (below + 1) / (double)(total - 1)) / 1e9
			 : low_s;
	value_s = low_s + (high_s - low_s) * (at - below);
	if (value_s < s->min_s)
		value_s = s->min_s;
	return value_s > s->max_s ? s->max_s : value_s;
}

static void extend_stage(struct sb_aggregate *a, struct sb_aggregate_stage *s, double *values, int64_t *ranks)
{
	for (int self = 0; self < 2; self++) {
		for (size_t i = 0; i < a->rank_count; i++) {
			values[i] = self ? s->selves[i] : s->totals[i];
			ranks[i] = a->ranks[i].rank;
		}
		sb_across_ranks_of(values, ranks, a->rank_count, self ? &s->self_s : &s->total_s);
	}
	s->imbalance_s = s->total_s.max - s->total_s.avg;
	s->imbalance_ratio = s->total_s.avg > 0 ? s->total_s.max / s->total_s.avg - 1 : NAN;
	s->p50_s = call_quantile_s(s, 0.50);
	s->p95_s = call_quantile_s(s, 0.95);
	s->p99_s = call_quantile_s(s, 0.99);
}

/* From slots, in the order of reading, to ranks in their order. */
static bool reorder(struct sb_aggregate *a, struct sb_aggregate_stage *s, const size_t *slots)
{
	double *selves = malloc((a->rank_count + 1) * sizeof *selves);
	double *totals = malloc((a->rank_count + 1) * sizeof *totals);

	if (!selves || !totals) {
		free(selves);
		free(totals);
		return false;
	}
	for (size_t i = 0; i < a->rank_count; i++) {
		selves[i] = slots[i] < s->rank_room ? s->selves[slots[i]] : NAN;
		totals[i] = slots[i] < s->rank_room ? s->totals[slots[i]] : NAN;
	}
	free(s->selves);
	free(s->totals);
	s->selves = selves;
	s->totals = totals;
	s->rank_room = a->rank_count;
	return true;
}

/* Loading code takes what the disk takes, and strobe's own work is no load of the ranks. */
static bool is_apart(const struct sb_aggregate_stage *s)
{
	return s->role == STROBE_ROLE_IMPORT || s->role == STROBE_ROLE_PROFILER;
}

static int by_imbalance(const void *a, const void *b)
{
	const struct sb_aggregate_stage *x = a, *y = b;

	if (is_apart(x) != is_apart(y))
		return is_apart(x) ? 1 : -1;
	if (x->imbalance_s != y->imbalance_s)
		return x->imbalance_s < y->imbalance_s ? 1 : -1;
	if (x->total_s.sum != y->total_s.sum)
		return x->total_s.sum < y->total_s.sum ? 1 : -1;
	return strcmp(x->key, y->key);
}

static int64_t index_of(const struct sb_aggregate *a, const char *key)
{
	for (size_t i = 0; key && i < a->stage_count; i++)
		if (!strcmp(a->stages[i].key, key))
			return (int64_t)i;
	return -1;
}

/* Finds every stage's parent by its key. */
static void nest(struct sb_aggregate *a)
{
	for (size_t i = 0; i < a->stage_count; i++)
		a->stages[i].parent = index_of(a, a->stages[i].parent_key);
}

static int settle_stages(struct sb_aggregate *a, const size_t *slots)
{
	double *values = malloc((a->rank_count + 1) * sizeof *values);
	int64_t *ranks = malloc((a->rank_count + 1) * sizeof *ranks);
	size_t count = 0;
	int err = values && ranks ? 0 : no_memory();

	for (size_t i = 0; i < a->stage_count && !err; i++) {
		struct sb_aggregate_stage *s = &a->stages[i];

		if (s->rank_room && !reorder(a, s, slots))
			err = no_memory();
		else if (s->rank_room)
			extend_stage(a, s, values, ranks);
		if (!err && !s->total_s.count) {
			sb_aggregate_stage_done(s); /* of another world */
			continue;
		}
		if (count != i) {
			a->stages[count] = *s;
			memset(s, 0, sizeof *s);
		}
		count++;
	}
	if (!err) {
		a->stage_count = count;
		if (count)
			qsort(a->stages, count, sizeof *a->stages, by_imbalance);
		nest(a);
	}
	free(values);
	free(ranks);
	return err;
}

/* Two machines may have one name: their boots differ. */
static const char *machine_of(const struct sb_aggregate_rank *r)
{
	return r->clock && *r->clock ? r->clock : r->host;
}

static void count_hosts(struct sb_aggregate *a)
{
	for (size_t i = 0; i < a->rank_count; i++) {
		bool seen = false;

		for (size_t k = 0; k < i && !seen; k++)
			seen = !strcmp(machine_of(&a->ranks[i]), machine_of(&a->ranks[k]));
		a->host_count += !seen && *a->ranks[i].host;
	}
}

int sb_aggregate_finish(struct sb_aggregate *a)
{
	size_t *slots = NULL;
	int err = scale(a);

	a->percentile_error_ratio = SB_HISTOGRAM_ERROR_RATIO;
	a->world_size = largest_world(a);
	if (!err)
		err = settle_ranks(a, &slots);
	if (!err)
		err = note_job(a);
	if (!err)
		err = note_missing(a);
	if (!err)
		err = extend_metrics(a);
	if (!err)
		err = settle_stages(a, slots);
	if (!err)
		err = sb_aggregate_meet(a);
	if (!err)
		err = sb_aggregate_count_made(a);
	if (!err && !a->unranked)
		err = sb_aggregate_find_stragglers(a);
	if (!err)
		count_hosts(a);
	free(slots);
	return err ? err : sb_aggregate_draw(a);
}
